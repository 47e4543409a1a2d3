"""Workloads: what the ranks of a job do in one step."""

from eastwest.workload.background import Background, Traffic, background
from eastwest.workload.divide import divided
from eastwest.workload.jobs import Job, ended, merged
from eastwest.workload.measured import Measured
from eastwest.workload.operations import (
    KINDS,
    NVLINK_SHARP,
    SHARP,
    Algorithm,
    Carries,
    Collective,
    CollectiveKind,
    Compute,
    Groups,
    Operation,
    Overheads,
    Protocol,
    SendRecv,
    Step,
    Tuning,
    all_ranks,
    consecutive,
    in_order,
    shift,
    strided,
)
from eastwest.workload.schedule import ScheduleError, ScheduleStep, in_turn, scheduled
from eastwest.workload.skew import Side, popularity, skewed

__all__ = [
    "KINDS",
    "NVLINK_SHARP",
    "SHARP",
    "Algorithm",
    "Background",
    "Carries",
    "Collective",
    "CollectiveKind",
    "Compute",
    "Groups",
    "Job",
    "Measured",
    "Operation",
    "Overheads",
    "Protocol",
    "ScheduleError",
    "ScheduleStep",
    "SendRecv",
    "Side",
    "Step",
    "Traffic",
    "Tuning",
    "all_ranks",
    "background",
    "consecutive",
    "divided",
    "ended",
    "in_order",
    "in_turn",
    "merged",
    "popularity",
    "scheduled",
    "shift",
    "skewed",
    "strided",
]
