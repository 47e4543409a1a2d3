from dataclasses import fields, is_dataclass

import pytest

from eastwest.catalog import Catalog

CATALOG = Catalog.bundled()
ALL = [(kind, name) for kind in ("gpus", "nics", "switches", "servers", "links") for name in CATALOG.names(kind)]


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_every_figure_has_a_source_that_stands_by_itself(kind, name):
    sources = CATALOG.sources(kind, name)
    for figure, source in sources.items():
        assert len(source) > 3, figure
        assert not source.startswith(("same", "given in")), figure


@pytest.mark.parametrize(
    ("name", "links", "line_gbytes", "reached_gbytes"),
    [("a100-sxm-80gb", 12, 25, 20.0), ("h100-sxm", 18, 25, 20.6), ("h200-sxm", 18, 25, 20.6), ("b200", 18, 50, 40.1)],
)
def test_nvlink_is_line_rate_by_data_sheet_and_reached_rate_by_nccl(name, links, line_gbytes, reached_gbytes):
    gpu = CATALOG.gpu(name)
    assert gpu.nvlink_bps == links * line_gbytes * 8e9
    assert gpu.nvlink_bps * gpu.nvlink_efficiency == pytest.approx(links * reached_gbytes * 8e9)


@pytest.mark.parametrize(("name", "gigatransfers"), [("connectx-4", 8), ("connectx-6", 16), ("connectx-7", 32)])
def test_pcie_to_gen5_is_sixteen_lanes_of_128b130b(name, gigatransfers):
    assert CATALOG.nic(name).pcie_bps == pytest.approx(16 * gigatransfers * 1e9 * 128 / 130, rel=1e-4)


def test_pcie_gen6_is_sixteen_lanes_less_what_a_flit_spends():
    assert CATALOG.nic("connectx-8").pcie_bps == 16 * 64e9 * 236 / 256
    assert CATALOG.gpu("b200").pcie_bps == CATALOG.nic("connectx-8").pcie_bps


def test_pcie_gen5_carries_400g_but_not_800g_and_gen6_carries_both():
    wire = 800e9 * CATALOG.link_layer("rocev2").efficiency
    h100, b200 = CATALOG.gpu("h100-sxm"), CATALOG.gpu("b200")
    assert wire / 2 < h100.pcie_bps * h100.pcie_efficiency < wire
    assert b200.pcie_bps * b200.pcie_efficiency > wire


def test_link_efficiency_follows_from_header_bytes():
    ethernet = 8 + 12 + 14 + 4  # preamble, gap, header, FCS
    roce = ethernet + 20 + 8 + 12 + 4  # IPv4, UDP, BTH, ICRC
    infiniband = 8 + 12 + 4 + 2  # LRH, BTH, ICRC, VCRC
    ultra_ethernet = ethernet + 20 + 8 + 12 + 44  # IPv4, UDP, PDS request, SES standard request
    mrc = ethernet + 40 + 40 + 8 + 12 + 16 + 4  # outer and inner IPv6, UDP, BTH, RETH in each packet, ICRC
    assert CATALOG.link_layer("rocev2").efficiency == 4096 / (4096 + roce)
    assert CATALOG.link_layer("ultra-ethernet").efficiency == 4096 / (4096 + ultra_ethernet)
    assert CATALOG.link_layer("mrc").efficiency == 4096 / (4096 + mrc)
    assert CATALOG.link_layer("infiniband").efficiency == 4096 / (4096 + infiniband)


@pytest.mark.parametrize(
    ("technology", "switch", "switches", "fibre_m", "measured_s"),
    [  # DeepSeek-V3 hardware paper (arXiv 2505.09343), table 5: 64 B end to end, on one leaf and across leaves
        ("infiniband", "qm9700", 1, 10, 2.8e-6),
        ("infiniband", "qm9700", 3, 70, 3.7e-6),
        ("rocev2", "sn5400", 1, 10, 3.6e-6),
        ("rocev2", "sn5400", 3, 70, 5.6e-6),
    ],
)
def test_latencies_add_up_to_what_was_measured(technology, switch, switches, fibre_m, measured_s):
    ends = 2 * (CATALOG.nic("connectx-7").latency_s + CATALOG.gpu("h100-sxm").pcie_latency_s)
    fibre = fibre_m * CATALOG.link_layer(technology).fibre_s_per_m
    assert ends + switches * CATALOG.switch(switch).latency_s + fibre == pytest.approx(measured_s, rel=0.1)


