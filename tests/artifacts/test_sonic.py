"""What SONiC's files say: the lossless chain is whole, ports are those of the plan, buffers fit the chip."""

import json
from collections import Counter

import pytest

from eastwest import spec
from eastwest.artifacts import build, subject
from eastwest.artifacts.headroom import MARGIN, headroom, pause_fill


def of(subject, *names):
    files = {file.path: file.text for file in build(subject, ["sonic"])}
    return [json.loads(files[f"switches/{name}/config_db.json"]) for name in names]


def with_fabric(**changes):
    """The bundled study with a fabric of its own, like the one as built."""
    study = spec.load("pune-1024")
    own = study.changed({"fabrics": {**study.written["fabrics"], "own": {"like": "roce-400g", **changes}}})
    return subject(own, "own")


@pytest.fixture(scope="module")
def leaf(pune):
    return of(pune, "leaf-u0-r0")[0]


def test_roce_data_goes_the_lossless_way_at_every_port(leaf):
    """DSCP 26 to class 3, its queue and group 3, paused, with a headroom, marked by a profile, watched."""
    assert leaf["DSCP_TO_TC_MAP"]["ROCE"]["26"] == "3"
    assert leaf["TC_TO_QUEUE_MAP"]["ROCE"]["3"] == "3"
    assert leaf["TC_TO_PRIORITY_GROUP_MAP"]["ROCE"]["3"] == "3"
    cabled = [name for name, port in leaf["PORT"].items() if port["admin_status"] == "up"]
    assert len(cabled) == 64
    for name in cabled:
        assert leaf["PORT_QOS_MAP"][name]["pfc_enable"] == "3"
        assert leaf["QUEUE"][f"{name}|3"]["wred_profile"] in leaf["WRED_PROFILE"]
        profile = leaf["BUFFER_PROFILE"][leaf["BUFFER_PG"][f"{name}|3"]["profile"]]
        assert int(profile["xoff"]) > 0
        assert leaf["BUFFER_QUEUE"][f"{name}|3"]["profile"] == "egress_lossless_profile"
        assert name in leaf["PFC_WD"]


def test_cnps_go_first_and_all_else_is_lossy(leaf):
    assert leaf["DSCP_TO_TC_MAP"]["ROCE"]["48"] == "6"
    assert leaf["SCHEDULER"][leaf["QUEUE"]["Ethernet0|6"]["scheduler"]]["type"] == "STRICT"
    assert Counter(leaf["DSCP_TO_TC_MAP"]["ROCE"].values()) == {"0": 62, "3": 1, "6": 1}


def test_headroom_is_that_of_each_cable(leaf):
    """Servers are 5 m away, spines 30 m; Spectrum-4 has cells of 192 B and a cage of the SN5400 eight lanes."""
    for port, metres in (("Ethernet0", 5), ("Ethernet256", 30)):
        profile = leaf["BUFFER_PROFILE"][leaf["BUFFER_PG"][f"{port}|3"]["profile"]]
        needs = headroom(400e9, metres, cell=192, margin=MARGIN)
        assert (int(profile["xoff"]), int(profile["xon"]), int(profile["size"])) == (needs.xoff, needs.xon, needs.size)
        assert leaf["CABLE_LENGTH"]["AZURE"][port] == f"{metres}m"


def test_what_is_shared_and_what_is_reserved_fit_the_memory(leaf):
    profiles = [leaf["BUFFER_PROFILE"][entry["profile"]] for entry in leaf["BUFFER_PG"].values()]
    reserved = sum(int(profile["size"]) for profile in profiles)
    assert reserved + int(leaf["BUFFER_POOL"]["ingress_lossless_pool"]["size"]) <= 158_229_504


def test_every_packet_is_marked_before_a_group_pauses(leaf):
    """The least fill that pauses: all 64 groups at once, beside lossy queues that hold all that they may."""
    pools = leaf["BUFFER_POOL"]
    shared = int(pools["ingress_lossless_pool"]["size"]) - int(pools["egress_lossy_pool"]["size"])
    assert int(leaf["WRED_PROFILE"]["ROCE_400G"]["green_max_threshold"]) < pause_fill(shared, 64)


def test_routing_is_left_to_one_frr_file(leaf):
    assert leaf["DEVICE_METADATA"]["localhost"]["docker_routing_config_mode"] == "split-unified"
    assert not [table for table in leaf if table.startswith("BGP")]


