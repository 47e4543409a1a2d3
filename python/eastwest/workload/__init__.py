"""Workloads: what the ranks of a job do in one step."""

from eastwest.workload.measured import Measured
from eastwest.workload.operations import (
    Algorithm,
    Collective,
    CollectiveKind,
    Compute,
    Groups,
    Operation,
    SendRecv,
    Step,
    all_ranks,
    consecutive,
    in_order,
    shift,
    strided,
)

__all__ = [
    "Algorithm",
    "Collective",
    "CollectiveKind",
    "Compute",
    "Groups",
    "Measured",
    "Operation",
    "SendRecv",
    "Step",
    "all_ranks",
    "consecutive",
    "in_order",
    "shift",
    "strided",
]
