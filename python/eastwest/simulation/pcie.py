"""Hosts whose PCIe is slower than their NICs' ports.

A port then sends and takes in no faster than its part of the PCIe link carries payload, as in studies. Left out are the
NIC's own buffer, and the bytes that PCIe adds: the rate given is that of payload.
"""

from __future__ import annotations

import numpy as np

from eastwest.engine.defaults import FRAMINGS
from eastwest.engine.network import Floats, Stated
from eastwest.engine.packets import Transport
from eastwest.fabric import Fabric


def limited_rates(fabric: Fabric, pcie_bps: float, transport: Transport, stated: Stated = ()) -> Floats:
    """Rates of a fabric's links on the wire, bit/s, where each NIC's ports share `pcie_bps` of payload, each way."""
    framing, said = FRAMINGS[transport], dict(stated)
    payload = said.get("payload", framing.payload)
    on_wire_bps = pcie_bps * (payload + said.get("header", framing.header)) / payload
    is_nic = (fabric.nodes["kind"] == "nic").to_numpy()
    src, dst = (fabric.links[end].to_numpy() for end in ("src", "dst"))
    cabled = fabric.links["cable"].to_numpy() >= 0
    ports = np.bincount(src[cabled & is_nic[src]], minlength=len(is_nic))
    nic = np.where(is_nic[src], src, dst)
    is_port = cabled & is_nic[nic]
    rates = fabric.links["rate_bps"].to_numpy().astype(np.float64)
    limited: Floats = np.where(is_port, np.minimum(rates, on_wire_bps / np.maximum(ports[nic], 1)), rates)
    return limited
