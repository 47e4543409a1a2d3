"""All that the rules look at: switches, hosts, the links between them, and what the hosts mark packets with."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from eastwest.artifacts.marking import CNP_DSCP
from eastwest.catalog import Catalog
from eastwest.checks.chain import Device
from eastwest.checks.links import End, Link, pair, subnets
from eastwest.checks.read import Evidence, Host, Setting, spelling
from eastwest.checks.sessions import Session, sessions


@dataclass(frozen=True)
class Mark:
    """A DSCP that a host gives RoCE packets, and the setting that says so."""

    host: str
    dscp: int
    at: Setting
    setting: str


@dataclass
class Scene:
    """What was read, put together."""

    evidence: Evidence
    devices: list[Device] = field(init=False)

    def __post_init__(self) -> None:
        self.devices = [Device(switch) for switch in self.evidence.switches]

    def is_unpaused(self, owner: str, port: str) -> bool:
        """Whether a plan says that RoCE may be lost at an interface ("*": at all of a host's): it needs no pause."""
        plan = self.evidence.plan
        if plan is None:
            return False
        ends = {end for cable in plan.cables for end in cable.ends if end[0] == owner and port in ("*", end[1])}
        return bool(ends) and ends <= plan.unpaused

    @property
    def hosts(self) -> list[Host]:
        """The servers."""
        return self.evidence.hosts

    @cached_property
    def links(self) -> list[Link]:
        """The cables whose two ends are known."""
        return pair(self.evidence, self.devices)

    @cached_property
    def sessions(self) -> list[Session]:
        """Each side of each BGP session whose two ends are known."""
        return list(sessions(self.devices, self.links))

    @cached_property
    def by_address(self) -> dict[tuple[str, str], End]:
        """What shares a subnet of two with each interface, whatever it is cabled to."""
        return {(end.owner, end.port): far for link in subnets(self.evidence, self.devices) for end, far in link.ends}

    @cached_property
    def marks(self) -> list[Mark]:
        """What hosts mark RoCE with: NCCL's traffic class, else the one that their NICs are set to."""
        return [mark for host in self.hosts for mark in _marks(host, self.is_misread(host))]

    @cached_property
    def lossless_somewhere(self) -> frozenset[int]:
        """DSCPs that any switch means to be lossless."""
        return frozenset(dscp for device in self.devices for dscp in device.lossless_dscps)

    def is_misread(self, host: Host) -> bool:
        """Whether NCCL_IB_TC alone is wrong: no byte, the DSCP instead of DSCP x 4, or lossy where NICs mark right."""
        value = spelling.number(host.nccl["NCCL_IB_TC"].value) if "NCCL_IB_TC" in host.nccl else None
        if value is None or value >> 2 in self.lossless_somewhere:
            return False
        return not 0 <= value < 256 or value in self.lossless_somewhere or self.agreed_class(host) is not None

    def agreed_class(self, host: Host) -> int | None:
        """The traffic class that all NICs of a host are set to, where switches mean its DSCP to be lossless."""
        said = {spelling.number(nic.traffic_class.value) for nic in host.nics.values() if nic.traffic_class}
        byte = said.pop() if len(said) == 1 else None
        return byte if byte is not None and byte >> 2 in self.lossless_somewhere else None

    @property
    def marked(self) -> list[int]:
        """The DSCPs that hosts mark RoCE with."""
        return sorted({mark.dscp for mark in self.marks})

    @property
    def cnp_marked(self) -> list[int]:
        """The DSCPs that hosts mark congestion notifications with; empty where no host is given.

        48 where nothing says, which is what NICs' firmware marks them with.
        """
        said = {
            spelling.number(nic.cnp_dscp.value) for host in self.hosts for nic in host.nics.values() if nic.cnp_dscp
        }
        numbers = sorted(each for each in said if each is not None and each < 64)
        return numbers or ([CNP_DSCP] if self.hosts else [])

    def cells(self, device: Device) -> tuple[int, int] | None:
        """Bytes of a cell of a switch's packet memory, and of RoCE's largest payload, where a plan names the switch."""
        plan, parts = self.evidence.plan, Catalog.bundled()
        model = plan.models.get(device.name, "") if plan else ""
        cell = parts.switch(model).cell_bytes if model in parts.names("switches") else None
        return None if cell is None or plan is None or plan.mtu_bytes is None else (cell, plan.mtu_bytes)

    def data_dscps(self, device: Device) -> list[int]:
        """The DSCPs to follow through a switch: what hosts mark, or, with no host, what it means to be lossless."""
        return self.marked or list(device.lossless_dscps)

    def followed(self, device: Device) -> list[int]:
        """Like `data_dscps`, with one DSCP for each class where no host says which."""
        if self.marked:
            return self.marked
        seen: dict[int | None, int] = {}
        for dscp in device.lossless_dscps:
            for port in device.representatives:
                seen.setdefault(device.path(port, dscp).tc, dscp)
        return sorted(set(seen.values()))


def _marks(host: Host, is_misread: bool) -> list[Mark]:
    """The DSCPs of one host; a traffic class that is a DSCP by mistake is left out, a rule of its own tells of it."""
    nccl = host.nccl.get("NCCL_IB_TC")
    value = spelling.number(nccl.value) if nccl else None
    if nccl and value is not None and 0 <= value < 256 and not is_misread:
        return [Mark(host.name, value >> 2, nccl, f"NCCL_IB_TC={value}")]
    out = {}
    for nic in host.nics.values():
        byte = spelling.number(nic.traffic_class.value) if nic.traffic_class else None
        if nic.traffic_class and byte is not None and 0 <= byte < 256:
            out[byte] = Mark(host.name, byte >> 2, nic.traffic_class, f"traffic class {byte}")
    return list(out.values())
