"""NCCL's environment: the traffic class, the GID, and hosts that differ from each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from eastwest.checks.finding import Fault, Severity
from eastwest.checks.read import Host, Setting, spelling
from eastwest.checks.rules.rule import rule
from eastwest.checks.scene import Scene

_SAME_ON_ALL = (
    "NCCL_IB_TC", "NCCL_IB_SL", "NCCL_IB_GID_INDEX", "NCCL_IB_DISABLE", "NCCL_CROSS_NIC", "NCCL_IB_TIMEOUT",
    "NCCL_IB_ADAPTIVE_ROUTING", "NCCL_IB_ROCE_VERSION_NUM", "NCCL_ALGO", "NCCL_PROTO",
)  # fmt: skip
"""Variables that must agree on both ends of a queue pair, or that make a job's ranks disagree."""
_OF_EACH = {"NCCL_IB_GID_INDEX", "NCCL_IB_TIMEOUT", "NCCL_IB_ADAPTIVE_ROUTING"}
"""Those of them that differ with reason where servers or NICs do."""


@rule("nccl-traffic-class", Severity.ERROR)
def nccl_traffic_class(scene: Scene) -> Iterator[Fault]:
    """NCCL_IB_TC is no traffic class, a DSCP not multiplied by 4, or lossy where NICs and switches agree on another."""
    alike: dict[tuple[str, str], list[Setting]] = {}
    for host, at in _set(scene, "NCCL_IB_TC"):
        value, agreed = spelling.number(at.value), scene.agreed_class(host)
        fix = f"NCCL_IB_TC={agreed}"
        if value is None or not 0 <= value < 256:
            what = f"{at.value!r} is no traffic class (0 to 255)"
            fix = fix if agreed is not None else "DSCP x 4, e.g. 104 for DSCP 26"
        elif scene.is_misread(host) and value in scene.lossless_somewhere:
            what = (
                f"{value} marks DSCP {value >> 2}, which is lossy; DSCP {value} would be lossless: a traffic class is "
                "the whole byte, DSCP x 4"
            )
            fix = fix if agreed is not None and agreed >> 2 == value else f"NCCL_IB_TC={4 * value}"
        elif scene.is_misread(host) and agreed is not None:
            what = (
                f"{value} marks DSCP {value >> 2}, which is lossy; the NICs are set to {agreed}, DSCP {agreed >> 2}, "
                "which switches keep lossless"
            )
        elif value & 3 == 3:
            what = f"{value} sets both ECN bits: packets say from the start that they met congestion"
            fix = f"NCCL_IB_TC={value & ~3 | 2}"
        else:
            continue
        alike.setdefault((what, fix), []).append(at)
    for (what, fix), places in alike.items():
        more = len({at.file for at in places}) - 1
        yield _fault(places[0], f"NCCL_IB_TC{f' and in {more} more files' if more else ''}", what, fix)


@rule("nccl-unmarked", Severity.ERROR)
def nccl_unmarked(scene: Scene) -> Iterator[Fault]:
    """Nothing sets RoCE's traffic class, so it is marked DSCP 0, and switches keep only other DSCPs lossless."""
    is_infiniband = scene.evidence.plan is not None and scene.evidence.plan.technology == "infiniband"
    for host in scene.hosts if not is_infiniband else ():
        aware = any(name.startswith("NCCL_IB_") for name in host.nccl)
        marked = "NCCL_IB_TC" in host.nccl or any(nic.traffic_class for nic in host.nics.values())
        if aware and not marked and scene.lossless_somewhere and 0 not in scene.lossless_somewhere:
            at = next(iter(host.nccl.values()))
            yield Fault(
                at.file,
                "NCCL_IB_TC",
                "not set, nor is a NIC's traffic class: RoCE is marked DSCP 0",
                f"NCCL_IB_TC={4 * min(scene.lossless_somewhere)}",
            )


@rule("nccl-gid-index", Severity.ERROR)
def nccl_gid_index(scene: Scene) -> Iterator[Fault]:
    """NCCL_IB_GID_INDEX names a GID of RoCE v1, of a link-local address, or one that the NIC does not have."""
    for host, at in _set(scene, "NCCL_IB_GID_INDEX"):
        value = spelling.number(at.value)
        if value is None or value == -1 or _is_clouds(scene, host):
            continue
        if value < -1 or value > 255:
            what = f"{value} is no index of a GID table"
        elif _lacks_v1(scene, host):
            if value > 0:
                continue
            what = "GID 0 is that of the link-local address, which no router forwards"
        elif value % 2 == 0:
            what = (
                f"GID {value} is of RoCE v1 (the kernel puts v1 at even and v2 at odd places): it has no IP header, "
                "so neither routes nor DSCP apply to it"
            )
        elif value == 1:
            what = "GID 1 is RoCE v2 of the link-local address, which no router forwards"
        elif (entries := _gids(host)) is not None and value >= entries:
            what = f"a NIC with these addresses (netplan) has GIDs 0 to {entries - 1}, so there is no GID {value}"
        else:
            continue
        yield _fault(
            at, "NCCL_IB_GID_INDEX", what, "3, RoCE v2 of the first IPv4 address (see show_gids), or leave it out"
        )


