"""InfiniBand's files: subnets, roots and engines by shape, GUIDs and cables as planned, settings of the study."""

import pytest

from eastwest import spec
from eastwest.artifacts import build, subject
from eastwest.artifacts.infiniband import folder, routing, subnets
from eastwest.artifacts.infiniband.subnets import lanes
from eastwest.errors import InputError
from eastwest.observe.subnet import parse_subnet

STUDY = """\
name: t
clusters: {{ c: {{ server: hgx-h100, servers: {servers} }} }}
fabrics:
  f:
    technology: infiniband
    link: 400 Gb/s
    {entries}
workloads:
  job:
    kind: measured
    measured_on: {{ fabric: f }}
    step: 2 s
    exposed: 0.4 s
    collective: {{ kind: all-reduce }}
"""


def _study(entries: str, servers: int = 8) -> spec.Study:
    return spec.loads(STUDY.format(entries=entries.replace("\n", "\n    "), servers=servers))


def _built(entries: str, servers: int = 8):
    return subject(_study(entries, servers), "f")


def _files(entries: str, servers: int = 8) -> dict[str, str]:
    return {file.path: file.text for file in build(_built(entries, servers), ["infiniband"])}


def _routed(entries: str, servers: int = 8):
    return [routing(subnet) for subnet in subnets(_built(entries, servers).plan)]


@pytest.fixture(scope="module")
def pune():
    return subject(spec.load("pune-1024"), "ib-400g")


def test_a_tree_is_one_subnet_with_its_spines_for_roots(pune):
    """128 servers of 8 NICs, 32 leaves and 16 spines, as the study's first comment counts them."""
    (subnet,) = subnets(pune.plan)
    assert (len(subnet.adapters), len(subnet.switches), len(subnet.links)) == (1024, 48, 2048)
    assert {switch.name for switch in subnet.tops} == {f"spine-{number:02}" for number in range(16)}
    assert routing(subnet).engines == ("ftree", "updn")


def test_the_roots_are_written_with_their_guids(pune):
    files = {file.path: file.text for file in build(pune, ["infiniband"])}
    guids = {int(line.split()[0], 16) for line in files["infiniband/root_guids.txt"].splitlines()}
    assert guids == {switch.guid for switch in pune.plan.switches if switch.tier == "spine"}


def test_the_simulated_network_has_the_cables_of_the_plan(pune):
    files = {file.path: file.text for file in build(pune, ["infiniband"])}
    seen = parse_subnet(files["infiniband/ibsim.net"], "ibsim.net")
    name = {guid: node.name for guid, node in seen.nodes.items()}
    found = {frozenset(((name[c.a.guid], c.a.port), (name[c.b.guid], c.b.port))) for c in seen.cables}
    switches = {switch.name for switch in pune.plan.switches}
    planned = {
        frozenset(
            (node, int(interface)) if node in switches else (f"{node} {interface}", 1)
            for node, interface in ((c.a, c.a_interface), (c.b, c.b_interface))
        )
        for c in pune.plan.cables
    }
    assert found == planned


def test_no_two_nodes_or_ports_share_a_guid(pune):
    """A port's GUID and, in the simulated network, the one below it for its node."""
    (subnet,) = subnets(pune.plan)
    guids = [switch.guid for switch in subnet.switches]
    guids += [guid for adapter in subnet.adapters for guid in (adapter.guid, adapter.guid - 1)]
    assert len(set(guids)) == len(guids)


def test_every_node_has_its_name_in_the_map(pune):
    files = {file.path: file.text for file in build(pune, ["infiniband"])}
    names = files["infiniband/node-name-map.txt"].splitlines()
    leaf = pune.plan.switch("leaf-u0-r3")
    assert f'0x{leaf.guid:016x} "leaf-u0-r3"' in names
    assert len(names) == 48 + 1024


def test_ethernet_needs_none_of_it():
    study = spec.load("pune-1024")
    assert not [f for f in build(subject(study, "roce-400g", "h100")) if f.path.startswith("infiniband")]
    with pytest.raises(InputError, match="--only infiniband: a fabric of rocev2 needs none of it"):
        build(subject(study, "roce-400g", "h100"), ["infiniband"])


