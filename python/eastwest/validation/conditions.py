"""What a table was measured on, as a study of one fabric: its header in the words of a study file, changed by row.

A column whose name has a dot changes what the header says of that: `cluster.servers` the number of servers. Not here:
what ran there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eastwest.catalog import Catalog, CatalogError, UnknownPartError
from eastwest.document import Document, MistakesError, Place, name_of, nearest, parse
from eastwest.spec import Study
from eastwest.spec.load import from_document
from eastwest.units import measure
from eastwest.validation.tables import KEYS, Row, Table, TableError

KEYS_OF_CONDITIONS = ("cluster", "fabric", "nccl", "catalog")
"""What a header may say of what was measured on."""
WORKLOAD = "training"
"""What a header may also say, where training jobs were measured: the workload."""
_SECTIONS: Mapping[str, Place] = {
    "cluster": ("clusters", "measured"),
    "fabric": ("fabrics", "measured"),
    WORKLOAD: ("workloads", "measured"),
}
MEASURED = "measured"
"""Name of the one cluster, fabric and workload of the study."""

_ANY: Mapping[str, Any] = {
    "kind": "operations",
    "operations": [{"name": "collective", "collective": "all-reduce", "bytes": "1 MB"}],
}

Change = tuple[tuple[str, str], ...]
"""Columns that change the header, each with the cell, in the order of the table."""


def check(table: Table, keys: tuple[str, ...], columns: tuple[str, ...]) -> None:
    """Refuses keys and columns that a table of its subject does not have.

    Raises:
        TableError: names the one that was probably meant.
    """
    known = (*KEYS, *KEYS_OF_CONDITIONS, *keys)
    for key in table.header.data:
        if key not in known:
            message = f"{key!r} says nothing here"
            raise TableError([table.header.mistake((key,), message, known, nearest(key, known), key=True)])
    line = table.rows[0].line - ("log" not in table.header.data)
    for column in table.columns:
        section, dot, _ = column.partition(".")
        if column not in columns and not (dot and section in (*KEYS_OF_CONDITIONS, *keys)):
            expected = (*columns, "cluster.servers, fabric.link and the like")
            raise table.refuse(line, f"{column!r} is no column of such a table", expected, nearest(column, columns))


def change(row: Row) -> Change:
    """What a row changes of the conditions."""
    return tuple((column, cell) for column, cell in row.cells.items() if "." in column)


def study(table: Table, changed: Change, line: int, workload: Mapping[str, Any] = _ANY) -> Study:
    """The study of a table's conditions, as a row in `line` changes them, with one workload (some all-reduce).

    What the row changes of the workload is in that already.

    Raises:
        TableError: there is no cluster, or no fabric and several servers.
        StudyError: what is stated does not fit a study.
    """
    conditions: dict[str, Any] = {}
    for key in KEYS_OF_CONDITIONS:
        said = table.stated(key)
        if said is not None and key != "catalog" and not isinstance(said, dict):
            raise table.refuse_at((key,), f"{key} is a mapping, as in a study file, not {name_of(said)}")
        conditions[key] = dict(said) if isinstance(said, dict) else said
    for column, cell in changed:
        section, _, key = column.partition(".")
        if section in conditions:
            conditions[section] = {**(conditions[section] or {}), key: plain(cell)}
    if conditions["cluster"] is None:
        expected = ("cluster: { server: hgx-h100, servers: 2 }",)
        raise table.refuse_at((), "says not on what it was measured", expected)
    fabric = conditions["fabric"] or _alone(conditions["cluster"], _catalog(table, conditions["catalog"]))
    if fabric is None:
        expected = ("fabric: { technology: rocev2, link: 400 Gb/s }",)
        raise table.refuse_at(("cluster",), "several servers are joined by a fabric, and none is stated", expected)
    data = {
        "name": MEASURED,
        "clusters": {MEASURED: conditions["cluster"]},
        "fabrics": {MEASURED: _full(fabric)},
        "workloads": {MEASURED: dict(workload)},
        **{key: conditions[key] for key in ("nccl", "catalog") if conditions[key] is not None},
    }
    return from_document(_moved(table.header, data, changed, line), table.folder)


def _full(fabric: Mapping[str, Any]) -> dict[str, Any]:
    """A fabric whose switches are not told as a non-blocking one, with a leaf for each NIC of a server."""
    default = {"shape": "rail-optimized"} if "shape" not in fabric else {}
    if "switch" not in fabric and fabric.get("shape", "rail-optimized") in ("single-switch", "rail-optimized"):
        default["switch"] = "sn5600"
        if fabric.get("technology") == "infiniband":
            rate = measure(str(fabric.get("link")))
            default["switch"] = "q3400" if rate is not None and rate[0] > 400e9 else "qm9700"
    return {**default, **fabric}


def plain(cell: str) -> Any:
    """A cell as YAML has it: a number, or a text."""
    try:
        return parse(cell, "").data
    except MistakesError:
        return cell  # as in "4:1": the study says what is wrong with it


def _catalog(table: Table, named: Any) -> Catalog:
    """The bundled catalogue with the table's own entries; without them where the study will say what is wrong."""
    catalog = Catalog.bundled()
    try:
        path = (table.folder / named).resolve()
        return catalog.with_file(path) if path.is_relative_to(table.folder.resolve()) else catalog
    except (CatalogError, OSError, TypeError, ValueError):
        return catalog


def _alone(cluster: Mapping[str, Any], catalog: Catalog) -> dict[str, Any] | None:
    """A network for one server, whose messages do not reach it; None for more."""
    if cluster.get("servers") != 1:
        return None
    try:
        nic = catalog.server(str(cluster.get("server"))).nic
    except UnknownPartError:
        nic = catalog.nic("connectx-7")  # the study says what is wrong with the server
    is_ethernet = nic.technologies[0] != "infiniband"
    rate = (is_ethernet and nic.ethernet_port_bps) or nic.port_bps
    switch = "sn5600" if is_ethernet else "q3400"
    return {
        "shape": "single-switch",
        "technology": nic.technologies[0],
        "link": f"{rate / 1e9:g} Gb/s",
        "switch": switch,
        "balancing": "ecmp" if is_ethernet else "adaptive",
    }


def _moved(header: Document, data: dict[str, Any], changed: Change, line: int) -> Document:
    """Plain values as a document whose places are those of the header, and of the row's line where it changed them."""

    def moved(places: Mapping[Place, tuple[int, int]]) -> dict[Place, tuple[int, int]]:
        found: dict[Place, tuple[int, int]] = {}
        for place, position in places.items():
            if place and place[0] in (*KEYS_OF_CONDITIONS, WORKLOAD):
                found[_at(place)] = position
        return found | {_at(tuple(column.split("."))): (line, 1) for column, _ in changed}

    return Document(header.file, data, moved(header.keys), moved(header.values))


def _at(place: Place) -> Place:
    """Where a place of the header is in the study."""
    return (*_SECTIONS.get(str(place[0]), (place[0],)), *place[1:])
