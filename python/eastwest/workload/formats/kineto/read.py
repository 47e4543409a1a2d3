"""From a rank's profile to its trace: a step, cut into stretches of compute and collectives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eastwest.errors import InputError
from eastwest.workload.formats.kineto.collectives import Groups, bytes_of, groups, kind_of, whole
from eastwest.workload.formats.kineto.cut import Cut, Piece, Window, cut, window
from eastwest.workload.formats.kineto.recording import Launched, Recording, record
from eastwest.workload.trace import CollectiveNode, ComputeNode, MessageNode, Node, RankTrace

US = 1e-6
_NEEDED = ("all-gather", "all-to-all", "broadcast", "scatter")
"""Kinds whose result the next compute is taken to need, where the profile does not say what waits for what."""


@dataclass(frozen=True)
class Profile:
    """One step of one rank, of a job of `world` ranks; times are seconds.

    `step_s` is the sum of the four after it. Collectives ran for `talking_s`, hidden or not, waiting for other ranks
    included. `step` is its number, where steps are marked. `told` has what else there is to say of how it was read.
    """

    rank: int
    world: int
    step: int | None
    step_s: float
    busy_s: float
    exposed_s: float
    host_s: float
    idle_s: float
    talking_s: float
    trace: RankTrace
    told: tuple[str, ...]


def read_profile(path: Path, step: int | None = None, as_of: Path | None = None) -> Profile:
    """The step of that number, or of those that communicate the one of median length.

    `as_of` is another rank's profile of which that number is, where nobody asked for it.

    Raises:
        InputError: the file is broken, no profile, or has not what a step takes; says what to record instead.
    """
    recording = record(path)
    of = window(recording, step, as_of)
    job = groups(recording.about) or _job(recording)
    unused: Counter[str] = Counter()
    meant = [_meant(each, job, unused) for each in of.communications]
    kept = [number for number, each in enumerate(meant) if each is not None]
    if not kept:
        raise _nothing(recording, unused)
    shorter = Window(of.number, of.start, of.end, of.computes, tuple(of.communications[number] for number in kept))
    nodes_of = [each for each in meant if each is not None]
    gathers = [each.is_needed for each in nodes_of]
    found = cut(recording, shorter, gathers)
    trace = RankTrace(
        job.rank, tuple(_nodes(found.pieces, nodes_of)), str(path), "operation", recording.unused + unused
    )
    return Profile(
        job.rank,
        job.world,
        of.number,
        found.step * US,
        found.busy * US,
        found.exposed * US,
        found.host * US,
        found.idle * US,
        sum(each.end - each.start for each in shorter.communications) * US,
        trace,
        tuple(_told(found, job, of)),
    )


@dataclass(frozen=True)
class _Meant:
    """A collective or a message as the profile tells of it, without its place."""

    name: str
    fields: Mapping[str, Any]
    is_message: bool
    is_needed: bool

    def node(self, number: int, after: tuple[int, ...], start: float) -> Node:
        """It as a node of a trace."""
        made = MessageNode if self.is_message else CollectiveNode
        return made(number, self.name, after, start, **self.fields)


def _meant(own: Launched, job: Groups, unused: Counter[str]) -> _Meant | None:
    """What a kernel carried out; where that cannot be told, it is counted among what is unused."""
    args, called = own.args, str(own.args.get("Collective name", "")).lower()
    if not called:
        unused["collectives, as those of CUDA graphs, of which the profile tells neither kind nor size"] += 1
        return None
    communicator = job.of(args)
    if communicator is None:
        unused[f"collectives of one rank alone, or of ranks that the profile does not tell ({called})"] += 1
        return None
    if called in ("send", "recv"):
        peer = whole(args.get("Dst Rank" if called == "send" else "Src Rank"))  # of the job, as PyTorch writes it
        size = bytes_of(args, "broadcast", 2)
        if size is None or peer not in communicator.ranks:
            unused[f"messages without a size or a peer ({called})"] += 1
            return None
        fields: dict[str, Any] = {"is_send": called == "send", "peer": peer, "bytes": size}
        return _Meant(called, fields, is_message=True, is_needed=called == "recv")
    kind = kind_of(args)
    size = None if kind is None else bytes_of(args, kind, len(communicator.ranks))
    if kind is None or size is None:
        unused[f"collectives of unknown kind, type or size ({called}, {args.get('dtype')})"] += 1
        return None
    root = whole(args.get("Rank"))  # of collectives with a root, that one, by its place in the group
    fields = {"kind": kind, "bytes": size, "communicator": communicator}
    if kind in ("broadcast", "reduce", "gather", "scatter") and 0 <= root < len(communicator.ranks):
        fields["root"] = communicator.ranks[root]
    return _Meant(kind, fields, is_message=False, is_needed=kind in _NEEDED)


def _job(recording: Recording) -> Groups:
    """The job, where the profile's head does not tell: as large as its largest group, and this its first rank."""
    sizes = [whole(each.args.get("Group size")) for each in recording.communications]
    info = recording.about.get("distributedInfo")
    rank = max(whole(info.get("rank")) if isinstance(info, dict) else 0, 0)
    return Groups(rank, max(2, rank + 1, *sizes), {})


def _nodes(pieces: Sequence[Piece], meant: Sequence[_Meant]) -> list[Node]:
    """The pieces as nodes; a collective has its own number, stretches of compute those after all of these."""
    found: list[Node] = []
    before: tuple[int, ...] = ()
    number = len(meant)
    for piece in pieces:
        after = tuple(dict.fromkeys((*before, *piece.after)))
        if piece.collective is not None:
            found.append(meant[piece.collective].node(piece.collective, after, piece.start))
            continue
        found.append(ComputeNode(number, "compute", after, piece.start, seconds=piece.length * US))
        before, number = (number,), number + 1
    return found


def _told(found: Cut, job: Groups, of: Window) -> list[str]:
    told = []
    if not found.is_told:
        told.append(
            "the profile does not say what waits for what (enable_cuda_sync_events): it is seen from when things ran"
        )
    if of.number is None:
        told.append("the profile marks no steps (profiler.step()): all of it is taken for one")
    for name, size in job.guessed.items():
        told.append(f"process group {name!r}: its {size} ranks are not told, and are taken to be neighbours")
    return told


def _nothing(recording: Recording, unused: Counter[str]) -> InputError:
    why = "; ".join(f"{count:,} {reason}" for reason, count in unused.most_common(3))
    return InputError(
        f"{recording.path}: none of the profile's collectives can be used: {why}. "
        "Sizes and groups are recorded by PyTorch 2.3 and later"
    )
