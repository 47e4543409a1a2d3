"""Networks given as files: read, wired, refused with their ends and lines, and written from any fabric."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eastwest.catalog import Catalog
from eastwest.document import MistakesError
from eastwest.fabric import FabricError, FabricPlan, build, faults, read_network, summary, write_network

CATALOG = Catalog.bundled()
GOOD = """
nodes:
  left: server
  right: { device: hgx-h100 }
  leaf-a: sn5400
  leaf-b: { device: sn5600, breakout: 2 }
  top: sn5400
cables:
  - { ends: [left, leaf-a], count: 8 }
  - [right/nic-0, leaf-b/5]
  - { ends: [leaf-b, right], count: 7, rate: 200 Gb/s, length: 3 m }
  - { ends: [top/10, leaf-a/20], count: 4, length: 80 m }
  - [leaf-b/100, top]
"""


def plan(folder, text, **changes):
    file = folder / "net.yaml"
    file.write_text(text)
    values = {
        "name": "own",
        "shape": "custom",
        "servers": 2,
        "server": CATALOG.server("hgx-h100"),
        "nic": CATALOG.nic("connectx-7"),
        "link_layer": CATALOG.link_layer("rocev2"),
        "link_bps": 400e9,
        "switches": {},
        "network": read_network(file, CATALOG, "net.yaml"),
    }
    return FabricPlan(**(values | changes))


def mistakes(folder, text, **changes):
    with pytest.raises(MistakesError) as caught:
        build(plan(folder, text, **changes))
    return str(caught.value)


def cables(fabric):
    """Every cable: both ends by name and port, tiers, rate and length, in any order."""
    ends = fabric.ports.join(fabric.nodes, on="node").select("port", end=pl.format("{}/{}", "name", "number"))
    joined = fabric.cables.join(ends.rename({"port": "port_a", "end": "a"}), on="port_a")
    joined = joined.join(ends.rename({"port": "port_b", "end": "b"}), on="port_b")
    return set(joined.select("a", "b", "tiers", "rate_bps", "length_m").rows())


def test_cables_end_at_the_ports_that_the_file_names_and_else_at_the_next_free_one(tmp_path):
    fabric = build(plan(tmp_path, GOOD))
    assert faults(fabric) == []
    found = cables(fabric)
    assert ("left/nic-7/0", "leaf-a/7", "server-leaf", 400e9, 5.0) in found
    assert ("right/nic-0/0", "leaf-b/5", "server-leaf", 400e9, 5.0) in found
    assert ("leaf-a/23", "top/13", "leaf-spine", 400e9, 80.0) in found
    assert ("leaf-b/100", "top/0", "leaf-spine", 400e9, 30.0) in found
    assert len(found) == 8 + 8 + 5


def test_ports_of_a_cage_run_at_one_rate(tmp_path):
    """leaf-b's port 5 runs at 400 Gb/s, and with it its cage of ports 4 and 5: the seven of 200 pass over both."""
    ends = {b for _, b, _, rate, _ in cables(build(plan(tmp_path, GOOD))) if rate == 200e9}
    assert ends == {f"leaf-b/{port}" for port in (0, 1, 2, 3, 6, 7, 8)}


def test_switches_stand_on_tiers_by_their_distance_from_servers(tmp_path):
    tiers = dict(build(plan(tmp_path, GOOD)).nodes.filter(kind="switch").select("name", "tier").rows())
    assert tiers == {"leaf-a": "leaf", "leaf-b": "leaf", "top": "spine"}


def test_no_bisection_is_made_up(tmp_path):
    counts = summary(build(plan(tmp_path, GOOD)))
    assert counts["bisection_bps"] is None
    assert counts["cables"]["leaf-spine"] == 5


