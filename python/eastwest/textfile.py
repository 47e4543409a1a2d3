"""Small text formats read line by line, with mistakes that name file and line.

Also: writing one whole or not at all. Not here: what any one format means.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from eastwest.errors import InputError

LARGEST_BYTES = 1 << 30


@dataclass(frozen=True)
class Line:
    """One line's words, and where it stands."""

    file: str
    number: int
    words: tuple[str, ...]

    def refuse(self, why: str) -> InputError:
        """The mistake on this line."""
        return InputError(f"{self.file}:{self.number}: {why}")

    def word(self, index: int, what: str) -> str:
        """A word by its place.

        Raises:
            InputError: the line is shorter.
        """
        if index >= len(self.words):
            raise self.refuse(f"{what} is missing after {' '.join(self.words) or 'nothing'!r}")
        return self.words[index]

    def count(self, index: int, what: str, least: int = 0, most: int = 2**63 - 1) -> int:
        """A whole number by its place.

        Raises:
            InputError: the line is shorter, or the word is no number between `least` and `most`.
        """
        word = self.word(index, what)
        if not (word.isascii() and word.isdigit() and len(word) < 20 and least <= int(word) <= most):
            raise self.refuse(f"{what} is a whole number from {least} to {most}, not {word!r}")
        return int(word)

    def ends_after(self, words: int) -> None:
        """Checks that nothing stands behind so many words.

        Raises:
            InputError: something does.
        """
        if len(self.words) > words:
            raise self.refuse(f"{self.words[words]!r} is one word too many: such a line has {words}")

    def decimal(self, index: int, what: str, most: float = 1e18) -> float:
        """A number from 0 to `most` by its place.

        Raises:
            InputError: the line is shorter, or the word is no such number.
        """
        word = self.word(index, what)
        try:
            value = float(word) if word.isascii() and word[:1].isdigit() else -1.0
        except ValueError:
            value = -1.0
        if not 0.0 <= value <= most:
            raise self.refuse(f"{what} is a number from 0 to {most:g}, not {word!r}")
        return value


def lines(path: Path, comment: str = "#") -> Iterator[Line]:
    """The lines of a file that hold more than a comment.

    Raises:
        InputError: there is no such file, it is too large, or it is no text.
    """
    if not path.is_file():
        raise InputError(f"{path}: this is no file of text" if path.exists() else f"{path}: there is no such file")
    if path.stat().st_size > LARGEST_BYTES:
        raise InputError(f"{path}: the file is larger than {LARGEST_BYTES >> 30} GiB")
    try:
        with path.open(encoding="utf-8-sig") as stream:
            for number, text in enumerate(stream, start=1):
                words = text.split(comment, 1)[0].split()
                if words:
                    yield Line(str(path), number, tuple(words))
    except UnicodeDecodeError:
        raise InputError(f"{path}: this is no text file") from None


@contextmanager
def written_whole(path: Path) -> Iterator[TextIO]:
    """A text file that is there once the block has ended, or, where it failed, not at all.

    Raises:
        OSError: the folder is missing or cannot be written to.
    """
    handle, scratch = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}-", suffix=".new")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            yield stream
        Path(scratch).chmod(0o644)
        Path(scratch).replace(path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
