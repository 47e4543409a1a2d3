"""What a profile says of one GPU: when it computed and communicated, what the host launched when, and its steps.

Times are microseconds from the profile's own origin. Not here: what of it makes a step (`cut`), and what its
collectives are (`collectives`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from eastwest.errors import InputError
from eastwest.workload.formats.kineto.stream import Stream

MOST_ACTIVITIES = 20_000_000
"""Kernels and copies of one profile: they are kept, at some 200 bytes each."""

Times = npt.NDArray[np.float64]
_KERNELS = {"kernel"}
_COPIES = {"gpu_memcpy", "gpu_memset", "memcpy", "memset"}
_HOST = {"cuda_runtime", "cuda_driver", "hip_runtime", "runtime"}
_SYNC = "cuda_sync"
_STEP = "ProfilerStep#"
_OPTIMIZER = "Optimizer.step#"
_COMMUNICATION = "record_param_comms"


@dataclass(frozen=True, slots=True)
class Launched:
    """A kernel of a collective library; `launch` is when the host launched it, NaN where that is not known."""

    start: float
    end: float
    launch: float
    correlation: int
    stream: int
    name: str
    args: Mapping[str, Any]


@dataclass(frozen=True)
class Computes:
    """Kernels and copies that are no communication, by start; an entry each."""

    start: Times
    end: Times
    launch: Times
    correlation: npt.NDArray[np.int64]
    stream: npt.NDArray[np.int64]

    def where(self, chosen: npt.NDArray[np.bool_]) -> Computes:
        """Those that are chosen."""
        times = (self.start[chosen], self.end[chosen], self.launch[chosen])
        return Computes(*times, self.correlation[chosen], self.stream[chosen])


@dataclass(frozen=True, slots=True)
class StreamWait:
    """A stream that waits, from what is launched there after `correlation` on, for what another had until `record`."""

    stream: int
    correlation: int
    on: int
    record: int


@dataclass(frozen=True)
class Recording:
    """One rank's profile; `steps` are (number, start, end) on the host, in order, `optimizers` when theirs begin."""

    path: Path
    about: Mapping[str, Any]
    computes: Computes
    communications: tuple[Launched, ...]
    waits: tuple[StreamWait, ...]
    host_waits: tuple[tuple[float, float], ...]
    steps: tuple[tuple[int, float, float], ...]
    optimizers: tuple[float, ...]
    unused: Counter[str]


@dataclass
class _Rows:
    """What was read so far; an activity is (start, end, correlation, stream, device, is a copy from or to the host)."""

    activities: list[tuple[float, float, int, int, int, bool]] = field(default_factory=list)
    communications: list[tuple[float, float, int, int, int, str, Mapping[str, Any]]] = field(default_factory=list)
    launches: dict[int, float] = field(default_factory=dict)
    told: dict[Any, Mapping[str, Any]] = field(default_factory=dict)
    waits: list[StreamWait] = field(default_factory=list)
    host_waits: list[tuple[float, float]] = field(default_factory=list)
    steps: dict[int, tuple[float, float]] = field(default_factory=dict)
    optimizers: list[float] = field(default_factory=list)
    unused: Counter[str] = field(default_factory=Counter)


def record(path: Path) -> Recording:
    """Reads a profile.

    Raises:
        InputError: it is broken, has no GPU in it or no collectives of NCCL, or too much; says what to record instead.
    """
    stream, rows = Stream(path), _Rows()
    for event in stream.events():
        _event(rows, event)
        if len(rows.activities) > MOST_ACTIVITIES:
            raise InputError(f"{path}: the profile has more than {MOST_ACTIVITIES:,} kernels: record fewer steps")
    if not rows.activities and not rows.communications:
        remedy = "record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"
        raise InputError(f"{path}: no GPU ran anything in this profile of {stream.count:,} events: {remedy}")
    if not rows.communications:
        raise InputError(
            f"{path}: the profile has {len(rows.activities):,} kernels and none of NCCL's: it is of a job on one GPU, "
            "or of steps in which it does not communicate"
        )
    return _recording(path, stream.about, rows)