@pytest.mark.parametrize(
    ("line", "found", "told"),
    [
        (
            "[left/nic-0, leaf-c/1]",
            9,
            "net.yaml:9:1: the cable left/nic-0 - leaf-c/1 ends nowhere: there is no node 'leaf-c/1'",
        ),
        (
            "[left/nic-0, top/10]\n  - [left/nic-1, top/10]",
            10,
            "the cable left/nic-1 - top/10 cannot end at top: its port 10 has the cable left/nic-0 - top/10 already",
        ),
        ("[left/nic-0, top/64]", 9, "the cable left/nic-0 - top/64 cannot end at top: it has no port 64, only 0 to 63"),
        ("[left/nic-8, top]", 9, "the cable left/nic-8 - top cannot end at left: it has no nic-8, only nic-0 to nic-7"),
        ("{ ends: [left, top], count: 9 }", 9, "the cable left - top cannot end at left: none of its 8 ports is free"),
        (
            "{ ends: [leaf-a, top], count: 65 }",
            9,
            "the cable leaf-a - top cannot end at top: none of its 64 ports is free",
        ),
        (
            "{ ends: [left, top], rate: 800 Gb/s }",
            9,
            "cannot end at left: a port of its connectx-7 does not run at 800 Gb/s; it runs 25 Gb/s",
        ),
        (
            "{ ends: [leaf-a, top], rate: 800 Gb/s }",
            9,
            "cannot end at leaf-a: sn5400 does not run ports at 800 Gb/s; it runs",
        ),
        (
            "{ ends: [left/nic-0, leaf-b/2], rate: 200 Gb/s }",
            9,
            "cannot end at leaf-b: the cage of its port 2 runs at 400 Gb/s, not at 200 Gb/s: ports of a cage",
        ),
        ("[top/1, top/2]", 9, "the cable top/1 - top/2 ends twice at top"),
        ("[left, right]", 9, "the cable left - right joins two servers: one end must be a switch"),
        ("[left/port-3, top]", 9, "cannot end at 'left/port-3': an end of a server is like left/nic-3"),
        ("{ ends: [leaf-a, top], count: 0 }", 9, "count of cable leaf-a - top is a whole number from 1 to 999,999"),
        (
            "{ ends: [leaf-a, top], count: 1000000000 }",
            9,
            "count of cable leaf-a - top is a whole number from 1 to 999,999, not 1000000000",
        ),
        (
            "{ ends: [leaf-a/30, top/30], length: 1e13 km }",
            9,
            "the cable leaf-a/30 - top/30 is at most 20,000 km long, half around the world, not 1e+13 km",
        ),
        (
            "[leaf-a/-1, top]",
            9,
            "the cable leaf-a/-1 - top cannot end at 'leaf-a/-1': an end of a switch is like leaf-a/7",
        ),
        ("{ ends: [leaf-a, top], rate: 800G }", 9, "cable leaf-a - top: '800G' has no unit"),
    ],
)
def test_a_cable_that_cannot_be_is_refused_with_its_ends_and_line(tmp_path, line, found, told):
    leaf_b = "leaf-b: { device: sn5600, breakout: 2 }"
    head = f"nodes: {{ left: server, right: server, leaf-a: sn5400, top: sn5400, {leaf_b} }}\n\n\n\n"
    joined = "cables:\n  - [right/nic-7, leaf-a/40]\n"
    links = "  - [leaf-a/60, top/60]\n  - [leaf-b/3, top/61]\n"
    tail = "  - [left/nic-7, top/40]\n" if "left, top" not in line else ""
    text = f"{head}{joined}{links}  - {line}\n{tail}"
    said = mistakes(tmp_path, text)
    assert told in said
    assert f"net.yaml:{found}:1: " in said


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("  top: sn5400", "  left/gpu-0: sn5400\n  top: sn5400", "left/gpu-0 is named as a part of the server left"),
        ("  top: sn5400", "  leaf-a/nic-1: sn5400\n  top: sn54000", "net.yaml:8:1: top is a 'sn54000', which the"),
        ("  top: sn5400", "  top: { device: sn5400, tier: roof }", "top stands on tier 'roof'; there are leaf, spine"),
        ("  top: sn5400", "  top: { device: sn5400, breakout: 3x2 }", "or those of all 64 cages, as in '63x2 1x1'"),
        ("  top: sn5400", "  top: { device: sn5400, hight: 3 }", "unknown entry 'hight' of node 'top'"),
        ("  top: sn5400", "  top: sn5400\n  far: sn5400", "net.yaml:8:1: no cable leads from left to far"),
        ("  top: sn5400", "  top: qm9700", "top is a qm9700, which speaks infiniband; the fabric is rocev2"),
        ("  leaf-a: sn5400", "  leaf-a: { device: sn5400, tier: spine }", "leaf-a stands on tier spine, and a server"),
        ("hgx-h100", "hgx-b200", "right is a hgx-b200; the cluster's servers are hgx-h100"),
        ("  right: {", "  left: {", "entry 'left' appears twice"),
        (
            "  top: sn5400",
            "  top: { device: sn5400, plane: 7 }",
            "net.yaml:7:1: top stands on plane 7; the fabric has one",
        ),
        ("[leaf-b/100, top]", "[leaf-b/100]", "a cable has two ends, as in [server-0/nic-3, leaf-a/7]"),
        ("breakout: 2", "breakout: 9", "sn5600 carries 800 Gb/s, not 9 ports of 400 Gb/s"),
    ],
)
def test_a_node_that_cannot_be_is_refused_with_its_line(tmp_path, old, new, told):
    assert told in mistakes(tmp_path, GOOD.replace(old, new, 1))