def test_rails_that_nothing_joins_are_subnets_of_their_own():
    entries = "shape: rail-only\nswitch: qm9700\ntiers: 1"
    parts = subnets(_built(entries).plan)
    assert [folder(part) for part in parts] == [f"infiniband/rail-{rail}" for rail in range(8)]
    assert all(len(part.switches) == 1 and len(part.adapters) == 8 for part in parts)
    assert {routed.engines for routed in _routed(entries)} == {("minhop",)}


def test_planes_are_subnets_of_their_own_with_a_port_of_each_nic():
    parts = subnets(_built("shape: leaf-spine\nswitch: qm9700\nplanes: 2\nservers_per_unit: 2").plan)
    assert [part.name for part in parts] == ["plane-0", "plane-1"]
    assert [adapter.device for adapter in parts[1].adapters][:2] == ["rail0p1", "rail1p1"]
    assert not {adapter.guid for adapter in parts[0].adapters} & {adapter.guid for adapter in parts[1].adapters}


def test_three_tiers_have_their_cores_for_roots():
    (routed,) = _routed("shape: fat-tree\nswitch: qm9700\nservers_per_unit: 2\nservers_per_pod: 4", servers=16)
    assert routed.engines == ("ftree", "updn")
    assert {switch.tier for switch in routed.roots} == {"core"}


def test_a_full_mesh_is_routed_by_the_fewest_hops():
    (routed,) = _routed("shape: mesh\nswitch: qm9700\nservers_per_unit: 1", servers=4)
    assert routed.engines == ("minhop",)


def test_a_torus_is_routed_without_deadlock_on_one_lane():
    """A ring of cables deadlocks with fewest hops; NCCL asks for no service level of its path."""
    (routed,) = _routed("shape: torus\nswitch: qm9700\ndims: [3, 3]", servers=9)
    assert routed.engines == ("nue", "updn")


def test_sites_meet_at_their_borders():
    (routed,) = _routed(
        "shape: leaf-spine\nswitch: qm9700\nservers_per_unit: 2\n"
        "sites: { count: 2, distance: 10 km, links: 4, rate: 400 Gb/s }"
    )
    assert routed.engines == ("updn",)
    assert {switch.tier for switch in routed.roots} == {"border"}


@pytest.mark.parametrize(
    ("rate_gbps", "fastest_gbps", "expected"),
    [
        (400, 100, (4, "NDR")),
        (200, 100, (2, "NDR")),  # a split port of a Quantum-2
        (200, 50, (4, "HDR")),
        (100, 50, (2, "HDR")),  # HDR100
        (100, 25, (4, "EDR")),
        (800, 200, (4, "XDR")),
    ],
)
def test_a_rate_is_so_many_lanes_of_a_speed(rate_gbps, fastest_gbps, expected):
    assert lanes(rate_gbps * 1e9, fastest_gbps * 1e9) == expected


def test_the_study_chooses_engine_and_addresses():
    text = _files("shape: leaf-spine\nswitch: qm9700\nservers_per_unit: 2\nsubnet: { routing: updn, lmc: 2 }")
    options = text["infiniband/opensm.conf"].splitlines()
    assert "routing_engine updn" in options
    assert "lmc 2" in options


def test_an_engine_that_is_none_is_refused_with_those_there_are():
    with pytest.raises(InputError, match=r"updn"):
        _study("shape: leaf-spine\nswitch: qm9700\nsubnet: { routing: updown }")


def test_a_subnet_manager_is_nothing_for_ethernet():
    text = STUDY.replace("infiniband", "rocev2")
    with pytest.raises(
        InputError, match="a subnet manager is InfiniBand's, and the technology is rocev2: leave it out"
    ):
        spec.loads(text.format(entries="shape: leaf-spine\n    switch: sn5400\n    subnet: { lmc: 1 }", servers=8))


def test_ethernet_like_an_infiniband_fabric_does_without_its_subnet_manager():
    text = STUDY.format(entries="shape: leaf-spine\n    switch: qm9700\n    subnet: { lmc: 1 }", servers=8)
    more = "  e: { like: f, technology: rocev2, switch: sn5400 }\nworkloads:"
    study = spec.loads(text.replace("workloads:", more))
    assert study.fabrics["e"].subnet is None


