"""A lab's sandbox: process, mount and network namespaces that live exactly as long as one process, the keeper.

The keeper is the first process of a PID namespace. Whatever a lab starts runs in that namespace, so the kernel kills
all of it when the keeper ends; and what is mounted, named or wired inside belongs to namespaces that end with their
last process. So nothing of a lab can outlive its keeper, however it ends. While a lab is being brought up the keeper
also waits on a pipe from the process that does it, and where that dies removes the lab's folder and ends; once told to
stay it stays.

Names of network namespaces (`ip netns`) are the lab's own: its /run/netns is its own, so labs do not collide.

Each node is a network namespace with a host name, a /run, a /var/tmp and an /etc/frr of its own: daemons and their
tools find there what they would find on the real machine. `enter` is the script that runs a command so.

Not here: what runs in the nodes.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from eastwest.lab.failure import LabError

KEEPER = """\
trap '' CHLD
mount -t tmpfs -o mode=755 eastwest /run/netns || exit 1
echo ready
if read -r word && [ "$word" = stay ]; then exec sleep infinity <&- >&- 2>&-; fi
kill -9 -1; rm -rf "$1"; rmdir "${1%/*}"
"""
"""The keeper, run by sh as process 1 of the lab, given its folder; the kernel reaps children that end, as SIGCHLD
is ignored."""

ENTER = """\
#!/bin/sh
# enter NODE COMMAND...: runs a command in a node of this lab (inside the lab's namespaces).
node=$1; shift
exec ip netns exec "$node" unshare --uts sh -c '
  hostname "$1" && cd "$0/nodes/$1" || exit 1
  for pair in run:/run tmp:/var/tmp frr:/etc/frr; do
    inside=${pair#*:}
    if [ -d "${pair%%:*}" ] && [ -d "$inside" ]; then mount --bind "${pair%%:*}" "$inside" || exit 1; fi
  done
  cd / && shift && exec "$@"' 'FOLDER' "$node" "$@"
"""


@dataclass(frozen=True)
class Keeper:
    """The process that a lab lives and dies with: `pid` on the machine, and when it began (clock ticks after boot)."""

    pid: int
    began: int

    def is_alive(self) -> bool:
        """Whether that very process, and no later one of the same number, still runs."""
        return began(self.pid) == self.began

    def inside(self, command: Sequence[str]) -> list[str]:
        """A command, to be run inside the lab."""
        at = f"/proc/{self.pid}/ns"
        return ["nsenter", f"--mount={at}/mnt", f"--pid={at}/pid_for_children", f"--ipc={at}/ipc", "--", *command]

    def end(self) -> None:
        """Kills the lab's processes, all of them, and returns when they are gone; nothing where they are already."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if not self.is_alive():
                return
            # The first process of the namespace, not the one that waits for it: that one ends when all are reaped.
            first = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii").split()
            for child in first:
                os.kill(int(child), signal.SIGKILL)
            if not first:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            _await_end(handle)
        finally:
            os.close(handle)


class Sandbox:
    """A sandbox being made: a keeper that ends with this process unless told to `stay`."""

    def __init__(self, folder: Path) -> None:
        """Starts the keeper of the lab whose folder is given.

        Raises:
            LabError: the machine does not let namespaces be made.
        """
        log = folder / "keeper.log"
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [
                    *("unshare", "--fork", "--kill-child=KILL", "--pid", "--mount-proc", "--mount", "--ipc", "--"),
                    *("sh", "-c", KEEPER, "keeper", str(folder)),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                cwd="/",
            )
        if _pipe(self._process.stdout).readline() != b"ready\n":
            self._process.kill()
            self._process.wait()
            raise LabError(
                f"no namespaces could be made: {log.read_text(errors='replace').strip() or 'no reason told'}"
            )
        started = began(self._process.pid)
        assert started is not None  # it is our child, and has not been waited for
        self.keeper = Keeper(self._process.pid, started)

    def stay(self) -> None:
        """Lets the lab outlive this process."""
        pipe = _pipe(self._process.stdin)
        pipe.write(b"stay\n")
        pipe.close()

    def end(self) -> None:
        """Ends what was made."""
        self.keeper.end()
        self._process.wait()


def began(pid: int) -> int | None:
    """When a process began, in clock ticks after boot; None where there is none, or it only waits to be reaped."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # proc(5): the name in parentheses may hold anything
    return None if fields[0] in "ZX" else int(fields[19])


def _await_end(handle: int) -> None:
    import select

    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.poll()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
