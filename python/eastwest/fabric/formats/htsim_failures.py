"""Failed links in htsim's connection matrices: `failure switch_type TOR|AGG|CORE switch_id n link_id n`.

A link is counted among those of its switch that lead up; of a switch of the top tier, among those that lead down. Not
here: the flows of these files (`eastwest.workload.formats`), and what a failed link does.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from eastwest.fabric.tables import Fabric
from eastwest.textfile import Line, lines

_TIERS = {"tor": "leaf", "agg": "spine", "core": "core"}
_ENTRIES = ("switch_type", "switch_id", "link_id")


def read_htsim_failures(path: Path, fabric: Fabric) -> list[int]:
    """Links (both directions of cables) of a fabric that a connection matrix says have failed.

    Raises:
        InputError: a failure is incomplete, or names a switch or link that there is not; names the line.
    """
    failed = [link for line in lines(path) if line.words[0].lower() == "failure" for link in _links(line, fabric)]
    return sorted(set(failed))


def _links(line: Line, fabric: Fabric) -> list[int]:
    place = {word.lower(): index for index, word in enumerate(line.words)}
    if set(place) & set(_ENTRIES) != set(_ENTRIES):
        raise line.refuse("a failure is written as: failure switch_type AGG switch_id 0 link_id 0")
    kind = line.word(place["switch_type"] + 1, "the switch's type").lower()
    if kind not in _TIERS:
        raise line.refuse(f"{kind!r} is no type of switch; there are TOR, AGG and CORE")
    name = f"{_TIERS[kind]}-{line.count(place['switch_id'] + 1, 'switch_id')}"
    names = fabric.nodes["name"].to_list()
    if name not in names:
        raise line.refuse(f"the network has no {name}")
    node = names.index(name)
    src, dst = (fabric.links[end].to_numpy() for end in ("src", "dst"))
    away = np.flatnonzero(src == node)  # nodes are numbered tier by tier, from the hosts up
    up = away[dst[away] > node]
    ports = up if len(up) else away
    index = line.count(place["link_id"] + 1, "link_id")
    if index >= len(ports):
        raise line.refuse(f"{name} has no link {index}: those that count are 0 to {len(ports) - 1}")
    cable = fabric.links["cable"].to_numpy()
    return [int(link) for link in np.flatnonzero(cable == cable[ports[index]])]
