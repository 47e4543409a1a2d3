"""One server as its files describe it: NCCL's environment, its NICs' classes, their addresses, kernel settings."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Setting:
    """A value, and where it was read."""

    value: str
    file: str
    line: int

    @property
    def where(self) -> str:
        """The line, as a key in its file."""
        return f"line {self.line}"


@dataclass
class NicQos:
    """What a NIC does with traffic classes; None is what no file says.

    Attributes:
        trust: `dscp` or `pcp`.
        pfc: the priorities that it pauses for and obeys pauses of.
        priority_of: priority of each DSCP that was given one; `priority_at` says where.
        traffic_class: the byte that RoCE packets get where an application sets none: DSCP x 4 and ECN bits.
        cnp_dscp: DSCP of the congestion notifications that it sends.
        ecn_off: priorities in which it neither sends nor obeys congestion notifications.
    """

    trust: Setting | None = None
    pfc: tuple[frozenset[int], Setting] | None = None
    priority_of: dict[int, int] = field(default_factory=dict)
    priority_at: dict[int, Setting] = field(default_factory=dict)
    traffic_class: Setting | None = None
    cnp_dscp: Setting | None = None
    ecn_off: dict[int, Setting] = field(default_factory=dict)

    def priority(self, dscp: int) -> int:
        """The priority of a DSCP: as mapped, else the DSCP's upper three bits, as ConnectX maps them at first."""
        return self.priority_of.get(dscp, dscp >> 3)


@dataclass(frozen=True)
class HostPort:
    """A network interface as netplan sets it; `is_static` says that none of its addresses comes from elsewhere.

    `rules` are sources and the routing tables that they lead to, `tables` those that the interface has routes in.
    """

    name: str
    file: str
    line: int
    addresses: tuple[str, ...]
    mtu: int | None
    mac: str
    gateways: tuple[str, ...] = ()
    is_static: bool = False
    rules: tuple[tuple[str, int], ...] = ()
    tables: tuple[int, ...] = ()


@dataclass(eq=False)
class Host:
    """What was read of one server.

    Attributes:
        name: of the folder that its files are in.
        file: the first of them.
        nccl: NCCL's environment.
        nics: classes of each NIC; `*` stands for all.
        sysctl: the kernel's settings.
        ports: interfaces as netplan sets them.
        has_nicctl: whether AMD's tool sets up its NICs.
        places_out_of_order: where its NICs are told to take packets in any order (NVIDIA's ROCE_ACCL register).
    """

    name: str
    file: str
    nccl: dict[str, Setting] = field(default_factory=dict)
    nics: dict[str, NicQos] = field(default_factory=dict)
    sysctl: dict[str, Setting] = field(default_factory=dict)
    ports: dict[str, HostPort] = field(default_factory=dict)
    has_nicctl: bool = False
    places_out_of_order: Setting | None = None

    def nic(self, name: str) -> NicQos:
        """A NIC's settings, begun where there are none yet; `*` is every NIC."""
        return self.nics.setdefault(name, NicQos())
