"""A fabric reduced to what a drawing needs: boxes (servers, switches, or groups of them) and bundles of cables.

Plain values, small whatever the fabric's size. Not here: where a box stands on the page (`report.drawing`).
"""

from __future__ import annotations

from typing import Any

import polars as pl

from eastwest.fabric import FRONTEND_TIERS, HOST_TIERS, Fabric

SWITCHES_DRAWN_ONE_BY_ONE = 96
"""A larger fabric's switches are drawn in groups: those of one tier, pod and unit of servers together."""


def sketch(fabric: Fabric) -> dict[str, Any]:
    """Give `{"boxes": [...], "bundles": [...]}` of a fabric.

    A box has `tier`, `name`, `unit` and `pod` or else site (-1: none), `count` of servers or switches and `gpus`. A
    bundle joins box number `a`, nearer to the servers, to box number `b` and has `tiers` ("leaf-spine"), `cables` and
    the `rate_bps` of one cable. Front-end NICs, storage and their own switches are left out.
    """
    # NVLink switches have no cables here, and those that servers share belong to none of them.
    drawn = fabric.nodes.filter(pl.col("kind") != "nvswitch", ~pl.col("tier").is_in([*HOST_TIERS, *FRONTEND_TIERS]))
    one_by_one = drawn.filter(kind="switch").height <= SWITCHES_DRAWN_ONE_BY_ONE
    is_switch = pl.col("kind") == "switch"
    nodes = drawn.with_columns(
        # A server is one thing in the drawing, however many GPUs, NICs and PCIe nodes it holds.
        thing=pl.when(is_switch).then(pl.col("node").cast(pl.Int64)).otherwise(-1 - pl.col("server").cast(pl.Int64)),
        apart=pl.when(is_switch & one_by_one).then(pl.col("node").cast(pl.Int64)).otherwise(-1),
        tier=pl.when(is_switch).then("tier").otherwise(pl.lit("server")),
        has_pod=pl.col("pod") >= 0,
        # Pods are numbered on from site to site; where there are none, a site stands for one.
        pod=pl.when(pl.col("pod") >= 0).then("pod").otherwise("site"),
    )
    key = ["tier", "has_pod", "pod", "unit", "apart"]
    boxes = (
        nodes.group_by(key, maintain_order=True)
        .agg(
            name=pl.col("name").first(),
            count=pl.col("thing").n_unique(),
            gpus=(pl.col("kind") == "gpu").sum(),
            first=pl.col("index").first(),
        )
        .sort("tier", "pod", "unit", "first", maintain_order=True)
        .with_row_index("box")
    )
    box_of_node = nodes.join(boxes, on=key).select("node", "box")
    box_of_port = fabric.ports.select("port", "node").join(box_of_node, on="node").select("port", "box")
    bundles = (
        fabric.cables.join(box_of_port.rename({"port": "port_a", "box": "a"}), on="port_a")
        .join(box_of_port.rename({"port": "port_b", "box": "b"}), on="port_b")
        .group_by("a", "b", "tiers")
        .agg(cables=pl.len(), rate_bps=pl.col("rate_bps").max())
        .sort("a", "b")
    )
    named = boxes.with_columns(name=pl.when(pl.col("apart") >= 0).then("name").otherwise(_group_name()))
    return {
        "boxes": named.select("tier", "name", "unit", "pod", "count", "gpus").to_dicts(),
        "bundles": bundles.to_dicts(),
    }


def _group_name() -> pl.Expr:
    unit = pl.format("unit {}", "unit")
    pod = pl.when("has_pod").then(pl.format("pod {}", "pod")).otherwise(pl.format("site {}", "pod"))
    has_unit, has_pod = pl.col("unit") >= 0, pl.col("pod") >= 0
    return (
        pl.when(has_unit & has_pod)
        .then(pl.format("{}, {}", pod, unit))
        .when(has_unit)
        .then(unit)
        .when(has_pod)
        .then(pod)
        .otherwise(pl.lit(""))
    )
