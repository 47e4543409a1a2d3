"""What `eastwest build` does: the plan of a study's fabric and the files of each part.

The table of parts is here; each part is a function from the subject to files in a module of its own. Not here: the
text of any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from eastwest.artifacts import hosts, infiniband, inventory, mrc, sonic
from eastwest.artifacts.coordinates import PlanError
from eastwest.artifacts.file import File
from eastwest.artifacts.frr import frr
from eastwest.artifacts.plan_json import plan_file
from eastwest.artifacts.subject import Subject
from eastwest.document import nearest
from eastwest.errors import InputError

Part = Callable[[Subject], Iterable[File]]


def _mrc(subject: Subject) -> Iterable[File]:
    return mrc.files(subject.plan) if subject.plan.technology == "mrc" else ()


PARTS: Mapping[str, Part] = {
    "sonic": sonic.files,
    "frr": frr,
    "infiniband": infiniband.files,
    "mrc": _mrc,
    "hosts": hosts.files,
    "inventory": inventory.files,
}
"""Parts by the name that `--only` knows, in the order in which they are written. One that a fabric needs nothing of
gives no file."""


def build(subject: Subject, only: Sequence[str] = ()) -> tuple[File, ...]:
    """The files of all parts, or of some, and the plan.

    Raises:
        InputError: there is no such part, or the fabric needs nothing of it.
        StudyError: a part has no numbers for the fabric, or is not made for its shape; names the line.
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
        try:
            of_part = list(part(subject))
        except PlanError as error:
            raise subject.refused(error) from None
        if name in only and not of_part:
            raise InputError(f"--only {name}: a fabric of {subject.plan.technology} needs none of it")
        files += of_part
    return tuple(files)
