"""`faults` finds what is broken: each test breaks one thing."""

from dataclasses import replace

import polars as pl
import pytest

from eastwest.fabric import build, faults


@pytest.fixture
def small(plan):
    return build(plan(servers=2))


def with_row(table, column, row, value):
    values = table[column].to_list()
    values[row] = value
    return table.with_columns(pl.Series(column, values, dtype=table.schema[column]))


def test_built_fabric_has_none(small):
    assert faults(small) == []


@pytest.mark.parametrize(
    ("table", "column", "row", "value", "fault"),
    [
        ("nodes", "node", 3, 2, "nodes are not numbered"),
        ("nodes", "name", 3, "server-0/gpu-2", "two nodes have one name"),
        ("links", "dst", 0, 10**6, "links point with dst past the nodes"),
        ("ports", "cage", 20, 0, "a port's cage"),
        ("ports", "number", 20, 0, "two ports of a node have one number"),
        ("cages", "breakout", 20, 2, "a cage is not broken out"),
        ("cables", "port_a", 1, 0, "a port has two cables"),
        ("cables", "rate_bps", 1, 1e9, "a cable's ends run at different rates"),
        ("ports", "cable", 40, 0, "a port names a cable that does not end there"),
        ("links", "rate_bps", 0, 1e9, "a link and its reverse"),
        ("links", "src", 0, 3, "links 2k and 2k + 1 are not each other's reverse in src"),
        ("links", "cable", 0, 5, "links 2k and 2k + 1 are not those of cable k"),
    ],
)
def test_one_broken_cell(small, table, column, row, value, fault):
    broken = replace(small, **{table: with_row(getattr(small, table), column, row, value)})
    assert any(fault in found for found in faults(broken)), faults(broken)


def test_server_with_no_link_is_missed(small):
    first = small.nodes.filter(pl.col("kind") == "nic")["node"][0]
    lone = pl.DataFrame(small.nodes[first]).with_columns(
        pl.lit(len(small.nodes), dtype=pl.UInt32).alias("node"), pl.lit("server-9/nic-0").alias("name")
    )
    assert faults(replace(small, nodes=pl.concat([small.nodes, lone]))) == [
        "server-9/nic-0 cannot reach server-0/gpu-0"
    ]
