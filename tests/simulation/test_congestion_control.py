"""Congestion control of Ultra Ethernet on htsim's incasts (tests/data/htsim/README.md)."""

from pathlib import Path

import pytest

from eastwest.engine.packets import PacketNetwork
from eastwest.simulation import read_flows, read_topology, settings_for, simulate

DATA = Path(__file__).parent.parent / "data" / "htsim"


@pytest.fixture(scope="module")
def incast():
    """An incast of 32 on 128 hosts under some congestion control."""
    fabric = read_topology(DATA / "ft3_128_400g.topo")
    flows = read_flows(DATA / "incast32_128.cm", fabric, "ps")
    network = PacketNetwork(fabric)

    def run(control):
        settings = settings_for("uet", network, flows, stated=(("congestion_control", control),))
        return simulate(network, flows, settings)

    return run


def test_credit_ends_an_incast_when_the_port_has_sent_all(incast):
    bound = 32 * 497 * 4096 / 50e9  # packets of 4,032 B of payload in 2 MB, at 400 Gb/s
    for control in ("rccc", "nscc+rccc"):
        result = incast(control)
        assert bound < result.fct_s[-1] < 1.04 * bound
        assert result.fct_s[0] > 0.9 * bound  # all are granted alike


def test_credit_trims_the_first_windows_alone(incast):
    credit = incast("rccc")
    first_windows = 32 * 1.5 * credit.settings.base_rtt_s * credit.settings.rate / 4096
    assert credit.run.trims < first_windows
    assert credit.run.trims == credit.run.retransmits
    assert credit.run.trims < incast("nscc").run.trims
