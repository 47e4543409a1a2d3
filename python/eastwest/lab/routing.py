"""FRR in a lab's switches: started as its own scripts would, from the frr.conf that was built, and asked in JSON.

Not here: what the configuration says.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eastwest.lab.failure import LabError
from eastwest.lab.machine import Tool
from eastwest.lab.registry import Lab
from eastwest.lab.wiring import run

DAEMONS = ("zebra", "bgpd", "bfdd")
TOOLS = (*(Tool(daemon, "frr") for daemon in DAEMONS), Tool("vtysh", "frr"))
USER = "frr"

START = """\
rm -f /run/frr/*
for each in zebra bgpd bfdd; do
  /usr/lib/frr/$each -d -P 0 --log file:/var/tmp/$each.log >/var/tmp/$each.out 2>&1 ||
    { cat /var/tmp/$each.out; exit 1; }
done
vtysh -b >/var/tmp/vtysh.out 2>&1 || echo "% it ended with an error" >>/var/tmp/vtysh.out
"""
"""As FRR's watchfrr does it: daemons that know nothing yet, then the one file for all; no TCP ports for vtys."""


@dataclass(frozen=True)
class Session:
    """One BGP session: the interface it runs over, its state, and whom it joins where that is known."""

    interface: str
    state: str

    @property
    def is_established(self) -> bool:
        """Whether routes are exchanged."""
        return self.state == "Established"


def prepare(lab: Lab, node: str) -> None:
    """Puts a switch's frr.conf where FRR will look for it.

    Raises:
        LabError: `eastwest build` wrote none for it.
    """
    folder = lab.node(node)
    built = lab.built / "switches" / node / "frr.conf"
    if not built.exists():
        raise LabError(f"{built} is not there: the lab runs what eastwest build writes for FRR")
    for part in ("frr", "run/frr", "tmp"):
        (folder / part).mkdir(parents=True, exist_ok=True)
        shutil.chown(folder / part, USER, USER)
    shutil.copyfile(built, folder / "frr" / "frr.conf")
    (folder / "frr" / "vtysh.conf").touch()


def start(lab: Lab, node: str) -> None:
    """Starts FRR in a switch.

    Raises:
        LabError: a daemon does not start, or vtysh refuses a line of the configuration.
    """
    run(lab.on(node, ["sh", "-e"]), START)
    refused = (lab.node(node) / "tmp" / "vtysh.out").read_text(errors="replace").strip()
    if "%" in refused:
        raise LabError(f"on {node}: FRR refuses its frr.conf: {refused[-2000:]}")


def ask(lab: Lab, node: str, question: str) -> Any:
    """What FRR answers, in JSON.

    Raises:
        LabError: it does not.
    """
    said = run(lab.on(node, ["vtysh", "-c", f"{question} json"]))
    try:
        return json.loads(said)
    except ValueError:
        raise LabError(f"on {node}: FRR does not answer {question!r}: {said.strip()[:500]}") from None


def sessions(lab: Lab, node: str) -> list[Session]:
    """All BGP sessions of a switch that are configured; errors as `ask`."""
    found: Mapping[str, Any] = ask(lab, node, "show bgp ipv4 unicast summary")
    peers = found.get("peers", {})
    return [Session(interface, str(peer.get("state"))) for interface, peer in sorted(peers.items())]
