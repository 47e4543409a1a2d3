"""Timelines as Perfetto traces, to be opened at ui.perfetto.dev (which keeps them in the browser) or by any reader.

A trace has a track for the step, one for each rank shown with its queues below, and counters of link load by tier.
Times are nanoseconds from the step's beginning. Fields as in perfetto's `trace.proto`. Not here: what happened
(`study`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eastwest.report.figures import count
from eastwest.study.result import replacing
from eastwest.study.timeline import Slice, Timeline, Track
from eastwest.units import format_time

if TYPE_CHECKING:
    from collections.abc import Sequence

PS_PER_NS = 1000
_SEQUENCE = 1
"""All packets are of one writer."""
_LONGEST_NAME = 120


def write_traces(timelines: Sequence[Timeline], folder: Path) -> list[Path]:
    """Write a trace of each timeline to a folder, made if need be, whole or not at all; give their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for each in timelines:
        path = folder / _file_name(each.name, {path.name for path in paths})
        with replacing(path) as temporary:
            temporary.write_bytes(trace(each))
        paths.append(path)
    return paths


def trace(timeline: Timeline) -> bytes:
    """Give a timeline as a serialised `perfetto.protos.Trace`."""
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    writer = Writer(Trace())
    top = writer.track(f"step of {timeline.name}", description=_about(timeline))
    writer.slices(top, [Slice("step", "compute", 0, timeline.step_ps)], {"case": timeline.name, "draw": timeline.draw})
    for each in timeline.tracks:
        rank = writer.track(track_name(each))
        for lane in each.lanes:
            writer.slices(writer.track(lane.name, rank), lane.slices)
    times = [*(number * timeline.every_ps for number in range(_spans(timeline))), timeline.step_ps]
    loads = writer.track(f"link load, mean over {format_time(timeline.every_ps / 1e12)}")
    for load in timeline.loads:
        for what, values in (("busiest link", load.most), ("mean", load.mean)):
            if any(load.most):
                writer.counter(
                    writer.track(f"{load.tier}, {what}", loads, unit="%"),
                    times,
                    [100 * value for value in (*values, 0.0)],
                )
    text: bytes = writer.trace.SerializeToString(deterministic=True)
    return text


def track_name(track: Track) -> str:
    """Give what a rank's track is called: it says which rank, whether the slowest, and for how many it stands."""
    slowest = ", most exposed" if track.is_slowest else ""
    others = f", one of {track.alike:,} alike" if track.alike > 1 else ""
    return f"{track.name}{slowest}{others}"


def sampled(timeline: Timeline) -> str:
    """Say which of the ranks are shown."""
    shown = len(timeline.tracks)
    if shown == timeline.classes:
        kinds = (
            "each rank" if timeline.classes == timeline.ranks else "one rank of each class of ranks that do the same"
        )
        return f"Shown: {kinds}, {count(shown, 'track')} for {count(timeline.ranks, 'rank')}."
    return (
        f"Shown: {shown:,} of {timeline.classes:,} classes of ranks: the one with the most exposed communication, that "
        "of the first rank, and others spread evenly."
    )


def _about(timeline: Timeline) -> str:
    which = f"draw {timeline.draw + 1} of {timeline.draws}, the median" if timeline.draws > 1 else "the only draw"
    return f"{sampled(timeline)} Times are those of {which}, from the beginning of the step."


def _spans(timeline: Timeline) -> int:
    """How many spans of time a timeline's loads are means over."""
    return max((len(load.most) for load in timeline.loads), default=0)


class Writer:
    """Adds tracks, slices and counters to a `perfetto.protos.Trace`."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace
        self._tracks = 0

    def _packet(self) -> Any:
        packet = self.trace.packet.add()
        packet.trusted_packet_sequence_id = _SEQUENCE
        if len(self.trace.packet) == 1:
            packet.sequence_flags = packet.SEQ_INCREMENTAL_STATE_CLEARED
        return packet

    def track(self, name: str, parent: int = 0, *, description: str = "", unit: str = "") -> int:
        """Describe a track, shown in the order of description; gives its number."""
        self._tracks += 1
        descriptor = self._packet().track_descriptor
        descriptor.uuid, descriptor.name, descriptor.sibling_order_rank = self._tracks, name, self._tracks
        descriptor.child_ordering = descriptor.EXPLICIT
        if parent:
            descriptor.parent_uuid = parent
        if description:
            descriptor.description = description
        if unit:
            descriptor.counter.unit_name = unit
        return self._tracks

    def slices(self, track: int, slices: Sequence[Slice], notes: dict[str, str | int] | None = None) -> None:
        """Add slices in order of their beginnings, a slice before those within it."""
        for time_ns, each in _edges(slices):
            packet = self._packet()
            packet.timestamp = time_ns
            event = packet.track_event
            event.track_uuid = track
            if each is None:
                event.type = event.TYPE_SLICE_END
                continue
            event.type, event.name = event.TYPE_SLICE_BEGIN, each.name
            event.categories.append(each.kind)
            for key, value in (notes or {}).items():
                note = event.debug_annotations.add()
                note.name, note.string_value = key, str(value)

    def counter(self, track: int, times_ps: Sequence[int], values: Sequence[float]) -> None:
        """Add a counter's values, each from its time on."""
        for time_ps, value in zip(times_ps, values, strict=True):
            packet = self._packet()
            packet.timestamp = _nanoseconds(time_ps)
            event = packet.track_event
            event.track_uuid, event.type, event.double_counter_value = track, event.TYPE_COUNTER, value


def _edges(slices: Sequence[Slice]) -> Iterator[tuple[int, Slice | None]]:
    """Beginnings (with the slice) and ends (without) in order of time."""
    open_until: list[int] = []
    for each in slices:
        start, end = _nanoseconds(each.start_ps), _nanoseconds(each.end_ps)
        while open_until and open_until[-1] <= start:
            yield open_until.pop(), None
        yield start, each
        open_until.append(end)
    while open_until:
        yield open_until.pop(), None


def _nanoseconds(time_ps: int) -> int:
    return round(time_ps / PS_PER_NS)


def _file_name(name: str, taken: set[str]) -> str:
    """A name of letters, digits, dots and dashes, numbered where it is taken."""
    stem = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.")[:_LONGEST_NAME] or "step"
    numbered = (f"{stem}{f'-{number}' if number > 1 else ''}.perfetto-trace" for number in range(1, len(taken) + 2))
    return next(each for each in numbered if each not in taken)
