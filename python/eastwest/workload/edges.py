"""What an operation sends from rank to rank, as plain messages: for simulators that know flows alone.

The edges are those that the engine lowers a collective to (`crates/engine/src/lower`); an edge of a ring has the bytes
of all its steps, and a direct all-reduce those of both its phases. Not here: when messages start, and NICs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eastwest.workload.operations import Collective, SendRecv

KNOWN = ("ring", "rail-ring", "direct", "pxn")
"""Algorithms whose edges are known here."""

Ranks = npt.NDArray[np.int64]
Sizes = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Places:
    """The NVLink domain (a server, or a rack that shares NVLink) of each rank, and the number of its GPU there."""

    domain: Ranks
    position: Ranks


@dataclass(frozen=True)
class Edges:
    """Messages: sender, receiver, bytes and channel of each, and the number of the group or pair that it belongs to."""

    sender: Ranks
    receiver: Ranks
    bytes: Sizes
    channel: Ranks
    part: Ranks

    def where(self, chosen: npt.NDArray[np.bool_]) -> Edges:
        """Those that are chosen."""
        ends = (self.sender[chosen], self.receiver[chosen])
        return Edges(*ends, self.bytes[chosen], self.channel[chosen], self.part[chosen])


def edges(operation: Collective | SendRecv, places: Places) -> Edges:
    """The messages of an operation; none without bytes.

    Raises:
        ValueError: it is a collective by an algorithm that is not among `KNOWN`.
    """
    if isinstance(operation, SendRecv):
        pairs = operation.pairs.astype(np.int64)
        count = len(pairs)
        sizes, channel = np.full(count, operation.bytes), np.zeros(count, dtype=np.int64)
        return _sent(Edges(pairs[:, 0], pairs[:, 1], sizes, channel, np.arange(count)))
    if operation.algorithm not in KNOWN:
        told = f"'{operation.name}' runs by {operation.algorithm}"
        raise ValueError(f"{told}, whose messages are known to the engine alone: state one of {', '.join(KNOWN)}")
    found = [_of_group(operation, group.astype(np.int64), places) for group in operation.groups]
    part = np.repeat(np.arange(len(found)), [len(sender) for sender, *_ in found])
    sender, receiver, sizes, channel = (np.concatenate(column) for column in zip(*found, strict=True))
    ends = (receiver, sender) if operation.kind == "reduce" else (sender, receiver)
    return _sent(Edges(*ends, sizes, channel, part))


def _sent(found: Edges) -> Edges:
    return found.where(found.bytes > 0)


Columns = tuple[Ranks, Ranks, Sizes, Ranks]


def _of_group(operation: Collective, group: Ranks, places: Places) -> Columns:
    """Messages of one group; those of a reduce are a broadcast's, to be turned round."""
    if operation.algorithm in ("direct", "pxn"):
        sender, receiver, sizes = _pairs(operation, group)
        if operation.algorithm == "pxn":
            sender, receiver, sizes = _relayed(sender, receiver, sizes, group, places)
        return sender, receiver, sizes, np.zeros(len(sender), dtype=np.int64)
    channels = operation.channels
    orders = [group] * channels
    if operation.algorithm == "rail-ring":
        domains = _domains(group, places)
        orders = [_rail_order(domains, channel) for channel in range(channels)]
    is_chain = operation.kind in ("broadcast", "reduce")
    if is_chain:
        orders = [np.roll(order, -int(np.flatnonzero(order == group[0])[0])) for order in orders]
    edge = operation.bytes / channels
    if not is_chain:
        edge *= (2 if operation.kind == "all-reduce" else 1) * (len(group) - 1) / len(group)
    last = len(group) - 1 if is_chain else len(group)
    sender = np.concatenate([order[:last] for order in orders])
    receiver = np.concatenate([np.roll(order, -1)[:last] for order in orders])
    return sender, receiver, np.full(len(sender), edge), np.repeat(np.arange(channels), last)


def _domains(group: Ranks, places: Places) -> list[Ranks]:
    """The group's ranks domain by domain, as these come first, and in each by position."""
    own = places.domain[group]
    _, first = np.unique(own, return_index=True)
    order = [own[at] for at in np.sort(first)]
    members = [group[own == domain] for domain in order]
    return [each[np.argsort(places.position[each], kind="stable")] for each in members]


def _rail_order(domains: list[Ranks], channel: int) -> Ranks:
    """Order of the ranks in a channel's rail ring: every other domain is entered on one rail and left on the next."""
    widest = max(map(len, domains))
    rails = (channel % widest, (channel + 1) % widest)
    order = []
    for turn, members in enumerate(domains):
        here = len(members)
        entry, leave = (rail % here for rail in (rails if turn % 2 == 0 else rails[::-1]))
        if leave == entry:
            leave = (entry + 1) % here
        inside = [(entry + step) % here for step in range(1, here)]
        way = [entry, *(at for at in inside if at != leave), *([leave] if leave != entry else [])]
        order.append(members[way])
    return np.concatenate(order)


def _pairs(operation: Collective, group: Ranks) -> tuple[Ranks, Ranks, Sizes]:
    """Every rank to every other; of a broadcast the first to all others."""
    n = len(group)
    matrix = operation.matrix
    if matrix is None:
        part = {"broadcast": operation.bytes, "reduce": operation.bytes, "all-reduce": 2 * operation.bytes / n}
        matrix = np.full((n, n), part.get(operation.kind, operation.bytes / n))
        if operation.kind in ("broadcast", "reduce"):
            matrix[1:] = 0.0
    sender, receiver = np.nonzero(~np.eye(n, dtype=bool))
    return group[sender], group[receiver], matrix[sender, receiver]


def _relayed(sender: Ranks, receiver: Ranks, sizes: Sizes, group: Ranks, places: Places) -> tuple[Ranks, Ranks, Sizes]:
    """Both hops of each pair by way of the rank on the receiver's rail in the sender's domain, where there is one."""
    width = int(places.position.max()) + 1
    at = np.full((int(places.domain.max()) + 1) * width, -1, dtype=np.int64)
    at[places.domain[group] * width + places.position[group]] = group
    relay = at[places.domain[sender] * width + places.position[receiver]]
    passes = (places.domain[sender] != places.domain[receiver]) & (relay >= 0) & (relay != sender)
    first = np.where(passes, relay, receiver)
    hops = np.stack([np.concatenate([sender, relay[passes]]), np.concatenate([first, receiver[passes]])])
    every = np.concatenate([sizes, sizes[passes]])
    ends, which = np.unique(hops, axis=1, return_inverse=True)
    together: Sizes = np.bincount(which.reshape(-1), weights=every).astype(np.float64)
    return ends[0], ends[1], together
