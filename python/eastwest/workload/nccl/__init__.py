"""NCCL: which algorithm and protocol its tuning would choose, and what they cost beyond the network's part."""

from eastwest.workload.nccl.channels import Channels, Group, Machine, running, search
from eastwest.workload.nccl.choice import METHOD_OF, Choice, NoConstantsError, choose, overheads
from eastwest.workload.nccl.constants import (
    METHODS,
    PROTOCOLS,
    Constants,
    Cpu,
    Method,
    Version,
    constants,
    releases,
    version_of,
)
from eastwest.workload.nccl.messages import all_to_all, send_recv
from eastwest.workload.nccl.model import METHOD_KINDS, Latency, Way
from eastwest.workload.nccl.pipeline import Cost, Paths, cost
from eastwest.workload.nccl.transports import Transport, TransportName, transport, transport_of

__all__ = [
    "METHODS",
    "METHOD_KINDS",
    "METHOD_OF",
    "PROTOCOLS",
    "Channels",
    "Choice",
    "Constants",
    "Cost",
    "Cpu",
    "Group",
    "Latency",
    "Machine",
    "Method",
    "NoConstantsError",
    "Paths",
    "Transport",
    "TransportName",
    "Version",
    "Way",
    "all_to_all",
    "choose",
    "constants",
    "cost",
    "overheads",
    "releases",
    "running",
    "search",
    "send_recv",
    "transport",
    "transport_of",
    "version_of",
]
