"""What holds of the plan of every fabric: nothing twice, and nothing that growth changes. Tried on random fabrics."""

import re
from collections import Counter
from dataclasses import replace
from ipaddress import IPv4Network

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from eastwest.artifacts import PlanError, make_plan
from eastwest.catalog.entries import Gpu, LinkLayer, Nic, Server, Switch
from eastwest.fabric import FabricError, FabricPlan, Frontend, Sites, Storage, build

G = 1e9
RATES = (100 * G, 200 * G, 400 * G)
LAYER = LinkLayer("rocev2", 4096, 0.96, 5e-9)
NIC = Nic("nic", ("rocev2",), 400 * G, RATES, 256 * G, 1e-6, False, "go-back-n", 25.0, max_planes=4)
GPU = Gpu("gpu", 1.0, 1.0, 1.0, 900 * G, 0.8, 1e-6, 256 * G, 0.9, 1e-6, 1.0)
CLOS = ("single-switch", "leaf-spine", "fat-tree", "rail-optimized")


class Parts:
    """A catalogue of one switch."""

    SWITCH = Switch("switch", ("rocev2",), 64, 400 * G, RATES, 1, 4, 256, 1e-6, 1.0)

    def names(self, _kind):
        return ("switch",)

    def switch(self, _name):
        return self.SWITCH


def server(nics):
    return Server("server", GPU, nics, nics, NIC, 1.0)


@st.composite
def plans(draw, clos_only=False):
    shape = draw(st.sampled_from(CLOS if clos_only else (*CLOS, "rail-only", "mesh", "torus", "dragonfly-plus")))
    nics = draw(st.sampled_from([1, 2, 4, 8]))
    switch = replace(Parts.SWITCH, cages=draw(st.sampled_from([8, 16, 32])))
    planes = draw(st.sampled_from([1, 1, 2, 4]))
    sites = draw(st.sampled_from([None, None, Sites(2, 1e3, 2, 400 * G)])) if shape in CLOS else None
    network = draw(st.sampled_from([None, "separate", "shared"]))
    if network == "shared" and (shape not in CLOS or planes > 1 or sites):
        network = "separate"
    frontend = network and Frontend(
        network,
        draw(st.integers(1, 2)),
        NIC,
        LAYER,
        400 * G,
        {"access": switch} if network == "separate" else {},
        storage=draw(st.none() | st.builds(Storage, st.integers(1, 5), st.integers(1, 2))),
    )
    return FabricPlan(
        name="random",
        shape=shape,
        servers=draw(st.integers(1, 40)),
        server=server(nics),
        nic=NIC,
        link_layer=LAYER,
        link_bps=400 * G,
        uplink_bps=400 * G,
        switches={"leaf": switch},
        planes=planes,
        dims=tuple(draw(st.lists(st.integers(2, 4), min_size=2, max_size=3))) if shape == "torus" else None,
        groups=draw(st.integers(2, 5)) if shape == "dragonfly-plus" else None,
        sites=sites,
        frontend=frontend or None,
        tiers=draw(st.sampled_from([None, 2, 3])) if shape in ("fat-tree", "rail-optimized") else None,
        servers_per_unit=draw(st.none() | st.integers(1, 8)) if shape != "torus" else None,
    )


def planned(asked, addressing="unnumbered"):
    try:
        fabric = build(asked)
    except FabricError:
        assume(False)
    return make_plan(fabric, Parts(), addressing)


UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


def own(plan):
    """Everything that one thing alone may have, by kind."""
    nics = [port for host in plan.hosts for port in host.ports]
    ports = [port for switch in plan.switches for port in switch.ports]
    yield "names", [each.name for each in (*plan.switches, *plan.hosts)]
    yield (
        "IPv4",
        [switch.loopback for switch in plan.switches]
        + [port.address for port in (*nics, *ports) if port.address is not None],
    )
    yield "IPv6", [switch.loopback6 for switch in plan.switches] + [p.address6 for p in ports if p.address6 is not None]
    yield "MAC", [switch.mac for switch in plan.switches] + [port.mac for port in nics]
    whole = {(host.name, port.node): port.nic_guid for host in plan.hosts for port in host.ports}
    yield "GUID", [switch.guid for switch in plan.switches] + [port.guid for port in nics] + list(whole.values())
    for node in (*plan.switches, *plan.hosts):
        yield f"interfaces of {node.name}", [port.name for port in node.ports]


