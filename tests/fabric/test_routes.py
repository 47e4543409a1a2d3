"""Forwarding tables in a file: written, read back, and refused where they name what is not there or lead nowhere."""

from pathlib import Path

import numpy as np
import pytest
from tests.fabric.conftest import make_plan, nic, server, switch

from eastwest.engine import Carriage, EngineError, Network
from eastwest.fabric import FabricError, LinksDown, build, fail, packed, read_routes, write_routes

G = 1e9
HOSTS = build(
    make_plan(
        shape="leaf-spine",
        servers=24,
        server=server(gpus=1, nics=1),
        servers_per_unit=8,
        switches={"leaf": switch(cages=16), "spine": switch(cages=6)},
    )
)
"""3 leaves of 8 hosts under 4 spines, 2 cables from each leaf to each spine."""
PLANED = build(
    make_plan(
        shape="leaf-spine",
        servers=8,
        server=server(gpus=1, nics=1),
        nic=nic(max_planes=4),
        planes=4,
        servers_per_unit=4,
        switches={"leaf": switch(cages=8, cage_bps=100 * G)},
    )
)
WORN = fail(HOSTS, [LinksDown(("leaf-1", "spine-2"), count=1), LinksDown(("leaf-0", "spine-0"), rate_bps=100 * G)])


