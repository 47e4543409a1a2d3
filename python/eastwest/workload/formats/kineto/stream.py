"""Reads a PyTorch profile (Chrome trace JSON, plain or gzipped) event by event: a large one need not fit memory.

Not here: what any event means.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any, TextIO

from eastwest.errors import InputError

CHUNK = 1 << 20
"""Characters read at a time."""
LARGEST_VALUE = 1 << 28
"""Characters of one value outside of the events, or of one event."""
LARGEST_TEXT = 1 << 36
"""Characters of a profile, unpacked: beyond 64 GiB it is taken for a bomb."""
_PACKED = b"\x1f\x8b"
_BEGINNING = 4096
_KEYS = (b'"traceEvents"', b'"schemaVersion"', b'"deviceProperties"', b'"ph"')
"""One of which stands at the beginning of a profile."""
_SPACE = " \t\r\n"
_KEY = "traceEvents"


@dataclass
class Stream:
    """A profile under way: `events` gives its events in order; once it has, `about` has the other top-level values."""

    path: Path
    about: dict[str, Any] = field(default_factory=dict)
    count: int = 0
    _text: str = ""
    _at: int = 0
    _read: int = 0

    def events(self) -> Iterator[dict[str, Any]]:
        """The objects of `traceEvents`; those that are no objects are passed over.

        Raises:
            InputError: the file is missing, is no JSON, is cut short, or has no events; names the event.
        """
        if not self.path.is_file():
            raise InputError(f"{self.path}: there is no such file")
        with self.path.open("rb") as start:
            packed = start.read(2) == _PACKED
        try:
            with self.path.open("rb") as raw:
                unpacked = gzip.GzipFile(fileobj=raw) if packed else raw
                with io.TextIOWrapper(unpacked, encoding="utf-8-sig", errors="replace") as text:
                    yield from self._of(text)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self._refuse(f"cannot be unpacked ({error}): is the file cut short?") from None

    def _of(self, file: TextIO) -> Iterator[dict[str, Any]]:
        decoder, has_events = JSONDecoder(strict=False), False
        if self._next(file) == "[":  # the older form of a Chrome trace: events alone
            yield from self._array(file, decoder)
            self._end(file)
            return
        self._expect(file, "{")
        while self._next(file) != "}":
            key = self._value(file, decoder)
            self._expect(file, ":")
            if key == _KEY and self._next(file) == "[":
                has_events = True
                yield from self._array(file, decoder)
            else:
                self.about[str(key)] = self._value(file, decoder)
            if self._next(file) != "}":
                self._expect(file, ",")
        self._at += 1
        self._end(file)
        if not has_events:
            raise self._refuse(f"has no {_KEY!r}: is it a profile that torch.profiler exported?")

    def _array(self, file: TextIO, decoder: JSONDecoder) -> Iterator[dict[str, Any]]:
        self._expect(file, "[")
        while self._next(file) != "]":
            event = self._value(file, decoder)
            self.count += 1
            if isinstance(event, dict):
                yield event
            if self._next(file) != "]":
                self._expect(file, ",")
        self._at += 1

    def _more(self, file: TextIO) -> bool:
        """Reads on, and forgets what has been used."""
        chunk = file.read(max(CHUNK, len(self._text) - self._at))
        self._read += len(chunk)
        if self._read > LARGEST_TEXT:
            raise self._refuse(f"is longer than {LARGEST_TEXT >> 30} GiB when unpacked")
        self._text, self._at = self._text[self._at :] + chunk, 0
        return bool(chunk)

    def _next(self, file: TextIO) -> str:
        """The next character that is no blank."""
        if not (found := self._peek(file)):
            raise self._refuse("is cut short")
        return found

    def _peek(self, file: TextIO) -> str:
        """The next character that is no blank, or none at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACE:
                    return self._text[self._at]
                self._at += 1
            if not self._more(file):
                return ""

    def _end(self, file: TextIO) -> None:
        if found := self._peek(file):
            raise self._refuse(f"is no JSON: it goes on behind its end, with {found!r}: were two files joined?")

    def _expect(self, file: TextIO, sign: str) -> None:
        if (found := self._next(file)) != sign:
            raise self._refuse(f"is no JSON: {sign!r} is expected after {self._place()}, not {found!r}")
        self._at += 1

    def _value(self, file: TextIO, decoder: JSONDecoder) -> Any:
        self._next(file)
        while True:
            try:
                value, end = decoder.raw_decode(self._text, self._at)
            except JSONDecodeError as error:
                if len(self._text) - self._at > LARGEST_VALUE:
                    raise self._refuse(f"has a value too large to be one, after {self._place()}") from None
                is_open = error.pos >= len(self._text) - 1 or error.msg.startswith("Unterminated")
                if not self._more(file):
                    what = "is cut short" if is_open else "is no JSON"
                    raise self._refuse(f"{what} after {self._place()}: {error.msg}") from None
                continue
            except RecursionError:
                raise self._refuse(f"is nested too deeply after {self._place()}") from None
            if end == len(self._text):  # a number may go on in what is not read yet
                if self._more(file):
                    continue
                end = len(self._text)
            self._at = end
            return value

    def _place(self) -> str:
        return f"event {self.count}" if self.count else "its beginning"

    def _refuse(self, why: str) -> InputError:
        return InputError(f"{self.path}: the profile {why}")


def is_profile(start: bytes, _: Path) -> bool:
    """Whether a file that begins so is a Chrome trace, as torch.profiler exports it, packed or not, cut or whole."""
    if start.startswith(_PACKED):
        try:
            start = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(start, _BEGINNING)
        except zlib.error:
            return False
    return start.lstrip()[:1] in (b"{", b"[") and any(key in start for key in _KEYS)
