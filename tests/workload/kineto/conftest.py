"""Profiles as torch.profiler would export them, of a few events each; times are microseconds."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

COMPUTE, NCCL = 7, 20


class Trace:
    """Events of one rank, added one by one; each is launched by the host when it starts, unless said otherwise."""

    def __init__(self, rank: int = 0, world: int = 4) -> None:
        self.head: dict[str, Any] = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": world}}
        self.events: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}}]
        self.number = 100

    def add(self, cat: str, name: str, ts: float, dur: float, **args: Any) -> None:
        self.events.append(
            {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 0, "ts": ts, "dur": dur, "args": args}
        )

    def _on_gpu(self, name: str, ts: float, dur: float, stream: int, launch: float | None, **args: Any) -> int:
        self.number += 1
        self.add("kernel", name, ts, dur, device=0, stream=stream, correlation=self.number, **args)
        self.add("cuda_runtime", "cudaLaunchKernel", ts if launch is None else launch, 1, correlation=self.number)
        return self.number

    def compute(self, ts: float, dur: float, launch: float | None = None, stream: int = COMPUTE) -> int:
        return self._on_gpu("ampere_sgemm_128x64_nn", ts, dur, stream, launch)

    def collective(
        self,
        name: str,
        ts: float,
        dur: float,
        launch: float | None = None,
        elements: int = 1000,
        out: int | None = None,
        dtype: str = "Float",
        ranks: str = "[0, 1, 2, 3]",
        stream: int = NCCL,
        **more: Any,
    ) -> int:
        args = {"Collective name": name, "In msg nelems": elements, "Out msg nelems": elements if out is None else out}
        args |= {"dtype": dtype, "Group size": 4, "Process Group Name": "0", "Process Group Ranks": ranks} | more
        return self._on_gpu("ncclDevKernel_AllReduce_Sum_f32_RING_LL", ts, dur, stream, launch, **args)

    def step(self, number: int, ts: float, dur: float) -> None:
        self.add("user_annotation", f"ProfilerStep#{number}", ts, dur)

    def text(self) -> str:
        return json.dumps({**self.head, "traceEvents": self.events})


@pytest.fixture
def trace() -> type[Trace]:
    return Trace


@pytest.fixture
def saved(tmp_path: Path) -> Callable[..., Path]:
    """Writes a trace, or any text, as a profile."""

    def save(what: Trace | str | bytes, name: str = "rank0.pt.trace.json") -> Path:
        text = what.text() if isinstance(what, Trace) else what
        content = text.encode() if isinstance(text, str) else text
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return save
