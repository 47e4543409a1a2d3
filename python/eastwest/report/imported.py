"""What imported files hold, as a table in a terminal and as JSON: a rank's work by kind, and what could not be used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from eastwest.units import format_size, format_time
from eastwest.workload import Collective, Compute, SendRecv, Step
from eastwest.workload.formats import Imported


@dataclass
class Kind:
    """The operations of one kind; `count`, `bytes` and `seconds` are a rank's, the mean over all."""

    name: str
    count: float = 0.0
    bytes: float = 0.0
    seconds: float = 0.0
    groups: set[int] = field(default_factory=set)

    def add(self, share: float, size: float = 0.0, seconds: float = 0.0, repeats: int = 1) -> None:
        """Counts an operation in which this share of the ranks takes part."""
        self.count += share * repeats
        self.bytes += share * size
        self.seconds += share * seconds


def kinds(step: Step) -> tuple[Kind, ...]:
    """What a step holds, by kind."""
    found: dict[str, Kind] = {}
    for operation in step.operations:
        if isinstance(operation, Compute):
            share = 1.0 if operation.ranks is None else len(operation.ranks) / step.ranks
            found.setdefault("compute", Kind("compute")).add(share, seconds=operation.seconds)
        elif isinstance(operation, Collective):
            kind = found.setdefault(operation.kind, Kind(operation.kind))
            share = sum(map(len, operation.groups)) / step.ranks
            kind.add(share, operation.bytes, repeats=operation.repeats)
            kind.groups |= {len(group) for group in operation.groups}
        elif isinstance(operation, SendRecv):
            found.setdefault("send", Kind("send")).add(len(operation.pairs) / step.ranks, operation.bytes)
    return tuple(found.values())


def contents(found: Imported) -> dict[str, Any]:
    """All of it as JSON."""
    return {
        "format": found.format,
        "ranks": found.step.ranks,
        "operations": len(found.step.operations),
        "kinds": [
            {
                "kind": kind.name,
                "per_rank": kind.count,
                "bytes_per_rank": kind.bytes,
                "seconds_per_rank": kind.seconds,
                "group_sizes": sorted(kind.groups),
            }
            for kind in kinds(found.step)
        ],
        "facts": list(found.facts),
        "unused": dict(found.unused),
    }


def imported_table(found: Imported) -> Group:
    """All of it for a terminal."""
    step = found.step
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("a rank's")
    for head in ("number", "bytes", "time"):
        table.add_column(head, justify="right")
    table.add_column("among")
    for kind in kinds(step):
        size = format_size(kind.bytes) if kind.name != "compute" else ""
        among = f"{', '.join(map(str, sorted(kind.groups)))} ranks" if kind.groups else ""
        table.add_row(kind.name, f"{kind.count:,.4g}", size, format_time(kind.seconds) if kind.seconds else "", among)
    count = len(step.operations)
    counts = ((step.ranks, "rank"), (count, "operation"))
    ranks, operations = (f"{number:,} {what}{'' if number == 1 else 's'}" for number, what in counts)
    head = f"{found.format}: {ranks}, {operations}"
    return Group(Text(head, style="bold"), *([table] if count else []), *_remarks(found))


def _remarks(found: Imported) -> Iterator[Text]:
    for fact in found.facts:
        yield Text(f"{fact[0].upper()}{fact[1:]}.")
    if found.unused:
        yield Text("Not used, or made up for:")
    for reason, count in found.unused.items():
        yield Text(f"  {count:,} x {reason}")