@pytest.mark.parametrize(
    ("name", "ports", "bps"),
    [
        ("sn5400", 64, 400e9),
        ("sn5600", 64, 800e9),
        ("tomahawk5-64x800g", 64, 800e9),
        ("qm9700", 64, 400e9),
        ("qm8790", 40, 200e9),
        ("q3400", 144, 800e9),
        ("q3450-ld", 144, 800e9),
        ("tomahawk6-64x1600g", 64, 1.6e12),
        ("tomahawk6-128x800g", 128, 800e9),
        ("sn6810", 128, 800e9),
        ("mrc-64x800g", 64, 800e9),
        ("cisco-8223-64eh", 64, 800e9),
    ],
)
def test_switches_have_the_ports_that_they_are_sold_with(name, ports, bps):
    switch = CATALOG.switch(name)
    assert switch.cages * switch.default_breakout == ports
    assert switch.cage_bps / switch.default_breakout == bps
    assert switch.max_breakout >= switch.default_breakout
    assert ports <= switch.max_ports


def test_spraying_needs_a_nic_that_places_out_of_order():
    assert CATALOG.nic("connectx-7").places_out_of_order
    assert not CATALOG.nic("connectx-4").places_out_of_order
    assert CATALOG.nic("connectx-4").retransmission == "go-back-n"


@pytest.mark.parametrize(
    ("name", "tbps"),
    [  # switching capacity as published, one direction
        ("sn5400", 25.6),
        ("sn5600", 51.2),
        ("tomahawk5-64x800g", 51.2),
        ("tomahawk6-64x1600g", 102.4),
        ("tomahawk6-128x800g", 102.4),
        ("sn6810", 102.4),
        ("cisco-8223-64eh", 51.2),
        ("qm9700", 25.6),
        ("qm8790", 8.0),
        ("q3400", 115.2),
        ("q3450-ld", 115.2),
    ],
)
def test_cages_add_up_to_the_published_capacity(name, tbps):
    switch = CATALOG.switch(name)
    assert switch.cages * switch.cage_bps == pytest.approx(tbps * 1e12)


@pytest.mark.parametrize("name", CATALOG.names("switches"))
def test_a_switch_can_run_each_speed_it_lists_in_its_cages(name):
    switch = CATALOG.switch(name)
    assert max(switch.port_speeds_bps) <= switch.cage_bps
    assert switch.max_ports <= switch.cages * switch.max_breakout
    assert switch.cage_bps / switch.default_breakout in switch.port_speeds_bps