@rule("nccl-no-rdma", Severity.ERROR)
def nccl_no_rdma(scene: Scene) -> Iterator[Fault]:
    """NCCL is told to use sockets instead of RDMA."""
    for name, wrong in (("NCCL_IB_DISABLE", "1"), ("NCCL_NET", "socket")):
        for _, at in _set(scene, name):
            if at.value.strip().lower() == wrong:
                yield _fault(at, name, f"{at.value}: all traffic between servers goes by TCP", f"leave {name} out")


@rule("nccl-roce-version", Severity.ERROR)
def nccl_roce_version(scene: Scene) -> Iterator[Fault]:
    """NCCL_IB_ROCE_VERSION_NUM asks for RoCE v1."""
    for _, at in _set(scene, "NCCL_IB_ROCE_VERSION_NUM"):
        if at.value.strip() == "1":
            yield _fault(at, "NCCL_IB_ROCE_VERSION_NUM", "RoCE v1 has no IP header: no routes, no DSCP", "2")


@rule("nccl-bootstrap-on-rails", Severity.WARNING)
def nccl_bootstrap_on_rails(scene: Scene) -> Iterator[Fault]:
    """NCCL_SOCKET_IFNAME names only interfaces of rails, which out-of-band traffic then shares with RoCE."""
    for host, at in _set(scene, "NCCL_SOCKET_IFNAME"):
        names = [name.lstrip("=") for name in at.value.split(",")]
        if names and not at.value.startswith("^") and all(name.startswith("rail") for name in names):
            yield _fault(
                at,
                "NCCL_SOCKET_IFNAME",
                f"{at.value}: bootstrap traffic of {host.name} runs over the rails",
                "the interface of the front-end network",
            )


@rule("hosts-differ", Severity.ERROR)
def hosts_differ(scene: Scene) -> Iterator[Fault]:
    """A host sets a variable differently from most others, where all must agree (a warning where NICs may differ)."""
    for name in _SAME_ON_ALL:
        values = {
            host.name: host.nccl[name].value if name in host.nccl else None
            for host in scene.hosts
            if host.nccl and not (name == "NCCL_IB_TC" and scene.is_misread(host))  # nccl-traffic-class tells of it
        }
        if len(values) < 2 or len(set(values.values())) < 2:
            continue
        usual, count = Counter(values.values()).most_common(1)[0]
        for host in scene.hosts:
            if host.name not in values or values[host.name] == usual:
                continue
            at = host.nccl.get(name) or next(iter(host.nccl.values()))
            found = f"is {at.value}" if name in host.nccl else "is not set"
            yield Fault(
                at.file,
                f"{at.where} {name}" if name in host.nccl else name,
                f"{name} {found} on {host.name}, and {'not set' if usual is None else usual} on {count} other hosts",
                f"the same on every host{'' if usual is None else f': {name}={usual}'}",
                Severity.WARNING if name in _OF_EACH else None,
            )


def _lacks_v1(scene: Scene, host: Host) -> bool:
    """Whether a host's NICs know no RoCE v1, so that each address has one GID: AMD's, by AMD's guide to Pollara."""
    return host.has_nicctl or any(model.startswith("pollara-") for model in _models(scene, host))


def _gids(host: Host) -> int | None:
    """Most GIDs of a NIC of a host: v1 and v2 of its link-local and each other address; None where more may come."""
    ports = [port for port in host.ports.values() if port.addresses]
    if not ports or not all(port.is_static for port in ports):
        return None
    return max(2 * (1 + len(port.addresses)) for port in ports)


def _is_clouds(scene: Scene, host: Host) -> bool:
    """Whether a cloud sets the NICs up, and their GIDs."""
    return any(model.startswith(("efa-", "gvnic-")) for model in _models(scene, host))


def _models(scene: Scene, host: Host) -> set[str]:
    """Models of a host's NICs, where a plan says."""
    plan = scene.evidence.plan
    return {model for (owner, _), model in plan.devices.items() if owner == host.name} if plan else set()


def _set(scene: Scene, name: str) -> Iterator[tuple[Host, Setting]]:
    """Each host that sets a variable."""
    for host in scene.hosts:
        if name in host.nccl:
            yield host, host.nccl[name]


def _fault(at: Setting, name: str, what: str, fix: str) -> Fault:
    return Fault(at.file, f"{at.where} {name}", what, fix)
