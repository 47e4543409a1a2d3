"""Which way up each entropy value of a NIC takes: the half of its path that is the sender's.

A path has two halves. The climb is the sender's: its leaf, a spine, a core, one lane of each. The descent is the
receiver's: the switches down to its leaf, of the lanes that the sender's list names, and its port there. So a NIC keeps
one list of climbs for all receivers, and leaves out of a climb what is above the switch where both meet (`directory`).

Entropy values are dealt to planes in turn, and in a plane to paths in an order in which every switch above a leaf has
its turn before one has its second, then every lane, and so on upwards. The NICs of a leaf begin one behind the
other, so that together they load all paths alike (spread evenly over planes: arXiv 2605.04333). Not here: moving load
among paths and retiring those that lose packets, which is the NIC's to do.
"""

from __future__ import annotations

from dataclasses import dataclass

from eastwest.artifacts.mrc.tree import Nic, Tree
from eastwest.engine.defaults import MRC_ENTROPIES


@dataclass(frozen=True)
class Climb:
    """What one entropy value says: a plane, and a way up from the sender's leaf with the lanes of the way down.

    `switches` are the names of those passed, the sender's leaf first; `up` is the lane by which each one after it is
    reached, and `down` the lane by which each on the way down from the last one is, the topmost first.
    """

    plane: int
    switches: tuple[str, ...]
    up: tuple[int, ...]
    down: tuple[int, ...]


def entropies(planes: int) -> int:
    """Entropy values of a queue pair: the most of the published 128 to 256 that divide evenly over the planes."""
    return MRC_ENTROPIES // planes * planes


def climbs(tree: Tree, nic: Nic) -> list[Climb]:
    """The climb of each entropy value of a NIC, in order, over the planes where it has a cable."""
    wired = sorted(tree.leaf_of[nic])
    turns = entropies(len(wired)) // len(wired)
    of_plane = []
    for plane in wired:
        leaf, _ = tree.leaf_of[nic][plane]
        first = tree.rank[nic][plane] * turns
        of_plane.append([_climb(tree, plane, leaf, first + turn) for turn in range(turns)])
    return [climb for turn in zip(*of_plane, strict=True) for climb in turn]


def _climb(tree: Tree, plane: int, leaf: str, turn: int) -> Climb:
    """The climb of a turn: its digits to the bases of switches and lanes, each counted on from those before it.

    So every combination has its turn once, and lanes change as switches do and not only once these are through.
    """
    switches, up, widths = [leaf], [], []
    shift = 0
    while uppers := tree.uppers[switches[-1]]:
        turn, shift = _digit(turn, shift, len(uppers))
        upper, width = uppers[shift % len(uppers)]
        turn, shift = _digit(turn, shift, width)
        switches.append(upper)
        up.append(shift % width)
        widths.append(width)
    down = []
    for width in widths:
        turn, shift = _digit(turn, shift, width)
        down.append(shift % width)
    return Climb(plane, tuple(switches), tuple(up), tuple(reversed(down)))


def _digit(turn: int, shift: int, base: int) -> tuple[int, int]:
    return turn // base, shift + turn % base
