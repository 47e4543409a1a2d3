"""Each fault put into right files is found by the rule made for it, and by no other."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from eastwest.checks import Severity, check

from .site import LEAF, LEAVES, OTHER_LEAF, OTHER_SPINE, SERVER, SERVERS, SPINE, SPINES, Site

Seed = Callable[[Site], None]
SEEDS: dict[str, tuple[str, Seed]] = {}


def seed(rule: str) -> Callable[[Seed], Seed]:
    """A fault and the rule that must find it."""

    def kept(put: Seed) -> Seed:
        SEEDS[put.__name__.strip("_")] = (rule, put)
        return put

    return kept


# ---------------------------------------------------------------------------------------------- marking and classes


@seed("dscp-lossy")
def switch_puts_roce_into_the_lossy_class(at: Site) -> None:
    at.set(LEAF, "DSCP_TO_TC_MAP", "ROCE", **{"26": "0"})


@seed("dscp-lossy")
def switch_forgets_the_dscp_of_roce(at: Site) -> None:
    at.set(SPINE, "DSCP_TO_TC_MAP", "ROCE", **{"26": None})


@seed("pfc-off")
def pfc_off_on_one_port(at: Site) -> None:
    at.set(LEAF, "PORT_QOS_MAP", at.to_server, pfc_enable="")


@seed("pfc-off")
def pfc_left_out_on_one_port(at: Site) -> None:
    at.set(SPINE, "PORT_QOS_MAP", at.on_spine, pfc_enable=None)


@seed("group-not-paused")
def class_counted_in_the_lossy_group(at: Site) -> None:
    at.set(LEAF, "TC_TO_PRIORITY_GROUP_MAP", "ROCE", **{"3": "0"})


@seed("queue-not-paused")
def class_leaves_by_an_unpaused_queue(at: Site) -> None:
    at.set(LEAF, "MAP_PFC_PRIORITY_TO_QUEUE", "ROCE", **{"3": "5"})


@seed("map-missing")
def port_names_a_map_that_is_not_there(at: Site) -> None:
    at.set(LEAF, "PORT_QOS_MAP", at.to_server, tc_to_queue_map="AZURE")


@seed("map-unbound")
def dscp_map_taken_off_one_port(at: Site) -> None:
    at.unbind(LEAF, at.to_server, "dscp_to_tc_map")


@seed("map-unbound")
def queue_map_taken_off_one_port(at: Site) -> None:
    at.unbind(LEAF, at.to_server, "tc_to_queue_map")


@seed("map-unbound")
def group_map_taken_off_one_port(at: Site) -> None:
    at.unbind(LEAF, at.to_server, "tc_to_pg_map")


@seed("map-unbound")
def pause_queue_map_taken_off_one_port(at: Site) -> None:
    at.unbind(LEAF, at.to_server, "pfc_to_queue_map")


@seed("pfc-other-priority")
def pause_for_another_priority_on_one_port(at: Site) -> None:
    at.set(LEAF, "PORT_QOS_MAP", at.to_server, pfc_enable="4")


@seed("pfc-other-priority")
def pause_for_another_priority_on_every_port(at: Site) -> None:
    for port in at.read(LEAF)["DEVICE_NEIGHBOR"]:
        at.set(LEAF, "PORT_QOS_MAP", port, pfc_enable="4")


@seed("group-not-paused")
def pause_priority_moved_to_another_group(at: Site) -> None:
    at.set(LEAF, "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "ROCE", **{"3": "4"})


@seed("queue-buffer-missing")
def lossless_queue_without_buffer(at: Site) -> None:
    with at.config(LEAF) as document:
        del document["BUFFER_QUEUE"][f"{at.to_server}|3"]


@seed("port-without-classes")
def port_in_use_has_no_classes(at: Site) -> None:
    with at.config(LEAF) as document:
        del document["PORT_QOS_MAP"][at.to_server]


# ---------------------------------------------------------------------------------------------- buffers


@seed("group-buffer-lossy")
def lossless_group_on_a_lossy_profile(at: Site) -> None:
    at.set(LEAF, "BUFFER_PG", f"{at.to_server}|3", profile="ingress_lossy_profile")


@seed("group-buffer-missing")
def lossless_group_without_buffer(at: Site) -> None:
    with at.config(LEAF) as document:
        del document["BUFFER_PG"][f"{at.to_server}|3"]


@seed("profile-missing")
def queue_names_a_profile_that_is_not_there(at: Site) -> None:
    at.set(LEAF, "BUFFER_QUEUE", f"{at.to_server}|3", profile="egress_lossles_profile")


@seed("queue-buffer-lossy")
def lossless_queue_in_the_lossy_pool(at: Site) -> None:
    at.set(LEAF, "BUFFER_QUEUE", f"{at.to_spine}|3", profile="egress_lossy_profile")


@seed("headroom-too-small")
def headroom_of_a_short_cable_on_100_m(at: Site) -> None:
    # 400 Gb/s over 100 m: 50.5 kB on the cable, 9 kB of a packet and 58 kB while the neighbour stops, all of it packets
    # of 64 B in cells of 144 B: 264 kB, and built for 30 m are 35 kB x 2.25 less
    at.set(LEAF, "CABLE_LENGTH", "AZURE", **{at.to_spine: "100m"})


@seed("headroom-for-other-cable")
def profile_of_a_shorter_cable(at: Site) -> None:
    with at.config(LEAF) as document:
        long = document["BUFFER_PG"][f"{at.to_spine}|3"]["profile"]
        document["BUFFER_PROFILE"]["pg_lossless_400000_1m_profile"] = document["BUFFER_PROFILE"][long]
        document["BUFFER_PG"][f"{at.to_spine}|3"]["profile"] = "pg_lossless_400000_1m_profile"


@seed("cable-longer-than-told")
def cable_of_the_plan_longer_than_told(at: Site) -> None:
    document = json.loads((at.folder / "plan.json").read_text())
    for cable in document["cables"]:
        if (cable["b"], cable["b_interface"]) == (SPINE, at.on_spine):
            cable["length_m"] += 10
    (at.folder / "plan.json").write_text(json.dumps(document))


@seed("headroom-too-small")
def headroom_below_what_is_on_the_cable(at: Site) -> None:
    profile = at.name(SPINE, "BUFFER_PG", f"{at.on_spine}|3", "profile")
    at.set(SPINE, "BUFFER_PROFILE", profile, xoff="20000")


@seed("cable-length-zero")
def cable_said_to_be_of_no_length(at: Site) -> None:
    at.set(LEAF, "CABLE_LENGTH", "AZURE", **{at.to_server: "0m"})


# ---------------------------------------------------------------------------------------------- marking and serving


@seed("ecn-after-pause")
def ecn_only_after_the_pause(at: Site) -> None:
    at.set(
        LEAF,
        "WRED_PROFILE",
        at.wred,
        green_min_threshold=str(at.pause_fill + 1),
        green_max_threshold=str(at.pause_fill + 2),
    )


@seed("ecn-not-full-before-pause")
def ecn_full_only_after_the_pause(at: Site) -> None:
    at.set(LEAF, "WRED_PROFILE", at.wred, green_max_threshold=str(at.pause_fill + 1))


@seed("ecn-off")
def ecn_none_in_the_profile(at: Site) -> None:
    at.set(LEAF, "WRED_PROFILE", at.wred, ecn="ecn_none")


@seed("ecn-off")
def queue_without_wred(at: Site) -> None:
    at.set(LEAF, "QUEUE", f"{at.to_server}|3", wred_profile=None)


@seed("ecn-thresholds-crossed")
def ecn_minimum_above_maximum(at: Site) -> None:
    at.set(LEAF, "WRED_PROFILE", at.wred, green_min_threshold="3000000", green_max_threshold="2000000")


@seed("cnp-with-data")
def cnps_in_the_queue_of_data(at: Site) -> None:
    at.set(LEAF, "DSCP_TO_TC_MAP", "ROCE", **{"48": "3"})


@seed("cnp-unclassified")
def cnps_with_unmarked_traffic(at: Site) -> None:
    at.set(LEAF, "DSCP_TO_TC_MAP", "ROCE", **{"48": "0"})


@seed("cnp-not-first")
def cnps_served_in_turn(at: Site) -> None:
    at.set(LEAF, "SCHEDULER", "scheduler.cnp", type="DWRR", weight="10")


@seed("cnp-paused")
def cnps_paused(at: Site) -> None:
    for switch in (*LEAVES, *SPINES):
        for port in at.read(switch)["DEVICE_NEIGHBOR"]:
            at.set(switch, "PORT_QOS_MAP", port, pfc_enable="3,6", pfcwd_sw_enable="3,6")


@seed("data-starves-others")
def data_served_strictly_first(at: Site) -> None:
    at.set(LEAF, "QUEUE", f"{at.to_server}|3", scheduler="scheduler.cnp")


@seed("scheduler-missing")
def queue_names_a_scheduler_that_is_not_there(at: Site) -> None:
    at.set(LEAF, "QUEUE", f"{at.to_server}|6", scheduler="scheduler.9")


@seed("watchdog-missing")
def one_port_without_watchdog(at: Site) -> None:
    with at.config(LEAF) as document:
        del document["PFC_WD"][at.to_spine]


@seed("watchdog-missing")
def watchdog_looks_after_another_queue(at: Site) -> None:
    at.set(LEAF, "PORT_QOS_MAP", at.to_spine, pfcwd_sw_enable="4")


@seed("watchdog-too-quick")
def watchdog_quicker_than_it_looks(at: Site) -> None:
    at.set(LEAF, "PFC_WD", at.to_spine, detection_time="100")


# ---------------------------------------------------------------------------------------------- links and addresses


@seed("speed-mismatch")
def speeds_differ(at: Site) -> None:
    at.set(SPINE, "PORT", at.on_spine, speed="200000")


@seed("fec-mismatch")
def fec_differs(at: Site) -> None:
    at.set(LEAF, "PORT", at.to_spine, fec="none")


@seed("mtu-mismatch")
def mtus_differ(at: Site) -> None:
    at.set(SPINE, "PORT", at.on_spine, mtu="1500")


@seed("port-down")
def one_end_shut(at: Site) -> None:
    at.set(SPINE, "PORT", at.on_spine, admin_status="down")


@seed("pfc-mismatch")
def priorities_differ_across_a_link(at: Site) -> None:
    at.set(LEAF, "PORT_QOS_MAP", at.to_spine, pfc_enable="3,4")


@seed("neighbour-differs")
def neighbours_disagree(at: Site) -> None:
    at.set(SPINE, "DEVICE_NEIGHBOR", at.on_spine, name=OTHER_LEAF, port=at.to_spine)


@seed("host-mtu")
def server_sends_more_than_its_leaf_takes(at: Site) -> None:
    at.replace(f"hosts/{SERVER}/netplan.yaml", "mtu: 9100", "mtu: 9216")


@seed("host-mtu")
def server_too_small_for_roce(at: Site) -> None:
    at.replace(f"hosts/{SERVER}/netplan.yaml", "mtu: 9100", "mtu: 1500")


@seed("address-twice")
def loopbacks_alike(at: Site) -> None:
    with at.config(OTHER_SPINE) as document:
        document["LOOPBACK_INTERFACE"] = at.read(SPINE)["LOOPBACK_INTERFACE"]


@seed("router-id-twice")
def router_ids_alike(at: Site) -> None:
    mine, theirs = (at.loopback(switch) for switch in (SPINE, OTHER_SPINE))
    at.replace(f"switches/{OTHER_SPINE}/frr.conf", f"router-id {theirs}", f"router-id {mine}")


@seed("mac-twice")
def macs_alike(at: Site) -> None:
    with at.config(LEAF) as document:
        mac = document["DEVICE_METADATA"]["localhost"]["mac"]
    at.set(SPINE, "DEVICE_METADATA", "localhost", mac=mac)


@seed("link-subnets-differ")
def addresses_of_a_link_in_two_subnets(at: Site) -> None:
    for switch, port, address in ((LEAF, at.to_spine, "10.9.0.0/31"), (SPINE, at.on_spine, "10.9.0.2/31")):
        with at.config(switch) as document:
            document["INTERFACE"][f"{port}|{address}"] = {}


# ---------------------------------------------------------------------------------------------- routing


@seed("routing-mode")
def routing_mode_that_overwrites_frr(at: Site) -> None:
    at.set(LEAF, "DEVICE_METADATA", "localhost", docker_routing_config_mode="separated")


@seed("routing-mode")
def routing_mode_left_out(at: Site) -> None:
    at.set(LEAF, "DEVICE_METADATA", "localhost", docker_routing_config_mode=None)


@seed("routing-mode-split")
def routing_mode_that_deletes_frr(at: Site) -> None:
    at.set(LEAF, "DEVICE_METADATA", "localhost", docker_routing_config_mode="split")


@seed("bgp-asn-mismatch")
def remote_as_of_someone_else(at: Site) -> None:
    at.replace(
        f"switches/{LEAF}/frr.conf",
        f"neighbor {at.to_spine} interface peer-group FABRIC",
        f"neighbor {at.to_spine} interface remote-as 65001\n neighbor {at.to_spine} bfd",
    )


@seed("bgp-one-sided")
def session_at_one_end_only(at: Site) -> None:
    at.replace(f"switches/{SPINE}/frr.conf", f" neighbor {at.on_spine} interface peer-group FABRIC\n", "")


@seed("bgp-unnumbered-one-side")
def session_numbered_at_one_end(at: Site) -> None:
    for switch, port, address in ((LEAF, at.to_spine, "10.9.0.0/31"), (SPINE, at.on_spine, "10.9.0.1/31")):
        with at.config(switch) as document:
            document["INTERFACE"][f"{port}|{address}"] = {}
    at.replace(
        f"switches/{SPINE}/frr.conf",
        f"neighbor {at.on_spine} interface peer-group FABRIC",
        "neighbor 10.9.0.0 peer-group FABRIC",
    )


@seed("bgp-bfd-one-side")
def bfd_at_one_end(at: Site) -> None:
    at.replace(f"switches/{SPINE}/frr.conf", " neighbor FABRIC bfd\n neighbor FABRIC bfd profile FABRIC\n", "")


@seed("bgp-neighbour-unknown")
def session_on_a_port_that_is_not_there(at: Site) -> None:
    at.replace(
        f"switches/{LEAF}/frr.conf",
        " address-family ipv4",
        " neighbor Ethernet512 interface peer-group FABRIC\n address-family ipv4",
    )


@seed("bgp-asn-twice")
def leaves_with_one_asn(at: Site) -> None:
    mine, theirs = (at.name(leaf, "DEVICE_METADATA", "localhost", "bgp_asn") for leaf in LEAVES)
    at.replace(f"switches/{OTHER_LEAF}/frr.conf", f"router bgp {theirs}", f"router bgp {mine}")
    at.set(OTHER_LEAF, "DEVICE_METADATA", "localhost", bgp_asn=mine)


@seed("bgp-asn-differs")
def metadata_has_another_asn(at: Site) -> None:
    at.set(LEAF, "DEVICE_METADATA", "localhost", bgp_asn="65100")


@seed("ecmp-narrow")
def one_path_of_two(at: Site) -> None:
    at.replace(f"switches/{LEAF}/frr.conf", "maximum-paths 16", "maximum-paths 8")


@seed("ecmp-narrow")
def paths_of_two_asns_not_used_together(at: Site) -> None:
    at.replace(f"switches/{SPINE}/frr.conf", " bgp bestpath as-path multipath-relax\n", "")


@seed("link-local-off")
def unnumbered_port_not_routed(at: Site) -> None:
    with at.config(LEAF) as document:
        del document["INTERFACE"][at.to_spine]


# ---------------------------------------------------------------------------------------------- balancing


@seed("hash-seed-shared")
def leaves_share_a_hash_seed(at: Site) -> None:
    text = (at.folder / "switches" / LEAF / "hash.json").read_text()
    (at.folder / "switches" / OTHER_LEAF / "hash.json").write_text(text)


@seed("hash-without-ports")
def hash_leaves_out_the_source_port(at: Site) -> None:
    with at.config(LEAF) as document:
        document["SWITCH_HASH"]["GLOBAL"]["ecmp_hash"] = ["DST_IP", "SRC_IP"]


@seed("rails-crossed")
def rails_of_one_server_crossed(at: Site) -> None:
    for old, new in ((" 10.0.0.", " X."), (" 10.16.0.", " 10.0.0."), (" X.", " 10.16.0."), ("[10.0.0.", "[X.")):
        at.replace(f"hosts/{SERVER}/netplan.yaml", old, new)
    for old, new in (("[10.16.0.", "[10.0.0."), ("[X.", "[10.16.0.")):
        at.replace(f"hosts/{SERVER}/netplan.yaml", old, new)


@seed("spraying-reorders")
def spraying_over_nics_that_go_back(at: Site) -> None:
    with at.config(LEAF) as document:
        document["ARS_PROFILE"] = {"ars": {"assign_mode": "per_packet_quality"}}
    at.replace("plan.json", '"device": "connectx-7"', '"device": "connectx-4"')


# ---------------------------------------------------------------------------------------------- servers


@seed("dscp-lossy")
def nccl_marks_another_dscp(at: Site) -> None:
    at.on_servers("nccl.conf", "NCCL_IB_TC=106", "NCCL_IB_TC=192")
    at.on_servers("nic.sh", "106", "192")
    at.on_servers("nic.sh", "set,48,6", "set,48,3")


@seed("dscp-lossy")
def nccl_marks_nothing(at: Site) -> None:
    at.on_servers("nccl.conf", "NCCL_IB_TC=106", "NCCL_IB_TC=0")
    at.on_servers("nic.sh", "106", "0")
    at.on_servers("nic.sh", "set,26,3", "set,0,3")


@seed("host-gateway")
def gateway_of_another_rail(at: Site) -> None:
    at.replace(f"hosts/{SERVER}/netplan.yaml", "via: 10.0.0.0", "via: 10.16.0.0")


def lossless_profile(at: Site) -> str:
    """The profile of a leaf's first port."""
    return at.read(LEAF)["BUFFER_PG"]["Ethernet0|3"]["profile"]


