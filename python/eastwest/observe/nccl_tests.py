"""Logs of nccl-tests and rccl-tests: text of old and new versions, with whatever else a job prints between.

Columns are told from the table's own heads where they are there, else from what stands in its rows: versions before
2.13 have `error` for `#wrong` and no `redop` or `root` where a collective has none, `-M` adds columns of single
iterations. Rows that NCCL's own lines cut in two are joined again. JSON (`-J`) is read by `nccl_json`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from eastwest.errors import InputError
from eastwest.observe import nccl_debug, nccl_json, strangers
from eastwest.observe.benchmark import LARGEST_SIZE, Benchmark, Device, Row, Timing, Told

LARGEST_BYTES = 1 << 28
TESTS = (
    "all_reduce_perf",
    "all_gather_perf",
    "reduce_scatter_perf",
    "alltoall_perf",
    "alltoallv_perf",
    "sendrecv_perf",
    "broadcast_perf",
    "reduce_perf",
    "gather_perf",
    "scatter_perf",
    "hypercube_perf",
)
_LONGEST_LINE = 4096
_TYPES = (
    "u?int(?:8|32|64)|half|float|double|bfloat16|bf16|fp16|fp32|f8e4m3|f8e5m2|fp8_e4m3|fp8_e5m2|float8_e4m3|"
    "float8_e5m2|char|uchar|int"
)
_ROW = re.compile(rf"(?:^|[\s:>\]|])(\d{{1,18}})\s+(\d{{1,18}})\s+({_TYPES})(?=\s|$)(.*)$")
_HEADS = re.compile(r"#\s*size\s+count\s+type\b(.*)$")
_SETTINGS = re.compile(r"#\s*nThread\s+\d{1,6}\s+nGpus\s+(\d{1,4})")
_START = re.compile(r"#\s*(?:nThread\s+\d|Collective test starting: |nccl-tests version )")
_NAMED = re.compile(rf"(?<![\w-])({'|'.join(TESTS)})(?![\w-])")
_DEVICE = re.compile(
    r"#\s+Rank\s+(\d{1,7})\s+(?:Group\s+\d{1,7}\s+)?Pid\s+\d{1,9}\s+on\s+(\S{1,256})\s+device\s+(\d{1,4})\s+"
    r"\[[^\]]{1,40}\]\s*(.{0,100})"
)
_FAILED = re.compile(r"\bTest (?:NCCL |CUDA )?failure\b.{0,300}")
"""What the checks of nccl-tests print as they give up (its common.h)."""
_LIBRARY = re.compile(r"nccl-library=(\d{3,6})")
_VERSION = re.compile(r"^\s*[NR]CCL version (\d\S{0,40})")
_GLUED = re.compile(r"-?[\d.]{1,20}(?=[A-Za-z])")
"""A column to which another line's host name was glued."""
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,16}[A-Za-z]")
_PREFIX = re.compile(r"^\s*(?:\[\d{1,6},\d{1,6}\](?:<std\w{3}>)?:|\d{1,6}:)\s?")
"""What mpirun and srun put before each line where they are asked to name its rank."""
_ROUNDING = 1e-2
"""Relative deviations below are rounding, of versions that print the largest for every type."""


def read(path: Path) -> tuple[Benchmark, ...]:
    """The tables of a log, in order; each has one row or more.

    Raises:
        InputError: there is no such file, or it is no log of nccl-tests or rccl-tests; says what it looks like.
    """
    if not path.is_file():
        raise InputError(f"{path}: this is no file of text" if path.exists() else f"{path}: there is no such file")
    if path.stat().st_size > LARGEST_BYTES:
        raise InputError(f"{path}: the file is larger than {LARGEST_BYTES >> 20} MiB: keep one run of nccl-tests of it")
    return parse(path.read_bytes(), str(path))


def parse(data: bytes, file: str) -> tuple[Benchmark, ...]:
    """The tables of a log that was read; raises as `read`."""
    text = data.decode("utf-8-sig", errors="replace")
    if text.lstrip()[:1] == "{":
        return nccl_json.parse(text, file)
    found = _Reader(file)
    for number, line in enumerate(text.splitlines(), start=1):
        found.take(number, _COLOUR.sub("", line[:_LONGEST_LINE]).rstrip())
    found.close()
    if not found.done:
        raise strangers.refusal(data, text, file, found.told.warnings, found.failure)
    return tuple(found.done)


