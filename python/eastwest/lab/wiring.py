"""Nodes and cables as network namespaces and veth pairs, as Ethernet and MRC both have them.

The commands are those of iproute2, in batches: all names and cables of a lab in one, then each node's own, side by
side. Rates are the fabric's divided by a scale, held by a token bucket at both ends of a cable. In each bucket wait
packets of three priorities, by their TOS as the kernel maps it: what RoCE marks (DSCP 26) goes after what routing
daemons send.

Not here: what runs in the nodes.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from eastwest.artifacts.headroom import PORT_MTU
from eastwest.lab.failure import LabError
from eastwest.lab.nodes import End, Wire
from eastwest.lab.registry import Lab

Each = TypeVar("Each")
Result = TypeVar("Result")

AT_ONCE = 8
"""Commands that wait for each other's answers side by side."""

PATIENCE_S = 60
"""No command in a node takes longer unless it hangs."""

LEAST_BURST = 16_384
"""Bytes of a token bucket: more than one packet of the largest MTU."""

BUCKET_S = 0.002
"""Or what passes in this time: the kernel refills a bucket when a timer says so."""

FIRST_INDEX = 16
"""Interface number of the first end of the first cable. Those of a veth pair must differ: the kernel tells a loss of
carrier at once where they do, and up to a second later where they are equal (its net/core/link_watch.c)."""

HASH_SEED = "/proc/sys/net/ipv4/fib_multipath_hash_seed"
MTU = PORT_MTU

QUEUE = 100
"""Packets of a priority that may wait at a port."""

SYSCTLS = {
    "net.ipv6.conf.all.disable_ipv6": 0,
    "net.ipv6.conf.default.accept_dad": 0,  # addresses are the plan's: waiting a second for a duplicate shows nothing
    "net.ipv6.conf.all.accept_dad": 0,
    "net.ipv6.conf.all.keep_addr_on_down": 1,
}


@dataclass(frozen=True)
class Place:
    """What a node has in its namespace: addresses with their prefix by interface ("lo" has loopbacks), and more.

    `macs` and `mtus` are by interface too; `commands` are lines of `ip -batch` once all that is up (routes, rules);
    `sysctls` go by name. `hash_seed` is what its ECMP hashes with, 0 for the kernel's own.
    """

    name: str
    addresses: Mapping[str, Sequence[str]]
    macs: Mapping[str, str] = field(default_factory=dict)
    mtus: Mapping[str, int] = field(default_factory=dict)
    commands: Sequence[str] = ()
    sysctls: Mapping[str, int | str] = field(default_factory=dict)
    hash_seed: int = 0


def lay(lab: Lab, places: Sequence[Place], wires: Sequence[Wire]) -> None:
    """Makes all namespaces and cables, and sets every node up.

    Raises:
        LabError: the kernel refuses one; says which.
    """
    for place in places:
        for part in ("run", "tmp"):
            (lab.node(place.name) / part).mkdir(mode=0o755, parents=True, exist_ok=True)
    at = {place.name: place for place in places}
    named = [f"netns add {place.name}" for place in places]
    run(lab.inside(["ip", "-batch", "-"]), "\n".join((*named, *(_pair(wire, at) for wire in wires))))
    mine: dict[str, list[tuple[str, float]]] = {place.name: [] for place in places}
    for wire in wires:
        for end in (wire.a, wire.b):
            mine[end.node].append((end.interface, wire.rate_bps))
    side_by_side(
        lambda place: run(lab.on(place.name, ["sh", "-e"]), _setup(place, mine[place.name], lab.rate_scale)), places
    )


def _pair(wire: Wire, at: Mapping[str, Place]) -> str:
    """The line of `ip -batch` that makes a cable."""

    def one(end: End, index: int) -> str:
        place = at[end.node]
        mac = place.macs.get(end.interface)
        address = f" address {mac}" if mac else ""
        mtu = place.mtus.get(end.interface)
        limits = f"{f' mtu {mtu}' if mtu else ''} txqueuelen {QUEUE} gso_max_segs 1"
        return f"{end.interface} index {index} netns {end.node}{address}{limits}"

    index = FIRST_INDEX + 2 * wire.number
    return f"link add name {one(wire.a, index)} type veth peer name {one(wire.b, index + 1)}"


def _setup(place: Place, interfaces: Sequence[tuple[str, float]], scale: float) -> str:
    """A shell script that sets one node up."""
    own = ("ipv6/conf/*/accept_dad", "ipv4/conf/*/rp_filter")  # which each interface has from its beginning
    lines = [f"for each in /proc/sys/net/{name}; do echo 0 >$each; done" for name in own]
    sysctls = {**SYSCTLS, **place.sysctls}
    lines += [f"echo {value} >/proc/sys/{name.replace('.', '/')}" for name, value in sysctls.items()]
    if place.hash_seed:  # since Linux 6.11; before, all namespaces hash alike
        lines.append(f"echo {place.hash_seed} 2>/dev/null >{HASH_SEED} || true")
    batch = ["link set lo up", *(f"link set {name} up" for name, _ in interfaces)]
    batch += [f"address add {each} dev {name}" for name, those in place.addresses.items() for each in those]
    lines += ["ip -batch - <<END", *batch, *place.commands, "END"]
    if scale:
        lines += [
            "tc -batch - <<END",
            *(line for name, rate in interfaces for line in shaping(name, rate / scale)),
            "END",
        ]
    return "\n".join(lines)


def shaping(interface: str, rate_bps: float) -> tuple[str, str]:
    """Lines of `tc -batch` that hold an interface to a rate."""
    burst = max(LEAST_BURST, round(rate_bps * BUCKET_S / 8))
    return (
        f"qdisc replace dev {interface} root handle 1: tbf rate {round(rate_bps)}bit burst {burst} latency 50ms",
        f"qdisc replace dev {interface} parent 1:1 handle 10: pfifo_fast",
    )


def processes(lab: Lab, node: str) -> set[str]:
    """Names of the programs that run in a node."""
    script = f"for each in $(ip netns pids {node}); do cat /proc/$each/comm 2>/dev/null || true; done"
    return set(run(lab.inside(["sh", "-e", "-c", script])).split())


def run(command: Sequence[str], given: str = "") -> str:
    """Runs a command inside the lab and gives what it wrote.

    Raises:
        LabError: it failed or hangs; says what it wrote.
    """
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        raise LabError(f"{_named(command)} hangs: no end after {PATIENCE_S} s") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-2000:]
        raise LabError(f"{_named(command)} failed with exit code {done.returncode}: {said}")
    return done.stdout


def side_by_side(job: Callable[[Each], Result], things: Iterable[Each]) -> list[Result]:
    """Does a job for every node (or what else there is one of each), some at a time; gives the results in order."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(job, things))


def _named(command: Sequence[str]) -> str:
    """A command as a person would type it in the lab."""
    words = list(command)
    if "--" in words:
        words = words[words.index("--") + 1 :]
    if words and words[0].endswith("/enter"):
        return f"on {words[1]}: {' '.join(words[2:])}"
    return " ".join(words)