def test_a_cable_to_itself_is_told_beside_the_parts_that_it_leaves_apart(tmp_path):
    text = "nodes: { left: server, right: server, leaf: sn5400 }\ncables:\n  - [left, leaf]\n  - [leaf/1, leaf/2]\n"
    told = mistakes(tmp_path, text)
    assert "net.yaml:4:1: the cable leaf/1 - leaf/2 ends twice at leaf" in told
    assert "net.yaml:1:1: no cable leads from left to right" in told


def test_a_node_that_could_not_be_read_is_still_an_end_for_its_cables(tmp_path):
    told = mistakes(tmp_path, GOOD.replace("sn5600", "sn56000"))
    assert "leaf-b is a 'sn56000', which the catalogue lacks" in told
    assert "ends nowhere" not in told


def test_a_server_that_no_cable_reaches_is_refused_unless_nvlink_does(tmp_path):
    text = "nodes: { left: server, right: server, leaf: sn5400 }\ncables: [[left, leaf]]\n"
    assert "net.yaml:1:1: no cable leads from left to right" in mistakes(tmp_path, text)
    trays = replace(CATALOG.server("hgx-h100"), nvlink_domain_servers=2)
    assert faults(build(plan(tmp_path, text, server=trays))) == []


def test_a_network_without_a_cable_to_a_server_is_refused(tmp_path):
    text = "nodes: { left: server, leaf-a: sn5400, top: sn5400 }\ncables: [[leaf-a, top]]\n"
    assert "net.yaml: no cable ends at a server" in mistakes(tmp_path, text, servers=1)


def test_another_number_of_servers_than_the_cluster_has_is_told(tmp_path):
    with pytest.raises(FabricError, match=r"net.yaml has 2 servers, the cluster has 3"):
        build(plan(tmp_path, GOOD, servers=3))


def test_tables_say_what_yaml_says(tmp_path):
    folder = tmp_path / "net"
    folder.mkdir()
    (folder / "nodes.csv").write_text("name,device,breakout\nleft,server,\nright,server,\ntop,sn5400,1\n")
    (folder / "cables.csv").write_text("a,b,count,rate\nleft,top/0,8,\nright,top/8,8,400 Gb/s\n")
    text = "nodes: { left: server, right: server, top: sn5400 }\ncables:\n"
    text += "  - { ends: [left, top/0], count: 8 }\n  - { ends: [right, top/8], count: 8 }\n"
    from_yaml = plan(tmp_path, text)
    from_tables = replace(from_yaml, network=read_network(folder, CATALOG))
    assert cables(build(from_tables)) == cables(build(from_yaml))


@pytest.mark.parametrize(
    ("nodes", "drawn", "told"),
    [
        ("name,divice\n", "a,b\n", "nodes.csv:1:1: has a column 'divice'; known are name, device"),
        ("name\n", "a,b\n", "nodes.csv:1:1: lacks the column 'device'"),
        ("name,device\nx,server,3\n", "a,b\n", "nodes.csv:2:1: has 3 fields in place of 2"),
        ("name,device\nx,server\n", "a,b\nx,y\n", "cables.csv:2:1: the cable x - y ends nowhere: there is no node 'y'"),
        (
            "name,device\nx,server\ny,sn5400\n",
            "a,b,length\nx,y,2e10 m\n",
            "cables.csv:2:1: the cable x - y is at most 20,000 km long",
        ),
        ("name,device\nx,server\nx,server\n", "a,b\n", "nodes.csv:3:1: two nodes are named 'x'"),
        ('name,device\n"x', "a,b\n", "is not CSV"),
        ("name,device\n", "a,b\n", "nodes.csv: has no server"),
    ],
)
def test_a_broken_table_is_told_with_its_file_and_line(tmp_path, nodes, drawn, told):
    (tmp_path / "nodes.csv").write_text(nodes)
    (tmp_path / "cables.csv").write_text(drawn)
    with pytest.raises(MistakesError) as caught:
        read_network(tmp_path, CATALOG)
    assert told in str(caught.value)


