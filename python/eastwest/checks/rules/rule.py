"""What a rule is: a function from all that was read to faults, with a name, a severity and one line of doc."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from eastwest.checks.finding import Fault, Finding, Severity, gathered
from eastwest.checks.scene import Scene

Judge = Callable[[Scene], Iterable[Fault]]


@dataclass(frozen=True)
class Rule:
    """A rule of the check."""

    name: str
    severity: Severity
    doc: str
    judge: Judge

    def findings(self, scene: Scene) -> list[Finding]:
        """What it finds, the same fault at many places of a file told once."""
        return gathered(self.name, self.severity, self.judge(scene))


WRITTEN: dict[str, Rule] = {}
"""Every rule by name, as the modules are read."""


def rule(name: str, severity: Severity) -> Callable[[Judge], Judge]:
    """Makes a rule of a function; the first line of its docstring is what the table of rules says."""

    def kept(judge: Judge) -> Judge:
        WRITTEN[name] = Rule(name, severity, (judge.__doc__ or "").strip().splitlines()[0], judge)
        return judge

    return kept
