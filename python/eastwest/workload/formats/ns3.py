"""Flow files of HPCC's ns-3 simulator: a count, then `source destination priority-group port bytes start` a line.

Starts are seconds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from eastwest.errors import InputError
from eastwest.textfile import Line, lines
from eastwest.workload.flows import LATEST_START_S, Flows, flows

PRIORITY_GROUPS = 8
"""As many as priority flow control tells apart (IEEE 802.1Qbb)."""


def read_ns3_flows(path: Path) -> Flows:
    """The flows of an HPCC flow file, by the file's own node numbers.

    Raises:
        InputError: the file is no such list, or declares another number of flows than it has; names the line.
    """
    rows = list(lines(path))
    if not rows:
        raise InputError(f"{path}: the file is empty")
    declared = rows[0].count(0, "the number of flows")
    if len(rows) - 1 != declared:
        raise rows[0].refuse(f"{declared} flows are declared and {len(rows) - 1} are given")
    read = [_flow(row) for row in rows[1:]]
    source, destination, size, start, group = zip(*read, strict=True) if read else ((), (), (), (), ())
    return flows(
        np.array(source, dtype=np.uint32),
        np.array(destination, dtype=np.uint32),
        np.array(size, dtype=np.uint64),
        np.array(start, dtype=np.float64),
        np.array(group, dtype=np.uint64),
    )


def _flow(row: Line) -> tuple[int, int, int, float, int]:
    source, destination = (
        row.count(place, what, 0, 2**32 - 1) for place, what in enumerate(("the source", "the destination"))
    )
    group = row.count(2, "the priority group", 0, PRIORITY_GROUPS - 1)
    if source == destination:
        raise row.refuse(f"host {source} sends to itself")
    row.count(3, "the port", 0, 2**16 - 1)
    row.ends_after(6)
    return source, destination, row.count(4, "the bytes", 0, 10**15), row.decimal(5, "the start", LATEST_START_S), group