WORDS = st.sampled_from(
    [
        "left",
        "right",
        "leaf-a",
        "top",
        "leaf-a/3",
        "top/99",
        "left/nic-3",
        "left/nic-3/1",
        "server",
        "sn5400",
        "2x1",
        "9",
    ]
) | st.text(max_size=12)
VALUES = st.none() | st.integers(-2, 70) | WORDS | st.floats(allow_nan=True) | st.lists(WORDS, max_size=3)
NODES = st.dictionaries(
    WORDS,
    VALUES | st.dictionaries(st.sampled_from(["device", "tier", "breakout", "unit", "x"]), VALUES, max_size=4),
    max_size=5,
)
CABLES = st.lists(
    VALUES
    | st.lists(WORDS, min_size=2, max_size=2)
    | st.dictionaries(st.sampled_from(["ends", "count", "rate", "length"]), VALUES, max_size=4),
    max_size=6,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(nodes=NODES | VALUES, drawn=CABLES | VALUES)
def test_whatever_a_file_says_is_a_network_or_mistakes(tmp_path, nodes, drawn):
    import json

    base = {"left": "server", "right": "server", "leaf-a": "sn5400", "top": "sn5400"}
    given = {**base, **nodes} if isinstance(nodes, dict) else nodes
    try:
        fabric = build(plan(tmp_path, json.dumps({"nodes": given, "cables": drawn})))
    except (MistakesError, FabricError):
        return
    assert faults(fabric) == []


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_random_bytes_are_a_network_or_mistakes(tmp_path, raw):
    for name in ("net.yaml", "nodes.csv", "cables.csv"):
        (tmp_path / name).write_bytes(raw)
    for path in (tmp_path / "net.yaml", tmp_path):
        with pytest.raises(MistakesError):
            read_network(path, CATALOG)


SHAPES = {
    "rails": {"shape": "rail-optimized", "servers_per_unit": 4},
    "planes": {"shape": "leaf-spine", "planes": 2, "servers_per_unit": 4, "nic": CATALOG.nic("connectx-8")},
    "fast-up": {"shape": "rail-optimized", "uplink_bps": 800e9, "breakout": {"leaf": 2}, "servers_per_unit": 4},
    "fat-tree": {"shape": "fat-tree", "servers_per_unit": 2, "servers_per_pod": 4},
    "torus": {"shape": "torus", "dims": (2, 4)},
    "dragonfly": {"shape": "dragonfly-plus", "groups": 2, "servers_per_unit": 2},
    "rail-only": {"shape": "rail-only"},
}


@pytest.mark.parametrize("changes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("name", ["net.yaml", "net"])
def test_any_shape_written_and_read_back_is_the_same_network(tmp_path, changes, name):
    written = FabricPlan(
        **{
            "name": "one",
            "servers": 8,
            "server": CATALOG.server("hgx-h100"),
            "nic": CATALOG.nic("connectx-7"),
            "link_layer": CATALOG.link_layer("rocev2"),
            "link_bps": 400e9,
            "switches": {"leaf": CATALOG.switch("sn5600")},
        }
        | changes
    )
    one = build(written)
    network = read_network(write_network(one, tmp_path / name), CATALOG)
    given = {"shape": "custom", "network": network, "switches": {}, "servers_per_pod": None}
    again = build(replace(written, **given))
    assert faults(again) == []
    columns = [column for column in one.nodes.columns if column not in ("node", "index")]
    assert sorted(again.nodes.select(columns).rows()) == sorted(one.nodes.select(columns).rows())
    assert cables(again) == cables(one)
    assert np.array_equal(np.sort(again.links["latency_s"].to_numpy()), np.sort(one.links["latency_s"].to_numpy()))
