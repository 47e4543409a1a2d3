"""A file that `eastwest build` writes: where it goes in the folder, and its text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class File:
    """`path` is relative, with "/" between its parts; the text is UTF-8 and ends with a newline."""

    path: str
    text: str
    is_executable: bool = False

    def __post_init__(self) -> None:
        """Names come from study files: none may lead out of the folder."""
        parts = self.path.split("/")
        if self.path.startswith("/") or any(part in ("", ".", "..") for part in parts) or "\0" in self.path:
            raise ValueError(f"{self.path!r} is no path inside a folder")
