"""The study from a notebook: what the command line does, in a few lines of Python.

    import eastwest as ew

    answer = ew.run("pune-1024")
    answer.frame.filter(pl.col("workload") == "moe").select("fabric", "step_s", "exposed_share")

Not here: how any of it is computed. For the parts themselves use `eastwest.fabric`, `eastwest.workload` and
`eastwest.engine`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from eastwest.study import StudyResult


@dataclass(frozen=True)
class Answer:
    """A study's result, with the ways to look at it; in a notebook it shows itself as its table."""

    result: StudyResult

    @property
    def frame(self) -> pl.DataFrame:
        """One row for each fabric, workload and placement; times in seconds, shares and loads from 0 to 1."""
        from eastwest.study import to_table

        return to_table(self.result)

    @property
    def jobs(self) -> pl.DataFrame:
        """One row for each job of a mix: its step beside the others and alone, in seconds, and the slowdown."""
        from eastwest.study import jobs_table

        return jobs_table(self.result)

    @property
    def json(self) -> dict[str, Any]:
        """The result as `eastwest study --json` prints it."""
        from eastwest.study import to_json

        return to_json(self.result)

    def write(self, folder: str | Path) -> Path:
        """Writes report.html, results.json and results.parquet to a folder, and gives the report's path."""
        from eastwest import report

        return report.write_all(self.result, Path(folder))

    def __str__(self) -> str:
        from rich.console import Console

        from eastwest import report

        console = Console(width=100)
        with console.capture() as text:
            console.print(report.table(self.result))
        return text.get()

    def _repr_html_(self) -> str:
        shown: str = self.frame._repr_html_()
        return shown


def run(study: str | Path | Mapping[str, Any], where: str = "") -> Answer:
    """Runs a study: a file, the name of a bundled one, or plain values with the keys of a study file.

    `where` chooses combinations, as `eastwest study --where` does: "fabric=roce,link>=200 Gb/s".

    Raises:
        StudyError: the study is wrong; the message names every mistake and its remedy.
        InputError: `where` cannot be read, or leaves nothing.
    """
    from eastwest import spec
    from eastwest import study as studies

    given = spec.from_mapping(study) if isinstance(study, Mapping) else spec.load(study)
    return Answer(studies.run(given, where=where))
