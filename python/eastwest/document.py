"""A YAML file that a person wrote, read safely: plain values, and the line and column where each stood.

Knows nothing of studies or catalogues; both report their mistakes with the types here. Reading never builds objects
(tags are refused) and is bounded in size, depth and alias expansion.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eastwest.errors import InputError

LARGEST_BYTES = 1 << 20
MOST_VALUES = 200_000
DEEPEST = 64

Place = tuple[str | int, ...]
"""Way to a value: ("fabrics", "roce-400g", "link")."""


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong with a file: where, what, and what would be right."""

    file: str
    line: int | None
    column: int | None
    message: str
    expected: tuple[str, ...] = ()
    nearest: str | None = None

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}:{self.column}"
        meant = f"; did you mean {self.nearest!r}?" if self.nearest else ""
        words = list(dict.fromkeys(self.expected))
        choice = f" (expected one of: {', '.join(words)})" if len(words) > 1 else ""
        if len(words) == 1:
            choice = f" (expected {words[0]})"
        # a file's words must not steer the terminal
        return "".join(char if char.isprintable() else "?" for char in f"{where}: {self.message}{meant}{choice}")


class MistakesError(InputError):
    """A file that cannot be used, with every mistake found in it, in the order of the file."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        unique = dict.fromkeys(mistakes)
        self.mistakes = tuple(sorted(unique, key=lambda each: (each.file, each.line or 0, each.column or 0)))
        super().__init__("\n".join(str(each) for each in self.mistakes))


@dataclass(frozen=True)
class Document:
    """A file's plain values and where they stand; lines and columns count from 1."""

    file: str
    data: Any
    keys: Mapping[Place, tuple[int, int]] = field(default_factory=dict)
    values: Mapping[Place, tuple[int, int]] = field(default_factory=dict)

    def locate(self, place: Place) -> tuple[str, int | None, int | None]:
        """File, line and column of a value: the value itself where it is one word, the key of a larger block.

        A place that is not in the file stands for the nearest one around it that is.
        """
        for end in range(len(place), -1, -1):
            here = place[:end]
            if here in self.values:
                position = self.values[here]
                if isinstance(self.at(here), dict | list | None) or end < len(place):
                    position = self.keys.get(here, position)
                return self.file, *position
        return self.file, None, None

    def at(self, place: Place) -> Any:
        """The value at a place that is in the file."""
        value = self.data
        for step in place:
            value = value[step]
        return value

    def mistake(
        self, place: Place, message: str, expected: Iterable[str] = (), nearest: str | None = None, *, key: bool = False
    ) -> Mistake:
        """A mistake at a value, or at its key."""
        file, line, column = self.locate(place)
        if key and place in self.keys:
            line, column = self.keys[place]
        return Mistake(file, line, column, message, tuple(expected), nearest)


def nearest(word: object, words: Iterable[str]) -> str | None:
    """The word that was probably meant, if any is close."""
    lowered = {each.lower(): each for each in words}
    close = difflib.get_close_matches(str(word).lower()[:80], lowered, n=1, cutoff=0.55)
    return lowered[close[0]] if close else None


