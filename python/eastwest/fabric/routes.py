"""Forwarding tables as a CSV file: which of its links each switch uses for each destination.

Columns `switch`, `destination`, `next`, and where need be `port` and `weight`. A destination is a switch that NICs plug
into (all of these), a NIC or a server (all its NICs but those of the front end); a NIC's own rows take the place of its
switch's. Several rows for one destination are a group that traffic is dealt over by weight. `next` is the switch that a
row leads to: over all cables that join them, or over the one at a `port`. Not here: whether routes arrive (the engine
sees to that).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eastwest.document import nearest
from eastwest.fabric.failures import MOST_COMPARED
from eastwest.fabric.plan import FabricError
from eastwest.fabric.tables import Fabric

NEEDED = ("switch", "destination", "next")
OPTIONAL = ("port", "weight")
MOST_ROWS = 5_000_000
"""More are taken for a mistake: some 500 MB."""

MOST_WEIGHT = 1e15


@dataclass(frozen=True)
class Routes:
    """Rows of forwarding tables, as arrays of shape (rows,): nodes, a link out of the switch, its relative weight."""

    switch: NDArray[np.uint32]
    destination: NDArray[np.uint32]
    link: NDArray[np.uint32]
    weight: NDArray[np.float64]

    @property
    def is_even(self) -> bool:
        """Whether all links of a switch for a destination carry the same."""
        rows = pl.DataFrame({"switch": self.switch, "destination": self.destination, "weight": self.weight})
        return bool((rows.group_by("switch", "destination").agg(pl.col("weight").n_unique())["weight"] == 1).all())


def read_routes(path: Path, fabric: Fabric) -> Routes:
    """Reads the forwarding tables of a fabric.

    Raises:
        FabricError: on "routes", with the line, where the file is no such table or names what the fabric does not have.
    """
    table = _table(path)
    names = fabric.nodes.select("node", "name", kind=pl.col("kind").cast(pl.String))
    switches = names.filter(kind="switch")
    _check_known(path, table, "switch", switches["name"], "switch")
    _check_known(path, table, "next", switches["name"], "switch")
    nics = fabric.nodes.filter(pl.col("kind") == "nic", pl.col("tier") != "frontend")
    nic = nics.select("node", name=pl.col("name").str.replace("/.*", ""))
    destinations = pl.concat([names.filter(pl.col("kind").is_in(["switch", "nic"])).select("node", "name"), nic])
    _check_known(path, table, "destination", destinations["name"], "switch, NIC or server")
    rows = (
        table.join(switches.select(at="node", switch="name"), on="switch")
        .join(switches.select(to="node", next="name"), on="next")
        .join(_links(fabric), left_on=["at", "to"], right_on=["src", "dst"], how="left")
        .with_columns(is_meant=pl.col("port").is_null() | (pl.col("port") == pl.col("number")))
    )
    lost = rows.group_by("line", "switch", "next", "port").agg(
        any=(pl.col("is_meant") & pl.col("link").is_not_null()).any()
    )
    lost = lost.filter(~pl.col("any")).sort("line")
    if len(lost):
        line, switch, to, port, _ = lost.row(0)
        at = "" if port is None else f" at its port {port}"
        raise FabricError("routes", f"{path}:{line}: {switch} has no cable to {to}{at} (is it down?)")
    rows = rows.filter("is_meant").with_columns(pl.col("weight") / pl.len().over("line"))
    rows = rows.join(destinations.rename({"node": "for"}), left_on="destination", right_on="name").sort(
        "line", "for", "link"
    )
    twice = rows.filter(pl.struct("at", "for", "link").is_duplicated())
    if len(twice):
        line, switch, destination = twice.sort("line").select("line", "switch", "destination").row(-1)
        raise FabricError("routes", f"{path}:{line}: {switch} has a row over this cable for {destination} already")
    switch, destination, link = (rows[column].to_numpy().astype(np.uint32) for column in ("at", "for", "link"))
    return Routes(switch, destination, link, rows["weight"].to_numpy().astype(np.float64))


def write_routes(routes: Routes, fabric: Fabric, path: Path) -> None:
    """Writes forwarding tables, one row a link; `read_routes` reads them back unchanged.

    Raises:
        FabricError: on "routes", where there are too many rows.
        OSError: the file cannot be written.
    """
    if len(routes.switch) > MOST_ROWS:
        raise FabricError(
            "routes", f"{len(routes.switch):,} rows are more than {MOST_ROWS:,}: write those of a smaller fabric"
        )
    name, number = fabric.nodes["name"], fabric.ports["number"]
    link = fabric.links.select("dst", "src_port")[routes.link]
    is_whole = len(routes.weight) > 0 and np.array_equal(routes.weight, np.floor(routes.weight))
    weight = routes.weight / np.gcd.reduce(routes.weight.astype(np.int64)) if is_whole else routes.weight
    table = pl.DataFrame(
        {
            "switch": name.gather(routes.switch),
            "destination": name.gather(routes.destination),
            "next": name.gather(link["dst"]),
            "port": number.gather(link["src_port"]),
            "weight": weight,
        }
    )
    scratch = path.with_name(f".{path.name}.part")
    try:
        table.write_csv(scratch)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def _table(path: Path) -> pl.DataFrame:
    """The file's rows with their lines; weight 1 and no port where it does not say."""
    try:
        table = pl.read_csv(path, infer_schema=False, truncate_ragged_lines=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise FabricError("routes", f"{path} is not readable as CSV: {str(error).splitlines()[0]}") from error
    missing = [column for column in NEEDED if column not in table.columns]
    unknown = [column for column in table.columns if column not in (*NEEDED, *OPTIONAL)]
    if missing or unknown:
        wrong = f"lacks column {missing[0]!r}" if missing else f"has an unknown column {unknown[0]!r}"
        raise FabricError(
            "routes", f"{path} {wrong}; it has {', '.join((*NEEDED, *OPTIONAL))}, the last two if need be"
        )
    if len(table) > MOST_ROWS:
        raise FabricError("routes", f"{path} has {len(table):,} rows, more than {MOST_ROWS:,}")
    table = table.with_columns(pl.lit(None, pl.String).alias(each) for each in OPTIONAL if each not in table.columns)
    numbers = table.with_row_index("line", offset=2).with_columns(
        told_port=pl.col("port").cast(pl.UInt32, strict=False),
        told_weight=pl.col("weight").fill_null("1").cast(pl.Float64, strict=False),
    )
    fits = pl.col("told_weight").is_finite() & (pl.col("told_weight") > 0) & (pl.col("told_weight") < MOST_WEIGHT)
    for column, is_right in (("port", pl.col("port").is_null() | pl.col("told_port").is_not_null()), ("weight", fits)):
        wrong_rows = numbers.filter(~is_right.fill_null(False))
        if len(wrong_rows):
            line, found = wrong_rows.select("line", column).row(0)
            bounds = f"a weight is a number above 0 and below {MOST_WEIGHT:g}"
            wanted = {"port": "a port is a number from 0", "weight": bounds}[column]
            raise FabricError("routes", f"{path}:{line}: {wanted}, not {found!r}")
    return numbers.with_columns(port="told_port", weight="told_weight").drop("told_port", "told_weight")


def _check_known(path: Path, table: pl.DataFrame, column: str, names: pl.Series, what: str) -> None:
    unknown = table.filter(~pl.col(column).is_in(names.implode()) | pl.col(column).is_null())
    if len(unknown):
        line, found = unknown.select("line", column).row(0)
        near = nearest(found, names.head(MOST_COMPARED)) if found else None
        meant = f"; did you mean {near!r}?" if near else ""
        raise FabricError("routes", f"{path}:{line}: there is no {what} {found!r}{meant}")


def _links(fabric: Fabric) -> pl.DataFrame:
    """Cabled links with the number of the port that they leave."""
    ports = fabric.ports.select(pl.col("port").cast(pl.Int32).alias("src_port"), "number")
    return fabric.links.filter(pl.col("cable") >= 0).join(ports, on="src_port").select("link", "src", "dst", "number")
