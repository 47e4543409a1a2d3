"""What torus-2QoS reads to find the torus in a network: its size, and switches from which each direction is seen.

Formats and rules are those of torus-2QoS.conf(5). Two seeds, one in the middle, so that it finds its way with any one
switch gone; both put the datelines at the same place. Not here: when this engine is used (`routing`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from eastwest.artifacts.infiniband.subnets import Subnet

AXES = "xyz"
_BOTH_WAYS = 4
"""A dimension of so many switches is told apart from a face of the torus only where both directions are given."""


def torus_options(subnet: Subnet, dims: Sequence[int]) -> str:
    """The text of torus-2QoS.conf for a torus whose switches end their names with their coordinates."""
    guids = {_place(switch.name, len(dims)): switch.guid for switch in subnet.switches}
    lines = [f"torus {' '.join(str(size) for size in (*dims, 1, 1)[:3])}", *_seed(guids, dims, [0] * len(dims))]
    lines += ["", "next_seed", *_seed(guids, dims, [size // 2 for size in dims])]
    lines += ["", f"portgroup_max_ports {_most_ports(subnet)}", ""]
    return "\n".join(lines)


def _seed(guids: Mapping[tuple[int, ...], int], dims: Sequence[int], at: Sequence[int]) -> Iterator[str]:
    """The links of one switch that show the directions, and where the datelines are from there."""
    here = guids[tuple(at)]
    for axis, (name, size) in enumerate(zip(AXES, dims, strict=False)):
        for sign, step in (("p", 1), ("m", -1))[: 2 if size == _BOTH_WAYS else 1]:
            beside = list(at)
            beside[axis] = (at[axis] + step) % size
            yield f"{name}{sign}_link 0x{here:016x} 0x{guids[tuple(beside)]:016x}"
    for name, position in zip(AXES, at, strict=False):
        if position:
            yield f"{name}_dateline -{position}"


def _place(name: str, dimensions: int) -> tuple[int, ...]:
    """The coordinates of a switch, which end its name."""
    return tuple(int(number) for number in re.findall(r"\d+", name)[-dimensions:])


def _most_ports(subnet: Subnet) -> int:
    """The most hosts of a switch, and the switch itself, which count as one of them; 16 is the default."""
    hosts: Counter[str] = Counter()
    switches = {switch.name for switch in subnet.switches}
    for link in subnet.links:
        for here, there in ((link.a, link.b), (link.b, link.a)):
            if here in switches and there not in switches:
                hosts[here] += 1
    return max(16, max(hosts.values(), default=0) + 1)
