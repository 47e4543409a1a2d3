"""Links as people name them, by the nodes at their ends; and how fast those of NICs can be."""

from __future__ import annotations

import numpy as np
import polars as pl

from eastwest.document import nearest
from eastwest.engine.network import Floats
from eastwest.errors import InputError
from eastwest.fabric import Fabric


def port_names(fabric: Fabric) -> list[str]:
    """What the port at the beginning of each link is called: "leaf-0 > spine-1", numbered where cables are parallel."""
    named = fabric.links.select(
        pl.format("{} > {}", *(fabric.nodes["name"].gather(fabric.links[end]) for end in ("src", "dst"))).alias("port")
    )
    turn, count = pl.int_range(1, pl.len() + 1).over("port"), pl.len().over("port")
    return (
        named.select(pl.when(count > 1).then(pl.format("{} ({})", "port", turn)).otherwise(pl.col("port")))
        .to_series()
        .to_list()
    )


def links_of(said: str, fabric: Fabric, a: str, b: str | None) -> list[int]:
    """Both directions of the cables between two nodes, or of all cables of one.

    Raises:
        InputError: there is no such node, or no such cable; begins with what was `said`.
    """
    names = fabric.nodes["name"].to_list()
    number = {name: index for index, name in enumerate(names)}
    for name in (a, b):
        if name is not None and name not in number:
            guess = nearest(name, names)
            raise InputError(f"{said}: there is no node {name!r}" + (f"; did you mean {guess!r}?" if guess else ""))
    src, dst = (fabric.links[end].to_numpy() for end in ("src", "dst"))
    cabled = fabric.links["cable"].to_numpy() >= 0
    touching = (src == number[a]) | (dst == number[a])
    if b is not None:
        touching &= (src == number[b]) | (dst == number[b])
    found = np.flatnonzero(touching & cabled).tolist()
    if not found:
        raise InputError(f"{said}: no cable joins {a} with {b}" if b else f"{said}: {a} has no cable")
    return [int(link) for link in found]


def rates_within(fabric: Fabric, limit_bps: Floats, efficiency: Floats | float) -> Floats:
    """Rates of links on the wire, bit/s, where the ports of each NIC share what its host gives and takes.

    Args:
        fabric: Whose rates.
        limit_bps: Payload that the host of each NIC carries each way, infinite for no limit. Shape (nodes,).
        efficiency: Payload in a bit on the wire, of each link or of all.
    """
    is_nic = (fabric.nodes["kind"] == "nic").to_numpy()
    src, dst = (fabric.links[end].to_numpy() for end in ("src", "dst"))
    nic = np.where(is_nic[src], src, dst)
    is_port = (fabric.links["cable"].to_numpy() >= 0) & is_nic[nic]
    ports = np.bincount(src[is_port & is_nic[src]], minlength=len(is_nic))
    share = limit_bps[nic] / np.maximum(ports[nic], 1) / efficiency
    rates = fabric.links["rate_bps"].to_numpy().astype(np.float64)
    within: Floats = np.where(is_port, np.minimum(rates, share), rates)
    return within