def test_a_port_to_a_server_has_the_even_address_and_one_to_a_spine_none(leaf):
    assert "Ethernet0|10.0.0.0/31" in leaf["INTERFACE"]
    assert [key for key in leaf["INTERFACE"] if key.startswith("Ethernet256")] == ["Ethernet256"]
    assert leaf["INTERFACE"]["Ethernet256"] == {"ipv6_use_link_local_only": "enable"}


def test_neighbours_name_each_other(pune):
    leaf, spine = of(pune, "leaf-u3-r7", "spine-15")
    here = leaf["DEVICE_NEIGHBOR"]["Ethernet504"]
    assert (here["name"], here["port"]) == ("spine-15", "Ethernet504")
    there = spine["DEVICE_NEIGHBOR"]["Ethernet504"]
    assert (there["name"], there["port"]) == ("leaf-u3-r7", "Ethernet504")


def test_no_two_switches_hash_alike(pune):
    seeds = [
        json.loads(file.text)[0]["SWITCH_TABLE:switch"]["ecmp_hash_seed"]
        for file in build(pune, ["sonic"])
        if file.path.endswith("/hash.json")
    ]
    assert len(seeds) == len(set(seeds)) == 48


@pytest.mark.parametrize(
    ("switch", "breakout", "link", "mode"),
    [
        ("sn5400", 1, "400 Gb/s", "1x400G[200G,100G,50G,40G,25G,10G]"),
        ("sn5400", 1, "100 Gb/s", "1x400G[200G,100G,50G,40G,25G,10G]"),
        ("sn5400", 2, "200 Gb/s", "2x200G[100G,50G,40G,25G,10G]"),
        ("sn5600", 4, "200 Gb/s", "4x200G[100G,50G,25G,10G]"),
    ],
)
def test_breakout_modes_are_called_as_the_platform_calls_them(switch, breakout, link, mode):
    """sonic-buildimage, platform.json of x86_64-nvidia_sn5400-r0 and x86_64-nvidia_sn5600-r0."""
    (leaf,) = of(with_fabric(switch=switch, breakout=breakout, link=link), "leaf-u0-r0")
    assert leaf["BREAKOUT_CFG"]["Ethernet0"] == {"brkout_mode": mode}


@pytest.mark.parametrize(("link", "shipped"), [("400 Gb/s", 231_424), ("200 Gb/s", 131_072), ("100 Gb/s", 113_664)])
def test_no_headroom_is_below_what_nvidia_ships(link, shipped):
    """For cables of 5 m: sonic-buildimage, ACS-SN5600's pg_profile_lookup.ini."""
    (leaf,) = of(with_fabric(link=link), "leaf-u0-r0")
    profile = leaf["BUFFER_PG"]["Ethernet0|3"]["profile"]
    assert int(leaf["BUFFER_PROFILE"][profile]["xoff"]) >= shipped


def test_ports_broken_out_share_their_cage_s_lanes():
    """Two ports of 400 Gb/s in each cage of an SN5600: lanes 0-3 and 4-7, named after the first."""
    (leaf,) = of(with_fabric(switch="sn5600", breakout=2), "leaf-u0-r0")
    assert leaf["BREAKOUT_CFG"]["Ethernet0"] == {"brkout_mode": "2x400G[200G,100G,50G,40G,25G,10G]"}
    first, second = leaf["PORT"]["Ethernet0"], leaf["PORT"]["Ethernet4"]
    assert (first["lanes"], first["alias"], first["subport"]) == ("0,1,2,3", "etp1a", "1")
    assert (second["lanes"], second["alias"], second["index"]) == ("4,5,6,7", "etp1b", "1")


def test_lanes_are_each_port_s_own():
    (leaf,) = of(with_fabric(link="100 Gb/s", breakout=4), "leaf-u0-r0")
    lanes = [lane for port in leaf["PORT"].values() for lane in port["lanes"].split(",")]
    assert len(lanes) == len(set(lanes)) == 64 * 8


def test_short_cables_are_copper_and_train_their_links():
    (leaf,) = of(with_fabric(cables={"server-leaf": "2 m"}), "leaf-u0-r0")
    assert leaf["PORT"]["Ethernet0"]["autoneg"] == "on"
    assert leaf["PORT"]["Ethernet256"]["autoneg"] == "off"


