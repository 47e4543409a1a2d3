"""What tables are about, and who predicts each: the one place to which a new subject is added."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from eastwest.validation import collectives, messages, training
from eastwest.validation.points import Point
from eastwest.validation.tables import Table

Predict = Callable[[Table], list[Point]]
"""From a table to its rows, each measured and predicted; it checks the keys and columns that only its subject has."""

SUBJECTS: Mapping[str, Predict] = {
    "collective": collectives.points,
    "message": messages.points,
    "training": training.points,
}
"""By the word that a table states as its subject; the first where it states none."""