@seed("pool-wrong")
def pool_that_is_not_there(at: Site) -> None:
    at.set(LEAF, "BUFFER_PROFILE", lossless_profile(at), pool="nopool")


@seed("pool-wrong")
def group_on_a_pool_of_the_other_direction(at: Site) -> None:
    at.set(LEAF, "BUFFER_PROFILE", lossless_profile(at), pool="egress_lossless_pool")


@seed("headroom-none")
def headroom_with_a_unit(at: Site) -> None:
    at.set(LEAF, "BUFFER_PROFILE", lossless_profile(at), xoff="216kB")


@seed("headroom-none")
def headroom_of_nothing(at: Site) -> None:
    at.set(LEAF, "BUFFER_PROFILE", lossless_profile(at), xoff="0")


@seed("headroom-none")
def headroom_left_out(at: Site) -> None:
    at.set(LEAF, "BUFFER_PROFILE", lossless_profile(at), xoff=None)


@seed("headroom-beyond-size")
def pause_let_go_above_the_size(at: Site) -> None:
    at.set(LEAF, "BUFFER_PROFILE", lossless_profile(at), xon="300000")


@seed("ecn-below-a-packet")
def marks_in_kilobytes(at: Site) -> None:
    profile = at.read(LEAF)["QUEUE"]["Ethernet0|3"]["wred_profile"]
    at.set(LEAF, "WRED_PROFILE", profile, green_min_threshold="200", green_max_threshold="800")


