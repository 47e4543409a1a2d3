"""One subnet in the lab: ibsim plays its switches and adapters, a real OpenSM manages them from the files of a build.

ibsim listens on sockets of the abstract namespace, named after lab and subnet, so that several run side by side.
Programs that speak to the network (OpenSM, infiniband-diags) are preloaded with libumad2sim, which leads what they send
through these sockets, as if from the node that SIM_HOST names. ibsim's console, where links are cut and joined, is a
named pipe. Not here: what the network's state means (`reading`).
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from eastwest.lab.failure import LabError

PRELOADED = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"
OPTIONS = "/etc/opensm"
"""Where OpenSM's files are meant to be: the subnet's folder is mounted there for OpenSM alone."""

SLOWEST_S = 120.0
"""After so long without a sign of life a start or a sweep is given up; 1,024 adapters take four seconds."""
_COMMAND_S = 60.0
_POLL_S = 0.02

FLUSH = "-d2"
"""Has OpenSM write each line of its log at once, not when a buffer is full."""

READY = "Network simulator ready"
PROMPT = "sim> "
ENDED = "has-ended"
UP = "SUBNET UP"
_ROUTED = re.compile(r"osm_ucast_mgr_process: (\S+) tables configured on all switches")


@dataclass(frozen=True)
class Simulated:
    """One subnet that runs, or is to: its name, its files, its folder for what runs, and how to run something inside.

    `socket` is the name that ibsim listens by, unique on the machine; `manager` the node, as ibsim calls it, on which
    OpenSM runs; `inside` turns a command into one that runs in the lab.
    """

    name: str
    files: Path
    folder: Path
    socket: str
    manager: str
    inside: Callable[[list[str]], list[str]]

    @property
    def console(self) -> Path:
        """The pipe that ibsim takes its commands from."""
        return self.folder / "console"

    @property
    def log(self) -> Path:
        """OpenSM's log."""
        return self.folder / "opensm.log"

    def start(self, nodes: int, switches: int, ports: int) -> None:
        """Starts ibsim with room for so many, then OpenSM, and waits until it has routed all.

        Raises:
            LabError: one of them ended or was silent for too long; says what it wrote.
        """
        self.folder.mkdir(parents=True)
        os.mkfifo(self.console, 0o600)
        room = ["-N", str(nodes), "-S", str(switches), "-P", str(ports)]
        ibsim = shlex.join(["ibsim", "-s", *room, str(self.files / "ibsim.net")])
        # Opened for both, the pipe never ends for ibsim, however many write to it in turn.
        self._launch(f"{ibsim} 0<>console >ibsim.log 2>&1; echo {ENDED} >>ibsim.log")
        self._await(lambda: READY in self._text("ibsim.log"), "ibsim", "ibsim.log")
        around = [f"{key}={value}" for key, value in self.environment(self.manager).items()]
        opensm = ["env", *around, "opensm", "--config", f"{OPTIONS}/opensm.conf", "--log_file", str(self.log), FLUSH]
        mounted = f"mount --bind {shlex.quote(str(self.files))} {OPTIONS} && {shlex.join(opensm)}"
        self._launch(f"unshare --mount sh -c {shlex.quote(mounted)} >opensm.out 2>&1; echo {ENDED} >>opensm.out")
        self._await(lambda: self.sweeps() > 0, "opensm", "opensm.out")

    def environment(self, host: str) -> dict[str, str]:
        """What a program needs around it to speak to the network from a node, as ibsim calls it."""
        folder = str(self.folder)
        return {
            "IBSIM_SOCKNAME": self.socket,
            "LD_PRELOAD": PRELOADED,
            "SIM_HOST": host,
            "OSM_CACHE_DIR": folder,
            "OSM_TMP_DIR": folder,
        }

    def ask(self, command: Sequence[str]) -> str:
        """What a program of infiniband-diags prints, run on the manager's node.

        Raises:
            LabError: it failed.
        """
        around = [f"{key}={value}" for key, value in self.environment(self.manager).items()]
        words = ["env", "-C", str(self.folder), *around, *command]
        try:
            done = subprocess.run(
                self.inside(words),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_COMMAND_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise LabError(f"{command[0]} got no answer in {_COMMAND_S:g} s from subnet {self.name or 'one'}") from None
        if done.returncode:
            raise LabError(f"{shlex.join(command)} failed: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def tell(self, commands: Sequence[str]) -> None:
        """Has ibsim carry out commands of its console, one after the other.

        Raises:
            LabError: it does not answer, or refuses one; says what it said.
        """
        for command in commands:
            before = len(self._text("ibsim.log"))
            self._tell(command, before)
            said = [line for line in self._text("ibsim.log")[before:].splitlines() if line.startswith("#")]
            if said:
                raise LabError(f"ibsim refuses {command!r}: {said[0].lstrip('# ')}")

    def _tell(self, command: str, before: int) -> None:
        handle = os.open(self.console, os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(handle, f"{command}\n".encode())
        finally:
            os.close(handle)
        self._await(lambda: PROMPT in self._text("ibsim.log")[before:], "ibsim", "ibsim.log")

    def sweeps(self) -> int:
        """How often OpenSM has brought the subnet up."""
        return self._text("opensm.log").count(UP)

    def settle(self, sweeps: int) -> None:
        """Waits until OpenSM has brought the subnet up more often than so many times.

        Raises:
            LabError: it ended, or did not.
        """
        self._await(lambda: self.sweeps() > sweeps, "opensm", "opensm.out")

    @property
    def engine(self) -> str | None:
        """The routing engine that made the tables in use."""
        found = _ROUTED.findall(self._text("opensm.log"))
        return found[-1] if found else None

    def _launch(self, script: str) -> None:
        """Starts something in the lab that outlives this process."""
        words = [
            "env",
            "-C",
            str(self.folder),
            f"IBSIM_SOCKNAME={self.socket}",
            "sh",
            "-c",
            f"({script}) >/dev/null 2>&1 &",
        ]
        done = subprocess.run(
            self.inside(words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_COMMAND_S,
            check=False,
        )
        if done.returncode:
            raise LabError(f"nothing can be started in the lab: {done.stderr.strip()}")

    def _text(self, name: str) -> str:
        try:
            return (self.folder / name).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    def _await(self, is_done: Callable[[], bool], who: str, log: str) -> None:
        give_up = time.monotonic() + SLOWEST_S
        while not is_done():
            said = self._text(log)
            if ENDED in said or time.monotonic() > give_up:
                happened = "has ended" if ENDED in said else f"has nothing new to say after {SLOWEST_S:g} s"
                lines = [line.strip() for line in said.replace(ENDED, "").splitlines() if line.strip()]
                raise LabError(f"{who} {happened}; its last lines: " + (" / ".join(lines[-5:]) or "none"))
            time.sleep(_POLL_S)
