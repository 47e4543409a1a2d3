"""Hosts whose PCIe is slower than their NICs' ports.

A port then sends and takes in no faster than its part of the PCIe link carries payload, as in studies. Left out are the
NIC's own buffer, and the bytes that PCIe adds: the rate given is that of payload.
"""

from __future__ import annotations

import numpy as np

from eastwest.engine.defaults import FRAMINGS
from eastwest.engine.links import rates_within
from eastwest.engine.network import Floats, Stated
from eastwest.engine.packets import Transport
from eastwest.fabric import Fabric


def limited_rates(fabric: Fabric, pcie_bps: float, transport: Transport, stated: Stated = ()) -> Floats:
    """Rates of a fabric's links on the wire, bit/s, where each NIC's ports share `pcie_bps` of payload, each way."""
    framing, said = FRAMINGS[transport], dict(stated)
    payload = said.get("payload", framing.payload)
    efficiency = payload / (payload + said.get("header", framing.header))
    return rates_within(fabric, np.full(len(fabric.nodes), pcie_bps), efficiency)
