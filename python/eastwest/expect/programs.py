"""The programs of nccl-tests: what each runs, and the sizes and counts that stand in its table.

Their arithmetic is that of the programs' own `GetCollByteCount` and `GetBw` (NVIDIA/nccl-tests, src/*.cu;
doc/PERFORMANCE.md). rccl-tests has the same. Not here: how long anything takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from eastwest.document import nearest
from eastwest.errors import InputError
from eastwest.study.curve import bus_factor
from eastwest.workload import CollectiveKind

BYTES_OF: Mapping[str, int] = MappingProxyType(
    {
        "int8": 1, "uint8": 1, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
        "half": 2, "bfloat16": 2, "float": 4, "double": 8, "f8e4m3": 1, "f8e5m2": 1,
    }
)  # fmt: skip
"""Bytes of an element, by nccl-tests' word for its type."""
_UNITS: Mapping[str, int] = MappingProxyType({"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40})


@dataclass(frozen=True)
class Program:
    """A program by its name; where it has no collective, each rank sends to the next and receives from the one before.

    `has_operation` says whether it adds up, `has_root` whether one rank is its root.
    """

    name: str
    collective: CollectiveKind | None
    has_operation: bool = False
    has_root: bool = False

    @property
    def is_shared(self) -> bool:
        """Whether a buffer holds a part for each rank, which rounds sizes."""
        return self.collective in ("all-gather", "reduce-scatter", "all-to-all")

    def sized(self, size: int, ranks: int, element: int) -> tuple[int, int]:
        """The `size` and `count` columns of a buffer that is asked for, elements being so many bytes.

        Each rank's part is a multiple of 16 bytes.
        """
        if not self.is_shared:
            count = size // element
            return count * element, count
        count = size // element // ranks & ~(16 // element - 1)
        return count * element * ranks, count

    def bus_factor(self, ranks: int) -> float:
        """Bus bandwidth over algorithm bandwidth."""
        return 1.0 if self.collective is None else bus_factor(self.collective, ranks)


PROGRAMS: Mapping[str, Program] = MappingProxyType(
    {
        each.name: each
        for each in (
            Program("all_reduce_perf", "all-reduce", has_operation=True),
            Program("all_gather_perf", "all-gather"),
            Program("reduce_scatter_perf", "reduce-scatter", has_operation=True),
            Program("alltoall_perf", "all-to-all"),
            Program("sendrecv_perf", None),
            Program("broadcast_perf", "broadcast", has_root=True),
            Program("reduce_perf", "reduce", has_operation=True, has_root=True),
        )
    }
)


def program(word: str) -> Program:
    """The program that is meant by a word: all_reduce, all-reduce, all_reduce_perf, ...

    Raises:
        InputError: there is none.
    """
    plain = word.lower().replace("-", "_").removesuffix("_perf")
    plain = {"all_to_all": "alltoall", "send_recv": "sendrecv"}.get(plain, plain)
    if found := PROGRAMS.get(f"{plain}_perf"):
        return found
    words = [name.removesuffix("_perf") for name in PROGRAMS]
    near = nearest(plain, words)
    meant = f"; did you mean {near!r}?" if near else ""
    raise InputError(
        f"--collective {word}: no program of nccl-tests that is predicted{meant} (there are: {', '.join(words)})"
    )


def size_of(option: str, text: str) -> int:
    """Bytes of a size as nccl-tests reads it: 8, 64K, 16G, powers of two.

    Raises:
        InputError: it is no such size.
    """
    plain = text.strip().lower().removesuffix("b").removesuffix("i")
    number, unit = (plain[:-1], plain[-1]) if plain[-1:] in tuple("kmgt") else (plain, "")
    if not (number.isascii() and number.isdigit() and 0 < len(number) < 16):
        raise InputError(f"{option} {text}: write a size as nccl-tests does, as in 8, 64K, 128M or 16G")
    return int(number) * _UNITS[unit]


def sizes(first: str, last: str, factor: int) -> list[int]:
    """The sizes from -b to -e, each `factor` times the one before.

    Raises:
        InputError: they are no sizes, go down, or are too many.
    """
    least, most = size_of("-b", first), size_of("-e", last)
    if factor < 2:
        raise InputError(f"-f {factor}: a factor of 2 or more, by which each size exceeds the one before")
    if not 0 < least <= most:
        raise InputError(f"-b {first} -e {last}: from small to large, as in -b 8 -e 16G")
    if most > _UNITS["t"]:
        raise InputError(f"-e {last}: at most 1T")
    found = [least]
    while found[-1] * factor <= most:
        found.append(found[-1] * factor)
    return found
