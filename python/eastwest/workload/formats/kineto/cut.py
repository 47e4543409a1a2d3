"""Cuts one step out of a profile: stretches of compute between where collectives start and where they are waited for.

A stretch takes what it took by the clock, less what the GPU waited for collectives; gaps in which it waited for the
host, or for what the profile does not tell, are kept. Times are microseconds. Not here: what a collective is
(`collectives`).

What waits for what. A collective starts after the compute that had run when it started; one that only waited for its
stream, after the compute launched before it. Compute waits for a collective where a stream was told to (profiles with
`enable_cuda_sync_events`). Other profiles do not say. There, compute waits for the collectives that end while it stands
still, unless the host launched on only later and was not waiting for the GPU; an optimizer's step waits for those
launched before it; and one that gathers or exchanges, and hides behind compute, is taken to be needed at once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from eastwest.errors import InputError
from eastwest.workload.formats.kineto.recording import Computes, Launched, Recording, Times

CLOCKS_US = 1.0
"""What a kernel may seem to begin before the one that it waits for has ended, us: streams are not read at once."""
LAUNCH_US = 10.0
"""Within so much of its launch a kernel starts on a GPU that stands idle, us; it is mostly some 5."""
TOGETHER_US = 10.0
"""A collective that starts within so much after the one before it on its stream has waited for that one."""


@dataclass(frozen=True)
class Window:
    """A step on the GPU: from its first activity to that of the next step, or to its last where there is none."""

    number: int | None
    start: float
    end: float
    computes: Computes
    communications: tuple[Launched, ...]


@dataclass(frozen=True)
class Wait:
    """Compute stops at `at` for collectives, by number, and goes on at `until`, the same where they had ended."""

    at: float
    until: float
    collectives: tuple[int, ...]


@dataclass(frozen=True)
class Piece:
    """A stretch of compute from `start` that takes `length`, or the start of a collective, by number.

    `after` are collectives waited for: by number, and, of a collective, beside the stretches before it.
    """

    start: float
    length: float = 0.0
    collective: int | None = None
    after: tuple[int, ...] = ()


@dataclass(frozen=True)
class Cut:
    """A step in pieces, in order, and where its time went: they add up to `step`.

    `busy` is time in which the GPU computed, `exposed` that in which it only communicated, `host` that in which the
    host had not launched what came next, `idle` the rest: what came next had been launched, or it is not known when.
    """

    pieces: tuple[Piece, ...]
    step: float
    busy: float
    exposed: float
    host: float
    idle: float
    is_told: bool
    """Whether the profile says what streams waited for."""


def window(recording: Recording, number: int | None = None, as_of: Path | None = None) -> Window:
    """The step of a number, or of those in which the GPU communicates the one of median length.

    `as_of` is another rank's profile of which that number is, where nobody asked for it.

    Raises:
        InputError: there is no such step, or none at all that communicates.
    """
    found = list(_windows(recording))
    shown = ", ".join(str(each.number) for each in found)
    if number is not None:
        chosen = next((each for each in found if each.number == number), None)
        if chosen is None or not chosen.communications:
            what = "has no such step" if chosen is None else "does not communicate in that step"
            asked = f"--step {number}" if as_of is None else f"step {number}, as of {as_of.name}"
            remedy = "" if as_of is None else ": profile the same steps on all ranks"
            raise InputError(f"{recording.path}: {asked}: the profile {what}; it has {shown or 'none'}{remedy}")
        return chosen
    talking = [each for each in found if each.communications]
    whole = [each for each in talking if each is not found[-1]] or talking  # of the last one the end is not there
    if not whole:
        raise InputError(f"{recording.path}: no collective ran in any of the profile's steps ({shown})")
    return sorted(whole, key=lambda each: each.end - each.start)[(len(whole) - 1) // 2]


def _windows(recording: Recording) -> Iterator[Window]:
    computes, communications = recording.computes, recording.communications
    numbers = [number for number, _, _ in recording.steps]
    begins = np.array([start for _, start, _ in recording.steps])
    starts = np.array([each.start for each in communications])
    launches = np.array([each.launch for each in communications])
    last = max(float(computes.end.max(initial=-np.inf)), *(each.end for each in communications))
    if not numbers:
        first = min(float(computes.start.min(initial=np.inf)), float(starts.min()))
        yield Window(None, first, last, computes, communications)
        return
    of_compute = _step_of(computes.launch, computes.start, begins)
    of_communication = _step_of(launches, starts, begins)
    firsts = []
    for step in range(len(numbers)):
        own, talk = computes.start[of_compute == step], starts[of_communication == step]
        firsts.append(min(own.min(initial=np.inf), talk.min(initial=np.inf)))
    for step, number in enumerate(numbers):
        if not np.isfinite(firsts[step]):
            continue
        later = [first for first in firsts[step + 1 :] if np.isfinite(first)]
        talking = tuple(each for each, of in zip(communications, of_communication, strict=True) if of == step)
        end = float(later[0]) if later else last
        yield Window(number, float(firsts[step]), end, computes.where(of_compute == step), talking)


def _step_of(launch: Times, start: Times, begins: Times) -> npt.NDArray[np.intp]:
    """The step of each activity: that in which the host launched it, or else in which it ran; -1 before the first."""
    return np.searchsorted(begins, np.where(np.isnan(launch), start, launch), side="right") - 1


@dataclass
class _Busy:
    """The stretches in which the GPU computes, on whatever stream, in order."""

    start: Times
    end: Times

    def before(self, time: float) -> float:
        """When the last stretch that began before a time ends; the beginning of time where there is none."""
        at = int(np.searchsorted(self.start, time, side="left")) - 1
        return float(self.end[at]) if at >= 0 else -np.inf

    def gaps(self, start: float, end: float) -> list[tuple[float, float]]:
        """The stretches between them."""
        edges = np.concatenate([[start], np.stack([self.start, self.end], axis=1).reshape(-1), [end]])
        return [(float(a), float(b)) for a, b in edges.reshape(-1, 2) if b > a]


def _busy(computes: Computes, start: float, end: float) -> _Busy:
    order = np.argsort(computes.start, kind="stable")
    begins, ends = computes.start[order].clip(start, end), computes.end[order].clip(start, end)
    if not len(begins):
        return _Busy(begins, ends)
    reach = np.maximum.accumulate(ends)
    is_first = np.concatenate([[True], begins[1:] > reach[:-1]])
    firsts = np.flatnonzero(is_first)
    return _Busy(begins[firsts], reach[np.concatenate([firsts[1:] - 1, [len(reach) - 1]])])


def cut(recording: Recording, of: Window, gathers: Sequence[bool]) -> Cut:
    """The pieces of a step; `gathers` says of each of its collectives whether compute needs what it brings at once."""
    busy = _busy(of.computes, of.start, of.end)
    exact = _told_waits(recording, of, busy)
    waits = _joined(exact if exact is not None else _seen_waits(recording, of, busy, gathers))
    pieces = tuple(_pieces(of, waits))
    step, computing = of.end - of.start, float((busy.end - busy.start).sum())
    exposed = sum(wait.until - wait.at for wait in waits)
    host = _host(recording, of, busy, waits)
    idle = max(step - computing - exposed - host, 0.0)
    return Cut(pieces, step, computing, exposed, host, idle, exact is not None)


def _host(recording: Recording, of: Window, busy: _Busy, waits: Sequence[Wait]) -> float:
    """Time in which the GPU stood still, waited for no collective, and what ran next had not been launched yet."""
    computes, communications = recording.computes, recording.communications
    starts = np.concatenate([computes.start, [each.start for each in communications]])
    launches = np.concatenate([computes.launch, [each.launch for each in communications]])
    order = np.argsort(starts, kind="stable")
    starts, launches = starts[order], launches[order]
    begins, found = [wait.at for wait in waits], 0.0
    for start, end in busy.gaps(of.start, of.end):
        inside = waits[bisect_left(begins, start) : bisect_left(begins, end)]
        since = max((wait.until for wait in inside), default=start)
        place = int(np.searchsorted(starts, end, side="left"))
        if place < len(starts) and launches[place] + LAUNCH_US > since:
            found += end - start - sum(wait.until - wait.at for wait in inside)
    return found


def _told_waits(recording: Recording, of: Window, busy: _Busy) -> list[Wait] | None:
    """Waits that the profile tells of: of streams of kernels for streams of collectives; None where it has none."""
    queued: dict[int, list[tuple[int, int]]] = {}  # of each stream: correlation and number of its collectives
    for number, one in enumerate(of.communications):
        queued.setdefault(one.stream, []).append((one.correlation, number))
    told = [each for each in recording.waits if each.on in queued and each.stream not in queued]
    if not told:
        return None
    for queue in queued.values():
        queue.sort()
    waits = []
    for stream in sorted({each.stream for each in told}):
        kernels = np.flatnonzero(of.computes.stream == stream)
        kernels = kernels[np.argsort(of.computes.correlation[kernels], kind="stable")]
        numbers = of.computes.correlation[kernels]
        for each in (each for each in told if each.stream == stream):
            place = bisect_right(queued[each.on], (each.record, len(of.communications)))
            if place:
                first = int(np.searchsorted(numbers, each.correlation, side="right"))
                begin = float(of.computes.start[kernels[first]]) if first < len(kernels) else of.end
                waits.append(_wait(of, busy, begin, (queued[each.on][place - 1][1],)))
    return waits


def _wait(of: Window, busy: _Busy, begin: float, collectives: tuple[int, ...]) -> Wait:
    """The wait for collectives of what begins at a time."""
    end = min(max(of.communications[each].end for each in collectives), begin)
    stopped = max(busy.before(begin), of.start)
    return Wait(stopped, end, collectives) if stopped < end else Wait(begin, begin, collectives)


def _seen_waits(recording: Recording, of: Window, busy: _Busy, gathers: Sequence[bool]) -> list[Wait]:
    """Waits that show: see the head of this module."""
    waits, shown = [], set()
    order = np.argsort(of.computes.start, kind="stable")
    starts, launches = of.computes.start[order], of.computes.launch[order]
    ends = np.array([each.end for each in of.communications])
    by_end = np.argsort(ends, kind="stable")
    host = _HostWaits.of(recording)
    for gap_start, gap_end in busy.gaps(of.start, of.end):
        first, last = np.searchsorted(ends[by_end], [gap_start, gap_end + CLOCKS_US], side="right")
        place = int(np.searchsorted(starts, gap_end, side="left"))
        launch = float(launches[place]) if place < len(launches) else np.nan
        inside = sorted(by_end[first:last].tolist())
        needed = tuple(each for each in inside if not launch > ends[each] or host.holds(float(ends[each])))
        if needed:
            waits.append(Wait(gap_start, min(max(float(ends[each]) for each in needed), gap_end), needed))
        shown |= set(needed)
    waits += [
        Wait(one.end, one.end, (number,))
        for number, one in enumerate(of.communications)
        if gathers[number] and number not in shown and one.end < of.end
    ]
    for time in recording.optimizers:
        before = {one.stream: number for number, one in enumerate(of.communications) if one.launch < time}
        later = starts[launches >= time]
        if before and len(later):
            waits.append(_wait(of, busy, float(later.min()), tuple(sorted(before.values()))))
    return waits


@dataclass(frozen=True)
class _HostWaits:
    """When the host waited for the GPU: by start, and up to when any of those that had begun lasts."""

    start: Times
    reach: Times

    @classmethod
    def of(cls, recording: Recording) -> _HostWaits:
        table = np.array(recording.host_waits, dtype=np.float64).reshape(-1, 2)
        return cls(table[:, 0], np.maximum.accumulate(table[:, 1]))

    def holds(self, time: float) -> bool:
        """Whether it waited then, so that what it launches later has waited for what ended then."""
        begun = int(np.searchsorted(self.start, time, side="right"))
        return begun > 0 and bool(self.reach[begun - 1] >= time)


def _joined(waits: Sequence[Wait]) -> list[Wait]:
    """The waits in order, those that begin together as one."""
    found: list[Wait] = []
    for wait in sorted(waits, key=lambda each: (each.at, each.until)):
        if found and wait.at <= found[-1].until and (wait.at < found[-1].until or wait.at == found[-1].at):
            last = found.pop()
            both = tuple(sorted({*last.collectives, *wait.collectives}))
            found.append(Wait(last.at, max(last.until, wait.until), both))
        else:
            found.append(wait)
    return found


@dataclass
class _Clock:
    """Where a sweep through the step stands: `now`, what the next stretch waits for, and the stretches so far."""

    now: float
    pending: set[int] = field(default_factory=set)

    def stretch(self, until: float) -> Iterator[Piece]:
        """The stretch of compute up to a time, where there is one."""
        if until > self.now or self.pending:
            yield Piece(self.now, max(until - self.now, 0.0), after=tuple(sorted(self.pending)))
            self.pending.clear()
        self.now = max(self.now, until)


def _pieces(of: Window, waits: Sequence[Wait]) -> Iterator[Piece]:
    departures = _departures(of)
    starts = sorted((time, number) for number, time in enumerate(departures))
    clock, turn = _Clock(of.start), 0
    for wait in [*waits, Wait(of.end, of.end, ())]:
        while turn < len(starts) and starts[turn][0] <= max(wait.at, clock.now):
            time, number = starts[turn]
            yield from clock.stretch(min(time, wait.at))
            yield Piece(time, collective=number)
            turn += 1
        yield from clock.stretch(wait.at)
        while turn < len(starts) and starts[turn][0] < wait.until:  # while compute stands still
            time, number = starts[turn]
            ended = tuple(each for each in wait.collectives if of.communications[each].end <= time)
            yield Piece(time, collective=number, after=ended)
            turn += 1
        clock.pending |= set(wait.collectives)
        clock.now = max(clock.now, wait.until)


def _departures(of: Window) -> list[float]:
    """When each collective could have started: when it did, or, behind another of its stream, after what came before.

    What came before is the compute that the host had launched before it.
    """
    order = np.argsort(of.computes.launch, kind="stable")  # unknown ones come last
    launches, reach = of.computes.launch[order], np.maximum.accumulate(of.computes.end[order])
    ended: dict[int, float] = {}
    found = []
    for one in of.communications:
        place = int(np.searchsorted(launches, one.launch, side="left"))
        before = float(reach[place - 1]) if place else of.start
        is_behind = one.start - ended.get(one.stream, -np.inf) <= TOGETHER_US
        found.append(min(one.start, max(before, of.start)) if is_behind and not np.isnan(one.launch) else one.start)
        ended[one.stream] = one.end
    return found