@pytest.mark.parametrize(
    ("name", "ports", "bps"),
    [("mrc-64x800g", 512, 100e9), ("tomahawk6-64x1600g", 512, 200e9), ("tomahawk6-128x800g", 1024, 100e9)],
)
def test_switches_broken_out_to_the_slowest_port_have_the_radix_that_papers_count_with(name, ports, bps):
    switch = CATALOG.switch(name)
    assert min(switch.port_speeds_bps) == bps
    assert min(switch.max_ports, switch.cages * int(switch.cage_bps // bps)) == ports


@pytest.mark.parametrize(
    ("name", "total_tbytes"),
    [  # scale-up bandwidth of a server or rack as data sheets add it up: all GPUs, both directions
        ("hgx-a100", 4.8),
        ("hgx-h100", 7.2),
        ("hgx-h800", 3.2),
        ("hgx-b200", 14.4),
        ("hgx-b300", 14.4),
        ("gb200-nvl72", 130),
        ("gb300-nvl72", 130),
        ("hgx-mi300x", 8 * 0.896),
        ("hgx-mi355x", 8 * 1.075),
    ],
)
def test_scale_up_links_add_up_to_the_published_total(name, total_tbytes):
    server = CATALOG.server(name)
    gpus = server.gpus * server.nvlink_domain_servers
    assert gpus * server.gpu.nvlink_bps * 2 == pytest.approx(total_tbytes * 8e12, rel=5e-3)


def test_an_h800_reaches_over_nvlink_what_its_users_report():
    gpu = CATALOG.gpu("h800-sxm")  # "about 160 GB/s": DeepSeek-V3 hardware paper and DeepEP's README
    assert gpu.nvlink_bps * gpu.nvlink_efficiency == pytest.approx(160 * 8e9, rel=0.05)


@pytest.mark.parametrize(("name", "link_gbytes"), [("mi300x", 64), ("mi355x", 76.8)])
def test_a_meshed_gpu_has_a_link_to_each_of_seven_peers(name, link_gbytes):
    gpu = CATALOG.gpu(name)
    assert gpu.joined == "mesh"
    assert gpu.nvlink_bps == pytest.approx(7 * link_gbytes * 8e9)


def test_rccl_sees_48_gbytes_on_a_link_of_mi300x():
    gpu = CATALOG.gpu("mi300x")
    assert gpu.nvlink_bps * gpu.nvlink_efficiency == 7 * 48 * 8e9


FOUR_NICS = ("aws-p4de", "gcp-a3-high")
"""Machines of clouds in which two GPUs share a NIC."""


@pytest.mark.parametrize("name", CATALOG.names("servers"))
def test_servers_have_a_nic_for_each_gpu_and_power_for_both(name):
    server = CATALOG.server(name)
    assert server.nics == (4 if name in FOUR_NICS else server.gpus)
    assert server.power_w > server.gpus * (server.gpu.power_w + server.nic.power_w)


def test_an_nvl72_rack_is_eighteen_trays_of_four_gpus():
    for name, rack_kw in (("gb200-nvl72", 120), ("gb300-nvl72", 142)):
        server = CATALOG.server(name)
        assert server.gpus * server.nvlink_domain_servers == 72
        assert server.power_w * server.nvlink_domain_servers == pytest.approx(rack_kw * 1e3, rel=2e-3)


@pytest.mark.parametrize("name", CATALOG.names("nics"))
def test_a_nic_has_pcie_for_its_port_and_a_speed_for_each_split(name):
    nic = CATALOG.nic(name)
    assert nic.port_bps == max(nic.port_speeds_bps) <= nic.pcie_bps
    assert nic.port_bps / nic.max_planes in nic.port_speeds_bps


@pytest.mark.parametrize("technology", ["ultra-ethernet", "mrc"])
def test_transports_that_spray_have_nics_and_switches_that_can(technology):
    nics = [CATALOG.nic(name) for name in CATALOG.names("nics")]
    speakers = [nic for nic in nics if technology in nic.technologies]
    assert speakers
    assert all(nic.places_out_of_order and nic.retransmission == "selective-repeat" for nic in speakers)
    assert any(technology in CATALOG.switch(name).technologies for name in CATALOG.names("switches"))


def test_the_mrc_papers_nic_splits_over_eight_planes():
    nic = CATALOG.nic("connectx-8")
    assert (nic.max_planes, nic.port_bps / nic.max_planes) == (8, 100e9)


def test_a_dpu_says_what_it_takes_off_the_host():
    dpu = CATALOG.nic("bluefield-3")
    assert "NVMe over Fabrics" in dpu.offloads
    assert dpu.host_cores_saved == 300
    assert "vendor's upper bound" in CATALOG.sources("nics", "bluefield-3")["host_cores_saved"]
    assert CATALOG.nic("connectx-7").host_cores_saved is None


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_entries_are_complete(kind, name):
    entry = CATALOG.listing(name, kind)
    assert len(entry) == 1
    part = getattr(
        CATALOG, {"gpus": "gpu", "nics": "nic", "switches": "switch", "servers": "server", "links": "link_layer"}[kind]
    )(name)
    assert is_dataclass(part)
    optional = {"host_cores_saved", "ethernet_port_bps", "nvlink_sharp", "architecture", "sms"}
    optional |= {"buffer_bytes", "cell_bytes", "sonic_platform", "sonic_hwsku"}
    optional |= {
        field.name for field in fields(part) if field.name.endswith(("_flops", "training_share", "_fp8_share"))
    }
    optional -= {"bf16_flops"}
    assert None not in [getattr(part, field.name) for field in fields(part) if field.name not in optional]
