"""One tier's switch as its front shows it: cages, what each is broken out into, and which ports face down or up.

Not here: how many switches there are, and what they join.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eastwest.catalog.entries import Switch
from eastwest.fabric.plan import FabricError, Tier, in_gbps


@dataclass(frozen=True)
class Front:
    """The cages of one switch in order, and the port number at which those that face up begin.

    `breakout` and `rate_bps` have one entry a cage; the ports of a cage all run at its rate.
    """

    breakout: NDArray[np.uint32]
    rate_bps: NDArray[np.float64]
    first_up: int

    @property
    def ports(self) -> int:
        """Ports of the whole switch, used or not."""
        return int(self.breakout.sum())


@dataclass(frozen=True)
class Faceplate:
    """A switch whose ports down run at `down_bps` and up at `up_bps`, with so many ports in each cage.

    Where both rates are alike, ports down and up may share a cage; otherwise each cage faces one way, since the ports
    of a cage run at one rate. So it is with the leaf of a scheduled fabric, whose cages for cells face up. `reserved`
    ports of a switch whose ports are all alike are kept for borders.
    """

    tier: Tier
    switch: Switch
    down_bps: float
    up_bps: float
    down_per_cage: int
    up_per_cage: int
    reserved: int = 0

    @property
    def is_uniform(self) -> bool:
        """Whether every port can face either way."""
        return self.down_bps == self.up_bps and self.switch.cell_cages in (0, self.switch.cages)

    @property
    def _most_cages(self) -> tuple[int, int]:
        """Cages that can face down, and up."""
        cells, cages = self.switch.cell_cages, self.switch.cages
        return (cages - cells, cells) if 0 < cells < cages else (cages, cages)

    @property
    def most(self) -> int:
        """Ports at the rate of the ports down, were all to face down."""
        ports = min(self._most_cages[0], self.switch.max_ports // self.down_per_cage) * self.down_per_cage
        return max(0, ports - self.reserved)

    def fits(self, down: int, up: int) -> bool:
        """Whether the switch has so many ports down and up."""
        if self.is_uniform:
            return down + up <= self.most
        down_cages, up_cages = self._cages(down, up)
        ports = down_cages * self.down_per_cage + up_cages * self.up_per_cage
        most_down, most_up = self._most_cages
        has_cages = down_cages <= most_down and up_cages <= most_up and down_cages + up_cages <= self.switch.cages
        return has_cages and ports <= self.switch.max_ports

    def uplinks(self, down: int, ratio: float) -> int:
        """Ports up that `down` ports need at most `ratio` to 1 oversubscribed; of cells, what they carry counts."""
        # A ratio such as 1.1 is not exact in binary: what is a whole number but for the last bits is that number.
        return math.ceil(down * self.down_bps / (self.up_bps * self.switch.cell_efficiency * ratio) - 1e-9)

    def downlinks(self, up: int) -> int:
        """Ports down of at least the capacity of `up` ports up."""
        return math.ceil(up * self.up_bps / self.down_bps - 1e-9)

    def most_down(self, ratio: float) -> int:
        """The most ports down for which the switch also has the ports up; 0 where it has not even one."""
        return max((d for d in range(1, self.most + 1) if self.fits(d, self.uplinks(d, ratio))), default=0)

    def front(self, down: int, up: int) -> Front:
        """The cages of a switch with so many ports down and up; those left over are broken out as those down."""
        spare = np.full(self.switch.cages, self.down_per_cage, dtype=np.uint32)
        rate_bps = np.full(self.switch.cages, self.down_bps)
        first_up = down
        if not self.is_uniform:
            down_cages, up_cages = self._cages(down, up)
            first_up = down_cages * self.down_per_cage
            spare[down_cages : down_cages + up_cages] = self.up_per_cage
            rate_bps[down_cages : down_cages + up_cages] = self.up_bps
        has_ports = np.cumsum(spare, dtype=np.int64) <= self.switch.max_ports
        return Front(breakout=np.where(has_ports, spare, 0).astype(np.uint32), rate_bps=rate_bps, first_up=first_up)

    def has(self) -> str:
        """What the switch offers, for messages: "sn5400 has 64 ports at 400 Gb/s"."""
        if self.is_uniform:
            kept = f" beside {self.reserved} for borders" if self.reserved else ""
            return f"{self.switch.name} has {self.most} at {in_gbps(self.down_bps)}{kept}"
        if self.switch.cell_cages:
            return (
                f"{self.switch.name} has {self.switch.packet_cages} cages, each {self.down_per_cage} at "
                f"{in_gbps(self.down_bps)}, and {self.switch.cell_cages} of cells, each {self.up_per_cage} at "
                f"{in_gbps(self.up_bps)}"
            )
        return (
            f"{self.switch.name} has {self.switch.cages} cages, each {self.down_per_cage} at {in_gbps(self.down_bps)} "
            f"or {self.up_per_cage} at {in_gbps(self.up_bps)}"
        )

    def wider(self) -> str | None:
        """The breakout that would give more ports at these rates, as advice; None where there is none."""
        speed = max(self.down_bps, self.up_bps)
        breakout = min(self.switch.max_breakout, int(self.switch.cage_bps // speed))
        ports = min(self.switch.cages, self.switch.max_ports // breakout) * breakout if breakout else 0
        if breakout > self.down_per_cage and ports > self.most:
            return f"set breakout: {breakout} for the {self.tier} ({ports} ports)"
        return None

    def _cages(self, down: int, up: int) -> tuple[int, int]:
        return -(-down // self.down_per_cage), -(-up // self.up_per_cage)


def faceplate(tier: Tier, switch: Switch, down_bps: float, up_bps: float, breakout: int | None) -> Faceplate:
    """The faceplate of a switch, its cages broken out as asked or, where None, as the switch's default.

    A default that a cage cannot carry at the ports' rate is reduced to what it can, and so are the cages that face up
    where uplinks are faster than the ports down (800 Gb/s cages: two ports of 400 down, one of 800 up).

    Raises `FabricError` on "link", "uplink" or, of a border, "sites" for a rate that the switch does not run, and on
    "breakout".
    """
    for name, rate_bps in (
        ("link" if tier == "leaf" else "uplink", down_bps),
        ("sites" if tier == "border" else "uplink", up_bps),
    ):
        if rate_bps not in switch.port_speeds_bps:
            speeds = ", ".join(in_gbps(speed) for speed in sorted(switch.port_speeds_bps))
            raise FabricError(
                name,
                f"the {tier} switch {switch.name} does not run ports at {in_gbps(rate_bps)}; it runs {speeds}: "
                f"choose one of these or another switch",
            )
        if rate_bps > switch.cage_bps:
            raise FabricError(
                name, f"{in_gbps(rate_bps)} is more than a cage of {switch.name} carries, {in_gbps(switch.cage_bps)}"
            )
    if breakout is not None:
        _check_breakout(tier, switch, down_bps, breakout)
    asked = switch.default_breakout if breakout is None else breakout
    return Faceplate(
        tier=tier,
        switch=switch,
        down_bps=down_bps,
        up_bps=up_bps,
        down_per_cage=min(asked, int(switch.cage_bps // down_bps)),
        up_per_cage=min(asked, int(switch.cage_bps // up_bps)),
    )


def _check_breakout(tier: Tier, switch: Switch, rate_bps: float, breakout: int) -> None:
    if not 1 <= breakout <= switch.max_breakout:
        raise FabricError(
            "breakout",
            f"a cage of the {tier} switch {switch.name} breaks out into 1 to {switch.max_breakout} ports, "
            f"not {breakout}",
        )
    if breakout * rate_bps > switch.cage_bps:
        raise FabricError(
            "breakout",
            f"{breakout} ports of {in_gbps(rate_bps)} need {in_gbps(breakout * rate_bps)} of a cage; one of the {tier} "
            f"switch {switch.name} carries {in_gbps(switch.cage_bps)}: break out into at most "
            f"{int(switch.cage_bps // rate_bps)}, or slow the links",
        )