def rates(network: Network, carriage: Carriage) -> list[float]:
    hosts = packed(network.fabric)
    apart = np.roll(hosts, len(hosts) // 3)
    return network.max_min(hosts, apart, carriage, 5).tolist()


@pytest.mark.parametrize("fabric", [HOSTS, PLANED, WORN], ids=["whole", "planes", "worn"])
@pytest.mark.parametrize(
    ("made_by", "read_by"),
    [
        (Carriage("ecmp"), Carriage("ecmp")),
        (Carriage("flowlet", qps=2), Carriage("flowlet", qps=2)),
        (Carriage("spray"), Carriage("spray")),
        (Carriage("wcmp", qps=3), Carriage("ecmp", qps=3)),
        (Carriage("source"), Carriage("spray")),
        (Carriage("adaptive"), Carriage("spray")),
        (Carriage("pinned", qps=2), Carriage("ecmp", qps=2)),
    ],
    ids=lambda carriage: carriage.balancing,
)
def test_tables_that_are_written_and_read_back_give_the_same_rates(
    fabric, made_by: Carriage, read_by: Carriage, tmp_path: Path
) -> None:
    network, file = Network(fabric), tmp_path / "routes.csv"
    write_routes(network.routes(made_by), fabric, file)
    again = Network(fabric, read_routes(file, fabric))
    assert rates(again, read_by) == pytest.approx(rates(network, made_by), rel=1e-9)


def written(rows: str, folder: Path) -> Path:
    file = folder / "routes.csv"
    file.write_text("switch,destination,next,weight\n" + rows)
    return file


ALL_BY_SPINE_0 = "".join(
    f"leaf-{a},leaf-{b},spine-0,\nspine-0,leaf-{b},leaf-{b},\n" if a == (b + 1) % 3 else f"leaf-{a},leaf-{b},spine-0,\n"
    for a in range(3)
    for b in range(3)
    if a != b
)


def test_exactly_what_the_file_says_is_used(tmp_path: Path) -> None:
    # All 8 hosts of a leaf over its 2 cables to spine 0: a quarter of the rate each.
    network = Network(HOSTS, read_routes(written(ALL_BY_SPINE_0, tmp_path), HOSTS))
    assert rates(network, Carriage("spray")) == [pytest.approx(400 * G * 0.96 / 4)] * 24


def test_weights_deal_the_traffic(tmp_path: Path) -> None:
    # Leaf 0 sends to leaf 1 by way of spine 0 and spine 1 in parts of 3 and 1: 3/4 of 8 ports over 2 cables.
    rows = ALL_BY_SPINE_0.replace("leaf-0,leaf-1,spine-0,\n", "leaf-0,leaf-1,spine-0,3\nleaf-0,leaf-1,spine-1,1\n")
    network = Network(HOSTS, read_routes(written(rows + "spine-1,leaf-1,leaf-1,1\n", tmp_path), HOSTS))
    hosts = packed(HOSTS)
    found = network.max_min(hosts[:8], hosts[8:16], Carriage("spray"))
    assert found == pytest.approx(400 * G * 0.96 * 2 / 8 / (3 / 4))


def test_a_nic_s_own_rows_take_the_place_of_its_switch_s(tmp_path: Path) -> None:
    rows = ALL_BY_SPINE_0 + "leaf-0,server-08,spine-3,\nspine-3,server-08/nic-0,leaf-1,\n"
    network = Network(HOSTS, read_routes(written(rows, tmp_path), HOSTS))
    hosts = packed(HOSTS)
    found = network.max_min(hosts[:8], hosts[8:16], Carriage("spray"))
    assert found[0] == pytest.approx(400 * G * 0.96)  # alone by way of spine 3
    assert found[1:] == pytest.approx(400 * G * 0.96 * 2 / 7)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("leef-0,leaf-1,spine-0,\n", "routes.csv:2: there is no switch 'leef-0'; did you mean 'leaf-0'?"),
        ("leaf-0,leaf-1,spine-0,\nleaf-0,leaf-1,leaf-2,\n", "routes.csv:3: leaf-0 has no cable to leaf-2"),
        ("leaf-0,rack-7,spine-0,\n", "routes.csv:2: there is no switch, NIC or server 'rack-7'"),
        ("leaf-0,leaf-1,spine-0,-2\n", "routes.csv:2: a weight is a number above 0 and below 1e+15, not '-2'"),
        ("leaf-0,leaf-1,spine-0,1e308\n", "routes.csv:2: a weight is a number above 0 and below 1e+15, not '1e308'"),
        ("leaf-0,leaf-1,spine-0,many\n", "routes.csv:2: a weight is a number above 0 and below 1e+15, not 'many'"),
        (
            "leaf-0,leaf-1,spine-0,\nleaf-0,leaf-1,spine-0,\n",
            "routes.csv:3: leaf-0 has a row over this cable for leaf-1 already",
        ),
    ],
)
def test_rows_of_what_is_not_there_are_refused(rows: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FabricError) as caught:
        read_routes(written(rows, tmp_path), HOSTS)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("leaf-0,leaf-1,spine-0,\n", "spine-0 is sent what is for leaf-1 and has no route there"),
        (
            "leaf-0,leaf-1,spine-0,\nspine-0,leaf-1,leaf-2,\nleaf-2,leaf-1,spine-0,\n",
            "the routes to leaf-1 go round in a loop by way of ",
        ),
        ("leaf-0,spine-1,spine-1,\n", "spine-1 is no NIC and no switch that NICs plug into"),
        ("leaf-0,leaf-0,spine-1,\n", "leaf-0 has a route to itself"),
    ],
)
def test_routes_that_do_not_arrive_are_refused(rows: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        Network(HOSTS, read_routes(written(rows, tmp_path), HOSTS))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not readable as CSV"),
        ("switch,next\na,b\n", "lacks column 'destination'"),
        ("switch,destination,next,metric\na,b,c,1\n", "has an unknown column 'metric'"),
        ("switch,destination,next,port\nleaf-0,leaf-1,spine-0,x\n", ":2: a port is a number from 0, not 'x'"),
        (
            "switch,destination,next,port\nleaf-0,leaf-1,spine-0,15\n",
            ":2: leaf-0 has no cable to spine-0 at its port 15",
        ),
    ],
)
def test_a_file_that_is_no_such_table_is_refused(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "routes.csv"
    file.write_text(text)
    with pytest.raises(FabricError) as caught:
        read_routes(file, HOSTS)
    assert message in caught.value.message


def test_leaves_without_a_row_have_no_path(tmp_path: Path) -> None:
    rows = "leaf-0,leaf-1,spine-0,\nspine-0,leaf-1,leaf-1,\n"
    network, hosts = Network(HOSTS, read_routes(written(rows, tmp_path), HOSTS)), packed(HOSTS)
    assert network.max_min(hosts[:1], hosts[8:9], Carriage()) == pytest.approx(400 * G * 0.96)
    with pytest.raises(EngineError, match="no path from server-08/gpu-0 to server-00/gpu-0"):
        network.max_min(hosts[8:9], hosts[:1], Carriage())


def test_paths_that_senders_draw_are_in_no_table() -> None:
    with pytest.raises(EngineError, match="paths that senders draw are in no switch's table"):
        Network(HOSTS).routes(Carriage("source", paths=4))
