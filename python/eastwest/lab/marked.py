"""Datagrams of a lab's servers, each sent by a mark that picks its path. Run as a file, by itself, inside a server.

It takes one job as a line of JSON on standard input and writes one JSON value. It imports nothing but the standard
library. `send` sends so many datagrams by each of its marks (SO_MARK), as an MRC NIC gives each packet an entropy
value; `collect` counts by mark what arrives, until standard input ends.

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
from typing import Any

PORT = 4793
"""One that neither echoes nor RoCEv2 use."""

MARKED = struct.Struct("!II")
"""Mark, and number within it."""

PACE_S = 0.0005
"""Between datagrams: no queue of the lab overflows."""

LAST_CALL_S = 0.3
"""What is still on its way arrives within this."""


def send(job: dict[str, Any]) -> dict[str, int]:
    """Sends `count` datagrams by each of `marks` from `source` to `destination`; gives how many were let go by mark."""
    gone = {}
    for mark in job["marks"]:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
            one.bind((job["source"], 0))
            gone[str(mark)] = 0
            for number in range(job["count"]):
                with contextlib.suppress(OSError):  # no route: what is not sent does not count
                    one.sendto(MARKED.pack(mark, number), (job["destination"], PORT))
                    gone[str(mark)] += 1
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


def main() -> None:
    """Does the job that standard input says."""
    line = bytearray()
    with open(0, "rb", buffering=0, closefd=False) as given:  # unbuffered: what is left of it is its end
        while not line.endswith(b"\n"):
            part = given.read(1 << 16)
            if not part:
                return
            line += part
    job = json.loads(line)
    json.dump({"send": send, "collect": collect}[job["do"]](job), sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
