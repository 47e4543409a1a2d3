"""MRC's lists as a lab's kernels take them: marks, tables and addresses, without a lab."""

import re
from dataclasses import replace
from ipaddress import IPv6Address
from pathlib import Path

import pytest

from eastwest import artifacts, spec
from eastwest.artifacts.mrc import network
from eastwest.lab import LabError
from eastwest.lab.source_routes import read_lists, refuse_too_many, rules, tables

EXAMPLE = Path(__file__).parents[2] / "examples" / "mrc-lab.yaml"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder that is built of the example, and its network."""
    folder = tmp_path_factory.mktemp("mrc") / "built"
    subject = artifacts.subject(spec.load(str(EXAMPLE)), "planes")
    artifacts.write(artifacts.build(subject, ["mrc"]), {}, folder)
    return folder, network(subject.plan)


@pytest.fixture(scope="module")
def lists(built):
    return read_lists(built[0])


def test_a_nic_has_a_mark_for_each_way_up_and_each_value_has_one(lists):
    marks = [choice.mark for sender in lists.of_host("server-001") for choice in sender.choices]
    assert len(set(marks)) == len(marks) == 4 * 16
    for sender in lists.senders.values():
        assert sorted(value for choice in sender.choices for value in choice.values) == list(range(256))
        assert len({choice.climb for choice in sender.choices}) == len(sender.choices)


def test_a_pair_has_every_path_that_the_network_has(lists):
    """2 planes, 2 spines in each, 2 cables up and 2 down."""
    ways = lists.ways("server-000/rail1", "server-002/rail3")
    assert len({way.address for _, way in ways}) == 2 * 2 * 2 * 2
    assert {(way.plane, way.switches[1]) for _, way in ways} == {
        (plane, f"plane-{plane}-spine-{spine:02}") for plane in range(2) for spine in range(2)
    }


def test_each_mark_has_a_rule_and_its_table_a_route_to_every_nic_elsewhere(lists):
    asked = dict(
        re.fullmatch(r"rule add pref 1000 fwmark (\d+) table (\d+)", line).groups()
        for line in rules(lists, "server-000")
    )
    routes = list(tables(lists, "server-000"))
    others = {sender.address for sender in lists.senders.values() if sender.host != "server-000"}
    for sender in lists.of_host("server-000"):
        for choice in sender.choices:
            of_table = [line.split() for line in routes if line.endswith(f"table {asked[str(choice.mark)]}")]
            (to_leaf,) = [line for line in of_table if "encap" not in line]
            assert to_leaf[to_leaf.index("dev") + 1] == choice.interface
            by_address = {line[2]: line[line.index("segs") + 1] for line in of_table if "encap" in line}
            assert {IPv6Address(address) for address in by_address} == others
            for receiver in lists.senders.values():
                if receiver.host != "server-000":
                    way = lists.directory.path(choice.climb, receiver.nic)
                    assert by_address[str(receiver.address)] == str(way.address)


def test_a_server_takes_what_ends_at_its_ports(lists):
    taken = [line for line in tables(lists, "server-002") if "End.DT6" in line]
    assert taken == [
        f"route replace {sid} encap seg6local action End.DT6 table 255 dev {interface}"
        for sender in lists.of_host("server-002")
        for interface, sid in sender.sids
    ]


def test_the_directory_read_back_is_that_of_the_network(built, lists):
    assert lists.directory == built[1].directory()


@pytest.mark.parametrize(
    ("given", "found"), [("server-001", "server-001/rail0"), ("server-003:rail2", "server-003/rail2")]
)
def test_a_nic_is_named_by_its_server_and_interface(lists, given, found):
    assert lists.named(given) == found


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("server-01", "there is no server 'server-01'; did you mean 'server-001'?"),
        ("server-001:rail7", "server-001 has no NIC 'rail7'; it has rail0, rail1, rail2, rail3"),
    ],
)
def test_what_is_no_nic_is_told(lists, given, told):
    with pytest.raises(LabError, match=re.escape(told)):
        lists.named(given)


def test_a_folder_without_lists_is_told(tmp_path):
    with pytest.raises(LabError, match="the lab runs what `eastwest build` wrote"):
        read_lists(tmp_path)
    (tmp_path / "mrc").mkdir()
    (tmp_path / "mrc" / "fabric.json").write_text('{"switches": []}')
    with pytest.raises(LabError, match="no lists of `eastwest build`"):
        read_lists(tmp_path)


def test_more_routes_than_a_kernel_takes_are_refused_with_a_remedy(lists):
    refuse_too_many(lists)
    one = lists.senders["server-000/rail0"]  # of 16 ways up
    many = {f"server-{number:03}/rail0": one for number in range(200)}
    with pytest.raises(LabError, match=r"200 NICs .* 640,000 routes; a lab has at most 250,000: give the study fewer"):
        refuse_too_many(replace(lists, senders=many))
