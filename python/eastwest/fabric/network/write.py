"""Writes any fabric as a network file, or as a folder of nodes.csv and cables.csv, that `read_network` reads back.

Every cable names its ports, its rate and its length, so that the network read back has the same nodes and links. The
cluster, the NIC, the technology and a separate front-end network are the study's, and not written.
"""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import polars as pl

from eastwest.fabric.network.read import OWN_SERVER
from eastwest.fabric.plan import FRONTEND_TIERS, FabricError
from eastwest.fabric.tables import HOST_TIERS, Fabric

_NODE_COLUMNS = ("name", "device", "tier", "unit", "pod", "rail", "plane", "site", "breakout")
_CABLE_COLUMNS = ("a", "b", "rate", "length")
_YAML = (".yaml", ".yml")


def write_network(fabric: Fabric, path: Path | str) -> Path:
    """Writes a YAML file where the path ends so, else a folder of two CSV tables; returns the path.

    Raises `FabricError` on "folder" where the disk refuses, on "frontend" for a network that GPUs and storage share.
    """
    path = Path(path)
    if (fabric.plan.get("frontend") or {}).get("network") == "shared":
        raise FabricError(
            "frontend", "a network file has no front-end NICs and storage: write the fabric with network: separate"
        )
    nodes, cables = list(_nodes(fabric)), list(_cables(fabric))
    try:
        if path.suffix in _YAML:
            _put(path, _yaml(fabric.name, nodes, cables))
        else:
            path.mkdir(parents=True, exist_ok=True)
            _put(path / "nodes.csv", _csv(_NODE_COLUMNS, nodes))
            _put(path / "cables.csv", _csv(_CABLE_COLUMNS, cables))
    except OSError as error:
        raise FabricError("folder", f"{path} cannot be written: {error.strerror or error}") from error
    return path


def _nodes(fabric: Fabric) -> Iterable[tuple[str, ...]]:
    """A row a server and switch; places that a node has not are empty."""
    servers = (
        fabric.nodes.filter(pl.col("kind") == "nic", ~pl.col("tier").is_in(HOST_TIERS))
        .unique("server", keep="first")
        .sort("server")
    )
    for name, unit, pod, site in servers.select("name", "unit", "pod", "site").rows():
        yield (name.rpartition("/")[0], OWN_SERVER, "", _place(unit), _place(pod), "", "", _place(site), "")
    breakout = {
        node: " ".join(f"{len(list(run))}x{ports}" for ports, run in groupby(of_cages))
        for node, of_cages in fabric.cages.sort("node", "number").group_by("node").agg("breakout").rows()
    }
    switches = fabric.nodes.filter(pl.col("kind") == "switch", ~pl.col("tier").is_in(FRONTEND_TIERS))
    for node, name, device, tier, *places in switches.select(
        "node", "name", "device", "tier", "unit", "pod", "rail", "plane", "site"
    ).rows():
        yield (name, device, tier, *map(_place, places), breakout[node])


def _cables(fabric: Fabric) -> Iterable[tuple[str, ...]]:
    is_nic = (fabric.nodes["kind"] == "nic").to_numpy()
    has_planes = int(fabric.plan.get("planes", 1)) > 1
    ends = fabric.ports.join(fabric.nodes, on="node").select("port", "node", "number", "name", "tier")
    joined = (
        fabric.cables.join(ends.rename({"port": "port_a"}), on="port_a")
        .join(ends.rename({"port": "port_b"}), on="port_b", suffix="_b")
        .filter(~pl.col("tier").is_in([*HOST_TIERS, *FRONTEND_TIERS]))
        .sort("cable")
    )
    columns = ("node", "name", "number", "name_b", "number_b", "rate_bps", "length_m")
    for node, name, number, name_b, number_b, rate_bps, length_m in joined.select(columns).rows():
        a = f"{name}/{number}" if has_planes or not is_nic[node] else name
        yield (a, f"{name_b}/{number_b}", f"{rate_bps / 1e9:.17g} Gb/s", f"{length_m:.17g} m")


def _place(number: int) -> str:
    return "" if number < 0 else str(number)


def _csv(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(columns)
    out.writerows(rows)
    return text.getvalue()


def _yaml(name: str, nodes: Iterable[tuple[str, ...]], cables: Iterable[tuple[str, ...]]) -> str:
    lines = [f"# The network of fabric {name}.", "nodes:"]
    for node in nodes:
        told = {key: value for key, value in zip(_NODE_COLUMNS[1:], node[1:], strict=True) if value}
        told["device"] = json.dumps(told["device"])  # a name of the reader's own may hold anything
        lines.append(f"  {node[0]}: {{ {', '.join(f'{key}: {value}' for key, value in told.items())} }}")
    lines.append("cables:")
    lines += [f"  - {{ ends: [{a}, {b}], rate: {rate}, length: {length} }}" for a, b, rate, length in cables]
    return "\n".join([*lines, ""])


def _put(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    descriptor, scratch = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(scratch).replace(path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