@seed("watchdog-action-unknown")
def watchdog_with_a_misspelt_action(at: Site) -> None:
    at.set(LEAF, "PFC_WD", "Ethernet0", action="dorp")


@seed("host-gateway-nowhere")
def leaf_without_the_address_that_is_a_gateway(at: Site) -> None:
    with at.config(LEAF) as document:
        del document["INTERFACE"]["Ethernet0|10.0.0.0/31"]


@seed("host-policy-route")
def rule_to_the_table_of_another_rail(at: Site) -> None:
    at.replace(f"hosts/{SERVER}/netplan.yaml", "from: 10.0.0.1/32, table: 100", "from: 10.0.0.1/32, table: 101")


@seed("host-policy-route")
def rule_left_out(at: Site) -> None:
    at.replace(f"hosts/{SERVER}/netplan.yaml", "- {from: 10.0.0.1/32, table: 100, priority: 100}", "")


@seed("host-policy-route")
def route_in_the_table_of_another_rail(at: Site) -> None:
    at.replace(f"hosts/{SERVER}/netplan.yaml", "via: 10.0.0.0, table: 100", "via: 10.0.0.0, table: 101")


@seed("spraying-reorders")
def one_server_not_told_of_reordering(at: Site) -> None:
    for server in SERVERS:
        at.replace(f"hosts/{server}/nccl.conf", "ADAPTIVE_ROUTING=0", "ADAPTIVE_ROUTING=1")
    script = at.folder / "hosts" / SERVER / "nic.sh"
    script.write_text(script.read_text() + "mlxreg -d x -y --reg_name ROCE_ACCL --set adaptive_routing_forced_en=0x1\n")


