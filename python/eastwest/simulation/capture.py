"""Packets that left by chosen links, in a file that Wireshark, tshark and tcpdump read.

They are written as RoCEv2, and other transports are refused: tools know no bytes of Ultra Ethernet and MRC yet, and
nothing here writes TCP. Not here: what bytes a packet has (`crates/wire`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.engine.links import links_of
from eastwest.engine.packets import Capturing, Transport
from eastwest.errors import InputError
from eastwest.fabric import Fabric
from eastwest.fabric.addressing import NETWORK, addresses
from eastwest.simulation.result import SimulationResult

FORMS = ("NODE", "NODE NODE", "NODE > NODE")
"""All cables of a node, those between two, both ways; of those between two the direction from the first."""

MOST_CAPTURED = 100_000
"""Packets kept unless told otherwise: 417 MB of file at 4 KiB a packet."""
SNAP = 65_535
"""Bytes of each packet in the file unless told otherwise: all. Wireshark calls packets malformed that were cut."""


def capturing(places: Sequence[str], fabric: Fabric, transport: Transport, most: int = MOST_CAPTURED) -> Capturing:
    """The links of some places, as in "leaf-0 spine-1", to record `most` packets of.

    Raises:
        InputError: a place cannot be read, names nodes that there are not or that no cable joins, or the transport is
            one whose packets are not written.
    """
    if transport != "rocev2":
        raise InputError(
            f"a capture holds RoCEv2 packets, and the transport is {transport}: choose the transport rocev2"
        )
    links = {link for place in places for link in _links(place, fabric)}
    return Capturing(sorted(links), most)


def write_pcap(result: SimulationResult, fabric: Fabric, path: Path, snap: int = SNAP) -> int:
    """Writes what was captured, at most `snap` bytes of each packet, in the order of departure; gives how many.

    NICs of servers have the addresses that `fabric.addressing` gives them, bare hosts 10.0.0.1 and on. Packets whose
    payload a switch cut off are left out.

    Raises:
        InputError: nothing was captured, the file cannot be written, or there are not enough addresses.
    """
    if result.run.capture is None:
        raise InputError(f"{path}: nothing was captured: name links before the run")
    scratch = path.parent / f".{path.name}.part"
    try:
        written = result.run.capture.write_pcap(str(scratch), _addresses(fabric), snap)
        scratch.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        scratch.unlink(missing_ok=True)
    return written


def _addresses(fabric: Fabric) -> NDArray[np.uint32]:
    """IPv4 address of every node, 0 for all but NICs. Shape (nodes,)."""
    nics = fabric.nodes.filter(pl.col("kind") == "nic")
    if (nics["server"] >= 0).all():
        return addresses(fabric)
    address = np.zeros(len(fabric.nodes), dtype=np.uint32)
    address[nics["node"].to_numpy()] = NETWORK + 1 + np.arange(len(nics), dtype=np.uint32)
    return address


def _links(place: str, fabric: Fabric) -> list[int]:
    said = f"capture {place!r}"
    match place.replace(">", " > ").split():
        case [node] if node != ">":
            return links_of(said, fabric, node, None)
        case [a, b] if ">" not in (a, b):
            return links_of(said, fabric, a, b)
        case [a, ">", b] if ">" not in (a, b):
            source = fabric.nodes["name"].gather(fabric.links["src"])
            return [link for link in links_of(said, fabric, a, b) if source[link] == a]
        case _:
            raise InputError(f"{said} is no place; write one of: {', '.join(FORMS)}")
