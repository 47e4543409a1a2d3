"""MRC's files, followed as a packet is: by the tables that were written, the path that was listed is taken."""

import json
import re
from collections import defaultdict
from ipaddress import IPv6Address, IPv6Network

import pytest

from eastwest.artifacts.mrc import files, network, sonic_tables
from eastwest.artifacts.mrc.directory import read
from eastwest.artifacts.mrc.paths import Climb

SID = re.compile(
    r"route replace (\S+) encap seg6local action End flavors next-csid lblen 32 nflen 16 count dev Loopback0"
)
ROUTE = re.compile(r"route replace (\S+) via (\S+) dev (\S+)")


def written(plan):
    return {file.path: file.text for file in files(plan)}


class Tables:
    """The tables of one switch, read from its batch file alone."""

    def __init__(self, text):
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        self.sids = [IPv6Network(found[1]) for line in lines if (found := SID.fullmatch(line))]
        self.routes = {
            IPv6Network(found[1]): (IPv6Address(found[2]), found[3])
            for line in lines
            if (found := ROUTE.fullmatch(line))
        }
        assert len(self.sids) + len(self.routes) == len(lines)

    def forward(self, address):
        """The address that goes on, and the interface it leaves by."""
        assert any(address in sid for sid in self.sids)
        bits = int(address)
        shifted = IPv6Address(bits >> 96 << 96 | (bits & (1 << 80) - 1) << 16)
        ((_, interface),) = [way for prefix, way in self.routes.items() if shifted in prefix]
        return shifted, interface


def follow(plan, tables, leaf, address):
    """Names of the switches that a packet for an address passes, and of the host and interface where it ends."""
    passed, here = [], leaf
    while here in tables:
        passed.append(here)
        address, interface = tables[here].forward(address)
        port = next(port for port in plan.switch(here).ports if port.name == interface)
        here, at = port.peer, port.peer_interface
    return passed, here, at, address


def lists_of(texts):
    return {nic["nic"]: nic for path, text in texts.items() if "paths" in path for nic in json.loads(text)["nics"]}


def climb_of(value):
    return Climb(value["plane"], tuple(value["climb"]), tuple(value["up"]), tuple(value["down"]))


def test_every_listed_path_ends_where_it_should_and_passes_what_it_says(plan):
    texts = written(plan)
    directory = read(json.loads(texts["mrc/fabric.json"]))
    tables = {path.split("/")[1]: Tables(text) for path, text in texts.items() if path.endswith("srv6.batch")}
    lists = lists_of(texts)
    senders = list(lists)[:3]
    arrived = 0
    for sender in senders:
        for value in lists[sender]["entropy"][:64]:
            for receiver in list(lists)[::5]:
                path = directory.path(climb_of(value), receiver)
                if path is None:
                    continue
                assert len(path.usids) <= 6
                passed, host, interface, left = follow(plan, tables, value["climb"][0], path.address)
                assert tuple(passed) == path.switches
                (port,) = [port for port in lists[receiver]["ports"] if port["plane"] == value["plane"]]
                assert (host, interface) == (receiver.split("/")[0], port["interface"])
                assert left in IPv6Network(port["sid"])
                arrived += 1
    assert arrived > 100


def test_rails_apart_reach_their_own_rail_alone(build_mrc):
    directory = network(build_mrc(shape="rail-only")).directory()
    plan = build_mrc(shape="rail-only")
    lists = lists_of(written(plan))
    reached = defaultdict(set)
    for receiver in lists:
        if directory.path(climb_of(lists["server-000/rail1"]["entropy"][0]), receiver) is not None:
            reached["rails"].add(receiver.split("/")[1])
    assert reached["rails"] == {"rail1"}


def test_the_list_says_what_the_directory_says(plan):
    texts = written(plan)
    directory = read(json.loads(texts["mrc/fabric.json"]))
    assert directory == network(plan).directory()
    for nic in lists_of(texts).values():
        assert IPv6Address(nic["address"]) == directory.addresses[nic["nic"]]
        for value in nic["entropy"]:
            lanes = (0, *value["up"])
            usids = [directory.usids[name][lane] for name, lane in zip(value["climb"], lanes, strict=True)]
            assert value["usids"] == [f"{usid:04x}" for usid in usids]


def test_no_two_nics_share_an_address(plan):
    addresses = list(network(plan).directory().addresses.values())
    assert len(set(addresses)) == len(addresses) == len(plan.hosts) * 4


def test_no_two_switches_of_a_plane_share_a_locator(plan):
    found = [sid for path, text in written(plan).items() if path.endswith("srv6.batch") for sid in Tables(text).sids]
    assert len(set(found)) == len(found)


def test_sonics_tables_say_the_same_as_the_batch(plan):
    of, texts = network(plan), written(plan)
    for switch in of.tree.switches.values():
        tables, sonic = Tables(texts[f"switches/{switch.name}/srv6.batch"]), sonic_tables(of, switch)
        assert [IPv6Network(key.split("|")[1]) for key in sonic["SRV6_MY_SIDS"]] == tables.sids
        assert {
            IPv6Network(key.removeprefix("default|")): (IPv6Address(row["nexthop"]), row["ifname"])
            for key, row in sonic["STATIC_ROUTE"].items()
        } == tables.routes
        locators = {f"{row['prefix']}/48" for row in sonic["SRV6_MY_LOCATORS"].values()}
        assert locators == {str(sid) for sid in tables.sids}


@pytest.mark.parametrize("changes", [{}, {"shape": "rail-optimized", "tiers": 3, "servers_per_pod": 4}])
def test_growth_renumbers_nothing(build_mrc, changes):
    """Full units are added: switches and NICs that are there keep their locators and addresses, first lanes first."""
    small = network(build_mrc(servers=8, **changes)).directory()
    large = network(build_mrc(servers=16, **changes)).directory()
    for name, usids in small.usids.items():
        shared = min(len(usids), len(large.usids[name]))
        assert usids[:shared] == large.usids[name][:shared]
    assert small.addresses.items() <= large.addresses.items()


def test_the_files_are_the_same_each_time(build_mrc):
    assert written(build_mrc()) == written(build_mrc())
