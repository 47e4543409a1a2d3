from dataclasses import astuple, is_dataclass

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
    assert CATALOG.link_layer("rocev2").efficiency == 4096 / (4096 + roce)
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


@pytest.mark.parametrize("name", ["hgx-a100", "hgx-h100", "hgx-h200", "hgx-b200"])
def test_servers_have_eight_gpus_and_a_nic_for_each(name):
    server = CATALOG.server(name)
    assert (server.gpus, server.nics) == (8, 8)
    assert server.power_w > server.gpus * server.gpu.power_w


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_entries_are_complete(kind, name):
    entry = CATALOG.listing(name, kind)
    assert len(entry) == 1
    part = getattr(
        CATALOG, {"gpus": "gpu", "nics": "nic", "switches": "switch", "servers": "server", "links": "link_layer"}[kind]
    )(name)
    assert is_dataclass(part)
    assert None not in astuple(part)
