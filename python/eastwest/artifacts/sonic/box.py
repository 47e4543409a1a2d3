"""One switch as its configuration sees it: the plan's entry, the catalogue's figures, and what each port is for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from eastwest.artifacts import headroom
from eastwest.artifacts.coordinates import PlanError
from eastwest.artifacts.plan import Port, Switch
from eastwest.artifacts.subject import Subject
from eastwest.catalog import Switch as Device
from eastwest.fabric import FRONTEND_TIERS

BUFFER_OF_A_BIT = 165e6 / 51.2e12
"""Bytes of packet memory for each bit/s of a switch whose catalogue entry says nothing: those of Tomahawk 5, the least
of the switches that are known."""

LEAST_SHARED = 0.5
"""Part of the memory that must be left to share once all ports have their headroom."""


@dataclass(frozen=True)
class Box:
    """A switch of the plan, what the catalogue knows of it, and what its network speaks."""

    subject: Subject
    switch: Switch
    device: Device
    technology: str

    @cached_property
    def cabled(self) -> tuple[Port, ...]:
        """Ports that have a cable."""
        return tuple(port for port in self.switch.ports if port.cable is not None)

    @cached_property
    def paused(self) -> tuple[Port, ...]:
        """Ports on which PFC is enabled."""
        cables = self.subject.plan.cables
        return tuple(port for port in self.cabled if port.cable is not None and cables[port.cable].pfc)

    def lanes(self, port: Port) -> int:
        """Lanes of a port."""
        return self.device.cage_lanes // port.breakout

    def metres(self, port: Port) -> int:
        """Length of a port's cable, rounded up to whole metres as SONiC has it."""
        return 0 if port.cable is None else math.ceil(self.subject.plan.cables[port.cable].length_m)

    @property
    def memory(self) -> int:
        """Bytes of packet memory: as the study's packet settings or the catalogue say, else an estimate."""
        asked = self.subject.asked.packets.switch.buffer
        if asked is not None and self.switch.tier not in FRONTEND_TIERS:
            return int(asked.size)
        return int(self.device.buffer_bytes or BUFFER_OF_A_BIT * self.device.cages * self.device.cage_bps)

    def headroom(self, port: Port) -> headroom.Headroom:
        """Headroom of a port's lossless group."""
        return headroom.headroom(
            port.rate_bps,
            self.metres(port),
            packet=self.subject.plan.mtu_bytes + headroom.ROCE_HEADERS,
            lanes=self.lanes(port),
            cell=self.device.cell_bytes or headroom.GENERIC_CELL,
            margin=headroom.MARGIN,
        )

    @cached_property
    def shared(self) -> int:
        """Bytes that are left to share when every paused port has its headroom.

        Raises:
            PlanError: less than half of the memory is left.
        """
        needed = sum(self.headroom(port).size for port in self.paused)
        if needed > (1 - LEAST_SHARED) * self.memory:
            raise PlanError(
                f"{self.switch.name} ({self.device.name}): {len(self.paused)} lossless ports need {needed / 1e6:.0f} "
                f"MB of headroom for their cables, more than half of its {self.memory / 1e6:.0f} MB of packet memory: "
                "shorten the cables, or say packets: { switch: { pauses: off } }"
            )
        return self.memory - needed


def boxes(subject: Subject) -> Iterator[Box]:
    """Every Ethernet switch of the plan.

    Raises:
        PlanError: a switch is of a scheduled fabric, whose configuration is another.
    """
    catalog, study = subject.study.catalog_entries(), subject.study
    for switch in subject.plan.switches:
        is_frontend = switch.tier in FRONTEND_TIERS
        technology = study.frontend_technology(subject.fabric) if is_frontend else subject.plan.technology
        if technology == "infiniband":
            continue
        device = catalog.switch(switch.device)
        if device.cell_cages:
            raise PlanError(
                f"{switch.name} ({device.name}) schedules cells: SONiC configures such switches as parts of one "
                "chassis (VoQ), which is not written here; leave sonic out with --only"
            )
        yield Box(subject, switch, device, technology)
