"""The file that nccl-tests writes with `-J`: the same tables as its text, and the arguments and environment.

Times are microseconds and rates GB/s there; a number that is none stands as a string. Not here: text (`nccl_tests`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from eastwest.errors import InputError
from eastwest.observe.benchmark import LARGEST_SIZE, Benchmark, Device, Row, Timing, Told


def parse(text: str, file: str) -> tuple[Benchmark, ...]:
    """The table of such a file.

    Raises:
        InputError: it is no JSON, JSON of something else, or has no row that can be read.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        told = f"{file}:{error.lineno}: this is no JSON ({error.msg}); a run that is stopped leaves it unfinished"
        raise InputError(told) from None
    except RecursionError:
        raise InputError(f"{file}: this JSON is nested too deeply to be of nccl-tests") from None
    results = data.get("results") if isinstance(data, dict) else None
    if not isinstance(results, list):
        keys = ", ".join(map(str, list(data)[:6])) if isinstance(data, dict) else type(data).__name__
        wanted = "expected is what nccl-tests writes with -J, which has `results`"
        raise InputError(f"{file}: this JSON is not of nccl-tests (it has: {keys or 'nothing'}); {wanted}")
    rows = tuple(row for each in results if (row := _row(each)) is not None)
    if not rows:
        raise InputError(f"{file}: a run of nccl-tests that ended before the first row of its table.")
    arguments = [each for each in _list(data.get("args")) if isinstance(each, str)]
    program = arguments[0].replace("\\", "/").rsplit("/", 1)[-1] if arguments else None
    version = data.get("nccl_version")
    return (
        Benchmark(
            file,
            1,
            program,
            rows,
            _devices(data),
            _dotted(version) if isinstance(version, int) else None,
            Told(environment=_environment(_list(data.get("env")))),
            len(results) - len(rows),
            _thread_gpus(data.get("config")),
        ),
    )


def _row(written: Any) -> Row | None:
    if not isinstance(written, dict):
        return None
    size, count = _number(written.get("size")), _number(written.get("count"))
    halves = [_timing(written.get(key)) for key in ("out_of_place", "in_place")]
    if size is None or count is None or not 0 <= size <= LARGEST_SIZE or halves == [None, None]:
        return None
    redop, root = written.get("redop"), _number(written.get("root"))
    return Row(
        int(size),
        int(count),
        str(written.get("type", "")),
        None if redop in (None, "none", "") else str(redop),
        None if root is None else int(root),
        *halves,
    )


def _timing(written: Any) -> Timing | None:
    if not isinstance(written, dict):
        return None
    time_us = _number(written.get("time", written.get("cpu_time")))
    algbw, busbw = _number(written.get("alg_bw")), _number(written.get("bus_bw"))
    if time_us is None or algbw is None or busbw is None or min(time_us, algbw, busbw) < 0:
        return None
    return Timing(time_us * 1e-6, algbw * 1e9, busbw * 1e9, _number(written.get("nwrong")))


def _devices(data: Mapping[str, Any]) -> tuple[Device, ...]:
    config = data.get("config")
    listed = data.get("ranks") or data.get("devices") or (config.get("devices") if isinstance(config, dict) else None)
    return tuple(
        Device(
            int(_number(each.get("rank")) or 0),
            str(each.get("hostname", "")),
            int(_number(each.get("device")) or 0),
            str(each.get("device_info", "")),
        )
        for each in _list(listed)
        if isinstance(each, dict)
    )


def _thread_gpus(config: Any) -> int | None:
    number = _number(config.get("ngpus")) if isinstance(config, dict) else None
    return None if number is None else int(number)


def _environment(listed: list[Any]) -> Mapping[str, str]:
    pairs = (each.partition("=") for each in listed if isinstance(each, str) and each.startswith("NCCL_"))
    return MappingProxyType({name: value for name, _, value in pairs})


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    """A finite number, or a string that holds one; None for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and abs(number) < 1e18 else None


def _dotted(version: int) -> str:
    """A version as people write it, as NCCL counts from 2.9 on: 21805 is 2.18.5."""
    return f"{version // 10000}.{version // 100 % 100}.{version % 100}"
