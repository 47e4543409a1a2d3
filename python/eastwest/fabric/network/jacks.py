"""The ports of one node of a network file, and which are taken: by number where a cable names it, else in order.

All ports of a cage run at one rate, that of the first cable that it takes.
"""

from __future__ import annotations

import numpy as np

from eastwest.catalog.entries import Switch
from eastwest.fabric.faceplate import Front
from eastwest.fabric.network.values import NetworkEnd, NetworkSwitch
from eastwest.fabric.plan import FabricPlan, in_gbps


class RefusedError(Exception):
    """A cable cannot be plugged in; the message says why, after "cannot end at leaf-a: "."""


class Jacks:
    """Ports in cages: `cage_of` has one entry a port, `rate_bps` one a cage, 0 while nothing is plugged in."""

    def __init__(self, cage_of: list[int], cages: int) -> None:
        self.cage_of = cage_of
        self.rate_bps = [0.0] * cages
        self._taken: dict[int, str] = {}
        self._next = 0

    def plug(self, port: int | None, rate_bps: float, what: str, first: int = 0, last: int | None = None) -> int:
        """Takes a port for a cable, called `what`, and gives its number; the next free one where `port` is None.

        Free ones are sought from `first` to before `last`. Raises `RefusedError`.
        """
        last = len(self.cage_of) if last is None else last
        if port is None:
            port = self._free(rate_bps, first, last)
        if not 0 <= port < len(self.cage_of):
            raise RefusedError(f"it has no port {port}, only 0 to {len(self.cage_of) - 1}")
        if port in self._taken:
            raise RefusedError(f"its port {port} has the {self._taken[port]} already")
        cage = self.cage_of[port]
        if self.rate_bps[cage] not in (0.0, rate_bps):
            raise RefusedError(
                f"the cage of its port {port} runs at {in_gbps(self.rate_bps[cage])}, not at {in_gbps(rate_bps)}: "
                f"ports of a cage run at one rate"
            )
        self.rate_bps[cage] = rate_bps
        self._taken[port] = what
        return port

    def _free(self, rate_bps: float, first: int, last: int) -> int:
        start = first
        if last - first == len(self.cage_of):  # what is taken stays taken, so one pass over all ports is enough
            while self._next < last and self._next in self._taken:
                self._next += 1
            start = self._next
        for port in range(start, last):
            if port not in self._taken and self.rate_bps[self.cage_of[port]] in (0.0, rate_bps):
                return port
        raise RefusedError(f"none of its {last - first} ports is free at {in_gbps(rate_bps)}")


class ServerJacks(Jacks):
    """The NICs of a server: each a cage, with a port a plane."""

    def __init__(self, plan: FabricPlan) -> None:
        nics, planes = plan.server.nics, plan.planes
        super().__init__([nic for nic in range(nics) for _ in range(planes)], nics)
        self._plan = plan

    def take(self, end: NetworkEnd, number: int, rate_bps: float, what: str) -> int:
        """The port, counted over all NICs, of the cable `number` of those that end here; raises `RefusedError`."""
        nic, planes, speeds = self._plan.nic, self._plan.planes, self._plan.nic.port_speeds_bps
        if rate_bps not in speeds or rate_bps > self._plan.port_bps:
            runs = ", ".join(in_gbps(speed) for speed in sorted(speeds) if speed <= self._plan.port_bps)
            raise RefusedError(f"a port of its {nic.name} does not run at {in_gbps(rate_bps)}; it runs {runs}")
        if end.nic is None:
            return self.plug(None, rate_bps, what)
        if end.nic >= self._plan.server.nics:
            raise RefusedError(f"it has no nic-{end.nic}, only nic-0 to nic-{self._plan.server.nics - 1}")
        first = end.nic * planes
        if end.port is None:
            return self.plug(None, rate_bps, what, first, first + planes)
        if end.port + number >= planes:
            raise RefusedError(f"nic-{end.nic} has {planes} port{'s' if planes > 1 else ''}, counted from 0")
        return self.plug(first + end.port + number, rate_bps, what)


class SwitchJacks(Jacks):
    """The cages of a switch, broken out as the file says, or evenly as its first cable's rate allows."""

    def __init__(self, switch: NetworkSwitch, fastest_bps: float) -> None:
        device = self.device = switch.device
        own = min(device.default_breakout, max(1, int(device.cage_bps // fastest_bps))) if fastest_bps else 1
        broken_out = np.array(switch.breakout or (own,) * device.cages)
        self.breakout = np.where(np.cumsum(broken_out) <= device.max_ports, broken_out, 0)
        super().__init__(np.repeat(np.arange(device.cages), self.breakout).tolist(), device.cages)

    def take(self, end: NetworkEnd, number: int, rate_bps: float, what: str) -> int:
        """The port of the cable `number` of those that end here; raises `RefusedError`."""
        device = self.device
        if rate_bps not in device.port_speeds_bps:
            runs = ", ".join(in_gbps(speed) for speed in sorted(device.port_speeds_bps))
            raise RefusedError(f"{device.name} does not run ports at {in_gbps(rate_bps)}; it runs {runs}")
        port = self.plug(None if end.port is None else end.port + number, rate_bps, what)
        ports = int(self.breakout[self.cage_of[port]])
        if ports * rate_bps > device.cage_bps:
            raise RefusedError(
                f"a cage of {device.name} carries {in_gbps(device.cage_bps)}, not {ports} ports of {in_gbps(rate_bps)}"
            )
        return port

    def front(self) -> Front:
        """The switch as its cables leave it; spare cages run as fast as they can."""
        rates = [
            rate or _fastest(self.device, int(ports)) for rate, ports in zip(self.rate_bps, self.breakout, strict=True)
        ]
        return Front(breakout=self.breakout.astype(np.uint32), rate_bps=np.array(rates), first_up=0)


def _fastest(device: Switch, ports: int) -> float:
    fits = [speed for speed in device.port_speeds_bps if speed * ports <= device.cage_bps]
    return max(fits, default=min(device.port_speeds_bps))
