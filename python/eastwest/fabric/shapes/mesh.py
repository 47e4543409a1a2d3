"""Mesh: every leaf joined to every other, nothing above them; also known as fully connected or all-to-all."""

from __future__ import annotations

import numpy as np

from eastwest.fabric.faceplate import Faceplate
from eastwest.fabric.plan import FabricError
from eastwest.fabric.shapes.clos import in_order
from eastwest.fabric.shapes.wiring import Cables, Wiring, switches


def mesh(servers: int, nics: int, leaf: Faceplate, links: int = 1, servers_per_leaf: int | None = None) -> Wiring:
    """`servers` of `nics` NICs, whole servers on a leaf, `links` parallel cables between every two leaves.

    As few leaves as have the ports, or `servers_per_leaf` on each. Raises `FabricError` on "servers_per_unit" where a
    leaf lacks the ports for its servers and all other leaves.
    """
    size = servers_per_leaf or _most_servers(servers, nics, leaf, links)
    leaves = -(-servers // size)
    if not leaf.fits(size * nics, (leaves - 1) * links):
        raise FabricError(
            "servers_per_unit",
            f"{leaves} leaves of {_servers(size)} need {size * nics} ports down and {(leaves - 1) * links} to the "
            f"others on each; {leaf.has()}: try {leaf.wider() or 'a switch with more ports'}, fewer links_per_pair, or "
            f"another servers_per_unit",
        )
    leaf_of_server = in_order(servers, leaves)
    nowhere = np.full(servers, -1, dtype=np.int32)
    ends = np.stack(np.triu_indices(leaves, 1)).astype(np.int32)
    return Wiring(
        unit_of_server=nowhere,
        pod_of_server=nowhere,
        leaf_of_port=np.repeat(leaf_of_server, nics).reshape(servers, nics, 1),
        tiers={"leaf": switches(leaves, size * nics, (leaves - 1) * links)},
        cables=(Cables("leaf", "leaf", np.repeat(ends, links, axis=1)),),
    )


def _most_servers(servers: int, nics: int, leaf: Faceplate, links: int) -> int:
    """The most servers on a leaf that leave ports for all other leaves; 1 where none do."""
    sizes = range(min(servers, leaf.most // nics), 0, -1)
    return next((size for size in sizes if leaf.fits(size * nics, (-(-servers // size) - 1) * links)), 1)


def _servers(number: int) -> str:
    return f"{number} server{'s' if number > 1 else ''}"
