"""Files themselves: keys given twice, and files that were left unread."""

from __future__ import annotations

from collections.abc import Iterator

from eastwest.checks.finding import Fault, Severity
from eastwest.checks.rules.rule import rule
from eastwest.checks.scene import Scene


@rule("key-twice", Severity.WARNING)
def key_twice(scene: Scene) -> Iterator[Fault]:
    """A JSON object gives one key twice with different values; only the last one counts."""
    for device in scene.devices:
        for file, key in device.switch.twice:
            yield Fault(file, key, "given twice in one object, with different values: only the last counts", "keep one")


@rule("file-of-other-system", Severity.NOTE)
def file_of_other_system(scene: Scene) -> Iterator[Fault]:
    """A folder holds configuration of a system that is not read, so hops through that device are not checked."""
    for file, system in scene.evidence.foreign:
        yield Fault(
            file,
            "whole file",
            f"configuration of {system}, which is not read: the chain through this device is not checked",
            "check that device by its own means",
        )