def test_the_study_s_packet_settings_are_what_is_configured():
    packets = {
        "switch": {
            "buffer": {"size": "100 MB", "alpha": 0.125},
            "marks": {"from": "150 kB", "to": "600 kB", "most": 0.5},
            "watchdog": {"detect": "400 ms", "restore": "800 ms"},
        }
    }
    (leaf,) = of(with_fabric(packets=packets), "leaf-u0-r0")
    assert leaf["BUFFER_POOL"]["egress_lossless_pool"]["size"] == "100000000"
    assert leaf["BUFFER_PROFILE"]["pg_lossless_400000_5m_profile"]["dynamic_th"] == "-3"
    marks = leaf["WRED_PROFILE"]["ROCE_400G"]
    assert (marks["green_min_threshold"], marks["green_max_threshold"]) == ("150000", "600000")
    assert marks["green_drop_probability"] == "50"
    assert leaf["PFC_WD"]["Ethernet0"]["detection_time"] == "400"
    assert leaf["PFC_WD"]["Ethernet0"]["restoration_time"] == "800"


def test_a_lossy_network_pauses_nothing():
    (leaf,) = of(with_fabric(packets={"switch": {"pauses": "off"}}), "leaf-u0-r0")
    assert "PFC_WD" not in leaf
    assert "pfc_enable" not in leaf["PORT_QOS_MAP"]["Ethernet0"]
    assert leaf["BUFFER_PG"]["Ethernet0|3"] == {"profile": "ingress_lossy_profile"}
    assert "ROCE_400G" in leaf["WRED_PROFILE"]


def test_headroom_that_a_chip_has_a_pool_for_is_there():
    (leaf,) = of(with_fabric(switch="tomahawk5-64x800g", breakout=2), "leaf-u0-r0")
    needed = sum(int(leaf["BUFFER_PROFILE"][entry["profile"]].get("xoff", 0)) for entry in leaf["BUFFER_PG"].values())
    assert int(leaf["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"]) >= needed > 0


def test_cables_too_long_for_the_memory_are_refused():
    with pytest.raises(spec.StudyError, match=r"leaf-u0-r0 .*shorten the cables"):
        build(with_fabric(cables={"leaf-spine": "10 km"}), ["sonic"])


def test_infiniband_has_none():
    study = subject(spec.load("pune-1024"), "ib-400g")
    assert not [file for file in build(study) if "config_db" in file.path]


def test_servers_that_the_study_names():
    told = {"ntp": ["ntp.example.net"], "syslog": ["192.0.2.5"], "sflow": {"collectors": ["192.0.2.9"], "sample": 1000}}
    (leaf,) = of(with_fabric(build=told), "leaf-u0-r0")
    assert leaf["NTP_SERVER"] == {"ntp.example.net": {"association_type": "server", "iburst": "on"}}
    assert leaf["SYSLOG_SERVER"] == {"192.0.2.5": {}}
    assert leaf["SFLOW_COLLECTOR"] == {"collector0": {"collector_ip": "192.0.2.9"}}
    assert leaf["SFLOW_SESSION"]["Ethernet0"] == {"admin_state": "up", "sample_rate": "1000"}
    assert leaf["FEATURE"]["sflow"]["state"] == "enabled"


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"addressing": "numberd"}, "numbered"),
        ({"ntp": ["time one"]}, "'time one' is neither an address nor a host name"),
        ({"syslog": ["192.0.2.300"]}, "'192.0.2.300' is no IPv4 or IPv6 address"),
        ({"sflow": {"collectors": []}}, "collectors"),
        ({"sflow": {"collectors": ["192.0.2.9"], "sample": 1}}, "sample"),
    ],
)
def test_what_no_server_can_be_is_refused(told, says):
    with pytest.raises(spec.StudyError, match=says):
        with_fabric(build=told)


def test_numbered_links_have_addresses():
    (leaf, spine) = of(with_fabric(build={"addressing": "numbered"}), "leaf-u0-r0", "spine-00")
    below = [key for key in leaf["INTERFACE"] if key.startswith("Ethernet256|")]
    above = [key for key in spine["INTERFACE"] if key.startswith("Ethernet0|")]
    assert below == ["Ethernet256|10.128.0.64/31", "Ethernet256|fd65:6173:7477:1::40/127"]
    assert above == ["Ethernet0|10.128.0.65/31", "Ethernet0|fd65:6173:7477:1::41/127"]


def test_tiers_rotate_their_hash_by_other_offsets(pune):
    files = {file.path: file.text for file in build(pune, ["sonic"])}
    found = [json.loads(files[f"switches/{name}/hash.json"]) for name in ("leaf-u0-r0", "spine-00")]
    assert len({each[0]["SWITCH_TABLE:switch"]["ecmp_hash_offset"] for each in found}) == 2
