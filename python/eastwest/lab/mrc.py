"""MRC's lab: static SRv6 in the kernels of switches, no routing daemon, and servers that pick a path by mark.

Every switch loads its `srv6.batch` as it was built, and nothing changes it afterwards: what fails takes paths away, and
senders leave these out. Not here: the marks and tables of servers (`source_routes`), and trying paths (`trial`).
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from eastwest.artifacts.mrc.files import LOOPBACK
from eastwest.lab import capture, faults, source_routes
from eastwest.lab.driver import Fault, NodeState, RouteRow
from eastwest.lab.failure import LabError
from eastwest.lab.machine import TBF, VETH, Feature, Tool
from eastwest.lab.nodes import Node, Nodes
from eastwest.lab.registry import Lab
from eastwest.lab.source_routes import Lists, read_lists
from eastwest.lab.wiring import MTU, PATIENCE_S, Place, lay, run, side_by_side

SRV6 = Feature(
    "SRv6 micro-segments (seg6local End with flavors next-csid)",
    "ip link add one type veth peer name two\nip link set one up\n"
    "ip -6 route add 5f00:0:1::/48 encap seg6local action End flavors next-csid lblen 32 nflen 16 count dev one\n"
    "ip -6 route add fd00::1 encap seg6 mode encap.red segs 5f00:0:1:2:: dev one",
    "it takes Linux 6.1 or later with CONFIG_IPV6_SEG6_LWTUNNEL, and iproute2 6.1 or later",
)
SYSCTLS = {
    "net.ipv6.conf.all.forwarding": 1,
    "net.ipv6.conf.all.seg6_enabled": 1,
    "net.ipv6.conf.default.seg6_enabled": 1,
}
TRIES, PAUSE_S = 50, 0.05
"""How often, and after what pause, routes are tried again that the kernel had no memory for just then."""


class Mrc:
    """Namespaces whose kernels route by SRv6 micro-segments."""

    name = "mrc"
    parts: tuple[str, ...] = ("mrc",)
    tools: tuple[Tool, ...] = ()
    features: tuple[Feature, ...] = (VETH, TBF, SRV6)
    carries_data = False
    """Not by addresses alone, as what asks for it expects: `trial` sends along paths."""

    def start(self, lab: Lab, nodes: Nodes) -> None:
        """Lays namespaces and cables, and loads what was built into each node.

        Raises:
            LabError: the kernel would have too many routes, or refuses something.
        """
        lists = read_lists(lab.built)
        source_routes.refuse_too_many(lists)
        lay(lab, [_place(node, lists) for node in nodes.all], nodes.wires)
        side_by_side(lambda node: _load(lab, node, lists, is_new=True), nodes.all)

    def state(self, lab: Lab, nodes: Nodes) -> list[NodeState]:
        """SIDs and routes of each switch and paths of each server; what is wrong where some lack."""
        lists = read_lists(lab.built)
        return side_by_side(lambda node: _state(lab, node, lists), nodes.all)

    def fail(self, lab: Lab, nodes: Nodes, fault: Fault) -> None:
        """Takes links down. Routes of neighbours stay as they are."""
        faults.fail(lab, nodes, fault)

    def heal(self, lab: Lab, nodes: Nodes) -> None:
        """Brings links back; nodes that had some down load their tables again, as one that starts does."""
        lists = read_lists(lab.built)
        lost = [node for node in nodes.all if not all(_links(lab, node, "UP").values())]
        faults.heal(lab, nodes)
        side_by_side(lambda node: _load(lab, node, lists, is_new=False), lost)

    def routes(self, lab: Lab, nodes: Nodes) -> list[RouteRow]:
        """None: the switches of MRC choose nothing."""
        raise LabError(
            f"the {len(nodes.switches)} switches of an MRC lab choose no routes; senders do, from the lists in "
            f"{lab.built / 'mrc' / 'paths'}; a study simulates these with balancing: source"
        )

    def capture(self, lab: Lab, end: str, seconds: float, out: Path) -> None:
        """Records what an interface sends and receives."""
        capture.record(lab, end, seconds, out)


def _load(lab: Lab, node: Node, lists: Lists, *, is_new: bool) -> None:
    if node.is_switch:
        _batch(lab, node, _table(lab, node).read_text(encoding="utf-8").splitlines())
        return
    if is_new:
        _batch(lab, node, list(source_routes.rules(lists, node.name)))
    _batch(lab, node, list(source_routes.tables(lists, node.name)))


def _state(lab: Lab, node: Node, lists: Lists) -> NodeState:
    wrong = [f"{name} has no carrier" for name, has in _links(lab, node, "LOWER_UP").items() if not has]
    if not node.is_switch:
        paths = sum(len(sender.choices) for sender in lists.of_host(node.name))
        rules = json.loads(run(lab.inside(["ip", "-n", node.name, "-6", "-j", "rule"])))
        there = sum("fwmark" in rule for rule in rules)
        if there < paths:
            wrong.append(f"{paths - there} of {paths} marks have no table")
        return NodeState(node.name, {"paths": there}, tuple(wrong))
    built = set(re.findall(r"^route replace (\S+)", _table(lab, node).read_text(encoding="utf-8"), re.MULTILINE))
    found = table(lab, node.name)
    if missing := len(built - found.keys()):
        wrong.append(f"{missing} of {len(built)} routes are missing")
    sids = sum(found[each] is None for each in built & found.keys())
    return NodeState(node.name, {"sids": sids, "routes": len(built & found.keys()) - sids}, tuple(wrong))


def table(lab: Lab, node: str) -> dict[str, str | None]:
    """A node's routes to uSIDs: the interface that each leaves by, None where it is the node's own SID."""
    found = json.loads(run(lab.inside(["ip", "-n", node, "-6", "-j", "route"])))
    return {
        each["dst"]: None if each.get("encap") == "seg6local" else each["dev"]
        for each in found
        if each["dst"].startswith("5f00:")
    }


def _place(node: Node, lists: Lists) -> Place:
    macs = {port.name: port.mac for port in node.ports}
    mtus = dict.fromkeys(macs, MTU)
    if not node.is_switch:
        addresses = {"lo": [f"{sender.address}/128" for sender in lists.of_host(node.name)]}
        return Place(node.name, addresses, macs, mtus, sysctls=SYSCTLS)
    # Not every kernel has dummy interfaces; a pair of its own does as well.
    other = f"{LOOPBACK}-peer"
    loopback = [
        f"link add {LOOPBACK} type veth peer name {other}",
        f"link set {LOOPBACK} up",
        f"link set {other} up",
    ]
    return Place(node.name, {"lo": [f"{node.loopback6}/128"]}, macs, mtus, loopback, SYSCTLS)


def _table(lab: Lab, node: Node) -> Path:
    path = lab.built / "switches" / node.name / "srv6.batch"
    if not path.exists():
        raise LabError(f"{path} is not there: the lab runs what eastwest build writes for MRC")
    return path


def _batch(lab: Lab, node: Node, lines: Sequence[str]) -> None:
    """Has `ip -6 -batch` do all lines, some of them later where the kernel has no memory for them at once.

    Routes that encapsulate keep something for each CPU, which the kernel cannot wait for while it adds them; it makes
    room for more of it meanwhile.

    Raises:
        LabError: the kernel refuses one.
    """
    command = lab.inside(["ip", "-n", node.name, "-6", "-force", "-batch", "-"])
    for _ in range(TRIES):
        done = subprocess.run(
            command, input="\n".join(lines), capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        failed = [int(number) for number in re.findall(r"^Command failed -:(\d+)", done.stderr, re.MULTILINE)]
        if done.returncode == 0 and not failed:
            return
        if not failed or done.stderr.count("Cannot allocate memory") < len(failed):
            break
        lines = [lines[number - 1] for number in failed]
        time.sleep(PAUSE_S)
    raise LabError(f"ip -n {node.name} -6 -batch failed: {done.stderr.strip()[-2000:]}")


def _links(lab: Lab, node: Node, flag: str) -> Mapping[str, bool]:
    """Whether each port with a cable has a flag: UP, or LOWER_UP for a carrier too."""
    found = json.loads(run(lab.inside(["ip", "-n", node.name, "-j", "link"])))
    names = {port.name for port in node.ports}
    return {each["ifname"]: flag in each["flags"] for each in found if each["ifname"] in names}


MRC = Mrc()
