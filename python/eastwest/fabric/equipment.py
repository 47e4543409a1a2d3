"""The switches of one tier as placed devices: which each is, its front, and the first numbers of its rows.

Not here: what the switches are joined with (`cabling`), and the tables themselves (`lay`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eastwest.catalog.entries import Switch
from eastwest.fabric.faceplate import Front
from eastwest.fabric.plan import Tier
from eastwest.fabric.shapes import Switches

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Equipment:
    """The devices of a tier: each distinct pair of a switch and its front, and which of them every switch is."""

    devices: tuple[Switch, ...]
    fronts: tuple[Front, ...]
    kind_of: NDArray[np.int32]

    @classmethod
    def alike(cls, device: Switch, front: Front, count: int) -> Equipment:
        """`count` switches of one kind."""
        return cls((device,), (front,), np.zeros(count, dtype=np.int32))

    def each(self, figures: list[int]) -> Numbers:
        """A figure of every switch, from those of the kinds."""
        return np.array(figures, dtype=np.int64)[self.kind_of]


@dataclass(frozen=True)
class Placed:
    """The switches of one tier with the number of the first node, and of each switch's first port and cage."""

    tier: Tier
    switches: Switches
    equipment: Equipment
    first_node: int
    first_port: Numbers
    first_cage: Numbers

    @property
    def ports_of(self) -> Numbers:
        """Ports of each switch, used or not."""
        return self.equipment.each([front.ports for front in self.equipment.fronts])

    @property
    def cages_of(self) -> Numbers:
        """Cages of each switch."""
        return self.equipment.each([len(front.breakout) for front in self.equipment.fronts])

    @property
    def first_up(self) -> Numbers:
        """Number of each switch's first port that faces up."""
        return self.equipment.each([front.first_up for front in self.equipment.fronts])

    @property
    def latency_s(self) -> NDArray[np.float64]:
        """Latency of each switch."""
        return np.array([device.latency_s for device in self.equipment.devices])[self.equipment.kind_of]

    @property
    def cell_efficiency(self) -> NDArray[np.float64]:
        """What cells leave of a link's rate, of each switch that sends any; 1 of others."""
        return np.array([device.cell_efficiency for device in self.equipment.devices])[self.equipment.kind_of]

    def cages(self) -> tuple[Numbers, Numbers, Numbers]:
        """Switch, number and breakout of each cage, switch by switch."""
        switch, number = _counted(self.cages_of)
        of_kinds = np.concatenate([front.breakout for front in self.equipment.fronts]).astype(np.int64)
        return (
            switch,
            number,
            of_kinds[self._first([len(front.breakout) for front in self.equipment.fronts])[switch] + number],
        )

    def ports(self) -> tuple[Numbers, Numbers, Numbers, NDArray[np.float64]]:
        """Switch, number, cage and rate of each port, switch by switch."""
        switch, number = _counted(self.ports_of)
        fronts = self.equipment.fronts
        cage_of_kinds = np.concatenate([np.repeat(np.arange(len(front.breakout)), front.breakout) for front in fronts])
        rate_of_kinds = np.concatenate([np.repeat(front.rate_bps, front.breakout) for front in fronts])
        row = self._first([front.ports for front in fronts])[switch] + number
        return switch, number, self.first_cage[switch] + cage_of_kinds[row], rate_of_kinds[row]

    def _first(self, sizes: list[int]) -> Numbers:
        """Where each switch's kind begins in what is put together of all kinds."""
        return self.equipment.each([0, *np.cumsum(sizes).tolist()])


def place(
    tiers: dict[Tier, tuple[Switches, Equipment]], first_node: int, first_port: int, first_cage: int
) -> dict[Tier, Placed]:
    """Numbers the switches of all tiers, one tier after the other, from the first free numbers on."""
    placed: dict[Tier, Placed] = {}
    for tier, (switches, equipment) in tiers.items():
        bare = Placed(tier, switches, equipment, first_node, np.empty(0, np.int64), np.empty(0, np.int64))
        ports, cages = bare.ports_of, bare.cages_of
        placed[tier] = Placed(
            tier,
            switches,
            equipment,
            first_node,
            first_port + np.cumsum(ports) - ports,
            first_cage + np.cumsum(cages) - cages,
        )
        first_node += len(switches)
        first_port += int(ports.sum())
        first_cage += int(cages.sum())
    return placed


def _counted(sizes: Numbers) -> tuple[Numbers, Numbers]:
    """For entries in groups of the given sizes: the group of each, and its number there."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    return group, np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
