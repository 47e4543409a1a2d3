"""Chakra traces, written node by node."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from eastwest.workload.formats import Asked, Imported, Roofline, import_job
from eastwest.workload.formats import chakra_schema as schema


def attribute(name: str, value: Any) -> dict[str, Any]:
    kind = {bool: "bool_val", int: "int64_val", str: "string_val", float: "double_val"}[type(value)]
    return {"name": name, kind: value}


def node(number: int, kind: int, name: str = "", after: Sequence[int] = (), micros: int = 0, **attributes: Any) -> Any:
    """A node, with attributes by name; `ctrl`, `inputs` and `start` (microseconds) are fields of its own."""
    ctrl, inputs, start = attributes.pop("ctrl", ()), attributes.pop("inputs", None), attributes.pop("start", 0)
    return schema.Node(
        id=number,
        name=name,
        type=kind,
        data_deps=after,
        ctrl_deps=ctrl,
        start_time_micros=start,
        duration_micros=micros,
        inputs=inputs,
        attr=[attribute(*each) for each in attributes.items()],
    )


def framed(*nodes: Any) -> bytes:
    messages = [schema.GlobalMetadata(version="0.0.4"), *nodes]
    return b"".join(map(schema.framed, messages))


Write = Callable[..., list[Path]]


@pytest.fixture
def chakra(tmp_path: Path) -> Write:
    """Writes a file for each rank's nodes."""

    def write(*ranks: Sequence[Any]) -> list[Path]:
        paths = [tmp_path / f"t.{rank}.et" for rank in range(len(ranks))]
        for path, nodes in zip(paths, ranks, strict=True):
            path.write_bytes(framed(*nodes))
        return paths

    return write


def imported(*paths: Path, ranks: int | None = None, gpu: Roofline | None = None) -> Imported:
    return import_job(Asked(paths, ranks, gpu))
