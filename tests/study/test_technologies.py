"""Studies whose parts can do more or less than RoCEv2 with a NIC that places out of order."""

import copy

import pytest

from eastwest import spec
from eastwest.spec import StudyError
from eastwest.study import fabrics, run

STUDY = {
    "name": "technologies",
    "clusters": {"pod": {"server": "hgx-h100", "servers": 4, "nic": "connectx-8"}},
    "fabrics": {
        "one": {"shape": "leaf-spine", "technology": "mrc", "link": "800 Gb/s", "switch": "mrc-64x800g"},
    },
    "workloads": {
        "job": {
            "kind": "operations",
            "operations": [{"name": "exchange", "collective": "all-to-all", "bytes": "64 GB"}],
        }
    },
}


def study(server: str = "hgx-h100", nic: str = "connectx-8", **fabric: str):
    values = copy.deepcopy(STUDY)
    values["clusters"]["pod"] = {"server": server, "servers": 4, "nic": nic}
    values["fabrics"]["one"] |= fabric
    return spec.from_mapping(values)


def test_mrc_is_sprayed_and_takes_longer_than_sprayed_rocev2_by_its_headers_alone():
    (mrc,) = run(study(link="400 Gb/s")).rows
    (roce,) = run(study(link="400 Gb/s", technology="rocev2", balancing="spray")).rows
    # 16 GB cross each NIC: latency is a millionth of the time, and 4,254 B on the wire stand against 4,178
    assert mrc.communication_s / roce.communication_s == pytest.approx(4254 / 4178, rel=1e-5)


@pytest.mark.parametrize(
    ("nic", "switch", "technology", "said"),
    [
        ("connectx-7", "mrc-64x800g", "mrc", "connectx-7 speaks rocev2, infiniband; the fabric is mrc"),
        (
            "connectx-8",
            "tomahawk5-64x800g",
            "mrc",
            "tomahawk5-64x800g speaks rocev2, ultra-ethernet; the fabric is mrc",
        ),
        ("connectx-8", "mrc-64x800g", "ultra-ethernet", "connectx-8 speaks rocev2, infiniband, mrc"),
    ],
)
def test_parts_that_do_not_speak_a_technology_are_refused(nic, switch, technology, said):
    with pytest.raises(StudyError, match=said):
        run(study(nic=nic, switch=switch, technology=technology, link="400 Gb/s"))


def meshed(warnings):
    return [each for each in warnings if "joins each pair of GPUs" in each]


@pytest.mark.parametrize(("server", "link"), [("hgx-mi300x", "64 GB/s"), ("hgx-mi355x", "76.8 GB/s")])
def test_gpus_joined_pair_by_pair_are_warned_of(server, link):
    (warning,) = meshed(run(study(server)).warnings)
    assert f"a link of {link} joins each pair of GPUs in {server}" in warning


def test_gpus_joined_by_a_switch_are_not():
    assert meshed(run(study("hgx-b300")).warnings) == []


def test_an_ethernet_link_faster_than_any_port_of_the_nic_is_told():
    study = spec.load("pune-1024")
    assert fabrics.cautions(study, "roce-400g", "h100") == []
    (told,) = fabrics.cautions(study, "roce-800g", "h100")
    assert "connectx-8 has Ethernet ports of 400 Gb/s; the figures take 2 of them for one of 800 Gb/s" in told


@pytest.mark.parametrize(("balancing", "told"), [("ecmp", 0), ("pinned", 0), ("spray", 1), ("adaptive", 1)])
def test_a_nic_that_reorders_badly_is_warned_of_where_the_fabric_reorders(balancing, told):
    values = {
        **STUDY,
        "clusters": {"pod": {"server": "hgx-h100", "servers": 4, "nic": "connectx-4"}},
        "fabrics": {
            "one": {
                "shape": "leaf-spine",
                "technology": "rocev2",
                "link": "100 Gb/s",
                "switch": "sn5400",
                "breakout": 1,
                "balancing": balancing,
            }
        },
    }
    found = fabrics.cautions(spec.from_mapping(values), "one", "pod")
    assert len([each for each in found if "delivers packets out of order" in each]) == told


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ({"balancing": "ecmp", "paths": 4}, ["paths is for balancing: source; ecmp takes no notice of it"]),
        ({"balancing": "ecmp", "flowlets": 3}, ["flowlets is for balancing: flowlet; ecmp takes no notice of it"]),
        ({"balancing": "source", "paths": 4}, []),
        ({"balancing": ["ecmp", "source"], "paths": 4}, []),
        ({"balancing": "ecmp"}, []),
    ],
)
def test_what_is_said_for_another_balancing_is_warned_of(entries, told):
    common = {"shape": "leaf-spine", "link": "400 Gb/s", "switch": "sn5400"}
    values = {
        **STUDY,
        "clusters": {"pod": {"server": "hgx-h100", "servers": 4, "nic": "pollara-400"}},
        "fabrics": {"one": {**common, "technology": "ultra-ethernet", **entries}},
    }
    study = spec.from_mapping(values)
    found = [each for name in study.fabrics for each in fabrics.cautions(study, name, "pod")]
    assert [each.removeprefix("fabric one: ") for each in found if "takes no notice" in each] == told
