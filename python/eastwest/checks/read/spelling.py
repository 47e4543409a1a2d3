"""How SONiC spells names of ports, ranges, references and numbers, in old and new releases.

Old: `"[DSCP_TO_TC_MAP|AZURE]"`, `"Ethernet0,Ethernet4"` in one key, ranges `"3-4"`. New: `"AZURE"`, one key a port.
Nothing here fails on a strange spelling: it gives back what can be read of it.
"""

from __future__ import annotations

import re

_RANGE = re.compile(r"([A-Za-z_/]+)(\d+)-(?:\1)?(\d+)\Z")
_WIDEST = 1024
"""More ports or queues than any switch has: a longer range is a mistake, or made to exhaust memory."""


def text(value: object) -> str:
    """A field as SONiC's database would hold it: always a string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(text(each) for each in value)
    return "" if value is None or isinstance(value, dict) else str(value)


def reference(value: str) -> str:
    """The name that a field refers to: `[TABLE|name]` of old releases or the plain name."""
    bare = value.strip()
    if bare.startswith("[") and bare.endswith("]"):
        return re.split(r"[|:]", bare[1:-1], maxsplit=1)[-1].strip()
    return bare


def names(key: str, known: frozenset[str] = frozenset()) -> list[str]:
    """The ports of a key: one, a list with commas, or a range such as `Ethernet0-12`.

    Args:
        key: as written, without a queue behind it.
        known: the switch's ports; a range takes those of them that lie in it, or every number where none is known.
    """
    out: list[str] = []
    for part in key.split(","):
        name = part.strip()
        ranged = _RANGE.match(name)
        if not ranged or name in known:
            out += [name] if name else []
            continue
        stem, first, last = ranged[1], int(ranged[2][:9]), int(ranged[3][:9])
        inside = [port for port in known if (found := ending(port, stem)) is not None and first <= found <= last]
        if inside:
            out += sorted(inside, key=lambda port: ending(port, stem) or 0)
        elif last - first < _WIDEST:
            out += [f"{stem}{number}" for number in range(first, last + 1)]
    return out


def ending(port: str, stem: str) -> int | None:
    """The number at the end of a port's name, where it has this stem."""
    rest = port[len(stem) :]
    return int(rest) if port.startswith(stem) and rest.isascii() and rest.isdigit() and len(rest) < 10 else None


def numbers(value: str) -> list[int]:
    """Small numbers from a list with ranges: `3,4`, `3-4`, `0-2,5`; what is none is left out."""
    out: list[int] = []
    for part in value.split(","):
        first, dash, last = part.strip().partition("-")
        if not (_small(first) and (_small(last) or not dash)):
            continue
        out += range(int(first), int(last if dash else first) + 1)
    return sorted(set(out))


def number(value: str | None) -> int | None:
    """A whole number, or None where there is none to be read."""
    word = (value or "").strip()
    digits = word[1:] if word[:1] in "+-" else word
    return int(word) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None


def metres(value: str | None) -> int | None:
    """A cable's length as SONiC writes it, `40m`."""
    return number((value or "").strip().removesuffix("m"))


def _small(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= 2
