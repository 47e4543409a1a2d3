"""Addresses: a stable IPv4 number for each NIC, its flows' 5-tuples being made from it.

Each rail has a subnet of 10.0.0.0/8 of its own, in which servers count up from 1; so a NIC keeps its address when
servers are added, whatever the shape, the units or the pods. Front-end NICs are in 172.16.0.0/12 (RFC 1918, as the
other), so that they move no address of the GPUs'. Not here: addresses of switches.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.fabric.plan import FabricError
from eastwest.fabric.tables import HOST_TIERS, Fabric

NETWORK = 10 << 24
HOST_BITS = 24
"""10.0.0.0/8."""

FRONTEND_NETWORK = (172 << 24) | (16 << 16)
FRONTEND_HOST_BITS = 20
"""172.16.0.0/12."""


def addresses(fabric: Fabric) -> NDArray[np.uint32]:
    """IPv4 address of every node as a number, 0 for all but NICs. Shape (nodes,).

    The bits under the 10 are the NIC's number in its server (as many bits as the servers' NICs need), then the
    server's number + 1: with 8 NICs 10.0.0.1 and 10.32.0.1 are the first two of the first server.

    Raises `FabricError` on "servers" where 24 bits are too few, on "frontend" where 20 are for front-end NICs.
    """
    address = np.zeros(len(fabric.nodes), dtype=np.uint32)
    nics = fabric.nodes.filter(pl.col("kind") == "nic")
    is_host = pl.col("tier").is_in(HOST_TIERS)
    _number(address, nics.filter(~is_host), NETWORK, HOST_BITS, ("servers", "10.0.0.0/8"))
    _number(address, nics.filter(is_host), FRONTEND_NETWORK, FRONTEND_HOST_BITS, ("frontend", "172.16.0.0/12"))
    return address


def _number(
    address: NDArray[np.uint32], nics: pl.DataFrame, network: int, host_bits: int, whose: tuple[str, str]
) -> None:
    """Writes the addresses of some NICs, which have a network of so many bits; `whose` it is and how it is written."""
    rail, server = (nics[column].to_numpy().astype(np.int64) for column in ("index", "server"))
    server_bits = host_bits - int(rail.max(initial=0)).bit_length()
    # The last number of a subnet is its broadcast address.
    if int(server.max(initial=0)) + 1 >= (1 << server_bits) - 1:
        field, written = whose
        raise FabricError(
            field,
            f"{written} has addresses for {(1 << server_bits) - 2} servers of {int(rail.max()) + 1} NICs, not for "
            f"{int(server.max()) + 1}",
        )
    address[nics["node"].to_numpy()] = network | (rail << server_bits) | (server + 1)