@seed("nccl-traffic-class")
def nccl_given_the_dscp_and_not_the_byte(at: Site) -> None:
    at.on_servers("nccl.conf", "NCCL_IB_TC=106", "NCCL_IB_TC=26")


@seed("nccl-traffic-class")
def nccl_alone_marks_nothing(at: Site) -> None:
    at.on_servers("nccl.conf", "NCCL_IB_TC=106", "NCCL_IB_TC=0")


@seed("nccl-traffic-class")
def nccl_of_one_server_alone_marks_cnps_dscp(at: Site) -> None:
    at.replace(f"hosts/{SERVER}/nccl.conf", "NCCL_IB_TC=106", "NCCL_IB_TC=192")


@seed("nccl-traffic-class")
def nccl_given_more_than_a_byte(at: Site) -> None:
    at.on_servers("nccl.conf", "NCCL_IB_TC=106", "NCCL_IB_TC=300")


@seed("nccl-gid-index")
def nccl_gid_of_roce_v1(at: Site) -> None:
    at.on_servers("nccl.conf", "NCCL_IB_GID_INDEX=3", "NCCL_IB_GID_INDEX=2")


@seed("nccl-gid-index")
def nccl_gid_that_is_not_there(at: Site) -> None:
    # one IPv4 address and the link-local one, each as RoCE v1 and v2: GIDs 0 to 3
    at.on_servers("nccl.conf", "NCCL_IB_GID_INDEX=3", "NCCL_IB_GID_INDEX=5")


