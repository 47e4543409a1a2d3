"""A server's NICs: what they trust, what they pause, and kernel settings that break several rails in one server."""

from __future__ import annotations

from collections.abc import Iterator

from eastwest.checks.finding import Fault, Severity
from eastwest.checks.read import Host, NicQos, spelling
from eastwest.checks.rules.rule import rule
from eastwest.checks.scene import Scene


@rule("nic-trusts-vlan", Severity.ERROR)
def nic_trusts_vlan(scene: Scene) -> Iterator[Fault]:
    """A NIC takes a packet's priority from its VLAN tag, of which routed packets have none."""
    for _, name, nic in _nics(scene):
        if nic.trust and nic.trust.value in ("pcp", "l2"):
            yield Fault(
                nic.trust.file,
                f"{nic.trust.where} {name}",
                "trusts PCP: RoCE is received and sent in priority 0, whatever its DSCP",
                "mlnx_qos -i INTERFACE --trust dscp",
            )


@rule("nic-trust-unset", Severity.ERROR)
def nic_trust_unset(scene: Scene) -> Iterator[Fault]:
    """A NIC's script sets PFC and not what it trusts, as other hosts' do: at first a NIC trusts the VLAN tag."""
    told = {name for _, name, nic in _nics(scene) if nic.trust and nic.trust.value == "dscp"}
    for _, name, nic in _nics(scene):
        if nic.trust is None and nic.pfc is not None and name in told:
            yield Fault(
                nic.pfc[1].file,
                f"{nic.pfc[1].where} {name}",
                "sets PFC, and nothing here sets trust to DSCP as on other hosts: routed RoCE is in priority 0",
                "mlnx_qos -i INTERFACE --trust dscp",
            )


@rule("nic-pfc-off", Severity.ERROR)
def nic_pfc_off(scene: Scene) -> Iterator[Fault]:
    """A NIC has PFC off for the priority into which it puts the DSCP that it marks RoCE with."""
    for host, name, nic in _nics(scene):
        for dscp in _marked(scene, host):
            priority = nic.priority(dscp)
            used = _fabrics(scene, dscp)
            if used and priority not in used:
                continue  # not PFC but the priority is wrong: nic-priority-not-fabrics tells of it
            if nic.pfc is not None and priority not in nic.pfc[0] and not scene.is_unpaused(host.name, name):
                on = ", ".join(map(str, sorted(nic.pfc[0]))) or "none"
                yield Fault(
                    nic.pfc[1].file,
                    f"{nic.pfc[1].where} {name}",
                    f"PFC is on for priorities {on}; DSCP {dscp} is priority {priority} on this NIC: it neither pauses "
                    "nor obeys a pause for RoCE",
                    f"mlnx_qos -i INTERFACE --pfc {','.join('1' if each == priority else '0' for each in range(8))}",
                )


@rule("nic-priority-not-fabrics", Severity.ERROR)
def nic_priority_not_fabrics(scene: Scene) -> Iterator[Fault]:
    """A NIC puts RoCE into another priority than the switches pause, so neither obeys the other."""
    for host, name, nic in _nics(scene):
        for dscp in _marked(scene, host):
            used = _fabrics(scene, dscp)
            priority = nic.priority(dscp)
            at = nic.priority_at.get(dscp) or (nic.pfc[1] if nic.pfc else None) or nic.trust
            if at is not None and used and priority not in used and not scene.is_unpaused(host.name, name):
                fabric = min(used)
                yield Fault(
                    at.file,
                    f"{at.where} {name}",
                    f"DSCP {dscp} is priority {priority} on this NIC and priority {fabric} in the fabric",
                    f"mlnx_qos -i INTERFACE --dscp2prio set,{dscp},{fabric}",
                )


@rule("nic-ecn-off", Severity.ERROR)
def nic_ecn_off(scene: Scene) -> Iterator[Fault]:
    """Congestion notifications are off on a NIC for the priority of RoCE."""
    for host, name, nic in _nics(scene):
        for dscp in _marked(scene, host):
            at = nic.ecn_off.get(nic.priority(dscp))
            if at is not None:
                yield Fault(
                    at.file,
                    f"{at.where} {name}",
                    f"roce_np or roce_rp is off for priority {nic.priority(dscp)}: marks have no effect",
                    "echo 1 into the same file",
                )


@rule("nic-marks-other-class", Severity.WARNING)
def nic_marks_other_class(scene: Scene) -> Iterator[Fault]:
    """A NIC's traffic class and NCCL_IB_TC mark different DSCPs, so RoCE of other programs takes another class."""
    for host, name, nic in _nics(scene):
        nccl, own = host.nccl.get("NCCL_IB_TC"), nic.traffic_class
        wanted, found = (spelling.number(each.value) if each else None for each in (nccl, own))
        if own is None or wanted is None or found is None or scene.is_misread(host):
            continue
        if wanted >> 2 != found >> 2:
            yield Fault(
                own.file,
                f"{own.where} {name}",
                f"marks DSCP {found >> 2}; NCCL_IB_TC={wanted} marks DSCP {(wanted or 0) >> 2}",
                f"the same traffic class, {wanted}",
            )


@rule("cnp-dscp-unknown-to-fabric", Severity.WARNING)
def cnp_dscp_unknown_to_fabric(scene: Scene) -> Iterator[Fault]:
    """A NIC marks congestion notifications with a DSCP that every switch puts into a class with all other traffic."""
    for _, name, nic in _nics(scene):
        dscp = spelling.number(nic.cnp_dscp.value) if nic.cnp_dscp else None
        if nic.cnp_dscp is None or dscp is None:
            continue
        known = [device for device in scene.devices if device.has_dscp_map]
        if known and all(device.is_unmarked(dscp) for device in known):
            yield Fault(
                nic.cnp_dscp.file,
                f"{nic.cnp_dscp.where} {name}",
                f"CNPs are marked DSCP {dscp}, which every switch puts into one class with unmarked traffic",
                "the DSCP of the class kept for CNPs (usually 48)",
            )


@rule("rp-filter-strict", Severity.WARNING)
def rp_filter_strict(scene: Scene) -> Iterator[Fault]:
    """Strict reverse-path filtering on a server with several rails drops what comes in by another rail."""
    for host in scene.hosts:
        rails = [port for port in host.ports.values() if port.addresses]
        strict = {f"net.ipv4.conf.{name}.rp_filter" for name in ("all", "default", *(port.name for port in rails))}
        for key, at in host.sysctl.items():
            if key in strict and at.value == "1" and len(rails) > 1:
                yield Fault(
                    at.file,
                    f"{at.where} {key}",
                    f"1 (strict) on a server with {len(rails)} interfaces: replies that the main table would send by "
                    "another of them are dropped",
                    "2 (loose), or 0",
                )


def _fabrics(scene: Scene, dscp: int) -> set[int]:
    """The priorities by which switches pause a DSCP, where they count and queue it alike; empty where none says."""
    paths = [device.path(port, dscp) for device in scene.devices for port in device.representatives]
    return {path.tc for path in paths if path.tc is not None and path.lossless and path.tc == path.queue == path.group}


def _nics(scene: Scene) -> Iterator[tuple[Host, str, NicQos]]:
    for host in scene.hosts:
        for name, nic in host.nics.items():
            yield host, name, nic


def _marked(scene: Scene, host: Host) -> list[int]:
    """The DSCPs that this host marks RoCE with; those of all where its own files do not say."""
    own = sorted({mark.dscp for mark in scene.marks if mark.host == host.name})
    return own or scene.marked
