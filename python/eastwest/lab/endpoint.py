"""Traffic of a lab's servers: echoes, probes and flows. Run as a file, by itself, inside a server.

It takes one job as a line of JSON on standard input and writes one JSON value. It imports nothing but the standard
library, so that sixteen of it start in a blink. Whatever waits for its end (an echo, a receiver, a stream of probes)
ends when standard input does, so it never outlives the command that started it. Times are the kernel's monotonic
clock, which all namespaces of a machine share.

Not here: which server sends what to which (`traffic`).
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import struct
import sys
import time
from typing import Any

ECHO_PORT = 4791
"""RoCEv2's UDP port, so that switches hash probes as they would its packets."""

FLOW_PORT = 5001
TOS = 26 << 2
"""DSCP 26, as RoCE's data: in the lab's queues it goes after what routing daemons send."""

PROBE = struct.Struct("!II")
"""Stream or pair, and number within it."""

LAST_CALL_S = 1.0
"""Answers that come later than this after the last probe count as lost."""

CHUNK = bytes(65_536)
DATAGRAM = bytes(1_400)


def opened(kind: socket.SocketKind, address: str, port: int) -> socket.socket:
    """A socket bound to an address, whose packets are marked as RoCE's."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, TOS)
    else:
        made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, TOS)
    made.bind((address, port))
    return made


def echo(job: dict[str, Any]) -> None:
    """Sends back what comes to any of its addresses, until standard input ends."""
    with selectors.DefaultSelector() as waiting:
        for address in job["addresses"]:
            one = opened(socket.SOCK_DGRAM, address, ECHO_PORT)
            one.setblocking(False)
            waiting.register(one, selectors.EVENT_READ)
        ready()
        waiting.register(sys.stdin, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if key.fileobj is sys.stdin:
                    return
                assert isinstance(key.fileobj, socket.socket)
                with contextlib.suppress(OSError):  # no way back just now
                    while True:
                        data, sender = key.fileobj.recvfrom(2048)
                        key.fileobj.sendto(data, sender)


def reach(job: dict[str, Any]) -> list[int]:
    """Numbers of those `pairs` [source, destination] that no answer came from in `tries` of `wait_s` each."""
    pairs = job["pairs"]
    left = set(range(len(pairs)))
    with selectors.DefaultSelector() as waiting:
        sockets = {}
        for source in {pair[0] for pair in pairs}:
            sockets[source] = opened(socket.SOCK_DGRAM, source, 0)
            sockets[source].setblocking(False)
            waiting.register(sockets[source], selectors.EVENT_READ)
        for attempt in range(job["tries"]):
            for number in sorted(left):
                source, destination = pairs[number]
                with contextlib.suppress(OSError):
                    sockets[source].sendto(PROBE.pack(number, attempt), (destination, ECHO_PORT))
            end = time.monotonic() + job["wait_s"]
            while left and (remains := end - time.monotonic()) > 0:
                for number, _ in answers(waiting, remains):
                    left.discard(number)
            if not left:
                break
    return sorted(left)


def stream(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Probes along each of `streams` [source, port, destination] every `interval_s` until standard input ends.

    Gives for each: probes sent, when the last was, and those lost as [time of the first, of the last, how many] of each
    run without an answer.
    """
    streams, interval = job["streams"], job["interval_s"]
    sent: list[list[float]] = [[] for _ in streams]
    answered: list[set[int]] = [set() for _ in streams]
    with selectors.DefaultSelector() as waiting:
        sockets = []
        for source, port, _ in streams:
            sockets.append(opened(socket.SOCK_DGRAM, source, port))
            sockets[-1].setblocking(False)
            waiting.register(sockets[-1], selectors.EVENT_READ)
        waiting.register(sys.stdin, selectors.EVENT_READ)
        ready()
        due, end = time.monotonic(), None
        while end is None or time.monotonic() < end:
            if end is None and time.monotonic() >= due:
                for number, (_, _, destination) in enumerate(streams):
                    sent[number].append(time.monotonic())
                    with contextlib.suppress(OSError):
                        sockets[number].sendto(PROBE.pack(number, len(sent[number]) - 1), (destination, ECHO_PORT))
                due += interval
            until = end if end is not None else due
            for number, probe in answers(waiting, max(0.0, until - time.monotonic())):
                if number < 0:
                    end = time.monotonic() + LAST_CALL_S
                    waiting.unregister(sys.stdin)
                else:
                    answered[number].add(probe)
    return [
        {"sent": len(at), "until": at[-1] if at else 0.0, "lost": gaps(at, got)}
        for at, got in zip(sent, answered, strict=True)
    ]


