"""What an InfiniBand lab makes of what ibnetdiscover and dump_fts print; no lab is needed for that."""

import pytest

from eastwest import spec
from eastwest.artifacts import build, subject, write
from eastwest.fabric import read_routes
from eastwest.lab import tables
from eastwest.lab.infiniband import reading
from eastwest.lab.nodes import read_nodes
from eastwest.observe.subnet import parse_subnet

EXAMPLE = "examples/infiniband-lab.yaml"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The example's fabric, the folder of its build, its nodes, and the network as built with a LID for each node."""
    folder = tmp_path_factory.mktemp("built") / "b"
    made = subject(spec.load(EXAMPLE), "ftree")
    write(build(made, ["infiniband"]), {}, folder)
    text, lid = [], 0
    for line in (folder / "infiniband" / "ibsim.net").read_text().splitlines():
        if line.startswith("Switch") or "# lid 0" in line:
            lid += 1
            line = line.replace("lid 0", f"lid {lid}", 1)
        text.append(line)
    return made.plan.fabric, read_nodes(folder), parse_subnet("\n".join(text), "x")


def _shortest(seen):
    """A table for each switch that leads to every adapter, always by the first port that is no way round."""
    facing = {end: far for cable in seen.cables for end, far in ((cable.a, cable.b), (cable.b, cable.a))}
    into = {}
    for port, far in sorted(facing.items()):
        into.setdefault(far.guid, []).append(port)
    found = {guid: {} for guid, node in seen.nodes.items() if node.kind == "switch"}
    for lid, end in seen.lids.items():
        if seen.nodes[end.guid].kind != "ca":
            continue
        edge, known = [facing[end].guid], {facing[end].guid}
        found[facing[end].guid][lid] = facing[end].port
        while edge:
            for port in into[edge[0]]:
                if port.guid in found and port.guid not in known:
                    known.add(port.guid)
                    edge.append(port.guid)
                    found[port.guid][lid] = port.port
            edge.pop(0)
    return found


def test_a_network_as_built_has_no_difference(small):
    _, nodes, seen = small
    assert reading.differences(nodes, seen, {node.name for node in seen.nodes.values()}) == ()


def test_a_missing_cable_is_told_by_both_ends(small):
    _, nodes, seen = small
    gone = next(cable for cable in seen.cables if all(seen.nodes[e.guid].kind == "switch" for e in (cable.a, cable.b)))
    cut = type(seen)(seen.nodes, tuple(c for c in seen.cables if c != gone), seen.lids, seen.port_guids)
    (found,) = reading.differences(nodes, cut, {node.name for node in seen.nodes.values()})
    assert found.kind == "missing"
    assert found.nodes == {seen.nodes[gone.a.guid].name, seen.nodes[gone.b.guid].name}


def test_tables_that_lead_everywhere_reach_all(small):
    _, _, seen = small
    assert set(reading.unreached(seen, _shortest(seen)).values()) == {0}


def test_a_table_that_leads_into_a_loop_or_nowhere_is_told_of(small):
    _, _, seen = small
    tables_ = _shortest(seen)
    leaf = next(node.guid for node in seen.nodes.values() if node.name == "leaf-00")
    spine = next(node.guid for node in seen.nodes.values() if node.name == "spine-00")
    back = next(c for c in seen.cables if {c.a.guid, c.b.guid} == {leaf, spine})
    ports = {end.guid: end.port for end in (back.a, back.b)}
    far, other = [lid for lid, end in seen.lids.items() if seen.nodes[end.guid].name.startswith("server-015")][:2]
    tables_[leaf][far], tables_[spine][far] = ports[leaf], ports[spine]
    del tables_[leaf][other]
    assert reading.unreached(seen, tables_)[leaf] == 2


def test_what_tools_leave_out_is_taken_from_the_manager(small):
    _, _, seen = small
    full = _shortest(seen)
    top = max(lid for lid, end in seen.lids.items() if seen.nodes[end.guid].kind == "ca")
    cut = {guid: {lid: port for lid, port in table.items() if lid != top} for guid, table in full.items()}
    assert reading.has_gap(cut, seen)
    records = {lid: full[end.guid] for lid, end in seen.lids.items() if end.guid in full}
    assert reading.filled(cut, records, seen) == full


def test_tables_read_back_are_routes_that_a_study_takes(small, tmp_path):
    """A row for every switch and NIC but those that hang on the switch itself: 9 x 128 less 128."""
    fabric, nodes, seen = small
    rows = reading.rows(nodes, [(seen, _shortest(seen))])
    assert len(rows) == 9 * 128 - 128
    tables.write(rows, tmp_path / "routes.csv")
    assert len(read_routes(tmp_path / "routes.csv", fabric).switch) == len(rows)


def test_a_cable_weighs_by_the_addresses_that_leave_by_it(small):
    _, nodes, seen = small
    table = _shortest(seen)
    lid, end = next((lid, end) for lid, end in seen.lids.items() if seen.nodes[end.guid].name == "server-015 rail7")
    leaf = next(node.guid for node in seen.nodes.values() if node.name == "leaf-00")
    more = {lid: end, 9000: end, 9001: end}
    wider = type(seen)(seen.nodes, seen.cables, {**seen.lids, **more}, seen.port_guids)
    table[leaf] |= {9000: table[leaf][lid], 9001: table[leaf][lid] + 1}
    rows = [
        row
        for row in reading.rows(nodes, [(wider, table)])
        if (row.switch, row.destination) == ("leaf-0", "server-15/nic-7")
    ]
    assert sorted(row.weight for row in rows) == [1, 2]