@seed("nccl-no-rdma")
def nccl_without_rdma(at: Site) -> None:
    at.on_servers("nccl.conf", "NCCL_IB_HCA", "NCCL_IB_DISABLE=1\nNCCL_IB_HCA")


@seed("nccl-roce-version")
def nccl_asks_for_roce_v1(at: Site) -> None:
    at.on_servers("nccl.conf", "NCCL_IB_HCA", "NCCL_IB_ROCE_VERSION_NUM=1\nNCCL_IB_HCA")


@seed("nccl-unmarked")
def nothing_marks_roce(at: Site) -> None:
    at.on_servers("nccl.conf", "NCCL_IB_TC=106\n", "")
    at.on_servers("nic.sh", '  echo 106 >"/sys/class/infiniband/$device/tc/1/traffic_class"\n', "")
    at.on_servers("nic.sh", '  cma_roce_tos -d "$device" -t 106\n', "")


@seed("nccl-bootstrap-on-rails")
def bootstrap_over_the_rails(at: Site) -> None:
    at.on_servers("nccl.conf", "IFNAME=^rail,lo,docker", "IFNAME=rail0")


@seed("hosts-differ")
def one_server_with_another_timeout(at: Site) -> None:
    at.replace(f"hosts/{SERVER}/nccl.conf", "NCCL_IB_TIMEOUT=22", "NCCL_IB_TIMEOUT=14")


