"""Links and nodes that fail and come back, where a link is a veth pair.

A link fails at the end nearer to the spines: both ends lose their carrier, as of a cable that is pulled. Silently,
its ends keep it and drop what they should send, as with a transceiver that still shines. Not here: who notices, and
when.
"""

from __future__ import annotations

from eastwest.lab.driver import Fault, down_wires
from eastwest.lab.failure import LabError
from eastwest.lab.nodes import End, Nodes, Wire
from eastwest.lab.registry import Lab
from eastwest.lab.wiring import run, shaping


def named(nodes: Nodes, names: list[str], count: int | None = None, is_silent: bool = False) -> Fault:
    """What is meant by a node, its interface ("leaf-u0-r0:Ethernet64"), or two nodes, all or `count` of whose cables.

    Raises:
        LabError: there is no such thing; says what is near.
    """
    if len(names) == 2:
        a, b = (nodes.named(name) for name in names)
        if a is b:
            raise LabError(f"{a.name} twice: name it once to make the node fail, or two nodes that a cable joins")
        wires = tuple(wire for wire in nodes.wires_of(a.name) if b.name in (wire.a.node, wire.b.node))
        if not wires:
            peers = ", ".join(sorted({port.peer.node for port in a.ports}))
            raise LabError(f"no cable joins {a.name} and {b.name}; those of {a.name} go to {peers}")
        if count is not None and not 1 <= count <= len(wires):
            raise LabError(f"--count {count}: {len(wires)} cables join {a.name} and {b.name}")
        return Fault(wires=wires[:count], is_silent=is_silent)
    if len(names) != 1:
        raise LabError("name a node, a node's interface as in leaf-u0-r0:Ethernet64, or two nodes that a cable joins")
    if count is not None:
        raise LabError("--count is of the cables between two nodes: name both")
    name, colon, interface = names[0].partition(":")
    node = nodes.named(name)
    if not colon:
        return Fault(nodes=(node.name,), is_silent=is_silent)
    end = End(node.name, interface)
    wires = tuple(wire for wire in nodes.wires_of(node.name) if end in (wire.a, wire.b))
    if not wires:
        there = ", ".join(port.name for port in node.ports)
        raise LabError(f"{node.name} has no cable at {interface!r}; it has some at {there}")
    return Fault(wires=wires, is_silent=is_silent)


def fail(lab: Lab, nodes: Nodes, fault: Fault) -> None:
    """Takes cables down at once, and kills all that runs in the nodes.

    Raises:
        LabError: the kernel refuses.
    """
    ends: dict[str, list[str]] = {}
    for wire in down_wires(nodes, fault):
        for end in _ends(nodes, wire, fault):
            ends.setdefault(end.node, []).append(end.interface)
    lines = []
    for node, interfaces in ends.items():
        tool, words = ("tc", "qdisc replace dev {} root blackhole") if fault.is_silent else ("ip", "link set {} down")
        lines += [f"{tool} -n {node} -batch - <<END", *(words.format(each) for each in interfaces), "END"]
    lines += [f"for each in $(ip netns pids {name}); do kill -9 $each; done" for name in fault.nodes]
    run(lab.inside(["sh", "-e"]), "\n".join(lines))


def heal(lab: Lab, nodes: Nodes) -> None:
    """Brings every cable up, at its rate.

    Raises:
        LabError: the kernel refuses.
    """
    batches: dict[str, list[str]] = {}
    for wire in nodes.wires:
        for end in (wire.a, wire.b):
            batches.setdefault(end.node, []).append(end.interface)
    rates = {end: wire.rate_bps for wire in nodes.wires for end in (wire.a, wire.b)}
    lines = []
    for node, interfaces in batches.items():
        lines += [f"ip -n {node} -batch - <<END", *(f"link set {each} up" for each in interfaces), "END"]
        if lab.rate_scale:
            shaped = (shaping(each, rates[End(node, each)] / lab.rate_scale) for each in interfaces)
            lines += [f"tc -n {node} -batch - <<END", *(line for pair in shaped for line in pair), "END"]
        else:
            lines += [f"tc -n {node} qdisc del dev {each} root 2>/dev/null || true" for each in interfaces]
    run(lab.inside(["sh", "-e"]), "\n".join(lines))


def _ends(nodes: Nodes, wire: Wire, fault: Fault) -> tuple[End, ...]:
    """The ends at which a cable is taken down: that of a switch that fails, or both where nobody is to notice.

    A server's end stays up, as the kernel forgets the routes of an interface that is taken down.
    """
    if fault.is_silent:
        return (wire.a, wire.b)
    is_lower = wire.a.node in fault.nodes and nodes.by_name[wire.a.node].is_switch
    return (wire.a,) if is_lower else (wire.b,)
