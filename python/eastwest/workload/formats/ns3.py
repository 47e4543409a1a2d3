"""Flow files of HPCC's ns-3 simulator: a count, then `source destination priority-group port bytes start` a line.

Starts are seconds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from eastwest.errors import InputError
from eastwest.textfile import Line, lines
from eastwest.workload.flows import Flows, flows


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
    source, destination, size, start = zip(*read, strict=True) if read else ((), (), (), ())
    return flows(
        np.array(source, dtype=np.uint32),
        np.array(destination, dtype=np.uint32),
        np.array(size, dtype=np.uint64),
        np.array(start, dtype=np.float64),
    )


def _flow(row: Line) -> tuple[int, int, int, float]:
    source, destination = row.count(0, "the source"), row.count(1, "the destination")
    if source == destination:
        raise row.refuse(f"host {source} sends to itself")
    return source, destination, row.count(4, "the bytes", 0, 10**15), row.decimal(5, "the start")