@seed("nic-trusts-vlan")
def nic_trusts_the_vlan_tag(at: Site) -> None:
    at.replace(f"hosts/{SERVER}/nic.sh", "--trust dscp", "--trust pcp")


@seed("nic-trust-unset")
def one_server_not_told_to_trust_dscp(at: Site) -> None:
    at.replace(f"hosts/{SERVER}/nic.sh", 'mlnx_qos -i "$interface" --trust dscp', "true")


@seed("nic-pfc-off")
def nic_pauses_another_priority(at: Site) -> None:
    at.replace(f"hosts/{SERVER}/nic.sh", "0,0,0,1,0,0,0,0", "0,0,0,0,1,0,0,0")


@seed("nic-priority-not-fabrics")
def nic_maps_roce_to_another_priority(at: Site) -> None:
    at.replace(f"hosts/{SERVER}/nic.sh", "set,26,3", "set,26,4")
    at.replace(f"hosts/{SERVER}/nic.sh", "0,0,0,1,0,0,0,0", "0,0,0,0,1,0,0,0")


@seed("nic-priority-not-fabrics")
def nic_maps_roce_to_a_priority_that_it_does_not_pause(at: Site) -> None:
    at.replace(f"hosts/{SERVER}/nic.sh", "set,26,3", "set,26,4")


