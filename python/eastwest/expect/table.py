"""The table of nccl-tests as its programs print it, so that whatever reads their logs reads this.

In place stands what stands out of place, since the model does not tell them apart; a line says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eastwest.expect.prediction import Expected, Scene


def lines(scene: Scene, rows: Iterable[Expected], element: str = "float") -> Iterator[str]:
    """The lines, with heads as versions from 2.13 on have them (src/util.cu); `element` is their word for a type."""
    program = scene.program
    operation = "sum" if program.has_operation else "none"
    root = "0" if program.has_root else "-1"
    gpu = scene.server["gpu"]["name"]
    yield f"# eastwest: what {program.name} should show on fabric {scene.fabric} of study {scene.study.name}"
    yield f"# {scene.ranks} ranks, {scene.per_node} {gpu} in each of {scene.nodes} servers; in place as out of place"
    yield from (f"# {note}" for note in scene.notes)
    yield "#"
    yield f"# {'':>10}  {'':>12}  {'':>8}  {'':>6}  {'':>6}           out-of-place                       in-place"
    half = f"{'time':>7}  {'algbw':>6}  {'busbw':>6}  {'#wrong':>6}"
    yield f"# {'size':>10}  {'count':>12}  {'type':>8}  {'redop':>6}  {'root':>6}  {half}  {half}"
    half = f"{'(us)':>7}  {'(GB/s)':>6}  {'(GB/s)':>6}  {'':>6}"
    yield f"# {'(B)':>10}  {'(elements)':>12}  {'':>8}  {'':>6}  {'':>6}  {half}  {half}".rstrip()
    shown = list(rows)
    for row in shown:
        time, algbw, busbw = _fit(row.time_s * 1e6, 7), _fit(row.algbw / 1e9, 6), _fit(row.busbw / 1e9, 6)
        half = f"{time}  {algbw}  {busbw}     N/A"
        yield f"{row.size_bytes:>12}  {row.count:>12}  {element:>8}  {operation:>6}  {root:>6}  {half}  {half}"
    mean = sum(row.busbw for row in shown) / len(shown) / 1e9 if shown else 0.0
    yield f"# Avg bus bandwidth    : {mean:g}"


def _fit(value: float, width: int) -> str:
    """A number with as many decimals, two at most, as its column has room for."""
    for decimals in (2, 1, 0):
        if len(text := f"{value:.{decimals}f}") <= width:
            return f"{text:>{width}}"
    return f"{value:>{width}.1e}"