def test_ports_with_several_addresses_are_routed_by_an_engine_that_knows_them():
    (subnet,) = subnets(_built("shape: leaf-spine\nswitch: qm9700\nservers_per_unit: 2").plan)
    assert routing(subnet, lmc=2).engines == ("updn",)
    with pytest.raises(InputError, match="ftree gives each port one address: leave lmc out"):
        _study("shape: leaf-spine\nswitch: qm9700\nsubnet: { routing: ftree, lmc: 1 }")


PARTITIONS = "shape: leaf-spine\nswitch: qm9700\nservers_per_unit: 2\nsubnet: {{ partitions: {{ {} }} }}"


def test_tenants_are_full_members_of_their_partition_and_limited_ones_of_the_default():
    asked = PARTITIONS.format('blue: { servers: "0-1, 5" }, green: { servers: 2, key: 0x20 }')
    text = _files(asked)["infiniband/partitions.conf"]
    assert "Default=0x7fff, ipoib, mtu=5 : ALL_CAS=limited, ALL_SWITCHES=full, SELF=full ;" in text
    plan = _built(asked).plan
    for name, key, servers in (("blue", "0x0001", (0, 1, 5)), ("green", "0x0020", (2,))):
        rules = [line for line in text.splitlines() if line.startswith(f"{name}={key},")]
        assert all("indx0" in rule and "defmember=full" in rule for rule in rules)
        found = {int(word.strip(" ;"), 16) for rule in rules for word in rule.split(" : ")[1].split(",")}
        assert found == {port.guid for host in plan.hosts if host.number in servers for port in host.ports}


@pytest.mark.parametrize(
    ("partitions", "told"),
    [
        ("blue: { servers: 0-8 }", "there is no server 8: they count from 0 to 7"),
        ("blue: { servers: 3-1 }", "a span goes up: 3-1 ends below its start"),
        ("blue: { servers: all }", "servers are numbers from 0 and spans of them, as in 0-63, 70; not 'all'"),
        ("blue: { servers: 0, key: 2 }, green: { servers: 1 }", "partitions blue and green have one key, 2"),
    ],
)
def test_partitions_that_cannot_be_are_refused(partitions, told):
    with pytest.raises(InputError, match=told):
        _files(PARTITIONS.format(partitions))


def test_torus_2qos_is_given_the_torus_and_two_places_to_find_it_from():
    """3 x 4 switches: of the dimension of 4 both directions are told, and the dateline stays where it is."""
    asked = "shape: torus\nswitch: qm9700\ndims: [3, 4]\nsubnet: { routing: torus-2QoS }"
    files = _files(asked, servers=12)
    guid = {switch.name: f"0x{switch.guid:016x}" for switch in _built(asked, 12).plan.switches}
    lines = files["infiniband/torus-2QoS.conf"].splitlines()
    assert lines[:4] == [
        "torus 3 4 1",
        f"xp_link {guid['leaf-0-0']} {guid['leaf-1-0']}",
        f"yp_link {guid['leaf-0-0']} {guid['leaf-0-1']}",
        f"ym_link {guid['leaf-0-0']} {guid['leaf-0-3']}",
    ]
    assert lines[lines.index("next_seed") + 1 :][:5] == [
        f"xp_link {guid['leaf-1-2']} {guid['leaf-2-2']}",
        f"yp_link {guid['leaf-1-2']} {guid['leaf-1-3']}",
        f"ym_link {guid['leaf-1-2']} {guid['leaf-1-1']}",
        "x_dateline -1",
        "y_dateline -2",
    ]
    assert "torus_config /etc/opensm/torus-2QoS.conf" in files["infiniband/opensm.conf"]


def test_torus_2qos_is_for_a_torus():
    with pytest.raises(InputError, match="torus-2QoS routes a torus, and the shape is leaf-spine"):
        _files("shape: leaf-spine\nswitch: qm9700\nsubnet: { routing: torus-2QoS }")


def test_a_dragonfly_of_trees_is_routed_up_and_down():
    """Dragonfly+: spines of different groups are joined, so that ftree finds no tree."""
    (routed,) = _routed("shape: dragonfly-plus\nswitch: qm9700\ngroups: 3", servers=30)
    assert routed.engines[0] == "updn"
