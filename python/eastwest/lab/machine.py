"""What a machine must offer for a lab, found out before anything is made, with what brings it where it lacks.

Kernel features are tried, not looked up: a container may hide /proc/config.gz, and a module may load on demand.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from eastwest.lab.failure import MissingError

SBIN = ("/usr/sbin", "/sbin", "/usr/lib/frr")
"""Where Debian keeps daemons that are on no user's PATH."""


@dataclass(frozen=True)
class Tool:
    """A command, and the Debian package that has it."""

    command: str
    package: str

    def path(self) -> str | None:
        """Where it is, None where it is not."""
        return shutil.which(self.command, path=os.pathsep.join((os.environ.get("PATH", os.defpath), *SBIN)))


BASIC = (
    Tool("ip", "iproute2"),
    Tool("tc", "iproute2"),
    Tool("unshare", "util-linux"),
    Tool("nsenter", "util-linux"),
    Tool("mount", "mount"),
    Tool("hostname", "hostname"),
)
"""What every lab is made with."""


@dataclass(frozen=True)
class Feature:
    """Something the kernel may lack: commands that use it in a network namespace made for the trial, one a line."""

    name: str
    trial: str
    remedy: str


VETH = Feature("veth pairs", "ip link add veth-a type veth peer name veth-b", "load the module: modprobe veth")
TBF = Feature(
    "tbf queueing",
    "ip link add veth-a type veth peer name veth-b\ntc qdisc add dev veth-a root tbf rate 1mbit burst 32k latency 50ms",
    "load the module: modprobe sch_tbf",
)


def check(tools: Iterable[Tool], features: Iterable[Feature]) -> None:
    """Raises `MissingError` with all that this machine lacks: rights, commands, kernel features."""
    if not may_make_namespaces():
        raise MissingError(
            "a lab makes network, mount and process namespaces, which takes root (CAP_SYS_ADMIN and CAP_NET_ADMIN): "
            "run it with sudo, or in a container started with --privileged"
        )
    lacking = [tool for tool in (*BASIC, *tools) if tool.path() is None]
    if lacking:
        commands = ", ".join(tool.command for tool in lacking)
        packages = " ".join(sorted({tool.package for tool in lacking}))
        raise MissingError(
            f"this machine has no {commands}: install what brings them, "
            f"sudo apt-get install --no-install-recommends {packages}"
        )
    for feature in features:
        if not _offers(feature):
            raise MissingError(f"this machine's kernel has no {feature.name}: {feature.remedy}, or use another kernel")


def may_make_namespaces() -> bool:
    """Whether this process has the capabilities of root that a lab needs."""
    needed = 1 << 21 | 1 << 12  # CAP_SYS_ADMIN, CAP_NET_ADMIN: linux/capability.h
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16) & needed == needed
    return False


def _offers(feature: Feature) -> bool:
    """Tries a feature in a namespace that ends with the trial."""
    found = subprocess.run(
        ["unshare", "--net", "sh", "-e", "-c", feature.trial],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return found.returncode == 0