@given(plans(), st.sampled_from(["unnumbered", "numbered"]))
@UNHURRIED
def test_nothing_is_given_twice(asked, addressing):
    try:
        plan = planned(asked, addressing)
    except PlanError:
        assume(addressing == "unnumbered")  # of numbered links there may be too many
        raise
    for what, values in own(plan):
        assert [value for value, count in Counter(values).items() if count > 1] == [], what


@given(plans())
@UNHURRIED
def test_names_are_host_names_and_interfaces_fit_linux(asked):
    plan = planned(asked)
    for node in (*plan.switches, *plan.hosts):
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,62}", node.name)
        assert all(len(port.name) <= 15 for port in node.ports)


@given(plans())
@UNHURRIED
def test_both_ends_of_a_cable_agree(asked):
    """Each names the other, and where a host is one of them they share a /31 whose even half is the switch's."""
    plan = planned(asked)
    ports = {(node.name, port.name): port for node in (*plan.switches, *plan.hosts) for port in node.ports}
    for cable in plan.cables:
        a, b = ports[cable.a, cable.a_interface], ports[cable.b, cable.b_interface]
        assert (a.peer, a.peer_interface) == (cable.b, cable.b_interface)
        assert (b.peer, b.peer_interface) == (cable.a, cable.a_interface)
        assert a.cable == b.cable == cable.number
        if b.is_to_host:
            assert a.gateway == b.address
            assert int(b.address) % 2 == 0
            assert a.address == b.address + 1


@given(plans())
@UNHURRIED
def test_numbered_links_have_both_ends_in_one_network(asked):
    try:
        plan = planned(asked, "numbered")
    except PlanError:
        assume(False)
    ports = {(switch.name, port.name): port for switch in plan.switches for port in switch.ports}
    for cable in plan.cables:
        if (cable.a, cable.a_interface) in ports:
            a, b = ports[cable.a, cable.a_interface], ports[cable.b, cable.b_interface]
            assert b.address in IPv4Network((int(a.address) & ~1, 31))
            assert int(a.address6) ^ int(b.address6) == 1


def by_name(plan):
    """What must stay: of hosts and switches everything but what they are cabled to."""
    hosts = {(h.name, p.name): (p.address, p.gateway, p.mac, p.guid, p.nic_guid) for h in plan.hosts for p in h.ports}
    switches = {s.name: (s.loopback, s.loopback6, s.asn, s.mac, s.guid) for s in plan.switches}
    return hosts, switches


@given(plans(), st.integers(1, 60))
@UNHURRIED
def test_growth_changes_nothing(asked, more):
    """More servers: every host and leaf is still there, and every switch that is has what it had."""
    sites = 1 if asked.sites is None else asked.sites.count
    before, after = planned(asked), planned(replace(asked, servers=asked.servers + more * sites))
    (hosts, switches), (hosts_after, switches_after) = by_name(before), by_name(after)
    assert hosts.items() <= hosts_after.items()
    assert {switch.name for switch in before.switches if switch.tier == "leaf"} <= switches_after.keys()
    assert {name: values for name, values in switches.items() if switches_after.get(name, values) != values} == {}


@given(plans(clos_only=True))
@UNHURRIED
def test_spines_side_by_side_share_an_asn_and_no_two_that_a_cable_joins_do(asked):
    plan = planned(asked)
    asn = {switch.name: switch.asn for switch in plan.switches}
    for cable in plan.cables:
        if cable.a in asn:
            assert asn[cable.a] != asn[cable.b]
    leaves = [switch.asn for switch in plan.switches if switch.tier == "leaf"]
    assert len(set(leaves)) == len(leaves)
    places = {(s.plane, s.site, s.pod, s.rail) for s in plan.switches if s.tier == "spine"}
    assert len({switch.asn for switch in plan.switches if switch.tier == "spine"}) == len(places)


def test_what_has_no_room_is_refused_with_a_remedy():
    asked = FabricPlan(
        name="wide",
        shape="rail-optimized",
        servers=600,
        server=server(1),
        nic=NIC,
        link_layer=LAYER,
        link_bps=400 * G,
        switches={"leaf": replace(Parts.SWITCH, cages=1024, max_ports=1024)},
        servers_per_unit=500,
    )
    with pytest.raises(PlanError, match="256 ports of a switch, and this is port 500: leave addressing unnumbered"):
        make_plan(build(asked), Parts(), "numbered")
