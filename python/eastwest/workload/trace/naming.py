"""Names of a step's operations and queues: those of the traces, with a number behind them where they are taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from eastwest.workload.trace.condense import Operation


class Names:
    """The names given so far."""

    def __init__(self) -> None:
        self._operations: Counter[str] = Counter()
        self._used_queues: Counter[str] = Counter()
        self._queues: dict[Hashable, str] = {}

    def operation(self, operation: Operation) -> str:
        """A name of its own for what one or more nodes became."""
        base = operation.node.name or "unnamed"
        if base.rpartition("/")[2].isdigit():
            base += "."  # a number behind / tells the parts of an operation apart
        more = f" and {operation.nodes - 1} more" if operation.nodes > 1 else ""
        return _free(base + more, self._operations)

    def queue(self, key: Hashable, name: str) -> str:
        """The queue of a key; keys that ask for the same name have different ones."""
        if key not in self._queues:
            self._queues[key] = _free(name, self._used_queues)
        return self._queues[key]


def _free(name: str, used: Counter[str]) -> str:
    while True:
        used[name] += 1
        if used[name] == 1:
            return name
        name = f"{name} #{used[name]}"
