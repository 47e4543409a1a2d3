"""What `eastwest check config` found, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from eastwest.checks import Finding, Hop, Report, Severity

_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_MOST_PLACES = 2
_MOST_ROWS = 24
"""Rows of the table of hops that people are shown; programs get all."""


def config_check_json(report: Report) -> dict[str, Any]:
    """Findings, hops, and what was read."""
    return {
        "findings": [finding.as_json() for finding in report.findings],
        "hops": [hop.as_json() for hop in report.hops],
        "read": {
            "files": len(report.files),
            "switches": report.switches,
            "hosts": report.hosts,
            "links": report.links,
        },
    }


def config_check_parts(report: Report) -> Iterator[RenderableType]:
    """The table of hops, the findings, and a last line that sums up."""
    if report.hops:
        yield _hop_table(report.hops)
    for finding, places in _told_once(report.findings):
        line = Text(f"{finding.severity.value}", style=_STYLE[finding.severity])
        line.append(f" [{finding.rule}]", style="dim")
        for place in places[:_MOST_PLACES]:
            line.append(f" {_plain(place)}\n", style="bold")
        if len(places) > _MOST_PLACES:
            line.append(f" and in {len(places) - _MOST_PLACES} more files (--json has all)\n", style="bold")
        line.append(f"  {_plain(finding.what)}\n")
        line.append(f"  fix: {_plain(finding.fix)}", style="green")
        yield line
    yield Text(_summary(report), style="bold")


def _told_once(findings: tuple[Finding, ...]) -> list[tuple[Finding, list[str]]]:
    """Findings that say the same of several files, joined, with all their places."""
    joined: dict[tuple[str, ...], tuple[Finding, list[str]]] = {}
    for finding in findings:
        key = (finding.severity, finding.rule, finding.what, finding.fix)
        joined.setdefault(key, (finding, []))[1].append(finding.where)
    return list(joined.values())


def _summary(report: Report) -> str:
    """One line: what was read and what was found."""
    counts = {severity: sum(each.severity is severity for each in report.findings) for severity in Severity}
    read = ", ".join(
        _count(number, what)
        for number, what in ((report.switches, "switch"), (report.hosts, "host"), (report.links, "link"))
    )
    found = ", ".join(_count(counts[severity], severity.value) for severity in Severity)
    return f"{_count(len(report.files), 'file')} read ({read}): {found}"


def _count(number: int, what: str) -> str:
    plural = "es" if what.endswith("ch") else "s"
    return f"{number} {what}{'' if number == 1 else plural}"


def _hop_table(hops: tuple[Hop, ...]) -> Table:
    """What each switch does with RoCE data and its congestion notifications; like switches in one row."""
    table = Table(
        title="The way of a RoCE packet and of its CNP", title_justify="left", show_edge=False, pad_edge=False
    )
    for name in ("switch", "packet", "class", "queue", "group", "PFC", "marks at / pauses at", "headroom / need"):
        table.add_column(name, overflow="fold")
    table.add_column("served", overflow="fold")
    table.add_column("watchdog", overflow="fold")
    rows = _alike(hops)
    for hop, names in rows[:_MOST_ROWS]:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        table.add_row(
            _plain(f"{names[0]}{more} {hop.ports}"),
            f"{hop.packet} DSCP {hop.dscp}",
            _known(hop.tc),
            _known(hop.queue),
            _known(hop.group),
            {True: "on", False: "off", None: "?"}[hop.pfc],
            _marking(hop),
            _headroom(hop),
            _plain(hop.scheduler) or "?",
            _plain(hop.watchdog) or ("none" if hop.pfc else "-"),
        )
    if len(rows) > _MOST_ROWS:
        table.caption = f"and {len(rows) - _MOST_ROWS} more rows (--json has all)"
    return table


def _alike(hops: tuple[Hop, ...]) -> list[tuple[Hop, list[str]]]:
    """Rows that differ in the switch's name alone, joined."""
    joined: dict[tuple[object, ...], tuple[Hop, list[str]]] = {}
    for hop in hops:
        key = tuple(value for field, value in hop.as_json().items() if field != "switch")
        joined.setdefault(key, (hop, []))[1].append(hop.switch)
    return list(joined.values())


def _marking(hop: Hop) -> str:
    """Where marking begins and ends, against where the group pauses."""
    if hop.ecn is False:
        marks = "no ECN"
    elif hop.marks_from_bytes is None:
        marks = "?"
    else:
        marks = f"{_kilo(hop.marks_from_bytes)} to {_kilo(hop.marks_all_bytes)}"
    return marks if not hop.pfc else f"{marks} / {_kilo(hop.pauses_at_bytes)}"


def _headroom(hop: Hop) -> str:
    return f"{_kilo(hop.headroom_bytes)} / {_kilo(hop.need_bytes)}" if hop.pfc else "-"


def _kilo(size: int | None) -> str:
    return "?" if size is None else f"{size / 1e3:.0f} kB"


def _known(number: int | None) -> str:
    return "?" if number is None else str(number)


def _plain(words: str) -> str:
    """Words of a file, which must not steer the terminal."""
    return "".join(char if char.isprintable() else "?" for char in words)
