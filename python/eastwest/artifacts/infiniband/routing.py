"""Which of OpenSM's routing engines suits a subnet, what comes next where it gives up, and what each needs.

What deadlocks decides before what balances. An engine that keeps a cyclic network from deadlock by service levels
(lash, dfsssp, torus-2QoS) relies on every connection asking the manager for its path's level, as rdma_cm does and NCCL
does not (it takes one level, NCCL_IB_SL, for all); so these are for who asks for them, and `nue`, which needs one
virtual lane alone, is the choice for networks that are no tree. Not here: what engines do (opensm(8), "Routing").
"""

from __future__ import annotations

from dataclasses import dataclass

from eastwest.artifacts.infiniband.subnets import Subnet, Switch
from eastwest.spec.subnet import Engine

BY_LEVELS: tuple[Engine, ...] = ("lash", "dfsssp", "torus-2QoS")
"""Engines that give each path a service level of its own."""


@dataclass(frozen=True)
class Routing:
    """Engines in order of preference, as OpenSM lists them, the switches that they take for roots, and why."""

    engines: tuple[str, ...]
    roots: tuple[Switch, ...]
    why: str

    @property
    def is_torus(self) -> bool:
        """Whether torus-2QoS is asked for, which wants a file of its own."""
        return self.engines[0] == "torus-2QoS"

    @property
    def is_by_levels(self) -> bool:
        """Whether paths' service levels keep it free of deadlock."""
        return self.engines[0] in BY_LEVELS


def routing(subnet: Subnet, asked: Engine | None = None, lmc: int = 0) -> Routing:
    """How a subnet is to be routed: as asked, or as suits it and 2^lmc addresses a port, of which ftree knows one."""
    roots = subnet.tops
    if asked in ("ftree", "updn", "dnup"):
        after = ("updn",) if asked == "ftree" and roots else ()
        return Routing((asked, *after), roots, "as the study asks")
    if asked == "torus-2QoS":
        return Routing(
            (asked, "no_fallback"), (), "as the study asks; another engine's paths could deadlock with its own"
        )
    if asked is not None:
        return Routing((asked,), (), "as the study asks")
    if subnet.is_flat:
        return Routing(("minhop",), (), "every path crosses one cable between switches at most: nothing can deadlock")
    if subnet.is_tree and lmc:
        return Routing(("updn",), roots, "a tree, and ports with several addresses, which ftree does not do")
    if subnet.is_tree:
        return Routing(
            ("ftree", "updn"), roots, "a tree: ftree balances shifts; updn takes over where parts are missing"
        )
    if roots and subnet.is_layered:
        return Routing(("updn",), roots, "a tree but for cables among its top switches, which ftree would leave idle")
    return Routing(("nue", "updn"), (), "no tree: free of deadlock on one virtual lane, whatever service level is used")
