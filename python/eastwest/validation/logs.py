"""Rows of a table from a log of nccl-tests or rccl-tests, as `log` in its header names it."""

from __future__ import annotations

from pathlib import Path

from eastwest import observe
from eastwest.errors import InputError

COLLECTIVES = {
    "all_reduce_perf": "all-reduce",
    "all_gather_perf": "all-gather",
    "reduce_scatter_perf": "reduce-scatter",
    "alltoall_perf": "all-to-all",
    "sendrecv_perf": "send-recv",
    "broadcast_perf": "broadcast",
    "reduce_perf": "reduce",
}
"""Programs of which there are predictions, and what each measures."""
COLUMNS = ("collective", "size", "time_us")


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    """Cells of each size of a log's tables by column: times in place where both were run, as out of place has outliers.

    `name` is the log's, in `folder`. Sizes of 0 are left out, and a collective that the log does not name.

    Raises:
        InputError: the file lies elsewhere, is no such log, or holds a test of which there are no predictions.
    """
    path = folder / name
    try:
        is_inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError):
        raise InputError(f"{name!r} is no usable file name") from None
    if not is_inside:
        raise InputError(f"{name!r} is outside the table's folder")
    runs = observe.read(path)
    for run in runs:
        if run.test is not None and run.test not in COLLECTIVES:
            raise InputError(f"{path}:{run.line}: {run.test} is not predicted (are: {', '.join(COLLECTIVES)})")
    return [
        {
            **({} if run.test is None else {"collective": COLLECTIVES[run.test]}),
            "size": str(row.size_bytes),
            "time_us": f"{row.halves[-1].time_s * 1e6:.6g}",
        }
        for run in runs
        for row in run.rows
        if row.size_bytes > 0 and row.halves and row.halves[-1].time_s > 0
    ]