def _event(rows: _Rows, event: Mapping[str, Any]) -> None:
    """Keeps what one event says, if it is of use."""
    category, name, args = event.get("cat"), event.get("name"), event.get("args")
    if not isinstance(category, str) or not isinstance(name, str) or event.get("ph") != "X":
        return
    start, duration = _time(event.get("ts")), _time(event.get("dur", 0))
    if start is None or duration is None or duration < 0:
        rows.unused["events without a usable time"] += 1
        return
    category = category.lower()
    args = args if isinstance(args, dict) else {}
    if category in _KERNELS or category in _COPIES:
        correlation, on = _whole(args.get("correlation")), _whole(args.get("stream", event.get("tid")))
        device = _whole(args.get("device", event.get("pid")))
        if "nccl" in name.lower() and category in _KERNELS:
            rows.communications.append((start, start + duration, correlation, on, device, name, args))
        else:
            is_apart = category in _COPIES and ("HtoD" in name or "DtoH" in name)
            rows.activities.append((start, start + duration, correlation, on, device, is_apart))
    elif category in _HOST:
        if "correlation" in args:
            rows.launches[_whole(args["correlation"])] = start
        if "Synchronize" in name:
            rows.host_waits.append((start, start + duration))
    elif category == _SYNC and args.get("cuda_sync_kind", name) == "Stream Wait Event":
        record_of, on = _whole(args.get("wait_on_cuda_event_record_corr_id")), _whole(args.get("wait_on_stream"))
        if record_of >= 0 and on >= 0:
            rows.waits.append(StreamWait(_whole(args.get("stream")), _whole(args.get("correlation")), on, record_of))
    elif name == _COMMUNICATION and "Collective name" in args:
        rows.told[args.get("External id")] = args
    elif name.startswith(_OPTIMIZER) and category != "gpu_user_annotation":
        rows.optimizers.append(start)
    elif name.startswith(_STEP) and category != "gpu_user_annotation":
        number = _whole(name.removeprefix(_STEP))
        if number >= 0:
            rows.steps.setdefault(number, (start, start + duration))


def _time(value: Any) -> float | None:
    """Microseconds; a profile may write them as text."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if abs(found) < 1e18 else None


def _whole(value: Any) -> int:
    """A number of the profiler's; -1 where it is none."""
    try:
        found = int(value)
    except (TypeError, ValueError, OverflowError):
        return -1
    return found if -1 <= found < 2**62 else -1


def _recording(path: Path, about: Mapping[str, Any], rows: _Rows) -> Recording:
    """The rows of the one GPU that communicates most, each with when it was launched."""
    devices = Counter(row[4] for row in rows.communications)
    device = min(devices, key=lambda each: (-devices[each], each))
    unused = rows.unused
    others = sum(row[4] != device for row in [*rows.activities, *rows.communications])
    if others:
        unused["kernels of other GPUs in the same process"] += others
    own = [row for row in rows.activities if row[4] == device]
    computing = {row[3] for row in own if not row[5]}
    apart = sum(row[5] and row[3] not in computing for row in own)
    if apart:
        unused["copies between host and GPU on streams of their own, beside compute"] += apart
    kept = sorted(row for row in own if not row[5] or row[3] in computing)
    table = np.array([row[:4] for row in kept], dtype=np.float64).reshape(-1, 4)
    correlation, on = (np.array([row[at] for row in kept], dtype=np.int64) for at in (2, 3))
    launch = np.array([rows.launches.get(row[2], np.nan) for row in kept], dtype=np.float64)
    communications = sorted((row for row in rows.communications if row[4] == device), key=lambda row: row[:4])
    return Recording(
        path,
        about,
        Computes(table[:, 0].copy(), table[:, 1].copy(), launch, correlation, on),
        tuple(
            Launched(start, end, rows.launches.get(number, np.nan), number, stream, name, _told(args, rows.told))
            for start, end, number, stream, _, name, args in communications
        ),
        tuple(rows.waits),
        tuple(sorted(rows.host_waits)),
        tuple((number, *rows.steps[number]) for number in sorted(rows.steps, key=lambda each: rows.steps[each])),
        tuple(sorted(rows.optimizers)),
        unused,
    )


def _told(args: Mapping[str, Any], told: Mapping[Any, Mapping[str, Any]]) -> Mapping[str, Any]:
    """What is known of a collective: newer profiles tell it with the kernel, older ones where the host called it."""
    called = told.get(args.get("External id"), {}) if args.get("External id") is not None else {}
    return {**called, **args} if "Collective name" in args or called else args