def answers(waiting: selectors.BaseSelector, seconds: float) -> list[tuple[int, int]]:
    """Answers that have come within some time: pair or stream, and number; (-1, 0) where standard input has ended."""
    found = []
    for key, _ in waiting.select(seconds):
        if key.fileobj is sys.stdin:
            found.append((-1, 0))
            continue
        assert isinstance(key.fileobj, socket.socket)
        with contextlib.suppress(OSError):  # all read, or told that nobody is there
            while True:
                data = key.fileobj.recv(2048)
                if len(data) == PROBE.size:
                    found.append(PROBE.unpack(data))
    return found


def gaps(sent: list[float], answered: set[int]) -> list[list[float]]:
    """Runs of probes without an answer: when the first was sent, when the last, how many."""
    runs: list[list[float]] = []
    for number, at in enumerate(sent):
        if number in answered:
            continue
        if number and number - 1 not in answered and runs:
            runs[-1][1] = at
            runs[-1][2] += 1
        else:
            runs.append([at, at, 1])
    return runs


def receive(job: dict[str, Any]) -> dict[str, Any]:
    """Takes what comes to an `address` until standard input ends.

    Gives the bytes by sender's port, and the seconds from the first to the last of them.
    """
    is_tcp = job["protocol"] == "tcp"
    got: dict[str, int] = {}
    first = last = 0.0
    with selectors.DefaultSelector() as waiting:
        door = opened(socket.SOCK_STREAM if is_tcp else socket.SOCK_DGRAM, job["address"], FLOW_PORT)
        door.setblocking(False)
        if is_tcp:
            door.listen(1024)
        waiting.register(door, selectors.EVENT_READ)
        waiting.register(sys.stdin, selectors.EVENT_READ)
        ready()
        while True:
            for key, _ in waiting.select():
                if key.fileobj is sys.stdin:
                    return {"bytes": got, "seconds": last - first}
                assert isinstance(key.fileobj, socket.socket)
                with contextlib.suppress(BlockingIOError):
                    if key.fileobj is door and is_tcp:
                        caller, sender = door.accept()
                        caller.setblocking(False)
                        waiting.register(caller, selectors.EVENT_READ, str(sender[1]))
                    elif is_tcp:
                        data = key.fileobj.recv(len(CHUNK))
                        got[key.data] = got.get(key.data, 0) + len(data)
                        first, last = first or time.monotonic(), time.monotonic() if data else last
                        if not data:
                            waiting.unregister(key.fileobj)
                            key.fileobj.close()
                    else:
                        data, sender = door.recvfrom(2048)
                        got[str(sender[1])] = got.get(str(sender[1]), 0) + len(data)
                        first, last = first or time.monotonic(), time.monotonic()


def send(job: dict[str, Any]) -> dict[str, int]:
    """Sends from `source` to `destination` along several `flows` for `seconds`; UDP at `rate_bps` in all.

    Gives the bytes handed to the network by the sender's port.
    """
    is_tcp = job["protocol"] == "tcp"
    flows = []
    for _ in range(job["flows"]):
        one = opened(socket.SOCK_STREAM if is_tcp else socket.SOCK_DGRAM, job["source"], 0)
        one.settimeout(10)
        one.connect((job["destination"], FLOW_PORT))
        one.setblocking(False)
        flows.append(one)
    given = dict.fromkeys((str(one.getsockname()[1]) for one in flows), 0)
    began = time.monotonic()
    with selectors.DefaultSelector() as waiting:
        for one in flows:
            waiting.register(one, selectors.EVENT_WRITE, str(one.getsockname()[1]))
        while (now := time.monotonic()) < began + job["seconds"]:
            if not is_tcp and sum(given.values()) * 8 >= job["rate_bps"] * (now - began):
                time.sleep(0.001)
                continue
            for key, _ in waiting.select(0.1):
                assert isinstance(key.fileobj, socket.socket)
                with contextlib.suppress(BlockingIOError, ConnectionRefusedError):
                    given[key.data] += key.fileobj.send(CHUNK if is_tcp else DATAGRAM)
    for one in flows:
        one.close()
    return given


def ready() -> None:
    """Tells the command that waits for it that all sockets are open."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()


def main() -> None:
    """Does the job that the first line of standard input says."""
    line = bytearray()
    while not line.endswith(b"\n"):  # unbuffered, so that what is left of standard input is its end
        part = os.read(0, 1 << 16)
        if not part:
            return
        line += part
    job = json.loads(line)
    doing = {"echo": echo, "reach": reach, "stream": stream, "receive": receive, "send": send}[job["do"]]
    try:
        done = doing(job)
    except OSError as error:
        sys.exit(error.strerror or str(error))
    json.dump(done, sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
