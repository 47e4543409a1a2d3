"""The page of predictions against measurements, in Markdown: docs/validation.md.

Every figure on it comes from a verdict, so that the same tables give the same page. Not here: the terminal's tables.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from eastwest import units
from eastwest.document import parse
from eastwest.study.result import replacing
from eastwest.validation.picture import picture
from eastwest.validation.points import Point, median_error, worst
from eastwest.validation.tables import Table
from eastwest.validation.verdict import FamilyVerdict, TableVerdict, Verdict

_MOST_WORST = 20
"""Worst rows that are listed, of all."""
_MOST_OF_A_TABLE = 0.20
"""Median error beyond which a clean table is told."""
_BARS = "▁▂▃▄▅▆▇"
_RATIOS = (0.5, 0.75, 0.9, 1 / 0.9, 1 / 0.75, 1 / 0.5)
"""Predicted over measured between which one bar stands for the next."""

_HEAD = """\
# Predictions against measurements

What eastwest predicts, beside what others measured and published. This page is written by `eastwest validate --out
docs/validation.md` from tables that come with the package; [a table of your own](validate.md) is held against the model
the same way.

**Error** is predicted over measured time, less one: -20 % is too fast by a fifth. A table's error is the median of its
rows' errors without their sign, and so is a family's.

**Roles.** Constants are fitted on the tables marked `fit`; the families' figures are those of all others, marked
`check`. A constant belongs to a catalogue entry or a software version, never to a table. Roles were given before
anything was fitted, with changes since: `p4de-2-nodes`, `a100-8-send-recv`, `p5en-4-nodes-largest` and what NVIDIA
expects of all-to-alls over NVLink were to be checked, until generations of EFA and messages needed figures of their
own, and no other table had them; `p6-b200-1-node` was fitted on, until `vultr-b200-1-node` had more of the same. When
tables of two nodes from elsewhere had shown that small messages came out a third too fast on A100 and B200, those of
Azure, OCI, Crusoe, Lambda, Google's A4 and Vultr came in together: one server of Azure's and of Vultr's, and Vultr's
all-gathers, to fit on, the others to check. Of training jobs, all tables had been looked at once before
`nemo-24.11-h100`, `megatron-bridge-gb300-dense` and `llm-foundry-a100-40gb` were made `fit`.

