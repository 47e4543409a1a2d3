"""SONiC: one `config_db.json` a switch, and the seed of its hash beside it.

Tables are as SONiC's YANG models have them (sonic-buildimage, src/sonic-yang-models), all values text. Routing is not
here: FRR's own file says it, and the metadata says that it does; MRC has static tables in its place (`artifacts.mrc`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from eastwest.artifacts import mrc
from eastwest.artifacts.file import File
from eastwest.artifacts.sonic import buffers, device, ports, qos
from eastwest.artifacts.sonic.box import Box, boxes
from eastwest.artifacts.subject import Subject

__all__ = ["config_db", "files"]

Tables = dict[str, Any]


def files(subject: Subject) -> Iterator[File]:
    """The files of every Ethernet switch: `switches/NAME/config_db.json` and `switches/NAME/hash.json`.

    Raises:
        PlanError: a switch has not the memory for the headroom of its cables, or is one that is configured otherwise.
    """
    sources = mrc.network(subject.plan) if subject.plan.technology == "mrc" else None
    for box in boxes(subject):
        folder = f"switches/{box.switch.name}"
        yield File(f"{folder}/config_db.json", json.dumps(config_db(box, sources), indent=2) + "\n")
        yield File(f"{folder}/hash.json", json.dumps(device.hash_seed(box.switch), indent=2) + "\n")


def config_db(box: Box, sources: mrc.Network | None = None) -> Tables:
    """The configuration of one switch: tables by name, their entries in the order of ports.

    A switch that `sources` has routes by their static tables and no protocol.
    """
    tables = {**device.tables(box), **ports.tables(box), **qos.tables(box), **buffers.tables(box)}
    if sources is not None and box.switch.name in sources.tree.switches:
        tables |= mrc.sonic_tables(sources, box.switch)
    return dict(sorted(tables.items()))
