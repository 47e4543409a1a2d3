"""What ibnetdiscover prints: nodes, cables, LIDs and rates, in both of its forms."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eastwest.errors import InputError
from eastwest.observe.subnet import Cable, End, parse_subnet, read_subnet

DATA = Path(__file__).parents[1] / "data" / "infiniband"
SWITCH, FIRST, SECOND = 0x000B8CFFFF0053EE, 0x0002C902002789AC, 0x0002C9030002847C


def test_a_topology_file_gives_its_nodes_with_their_descriptions() -> None:
    subnet = read_subnet(DATA / "ibnetdiscover.topo")
    assert {guid: (node.kind, node.name, node.ports) for guid, node in subnet.nodes.items()} == {
        SWITCH: ("switch", "MT43132 Mellanox Technologies", 8),
        FIRST: ("ca", "compute-00-01 HCA-1", 2),
        SECOND: ("ca", "compute-00-00 HCA-1", 2),
    }


def test_a_cable_told_of_from_both_ends_is_one() -> None:
    cables = read_subnet(DATA / "ibnetdiscover.topo").cables
    assert cables == (
        Cable(End(FIRST, 1), End(SWITCH, 1), 4, "SDR"),
        Cable(End(SECOND, 2), End(SWITCH, 2), 4, "SDR"),
    )
    assert cables[0].rate_bps == 10e9  # 4 lanes of 2.5 Gb/s


def test_each_lid_leads_to_its_end() -> None:
    assert read_subnet(DATA / "ibnetdiscover.topo").lids == {3: End(SWITCH, 0), 1: End(FIRST, 1), 2: End(SECOND, 2)}


def test_all_lids_of_an_lmc_lead_to_their_end() -> None:
    text = (DATA / "ibnetdiscover.topo").read_text().replace("# lid 1 lmc 0", "# lid 8 lmc 2")
    lids = parse_subnet(text, "x").lids
    assert [lids[lid] for lid in range(8, 12)] == [End(FIRST, 1)] * 4


def test_a_list_of_ports_gives_nodes_cables_and_rates() -> None:
    subnet = read_subnet(DATA / "ibnetdiscover-p.out")
    leaf, host = subnet.find("ib-i1l1s01"), subnet.find("o0001 HCA-1")
    assert leaf is not None
    assert host is not None
    cable = next(cable for cable in subnet.cables if End(host.guid, 1) in (cable.a, cable.b))
    assert (cable.a, cable.b) == (End(host.guid, 1), End(leaf.guid, 10))
    assert cable.rate_bps == 100e9  # 4x EDR
    assert subnet.lids[134] == End(host.guid, 1)
    assert subnet.lids[1719] == End(leaf.guid, 0)


def test_a_port_without_a_cable_is_no_cable() -> None:
    subnet = read_subnet(DATA / "ibnetdiscover-p.out")
    alone = subnet.find("ib-i7l2s01")
    assert alone is not None
    assert all(alone.guid not in (cable.a.guid, cable.b.guid) for cable in subnet.cables)


def test_a_managed_switch_goes_by_its_own_name() -> None:
    text = 'Switch\t65 "S-01"\t\t# "MF0;leaf-3:MQM9700/U1" enhanced port 0 lid 7 lmc 0\n'
    assert parse_subnet(text, "x").find("leaf-3") is not None


def test_the_reduction_unit_inside_a_switch_is_known_as_such() -> None:
    text = 'Ca\t1 "H-02"\t\t# "Mellanox Technologies Aggregation Node"\n'
    assert parse_subnet(text, "x").nodes[2].is_aggregation


def test_text_of_something_else_is_refused() -> None:
    with pytest.raises(InputError, match=r"x: there is no InfiniBand node in it; what is read is what `ibnetdiscover`"):
        parse_subnet("Interface: eth0, via: LLDP\n", "x")


def test_a_port_before_any_node_is_refused_with_its_line() -> None:
    with pytest.raises(InputError, match=r"x:2: a port before any node"):
        parse_subnet('\n[1]\t"S-01"[2]\t\t# lid 0 lmc 0 "s" lid 1 4xHDR\n', "x")


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InputError, match="nowhere: there is no such file"):
        read_subnet(Path("nowhere"))


@given(st.text(max_size=200), st.integers(0, 30))
def test_a_damaged_file_is_read_or_refused(junk: str, line: int) -> None:
    lines = (DATA / "ibnetdiscover.topo").read_text().splitlines()
    lines[line % len(lines)] = junk
    with suppress(InputError):
        parse_subnet("\n".join(lines), "x")


def test_cables_to_the_unit_inside_a_switch_are_not_compared() -> None:
    text = (
        (DATA / "ibnetdiscover.topo")
        .read_text()
        .replace("compute-00-01 HCA-1", "Mellanox Technologies Aggregation Node")
    )
    (wire,) = parse_subnet(text, "x").wires
    assert {wire.a.node, wire.b.node} == {"MT43132 Mellanox Technologies", "compute-00-00 HCA-1"}