def name_of(value: object) -> str:
    """What a YAML value is, in a reader's words."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case dict():
            return "a mapping" if value else "an empty mapping"
        case _:
            return "something else"


def read(path: Path, shown: str | None = None) -> Document:
    """Reads a YAML file; `shown` is how messages name it. Raises `MistakesError`."""
    file = shown or str(path)

    def refuse(message: str) -> MistakesError:
        return MistakesError([Mistake(file, None, None, message)])

    try:
        if path.is_dir():
            raise refuse("is a folder, not a file")
        if not path.is_file():
            raise refuse("is not a regular file" if path.exists() else "there is no such file")
        with path.open("rb") as stream:
            raw = stream.read(LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, MistakesError):
            raise
        raise refuse(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return parse(raw, file)


def parse(raw: bytes | str, file: str) -> Document:
    """Reads YAML text; `file` is how messages name it. Raises `MistakesError`."""
    if isinstance(raw, str):
        raw = raw.encode("utf-8", "surrogatepass")
    if len(raw) > LARGEST_BYTES:
        raise MistakesError([Mistake(file, None, None, f"is larger than {LARGEST_BYTES >> 20} MiB")])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - (raw.rfind(b"\n", 0, error.start) + 1) + 1
        raise MistakesError([Mistake(file, line, column, "is not UTF-8 text")]) from None
    root = _compose(text, file)
    builder = _Builder(file)
    data = builder.value(root, ()) if root is not None else None
    if builder.mistakes:
        raise MistakesError(builder.mistakes)
    return Document(file, data, builder.keys, builder.values)


def _compose(text: str, file: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
        said = [str(part) for part in (error.context, error.problem) if part]
        message = f"is not YAML: {' '.join(said) if said[-1].startswith('but found') else said[-1]}"
    except RecursionError:
        line, column, message = None, None, "is nested too deeply"
    except (
        YAMLError,
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
        AssertionError,
        NotImplementedError,
    ) as error:
        position = getattr(error, "position", None)
        line, column = _line_and_column(text, position) if isinstance(position, int) else (None, None)
        message = f"is not YAML: {getattr(error, 'reason', None) or 'it cannot be parsed'}"
    raise MistakesError([Mistake(file, line, column, message)])


def _line_and_column(text: str, position: int) -> tuple[int, int]:
    return text.count("\n", 0, position) + 1, position - (text.rfind("\n", 0, position) + 1) + 1


class _Builder:
    """Turns YAML nodes into plain values and notes where they stand."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.keys: dict[Place, tuple[int, int]] = {}
        self.values: dict[Place, tuple[int, int]] = {}
        self.mistakes: list[Mistake] = []
        self._open: set[int] = set()
        self._count = 0

    def value(self, node: Any, place: Place) -> Any:
        self.values[place] = position = _position(node)
        self._count += 1
        if self._count > MOST_VALUES:
            raise MistakesError([Mistake(self.file, *position, f"holds over {MOST_VALUES:,} values, aliases counted")])
        if len(place) > DEEPEST:
            raise MistakesError([Mistake(self.file, *position, "is nested too deeply")])
        if id(node) in self._open:
            raise MistakesError([Mistake(self.file, *position, "an alias holds itself")])
        kind = type(node).__name__
        if kind == "ScalarNode":
            return self._scalar(node, position)
        if str(node.tag) not in ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
            self._refuse(position, f"the tag {node.tag} is not allowed")
        self._open.add(id(node))
        built = self._mapping(node, place) if kind == "MappingNode" else self._sequence(node, place)
        self._open.discard(id(node))
        return built

    def _sequence(self, node: Any, place: Place) -> list[Any]:
        return [self.value(item, (*place, index)) for index, item in enumerate(node.value)]

    def _mapping(self, node: Any, place: Place) -> dict[str, Any]:
        built: dict[str, Any] = {}
        for key_node, value_node in node.value:
            position = _position(key_node)
            if type(key_node).__name__ != "ScalarNode":
                self._refuse(position, "a key must be a plain word")
                continue
            key = str(key_node.value)
            if str(key_node.tag) == "tag:yaml.org,2002:merge":
                self._refuse(position, "the merge key << is not supported; write 'like:'")
            elif key in built:
                first = self.keys[(*place, key)][0]
                self._refuse(position, f"entry {key!r} appears twice (first in line {first})")
            else:
                self.keys[(*place, key)] = position
                built[key] = self.value(value_node, (*place, key))
        return built

    def _scalar(self, node: Any, position: tuple[int, int]) -> Any:
        text = str(node.value)
        match str(node.tag).removeprefix("tag:yaml.org,2002:"):
            case "null":
                return None
            case "bool":
                return text.lower() in ("true", "yes", "on")
            case "int":
                return _number(text, int)
            case "float":
                return _number(text, float)
            case "str" | "timestamp" | "value":
                return text
            case _:
                return self._refuse(position, f"the tag {node.tag} is not allowed")

    def _refuse(self, position: tuple[int, int], message: str) -> None:
        self.mistakes.append(Mistake(self.file, *position, message))


def _position(node: Any) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _number(text: str, kind: type[int] | type[float]) -> int | float | str:
    """The number that is written, or the text where Python cannot read it (4,300 digits, sexagesimals)."""
    plain = text.replace("_", "")
    if kind is float:
        plain = plain.lower().replace(".inf", "inf").replace(".nan", "nan")
    try:
        return int(plain, 0) if plain[:2].lower() in ("0x", "0o", "0b") else kind(plain)
    except ValueError:
        return text
