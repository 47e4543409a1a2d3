"""NCCL's tuning model: which algorithm and protocol it would choose, how long they should take, and what they cost."""

from eastwest.workload.nccl.channels import Channels, Group, Machine, running, search
from eastwest.workload.nccl.choice import METHOD_OF, Choice, NoConstantsError, Paths, choose, overheads
from eastwest.workload.nccl.constants import (
    METHODS,
    PROTOCOLS,
    Constants,
    Cpu,
    Method,
    Version,
    constants,
)
from eastwest.workload.nccl.model import METHOD_KINDS, Latency, Way

__all__ = [
    "METHODS",
    "METHOD_KINDS",
    "METHOD_OF",
    "PROTOCOLS",
    "Channels",
    "Choice",
    "Constants",
    "Cpu",
    "Group",
    "Latency",
    "Machine",
    "Method",
    "NoConstantsError",
    "Paths",
    "Version",
    "Way",
    "choose",
    "constants",
    "overheads",
    "running",
    "search",
]