@seed("nic-ecn-off")
def nic_ignores_marks(at: Site) -> None:
    at.replace(
        f"hosts/{SERVER}/nic.sh",
        'echo 1 >"/sys/class/net/$interface/ecn/roce_rp/enable/3"',
        'echo 0 >"/sys/class/net/$interface/ecn/roce_rp/enable/3"',
    )


@seed("nic-marks-other-class")
def nic_marks_other_programs_differently(at: Site) -> None:
    at.replace(f"hosts/{SERVER}/nic.sh", "echo 106", "echo 0")


@seed("cnp-dscp-unknown-to-fabric")
def nic_marks_cnps_like_everything_else(at: Site) -> None:
    at.replace(f"hosts/{SERVER}/nic.sh", "echo 48", "echo 10")


@seed("rp-filter-strict")
def strict_reverse_path_filter(at: Site) -> None:
    at.replace(f"hosts/{SERVER}/sysctl.conf", "rp_filter = 2", "rp_filter = 1")


def test_what_build_writes_gives_no_error_and_no_warning(at: Site) -> None:
    report = check([at.folder])
    assert [finding for finding in report.findings if finding.severity is not Severity.NOTE] == []
    # two leaves with 16 cables up each, two servers on both
    assert (report.switches, report.hosts, report.links) == (4, 2, 2 * 16 + 4)


@pytest.mark.parametrize("name", SEEDS)
def test_fault_is_found_by_its_rule(name: str, at: Site) -> None:
    rule, put = SEEDS[name]
    put(at)
    found = {finding.rule for finding in check([at.folder]).findings if finding.severity is not Severity.NOTE}
    assert found == {rule}


@pytest.mark.parametrize("wrong", [0, 26, 96, 192, 300])
def test_wrong_class_of_nccl_is_told_once_with_the_class_of_nics_and_switches(wrong: int, at: Site) -> None:
    at.on_servers("nccl.conf", "NCCL_IB_TC=106", f"NCCL_IB_TC={wrong}")
    (finding,) = check([at.folder]).findings
    assert finding.fix == "NCCL_IB_TC=106"
    assert f"{SERVER}/nccl.conf" in finding.where
    assert "and in 1 more files" in finding.where


@pytest.mark.parametrize(
    ("old", "new"), [("--trust dscp", "--trust pcp"), ("0,0,0,1,0", "0,0,0,0,1"), ("26,3", "26,4")]
)
def test_one_line_of_a_loop_over_nics_is_told_once(old: str, new: str, at: Site) -> None:
    at.replace(f"hosts/{SERVER}/nic.sh", old, new)
    (finding,) = check([at.folder]).findings
    assert "rail0" in finding.where
    assert "-i INTERFACE" in finding.fix
