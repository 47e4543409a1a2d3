"""A study whose fabric takes its forwarding tables from a file named on the command line."""

from __future__ import annotations

from pathlib import Path

from eastwest.document import nearest
from eastwest.errors import InputError
from eastwest.spec import Study
from eastwest.spec.fabrics import OVER_TABLES


def with_routes(study: Study, file: Path, fabric: str | None = None) -> Study:
    """The same study, where one fabric (or the only one) has the routes of a file, in place of what it states.

    Balancing that leaves tables nothing to say, such as adaptive routing, becomes ECMP over them.

    Raises:
        InputError: there is no such file or fabric, or there are several fabrics and none is named.
    """
    if not file.is_file():
        raise InputError(f"--routes: there is no file {file}")
    bases = tuple(dict.fromkeys(study.base("fabrics", each) for each in study.fabrics))
    if fabric is None and len(bases) > 1:
        raise InputError(f"{study.file} has fabrics {', '.join(bases)}: say whose routes these are with --fabric")
    wanted = bases[0] if fabric is None else fabric
    if wanted not in bases:
        guess = nearest(wanted, bases)
        meant = f"; did you mean {guess!r}?" if guess else ""
        raise InputError(f"{study.file}: no fabric {wanted!r}{meant} (it has: {', '.join(bases)})")
    fabrics = dict(study.fabrics)
    for each in study.variants("fabrics", wanted):
        asked = fabrics[each]
        balancing = asked.balancing if asked.balancing in OVER_TABLES else "ecmp"
        fabrics[each] = asked.model_copy(update={"routes": file.absolute(), "balancing": balancing})
    return study.model_copy(update={"fabrics": fabrics})
