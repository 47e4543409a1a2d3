"""Addresses: stable IPv4 numbers for NICs, of which their flows' 5-tuples are made and which `eastwest build` sets.

Each port of a NIC and the switch's port at the other end of its cable have two neighbouring numbers, a /31 (RFC 3021):
the switch the even one, the NIC the odd one. Each rail has a subnet of 10.0.0.0/9 of its own, in which servers count
up; so a NIC keeps its address when servers are added, whatever the shape, the units or the pods. Front-end NICs are in
172.16.0.0/13 and those of storage servers in 172.24.0.0/13 (RFC 1918, as the other), so that they move no address of
the GPUs' nor of each other. Not here: addresses of links between switches and of loopbacks (`artifacts.plan`).
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, collapse_addresses

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.fabric.plan import FabricError
from eastwest.fabric.tables import Fabric

NETWORK = 10 << 24
SITE_BITS = 5
"""Sites that a network of several has numbers for, as a power of two: adding one moves no other."""


@dataclass(frozen=True)
class _Block:
    """The private network of the NICs of one tier: its first address, bits below it, how it is written, whose it is."""

    first: int
    bits: int
    written: str
    field: str


_BLOCKS = {
    "server": _Block(NETWORK, 23, "10.0.0.0/9", "servers"),
    "frontend": _Block((172 << 24) | (16 << 16), 19, "172.16.0.0/13", "frontend"),
    "storage": _Block((172 << 24) | (24 << 16), 19, "172.24.0.0/13", "frontend"),
}


def networks() -> tuple[IPv4Network, ...]:
    """The networks that the addresses of all NICs are in, and those of the switches' ports beside them."""
    return tuple(collapse_addresses(IPv4Network((block.first, 32 - block.bits)) for block in _BLOCKS.values()))


def addresses(fabric: Fabric) -> NDArray[np.uint32]:
    """IPv4 address of every node as a number, that of its first port, 0 for all but NICs. Shape (nodes,).

    Raises `FabricError` as `port_addresses`.
    """
    address = np.zeros(len(fabric.nodes), dtype=np.uint32)
    nics = _nics(fabric)
    address[nics["node"].to_numpy()] = _numbered(fabric, nics.with_columns(port=0))
    return address


def port_addresses(fabric: Fabric) -> NDArray[np.uint32]:
    """IPv4 address of every port as a number, 0 for those of switches. Shape (ports,).

    Below the private network's own bits stand the NIC's number in its server, the port's number (both with as many bits
    as the servers' NICs need), with sites the site's, the server's number, and a last bit that is 1 for the NIC and 0
    for the switch at the other end: with 8 NICs 10.0.0.1 and 10.16.0.1 are the first two of the first server. Servers
    count within their site, storage servers among themselves.

    Raises `FabricError` on "servers" where 23 bits are too few, on "frontend" where 19 are for front-end NICs.
    """
    address = np.zeros(len(fabric.ports), dtype=np.uint32)
    ports = fabric.ports.select("node", pl.col("number").alias("port"), pl.int_range(pl.len()).alias("row"))
    nics = _nics(fabric).join(ports, on="node", maintain_order="left")
    address[nics["row"].to_numpy()] = _numbered(fabric, nics)
    return address


def _nics(fabric: Fabric) -> pl.DataFrame:
    """Every NIC with its place: `node`, `tier`, `nic` in its server, `site` and `server` in its site, from 0."""
    asked, sites = fabric.plan, fabric.plan.get("sites")
    first = pl.lit(0)
    site = pl.lit(0)
    if sites is not None:
        site = pl.when(pl.col("tier") == "storage").then(0).otherwise(pl.col("site"))
        first = site * (asked["servers"] // sites["count"])
    first = pl.when(pl.col("tier") == "storage").then(asked.get("servers", 0)).otherwise(first)
    nics = fabric.nodes.filter(pl.col("kind") == "nic")
    return nics.select(
        "node", "tier", pl.col("index").alias("nic"), site.alias("site"), (pl.col("server") - first).alias("server")
    )


def _numbered(fabric: Fabric, ports: pl.DataFrame) -> NDArray[np.uint32]:
    """Addresses of ports of NICs, in order."""
    found = np.zeros(len(ports), dtype=np.uint32)
    site_bits = 0 if fabric.plan.get("sites") is None else SITE_BITS
    for tier, block in _BLOCKS.items():
        rows = np.flatnonzero((ports["tier"] == tier).to_numpy())
        if len(rows):
            planes = int(fabric.plan.get("planes", 1)) if tier == "server" else 1
            found[rows] = _of_block(block, ports[rows.tolist()], planes, 0 if tier == "storage" else site_bits)
    return found


def _of_block(block: _Block, ports: pl.DataFrame, planes: int, site_bits: int) -> NDArray[np.uint32]:
    nic, port, site, server = (ports[name].to_numpy().astype(np.int64) for name in ("nic", "port", "site", "server"))
    port_bits = (planes - 1).bit_length()
    server_bits = block.bits - 1 - int(nic.max()).bit_length() - port_bits - site_bits
    most = 1 << max(server_bits, 0)
    if server_bits < 1 or int(server.max()) >= most:
        raise FabricError(
            block.field,
            f"{block.written} has addresses for {most} servers of {int(nic.max()) + 1} NICs"
            f"{f' of {planes} ports' if planes > 1 else ''}{' at each site' if site_bits else ''}, not for "
            f"{int(server.max()) + 1}",
        )
    if int(site.max()) >= 1 << SITE_BITS:
        raise FabricError("sites", f"there are addresses for {1 << SITE_BITS} sites, not for {int(site.max()) + 1}")
    place = (((nic << port_bits | port) << site_bits) | site) << server_bits | server
    found: NDArray[np.uint32] = (block.first + (place << 1 | 1)).astype(np.uint32)
    return found
