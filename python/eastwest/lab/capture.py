"""What passes an interface of a lab, as a capture file that Wireshark and tshark read.

dumpcap, which comes with them, does the recording. Not here: what it means.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from eastwest.lab import machine
from eastwest.lab.failure import LabError
from eastwest.lab.nodes import read_nodes
from eastwest.lab.registry import Lab
from eastwest.lab.wiring import PATIENCE_S

DUMPCAP = machine.Tool("dumpcap", "tshark")


def record(lab: Lab, end: str, seconds: float, out: Path) -> None:
    """Records what an interface ("NODE:INTERFACE") sends and receives for some seconds.

    Raises:
        LabError: there is no such interface, or dumpcap is missing.
    """
    machine.check((DUMPCAP,), ())
    name, _, interface = end.partition(":")
    node = read_nodes(lab.built).named(name)
    there = [port.name for port in node.ports]
    if interface not in there:
        raise LabError(f"{end!r} is no interface; name one as in {name}:{there[0]} ({name} has {', '.join(there)})")
    # dumpcap gives up its rights before it opens the file: it writes to us, and we to the file.
    command = lab.on(
        name, ["dumpcap", "-q", "-i", interface, "-P", "-a", f"duration:{max(1, round(seconds))}", "-w", "-"]
    )
    scratch = out.with_name(f".{out.name}.part")
    try:
        with scratch.open("wb") as file:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.PIPE,
                timeout=seconds + PATIENCE_S,
                check=False,
            )
        if done.returncode:
            raise LabError(f"on {name}: dumpcap failed: {done.stderr.decode(errors='replace').strip()[-500:]}")
        scratch.replace(out)
    finally:
        scratch.unlink(missing_ok=True)
