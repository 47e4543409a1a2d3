"""Traces: what each rank did, as other tools record it, and how the traces of all ranks become one step.

A reader of a format makes a `RankTrace` of each rank; `joined` orders them, matches who talks to whom, takes together
what ranks do alike, and gives the step. Not here: formats (`workload.formats`), or what a step costs on a network.
"""

from eastwest.workload.trace.join import Joined, joined
from eastwest.workload.trace.nodes import (
    CollectiveNode,
    Communicator,
    ComputeNode,
    MessageNode,
    Node,
    RankTrace,
    TraceCollectiveKind,
    TraceSource,
)
from eastwest.workload.trace.replicate import replicated, spread

__all__ = [
    "CollectiveNode",
    "Communicator",
    "ComputeNode",
    "Joined",
    "MessageNode",
    "Node",
    "RankTrace",
    "TraceCollectiveKind",
    "TraceSource",
    "joined",
    "replicated",
    "spread",
]
