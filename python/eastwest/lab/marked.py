"""Datagrams of a lab's servers, each sent by a mark that picks its path. Run as a file, by itself, inside a server.

It takes jobs as lines of JSON on standard input and writes a line of JSON for each. It imports nothing but the standard
library. `send` sends so many datagrams by a mark (SO_MARK), as an MRC NIC gives each packet an entropy value; `collect`
counts by mark what arrives, until standard input ends.

Not here: which path a mark is (`source_routes`).
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import struct
import sys
import time
from collections.abc import Iterator
from typing import Any

PORT = 4793
"""One that neither echoes nor RoCEv2 use."""

MARKED = struct.Struct("!II")
"""Mark, and number within it."""

PACE_S = 0.0005
"""Between datagrams: no queue of the lab overflows."""

LAST_CALL_S = 0.3
"""What is still on its way arrives within this."""


def send(job: dict[str, Any]) -> int:
    """Sends `count` datagrams by `mark` from `source` to `destination`; gives how many were let go."""
    gone = 0
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, job["mark"])
        one.bind((job["source"], 0))
        for number in range(job["count"]):
            with contextlib.suppress(OSError):  # no route: what is not sent does not count
                one.sendto(MARKED.pack(job["mark"], number), (job["destination"], PORT))
                gone += 1
            time.sleep(PACE_S)
    return gone


def collect(job: dict[str, Any]) -> dict[str, int]:
    """Counts datagrams that come to `address`, by mark, each once."""
    seen: set[tuple[int, int]] = set()
    with selectors.DefaultSelector() as waiting, socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one:
        one.bind((job["address"], PORT))
        one.setblocking(False)
        waiting.register(one, selectors.EVENT_READ)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        waiting.register(sys.stdin, selectors.EVENT_READ)
        end = None
        while end is None or time.monotonic() < end:
            for key, _ in waiting.select(None if end is None else max(0.0, end - time.monotonic())):
                if key.fileobj is sys.stdin:
                    waiting.unregister(sys.stdin)
                    end = time.monotonic() + LAST_CALL_S
                    continue
                with contextlib.suppress(BlockingIOError):
                    while True:
                        data = one.recv(64)
                        if len(data) == MARKED.size:
                            seen.add(MARKED.unpack(data))
    counts: dict[str, int] = {}
    for mark, _ in seen:
        counts[str(mark)] = counts.get(str(mark), 0) + 1
    return counts


def lines() -> Iterator[bytes]:
    """Lines of standard input as they come, read byte by byte: what is left of it is its end."""
    with open(0, "rb", buffering=0, closefd=False) as given:
        while line := given.readline():
            yield line


def main() -> None:
    """Does the jobs that standard input says."""
    for line in lines():
        job = json.loads(line)
        done: Any = send(job) if job["do"] == "send" else collect(job)
        sys.stdout.write(json.dumps(done) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
