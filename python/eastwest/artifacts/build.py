"""What `eastwest build` does: the plan of a study's fabric, the files of each part, and the folder that holds them.

The table of parts is here; each part is a function from the subject to files in a module of its own. Not here: the
text of any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from eastwest import spec
from eastwest.artifacts.coordinates import PlanError
from eastwest.artifacts.file import File
from eastwest.artifacts.plan import Plan, make_plan
from eastwest.artifacts.plan_json import plan_file
from eastwest.document import nearest
from eastwest.errors import InputError
from eastwest.fabric import FabricError
from eastwest.spec import Study
from eastwest.study import fabrics


@dataclass(frozen=True)
class Subject:
    """What is built: a fabric of a study, joined to one of its clusters, and its plan."""

    study: Study
    fabric: str
    cluster: str
    plan: Plan

    @property
    def asked(self) -> spec.fabrics.Fabric:
        """The fabric's entry in the study."""
        return self.study.fabrics[self.fabric]


Part = Callable[[Subject], Iterable[File]]

PARTS: Mapping[str, Part] = {}
"""Parts by the name that `--only` knows, in the order in which they are written. One that a fabric needs nothing of
gives no file."""


def subject(study: Study, fabric: str, cluster: str | None = None) -> Subject:
    """A fabric of a study with its plan: as designed, whatever the study says has failed.

    Raises:
        InputError: there is no such fabric or cluster, several, or the plan has no numbers or names for it.
        StudyError: the fabric cannot be built; names the line.
    """
    name, of = fabrics.named(study, fabric, cluster)
    built = fabrics.build(study, name, of, ())
    try:
        return Subject(study, name, of, make_plan(built, study.catalog_entries()))
    except (PlanError, FabricError) as error:
        raise study.error_at(("fabrics", name), f"fabric {study.base('fabrics', name)!r}: {error}") from None


def build(subject: Subject, only: Sequence[str] = ()) -> tuple[File, ...]:
    """The files of all parts, or of some, and the plan.

    Raises:
        InputError: there is no such part, or the fabric needs nothing of it.
    """
    for name in only:
        if name not in PARTS:
            guess = nearest(name, tuple(PARTS))
            meant = f"; did you mean {guess!r}?" if guess else ""
            raise InputError(f"--only {name}: there is no such part{meant} (there are: {', '.join(PARTS)})")
    files = [plan_file(subject.plan)]
    for name, part in PARTS.items():
        if only and name not in only:
            continue
        of_part = list(part(subject))
        if name in only and not of_part:
            raise InputError(f"--only {name}: a fabric of {subject.plan.technology} needs none of it")
        files += of_part
    return tuple(files)
