"""How packets are marked and which class they travel in: one truth for switches, hosts and the linter.

Data of RoCE is lossless, in class 3; what asks its sender to slow down (CNP) goes first, in class 6; everything else is
lossy, in class 0. A class is the traffic class (TC), the queue, the priority group and the PFC priority of one number.
"""

from __future__ import annotations

from dataclasses import dataclass

ROCE_DSCP = 26
"""DSCP of RoCE data: AF31, what NVIDIA's RoCE configuration guides mark."""
CNP_DSCP = 48
"""DSCP of CNPs: CS6, as the same guides and the firmware's default have it."""
ECN_CAPABLE = 2
"""ECN bits of a packet that may be marked: ECT(0) (RFC 3168)."""

LOSSLESS, CNP, LOSSY = 3, 6, 0
"""Classes of RoCE data, of CNPs, and of all else."""

TRAFFIC_CLASS = ROCE_DSCP << 2 | ECN_CAPABLE
"""The IP header's byte (TOS, traffic class) of RoCE data: 106, NCCL_IB_TC and what the RDMA CM is told."""

DSCPS = range(64)


@dataclass(frozen=True)
class Class:
    """One class of traffic: its number everywhere, the DSCPs that belong to it, and how its queue is served."""

    name: str
    number: int
    dscps: tuple[int, ...]
    is_lossless: bool = False
    is_strict: bool = False


CLASSES = (
    Class("other", LOSSY, tuple(dscp for dscp in DSCPS if dscp not in (ROCE_DSCP, CNP_DSCP))),
    Class("roce", LOSSLESS, (ROCE_DSCP,), is_lossless=True),
    Class("cnp", CNP, (CNP_DSCP,), is_strict=True),
)


def class_of(dscp: int) -> Class:
    """The class that packets of a DSCP (0 to 63) travel in."""
    return next(each for each in CLASSES if dscp in each.dscps)
