"""Ways in which a network may be less than its plan: links that carry less, time that is lost, other algorithms.

A fault is what a hypothesis amounts to in the model, so that it can be simulated and held against what was measured.
Links are scaled in the fabric's own table; paths and what NCCL chooses stay as they are. Not here: which faults are
tried, and why (`rules`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from eastwest.engine import Network
from eastwest.study.sensitivity import RESOURCES

_NICS, _SWITCHES, _NVLINK = "links between NIC and leaf", "links between switches", "NVLink"


@dataclass(frozen=True)
class Fault:
    """Parts of their rate that are left to NICs, links between switches and NVLink (1: all of it).

    `wait_s` is lost at every size; `algorithm` runs in place of NCCL's choice; `is_unlucky` takes the slowest of the
    hash seeds in place of their median.
    """

    nics: float = 1.0
    switches: float = 1.0
    nvlink: float = 1.0
    wait_s: float = 0.0
    algorithm: str | None = None
    is_unlucky: bool = False

    @property
    def changes_links(self) -> bool:
        """Whether any link carries less."""
        return (self.nics, self.switches, self.nvlink) != (1.0, 1.0, 1.0)


NONE = Fault()


def afflicted(network: Network, fault: Fault) -> Network:
    """The network with the links of a fault, on the same paths."""
    links = network.fabric.links
    for resource, part in ((_NICS, fault.nics), (_SWITCHES, fault.switches), (_NVLINK, fault.nvlink)):
        if part != 1.0:
            less = pl.when(RESOURCES[resource]).then(pl.col("rate_bps") * part).otherwise(pl.col("rate_bps"))
            links = links.with_columns(less.alias("rate_bps"))
    return Network(replace(network.fabric, links=links), network.tables)
