"""The Chakra traces of one job: which rank each file is of, how many there are, and the step of all."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from eastwest.errors import InputError
from eastwest.workload.formats.asked import Asked, Imported
from eastwest.workload.formats.chakra import ChakraFile, chakra_trace, rank_in_name, read_chakra
from eastwest.workload.step_file import MOST_RANKS
from eastwest.workload.trace import RankTrace, TraceSource, joined, replicated, spread

LARGEST_GROUPS = 64 << 20
NEWEST_SCHEMA = 1
Groups = dict[str, tuple[int, ...]]


def read_chakra_job(asked: Asked) -> Imported:
    """The step of Chakra traces, and of ASTRA-sim's JSON file of communicators where that is among the files.

    Raises:
        InputError: files and ranks do not fit together, or a trace makes no sense.
    """
    groups: Groups = {}
    files: dict[int, Path] = {}
    for path in asked.paths:
        if path.suffix == ".json":
            groups |= read_groups(path)
            continue
        rank = rank_in_name(path)
        rank = 0 if rank is None and len(asked.paths) == 1 else rank
        if rank is None:
            raise InputError(f"{path}: its name tells no rank, as in trace.3.et: rename it")
        if rank in files:
            raise InputError(f"{path}: {files[rank]} is of rank {rank} too")
        files[rank] = path
    if not files:
        raise InputError(f"{asked.paths[0]}: communicators alone are no job: name the traces too")
    first = read_chakra(files[min(files)], min(files))
    size = _size(first, files, groups, asked)
    sources: list[TraceSource] = [partial(_source, files[rank], rank, size, groups, asked) for rank in sorted(files)]
    target = asked.ranks or size
    facts = [_schema(first.version)]
    if target != len(files):
        facts.append(f"the trace of {len(files)} of {size} ranks stands for {target}")
    if len(files) == 1:
        found = spread(sources[0], size, target)
    else:
        found = joined(sources if target == len(files) else replicated(sources, size, target))
    if not found.step.operations:
        raise InputError(
            f"{first.path}: the traces hold no compute, message or collective with bytes: no step comes of them; "
            "a file may have been cut behind its metadata: trace again"
        )
    if found.uneven:
        facts.append(f"{found.uneven} all-to-alls are uneven: each rank sends what it has, in equal parts to all")
    if found.is_buffered:
        facts.append("sends are taken to end at once, as into a buffer: else ranks would wait for each other for ever")
    if found.last_kernels > found.step.ranks:  # a rank has a last one
        facts.append(f"{found.last_kernels:,} computes of all ranks that nothing waits for: the step ends behind them")
    return Imported("Chakra execution traces", found.step, tuple(facts), found.unused)


def _schema(version: str) -> str:
    """What the file states of its schema, and whether it is newer than what is known here."""
    major = re.match(r"([0-9]{1,4})\.", version)
    if major is not None and int(major.group(1)) > NEWEST_SCHEMA:
        return f"schema {version}, newer than what is known here (1.x): fields may have other meanings"
    if re.fullmatch(r"0\.0\.[0-3]", version):
        return f"schema {version}, older than 0.0.4, as which it is read: fields may have other meanings"
    return f"schema {version}" if version else "no schema is stated"


def _source(path: Path, rank: int, size: int, groups: Mapping[str, Sequence[int]], asked: Asked) -> RankTrace:
    return chakra_trace(read_chakra(path, rank), size, groups, asked.gpu)


def _size(first: ChakraFile, files: Mapping[int, Path], groups: Groups, asked: Asked) -> int:
    """How many ranks the job had that was traced."""
    known = {**first.groups, **groups}
    named = first.ranks or _spanned(tuple(known.values()))
    size = max(named, max(files) + 1)
    if len(files) == 1:
        if size == 1 and asked.ranks is None:
            raise InputError(
                f"{first.path}: this is the trace of one rank, and nothing says how many there are: give those of all "
                "ranks, or the number with --ranks"
            )
        return size if named else asked.ranks or size
    lacking = sorted(set(range(size)) - set(files))
    if lacking:
        shown = ", ".join(map(str, lacking[:4])) + (", ..." if len(lacking) > 4 else "")
        raise InputError(
            f"{first.path}: there are traces of {len(files)} ranks and {size} are named; those of {shown} are missing: "
            "give all, or one alone with --ranks"
        )
    return size


def _spanned(groups: Sequence[Sequence[int]]) -> int:
    """The fewest ranks that communicators like these fill, since one rank's trace names only those that it is in."""
    largest = max((max(members) for members in groups), default=-1)
    spans = [len(each) * (each[1] - each[0]) for each in groups if len(each) > 1 and each[1] > each[0]]
    span = math.lcm(*spans)
    return -(-(largest + 1) // span) * span if span <= MOST_RANKS else largest + 1


def read_groups(path: Path) -> Groups:
    """Communicators by name, as ASTRA-sim's JSON file has them: {"1": [0, 1], "2": [2, 3]}.

    Raises:
        InputError: the file is none such.
    """
    if path.stat().st_size > LARGEST_GROUPS:
        raise InputError(f"{path}: the file is larger than {LARGEST_GROUPS >> 20} MiB")
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise InputError(f"{path}: this is no JSON") from None
    if not isinstance(listed, dict):
        raise InputError(f'{path}: communicators are written as {{"1": [0, 1], "2": [2, 3]}}')
    if listed.get("eastwest") == "export":  # what `eastwest export` says of the traces beside it
        return {}
    for name, members in listed.items():
        is_list = isinstance(members, list) and members
        if not is_list or not all(type(each) is int and 0 <= each < MOST_RANKS for each in members):
            raise InputError(f"{path}: communicator {name!r} is a list of ranks, not {str(members)[:60]}")
        if len(set(members)) < len(members):
            raise InputError(f"{path}: communicator {name!r} has a rank twice")
    return {name: tuple(members) for name, members in listed.items()}