@dataclass
class _Reader:
    """Goes through a log once, and remembers what belongs to the table at hand."""

    file: str
    done: list[Benchmark] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    devices: list[Device] = field(default_factory=list)
    test: str | None = None
    version: str | None = None
    thread_gpus: int | None = None
    line: int = 0
    unread: int = 0
    open_row: str = ""
    failure: str | None = None

    @property
    def told(self) -> Told:
        return nccl_debug.told(self.said)

    def take(self, number: int, line: str) -> None:
        """Reads one line."""
        if head := nccl_debug.SAID.search(line):
            start = head.start()
            if _ROW.search(line[:start]) and (column := _GLUED.match(line, start)):
                start = column.end()
            self.said.append(line[start:])
            line = line[:start].rstrip()
            if not line:
                return
        if failed := _FAILED.search(line):
            self.failure = self.failure or failed[0].strip()
            return
        if _START.search(line) and self.rows:
            self.close()
        if settings := _SETTINGS.search(line):
            self.thread_gpus = int(settings[1])
        if named := _NAMED.search(line):
            if self.rows and "concluded" not in line:
                self.close()
            self.test = named[1]
        if device := _DEVICE.search(line):
            if self.rows:
                self.close()
            self.devices.append(Device(int(device[1]), device[2], int(device[3]), device[4].strip()))
        elif heads := _HEADS.search(line):
            if self.rows:
                self.close()
            self.heads = [word.lstrip("#") for word in heads[1].split()]
        elif library := _LIBRARY.search(line) or _VERSION.search(line):
            self.version = _dotted(library[1])
        elif not line.lstrip().startswith("#"):
            self._begin_or_go_on(number, line)

    def _begin_or_go_on(self, number: int, line: str) -> None:
        """Reads a row, or the rest of one that other output has cut."""
        if _ROW.search(line):
            self._settle()
            self.line = self.line or number
            self.open_row = line
        elif self.open_row:
            self.open_row += f" {_PREFIX.sub('', line)}"[:_LONGEST_LINE]
        else:
            return
        begun = _ROW.search(self.open_row)
        assert begun is not None
        if (row := _row(begun, self.heads)) and len(row.halves) == 2:
            self.rows.append(row)
            self.open_row = ""

    def _settle(self) -> None:
        """Ends a row of which no more will come: it may have one half."""
        if begun := _ROW.search(self.open_row):
            row = _row(begun, self.heads)
            self.rows += [row] if row else []
            self.unread += row is None
        self.open_row = ""

    def close(self) -> None:
        """Ends the table at hand, if there is one."""
        self._settle()
        if self.rows:
            said = self.told
            made = Benchmark(
                self.file,
                self.line,
                self.test,
                tuple(self.rows),
                tuple(self.devices),
                self.version or said.version,
                said,
                self.unread,
                self.thread_gpus,
                self.failure,
            )
            self.done.append(made)
            self.rows, self.devices, self.said, self.heads, self.test = [], [], [], [], None
            self.failure = None
        self.line, self.unread = 0, 0


def _row(begun: re.Match[str], heads: list[str]) -> Row | None:
    """A row with the halves that are there; None where none is, or what stands there is no measurement."""
    words = begun[4].split()
    between = [head for head in heads if head in ("redop", "root")]
    if not heads:  # a word is an operation, and a whole number before four measured ones more is a root
        between = ["redop"] if words and re.fullmatch(r"[a-z]\w*", words[0]) else []
        rest = words[len(between) :]
        if rest and re.fullmatch(r"-?\d+", rest[0]) and len(rest) % 4 == 1:
            between.append("root")
    named = dict(zip(between, words, strict=False))
    measured, width = words[len(between) :], _width(heads)
    halves = [_timing(measured[start : start + 4]) for start in (0, width)]
    if halves == [None, None] or int(begun[1]) > LARGEST_SIZE:
        return None
    redop, root = named.get("redop", "none"), named.get("root", "")
    return Row(
        int(begun[1]),
        int(begun[2]),
        begun[3],
        None if redop == "none" else redop,
        int(root) if re.fullmatch(r"-?\d{1,9}", root) else None,
        *halves,
    )


def _width(heads: list[str]) -> int:
    """Columns of one half: from one time to the next."""
    times = [place for place, head in enumerate(heads) if head in ("time", "cputime")]
    return times[1] - times[0] if len(times) == 2 else 4


def _timing(words: list[str]) -> Timing | None:
    """One half of a row; None where it is missing or no measurement."""
    if len(words) < 4:
        return None
    time_us, algbw, busbw, wrong = map(_number, words)
    if time_us is None or algbw is None or busbw is None or (wrong is None and words[3] != "N/A"):
        return None
    if wrong is not None and 0 < wrong < 1:
        wrong = float(wrong > _ROUNDING)
    return Timing(time_us * 1e-6, algbw * 1e9, busbw * 1e9, wrong)


def _number(word: str) -> float | None:
    word = word.removesuffix("*")  # rccl-tests marks what is wrong with one
    if not re.fullmatch(r"\d{1,20}(?:\.\d{1,20})?(?:e[+-]?\d{1,3})?", word):
        return None
    value = float(word)
    return value if value < 1e18 else None


def _dotted(version: str) -> str:
    """A version as people write it: 21805 is 2.18.5, as NCCL counts from 2.9 on."""
    if not version.isdecimal() or len(version) != 5:
        return version
    return f"{int(version) // 10000}.{int(version) // 100 % 100}.{int(version) % 100}"
