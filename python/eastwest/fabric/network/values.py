"""What a network file says: servers, switches and cables, as written and with the line that says so.

Not here: whether they can be joined so (`wire`).
"""

from __future__ import annotations

from dataclasses import dataclass

from eastwest.catalog.entries import Switch
from eastwest.fabric.plan import Tier


@dataclass(frozen=True)
class NetworkServer:
    """A server of the cluster; `device` is its catalogue name, None where the file leaves that to the cluster."""

    name: str
    device: str | None
    unit: int
    pod: int
    site: int
    line: int | None


@dataclass(frozen=True)
class NetworkSwitch:
    """A switch; `tier` and `breakout` (ports of each cage) are None where the file leaves them open, places -1."""

    name: str
    device: Switch
    tier: Tier | None
    breakout: tuple[int, ...] | None
    unit: int
    pod: int
    rail: int
    plane: int
    site: int
    line: int | None


@dataclass(frozen=True)
class NetworkEnd:
    """Where a cable ends: a switch or server by name, its NIC, and the port there, from 0; None: the next free one."""

    node: str
    nic: int | None = None
    port: int | None = None

    def __str__(self) -> str:
        nic = "" if self.nic is None else f"/nic-{self.nic}"
        return f"{self.node}{nic}" + ("" if self.port is None else f"/{self.port}")


@dataclass(frozen=True)
class NetworkCable:
    """`count` parallel cables, over ports that follow each other; rate and length None where the fabric's own hold."""

    a: NetworkEnd
    b: NetworkEnd
    count: int
    rate_bps: float | None
    length_m: float | None
    line: int | None

    def __str__(self) -> str:
        return f"cable {self.a} - {self.b}"


@dataclass(frozen=True)
class NetworkFile:
    """A network as read; `nodes_file` and `cables_file` are how messages name where nodes and cables stand."""

    nodes_file: str
    cables_file: str
    servers: tuple[NetworkServer, ...]
    switches: tuple[NetworkSwitch, ...]
    cables: tuple[NetworkCable, ...]