**Clean** is a table whose hardware is stated, by itself or by its product's name, whose figures are printed, not quoted
or read off a picture, and in which no row takes over a quarter longer than one with a larger message. The others are
told with the reason.
"""

_BARS_MEAN = """\
Each bar is a row, in the order of the table: ▄ is within a tenth of what was measured, ▃ ▂ ▁ are ever more too fast (by
over a quarter, by over half), ▅ ▆ ▇ ever more too slow.
"""


def write_page(verdict: Verdict, path: Path) -> None:
    """Writes the page and its picture beside; nothing half-written is left where that fails. Raises OSError."""
    for name, text in (
        (path, page(verdict, path.with_suffix(".svg").name)),
        (path.with_suffix(".svg"), picture(verdict)),
    ):
        with replacing(name) as temporary:
            temporary.write_text(text, encoding="utf-8")


def page(verdict: Verdict, picture_name: str) -> str:
    """The page as text; the picture has that name."""
    lines = [
        _HEAD,
        *_families(verdict.families),
        f"![Predicted over measured time of every row]({picture_name})\n",
        "A dot is a row; a ring is one of a table on which constants were fitted. The green band is within a tenth.\n",
        *_short(verdict),
        *_tables(verdict.tables),
        *_furthest(verdict.tables),
        *_fitted(verdict.tables),
        *_each(verdict.tables),
        *_left_out(),
    ]
    return "\n".join(lines).rstrip() + "\n"


def aim(family: str) -> float:
    """The median error that is aimed at: collectives at large messages, at small ones, and training."""
    if family.startswith("training"):
        return 0.10
    return 0.20 if "small" in family else 0.08


def percent(share: float, *, sign: bool = False) -> str:
    """A share in percent, with two digits or three."""
    digits = 0 if abs(share) >= 0.0995 else 1
    return f"{100 * share:{'+' if sign else ''}.{digits}f} %"


def bars(points: Sequence[Point]) -> str:
    """One bar a row: low where predicted too fast, in the middle where right, high where too slow."""
    return "".join(_BARS[bisect(_RATIOS, 1 + point.error)] for point in points)


def _families(families: Sequence[FamilyVerdict]) -> Iterator[str]:
    yield "## By family\n"
    yield "| family | rows checked | median error | aim | worst | rows fitted on | their median |"
    yield "|---|---|---|---|---|---|---|"
    for each in families:
        checked, fitted = each.checked, each.fitted
        yield _row(
            each.name,
            str(len(checked)),
            percent(median_error(checked)) if checked else "",
            percent(aim(each.name)),
            percent(worst(checked).error, sign=True) if checked else "",
            str(len(fitted)),
            percent(median_error(fitted)) if fitted else "",
        )
    yield ""


def _short(verdict: Verdict) -> Iterator[str]:
    """The families beyond their aim, and the clean tables beyond a fifth, with what is known of why."""
    yield "## Where it falls short\n"
    beyond = [each for each in verdict.families if median_error(each.points) > aim(each.name)]
    for each in beyond:
        yield f"* {each.name}: {percent(median_error(each.points))}, where {percent(aim(each.name))} is aimed at."
    tables = [
        each
        for each in verdict.tables
        if each.table.role == "check" and not each.table.unclean and median_error(each.points) > _MOST_OF_A_TABLE
    ]
    for table in tables:
        why = f": {table.table.why}" if table.table.why else ""
        yield f"* [{table.table.name}](#{table.table.name}), clean, {percent(median_error(table.points))}{why}."
    if not beyond and not tables:
        yield "Every family is within its aim, and every clean table within a fifth."
    yield ""


def _tables(tables: Sequence[TableVerdict]) -> Iterator[str]:
    yield "## By table\n"
    yield _BARS_MEAN
    yield "| table | role | clean | rows | median | worst | rows, one a bar |"
    yield "|---|---|---|---|---|---|---|"
    for each in tables:
        table, points = each.table, each.points
        yield _row(
            f"[{table.name}](#{table.name})",
            table.role,
            "no" if table.unclean else "yes",
            str(len(points)),
            percent(median_error(points)),
            percent(worst(points).error, sign=True),
            bars(points) if len(points) <= 2 * _MOST_WORST else bars(points[: 2 * _MOST_WORST]) + " ...",
        )
    yield ""


def _furthest(tables: Sequence[TableVerdict]) -> Iterator[str]:
    rows = [(each.table, point) for each in tables if each.table.role == "check" for point in each.points]
    rows.sort(key=lambda found: -abs(found[1].error))
    if len(rows) <= _MOST_WORST:
        return
    yield f"## The {_MOST_WORST} rows that are furthest off\n"
    yield "Of all tables that were checked.\n"
    yield "| table | row | measured | predicted | error |"
    yield "|---|---|---|---|---|"
    for table, point in rows[:_MOST_WORST]:
        times = (units.format_time(point.measured_s), units.format_time(point.predicted_s))
        yield _row(f"[{table.name}](#{table.name})", point.label, *times, percent(point.error, sign=True))
    yield ""


def _fitted(tables: Sequence[TableVerdict]) -> Iterator[str]:
    shown = {each.table.name for each in tables}
    entries = [each for each in beside("fitted.yaml") if shown & set(each["tables"])]
    if not entries:
        return
    yield "## What was fitted\n"
    yield "| what | stands in | fitted on |"
    yield "|---|---|---|"
    for each in entries:
        yield _row(each["what"], each["stands"], ", ".join(f"[{name}](#{name})" for name in each["tables"]))
    yield ""


def beside(name: str) -> Any:
    """The plain values of a file beside the bundled tables."""
    return parse((files("eastwest.validation") / "tables" / name).read_bytes(), name).data


def _each(tables: Sequence[TableVerdict]) -> Iterator[str]:
    yield "## The tables\n"
    for each in tables:
        table, furthest = each.table, worst(each.points)
        yield f"### {table.name}\n"
        yield f"{table.title}. {_hardware(table)}\n"
        if table.unclean:
            yield f"* Not clean: {table.unclean}."
        if table.software:
            yield f"* Software: {table.software}."
        if table.notes:
            yield f"* {table.notes[0].upper()}{table.notes[1:]}."
        times = (units.format_time(furthest.measured_s), units.format_time(furthest.predicted_s))
        yield (
            f"* Median {percent(median_error(each.points))} over {len(each.points)} rows; worst: {furthest.label}, "
            f"measured {times[0]}, predicted {times[1]}."
        )
        if table.why:
            yield f"* Why it is off: {table.why}."
        yield f"* Source: {table.source}.\n" if table.source else ""


def _hardware(table: Table) -> str:
    """What the header says that it was measured on, in its own words."""
    said = []
    for key in ("cluster", "fabric"):
        stated = table.stated(key)
        if isinstance(stated, dict):
            said.append(", ".join(f"{each}: {value}" for each, value in stated.items()))
    changed = sorted({column.partition(".")[2] for column in table.columns if "." in column})
    if changed:
        said.append(f"by row: {', '.join(changed)}")
    return f"`{'; '.join(said)}`" if said else ""


def _left_out() -> Iterator[str]:
    data = beside("left-out.yaml")
    yield "## What is left out\n"
    yield "A public measurement that was read is a table here where\n"
    yield from (f"* {rule}," for rule in data["rules"].values())
    yield "\nand these are not:\n"
    yield "| what | fails | source |"
    yield "|---|---|---|"
    for each in data["left_out"]:
        yield _row(each["what"], each["rule"], each["source"])


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', ' ') for cell in cells)} |"
