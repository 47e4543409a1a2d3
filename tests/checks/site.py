"""Two rails of a fabric as `eastwest build` writes it, and ways to put one fault into the files.

Built once: 16 servers of 8 NICs, a leaf a rail, two spines. Kept of it are two leaves, both spines and two servers,
which is also what an engineer who checks a part of a fabric has at hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from eastwest import artifacts, spec

LEAVES, SPINES, SERVERS = ("leaf-u0-r0", "leaf-u0-r1"), ("spine-00", "spine-01"), ("server-000", "server-001")
LEAF, OTHER_LEAF, SPINE, OTHER_SPINE, SERVER = *LEAVES, *SPINES, SERVERS[0]
_KEPT = {*LEAVES, *SPINES, *SERVERS}

STUDY = """
name: two-rails
clusters:
  hall: { server: hgx-h100, servers: 16 }
fabrics:
  rails:
    shape: rail-optimized
    technology: rocev2
    link: 400 Gb/s
    switch: sn5400
    servers_per_unit: 16
    balancing: ecmp
workloads:
  sum:
    kind: operations
    operations:
      - { name: sum, collective: all-reduce, bytes: 1 GB }
"""


@cache
def _files(folder: Path) -> dict[str, str]:
    """The kept files by their paths."""
    study = folder / "study.yaml"
    study.write_text(STUDY)
    built = artifacts.build(artifacts.subject(spec.load(str(study)), "rails"), ["sonic", "frr", "hosts"])
    return {
        file.path: file.text
        for file in built
        if file.path == "plan.json" or (file.path.count("/") == 2 and file.path.split("/")[1] in _KEPT)
    }


class Site:
    """The files, written into a folder."""

    def __init__(self, folder: Path, study_folder: Path) -> None:
        self.folder = folder
        for name, text in _files(study_folder).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        neighbours = self.read(LEAF)["DEVICE_NEIGHBOR"]
        ports = {row["name"]: port for port, row in reversed(neighbours.items())}
        self.to_server, self.to_other_server, self.to_spine = (ports[name] for name in (*SERVERS, SPINE))
        """Ports of the first leaf: to each server, and the first one to the first spine."""
        self.on_spine: str = neighbours[self.to_spine]["port"]
        """The port of the first spine at the other end."""

    def read(self, switch: str) -> dict[str, Any]:
        """A switch's config_db.json."""
        found: dict[str, Any] = json.loads((self.folder / "switches" / switch / "config_db.json").read_text())
        return found

    @contextmanager
    def config(self, switch: str) -> Iterator[dict[str, Any]]:
        """A switch's config_db.json, written back when the block ends."""
        document = self.read(switch)
        yield document
        (self.folder / "switches" / switch / "config_db.json").write_text(json.dumps(document))

    def set(self, switch: str, table: str, row: str, **fields: str | None) -> None:
        """Changes fields of a row; None takes one away."""
        with self.config(switch) as document:
            for field, value in fields.items():
                if value is None:
                    del document[table][row][field]
                else:
                    document[table][row][field] = value

    def unbind(self, switch: str, port: str, field: str) -> None:
        """Takes a map off a port, and a DSCP map off the switch as well, which else stands in for the port's."""
        with self.config(switch) as document:
            rows = document["PORT_QOS_MAP"]
            del rows[port][field]
            rows.get("global", {}).pop(field, None)

    def name(self, switch: str, table: str, row: str, field: str) -> str:
        """What a field of a row names."""
        return str(self.read(switch)[table][row][field])

    def replace(self, file: str, old: str, new: str) -> None:
        """Changes a text that is there, everywhere in a file."""
        path = self.folder / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def on_servers(self, file: str, old: str, new: str) -> None:
        """The same in a file of every server."""
        for server in SERVERS:
            self.replace(f"hosts/{server}/{file}", old, new)

    def loopback(self, switch: str) -> str:
        """The IPv4 address of a switch's loopback."""
        return next(key.split("|")[1].split("/")[0] for key in self.read(switch)["LOOPBACK_INTERFACE"] if "/32" in key)

    @property
    def wred(self) -> str:
        """WRED profile of RoCE on the first leaf."""
        return self.name(LEAF, "QUEUE", f"{self.to_server}|3", "wred_profile")

    @property
    def pause_fill(self) -> int:
        """Fill at which a group of the first leaf pauses alone: alpha is 1, so half the pool."""
        document = self.read(LEAF)
        profile = document["BUFFER_PROFILE"][document["BUFFER_PG"][f"{self.to_server}|3"]["profile"]]
        assert profile["dynamic_th"] == "0"
        return int(document["BUFFER_POOL"][profile["pool"]]["size"]) // 2
