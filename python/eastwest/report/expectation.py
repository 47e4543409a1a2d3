"""A log of nccl-tests beside its expectation, for a terminal and as JSON. Not here: what a finding rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from eastwest.expect import Comparison, Expected, Finding, Scene
from eastwest.report.figures import percent

_BANDS = {"small": "below 1 MiB", "middle": "between", "plateau": "large messages"}


def comparison_table(comparison: Comparison, findings: Sequence[Finding]) -> RenderableType:
    """Give measured and expected by size, whether they agree, and what is suggested where they do not."""
    scene = comparison.scene
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for head in ("size", "measured\nus", "expected\nus", "measured\nbusbw", "expected\nbusbw", "of it"):
        table.add_column(head, justify="right", vertical="bottom")
    table.add_column("expected\nto run", vertical="bottom")
    for pair in comparison.pairs:
        table.add_row(
            f"{pair.size_bytes:,}",
            f"{pair.measured_s * 1e6:,.2f}",
            f"{pair.expected.time_s * 1e6:,.2f}",
            f"{pair.busbw / 1e9:.2f}",
            f"{pair.expected.busbw / 1e9:.2f}",
            percent(pair.ratio) if pair.is_judged else "",
            pair.expected.how,
        )
    servers = "1 server" if scene.nodes == 1 else f"{scene.nodes:,} servers"
    title = (
        f"{scene.program.name} among {scene.ranks:,} GPUs in {servers} on {scene.fabric}: {comparison.benchmark.file}"
    )
    parts: list[RenderableType] = [Text(title, "bold underline"), table, Text()]
    parts += [Text(line) for line in _bands(comparison)]
    parts.append(Text(_verdict(comparison), "bold"))
    parts += [Text(note, "dim") for note in _notes(comparison)]
    if not comparison.agrees and not findings:
        parts += [Text(), Text("None of the causes that are known here has this shape.", "bold")]
    return Group(*parts, *finding_parts(findings))


def finding_parts(findings: Iterable[Finding]) -> list[RenderableType]:
    """Give findings, each with its evidence and how to confirm its causes."""
    parts: list[RenderableType] = []
    for finding in findings:
        parts += [Text(), Text(f"{finding.says}.", "bold")]
        parts += [Padding(Text(each), (0, 0, 0, 2)) for each in finding.evidence]
        for cause in finding.causes:
            parts += [Padding(Text(f"- {cause.what}"), (0, 0, 0, 2)), Padding(Text(cause.confirm, "dim"), (0, 0, 0, 4))]
    return parts


def _bands(comparison: Comparison) -> Iterable[str]:
    for band in comparison.bands:
        yield f"{_BANDS[band.name]}: {percent(band.ratio)} of the expected rate ({percent(band.least)} or more agrees)"


def _verdict(comparison: Comparison) -> str:
    if comparison.agrees:
        return "It agrees."
    are_rates_fine = bool(comparison.bands) and all(band.agrees for band in comparison.bands)
    return "Its rates agree; something else is wrong." if are_rates_fine else "It falls short."


def _notes(comparison: Comparison) -> Iterable[str]:
    benchmark, scene = comparison.benchmark, comparison.scene
    yield from scene.notes
    if len(comparison.judged) < len(comparison.pairs):
        yield "Below 1 MiB only the network's own latency is known for this program: not judged."
    if any(band.ratio > 1 + comparison.tolerance for band in comparison.bands):
        yield "Where it is faster than expected, the study may say less than is there: NICs, rates, version of NCCL."
    if benchmark.unread:
        lines = "1 line" if benchmark.unread == 1 else f"{benchmark.unread} lines"
        yield f"{lines} of the table could not be read: cut off, or mixed with other output."
    if benchmark.version and scene.algorithm == "auto":
        planned = scene.study.nccl
        if not f"{benchmark.version}.".startswith(f"{planned.version}."):
            yield f"The log is of NCCL {benchmark.version}, the study's choices are those of {planned} (nccl: version)."
    for warning in benchmark.told.warnings[:3]:
        yield f"NCCL warned: {warning}"


def expectation_json(scene: Scene, rows: Sequence[Expected]) -> dict[str, Any]:
    """Give the table alone."""
    return {**_place(scene), "rows": [asdict(row) for row in rows]}


def comparison_json(comparison: Comparison, findings: Sequence[Finding]) -> dict[str, Any]:
    """Give one log's comparison and findings."""
    return {
        "file": comparison.benchmark.file,
        "line": comparison.benchmark.line,
        **_place(comparison.scene),
        "agrees": comparison.agrees,
        "tolerance": comparison.tolerance,
        "nccl_version": comparison.benchmark.version,
        "wrong": comparison.wrong,
        "unread": comparison.benchmark.unread,
        "bands": [{**asdict(band), "agrees": band.agrees} for band in comparison.bands],
        "rows": [
            {
                "size_bytes": pair.size_bytes,
                "band": pair.band,
                "measured_s": pair.measured_s,
                "measured_busbw": pair.busbw,
                "expected_s": pair.expected.time_s,
                "expected_busbw": pair.expected.busbw,
                "ratio": pair.ratio,
                "is_judged": pair.is_judged,
                "how": pair.expected.how,
            }
            for pair in comparison.pairs
        ],
        "findings": [finding_json(each) for each in findings],
    }


def finding_json(finding: Finding) -> dict[str, Any]:
    """Give one finding."""
    return asdict(finding)


def _place(scene: Scene) -> dict[str, Any]:
    return {
        "program": scene.program.name,
        "fabric": scene.fabric,
        "ranks": scene.ranks,
        "servers": scene.nodes,
        "gpus_per_server": scene.per_node,
        "notes": list(scene.notes),
    }
