"""What holds a step back, in the words of a person who knows the network.

The engine says for how long each link was what held back the transfer that would finish last; the tier that held
longest is named, with the reason that the numbers give: a full port, PCIe, NVLink, an oversubscribed tier, a collision.
"""

from __future__ import annotations

import itertools

import numpy as np

from eastwest.engine import Carriage, Network, Run
from eastwest.fabric.plan import TIERS
from eastwest.study.load import utilisation, window_s
from eastwest.study.result import Bottleneck
from eastwest.units import format_rate, format_time
from eastwest.workload import Step

PLACES = {
    "gpu-nvlink": "NVLink, out of the GPUs",
    "nvlink-gpu": "NVLink, into the GPUs",
    "gpu-pcie": "PCIe, GPU to NIC",
    "pcie-nic": "PCIe, GPU to NIC",
    "nic-pcie": "PCIe, NIC to GPU",
    "pcie-gpu": "PCIe, NIC to GPU",
    "nic-leaf": "NIC ports, server to leaf",
    "leaf-nic": "NIC ports, leaf to server",
}
"""Where a bottleneck can be, by directed tier, up to the leaves."""

BETWEEN_SWITCHES = {f"{here}-{there}": f"{here} to {there} links" for here, there in itertools.product(TIERS, TIERS)}
BETWEEN_SWITCHES["border-border"] = "links between sites"
"""The same between switches."""

LATENCY_RULES = 0.5
"""Below this part of the communication time spent waiting for bandwidth, latency is called the bottleneck."""

COLLISION = 1.02
"""Flows on the fullest link over the mean of the tier from which hashing is called uneven."""

CHOOSERS = {
    "ecmp": "ECMP put",
    "wcmp": "WCMP put",
    "flowlet": "hashed flowlets put",
    "pinned": "the pinned routes put",
    "source": "the senders' paths put",
}
"""What puts flows on links, one by one or in part."""

COSTLESS = 0.999
"""Part of the communication time that the bound takes from which the links between switches cost nothing."""


def name(network: Network, run: Run, ideal: Run, step: Step, carriage: Carriage) -> Bottleneck:
    """The bottleneck of the run's median draw; `ideal` is the same step with infinite links between switches.

    Where both take the same time a link between switches may have been full, but was not what held the step back: the
    bound's own bottleneck is named then.
    """
    draw, window = run.median_draw, window_s(run)
    exposed, took = float(run.exposed_s[draw].max(initial=0.0)), float(run.step_s[draw])
    if exposed <= 1e-6 * took:
        return _hidden(run, step, window)
    bound = window_s(ideal)
    if run is not ideal and bound >= COSTLESS * window:
        return name(network, ideal, ideal, step, carriage)
    limiting = run.link_limiting_s[draw]
    tiers = network.fabric.links["tier"].to_numpy()
    places = PLACES | BETWEEN_SWITCHES
    held = {tier: float(limiting[tiers == tier].sum()) for tier in places if (tiers == tier).any()}
    if sum(held.values()) < LATENCY_RULES * window:
        waiting = 1 - sum(held.values()) / window
        return Bottleneck("latency", waiting, f"{waiting:.0%} of the exchange is latency: its messages are small")
    tier = max(held, key=lambda candidate: held[candidate])
    link = int(np.argmax(np.where(tiers == tier, limiting, -1.0)))
    why = _why(network, run, carriage, tier, link)
    if tier not in BETWEEN_SWITCHES and bound < window:
        why += f"; the links between switches cost {format_time(window - bound)} more"
    return Bottleneck(places[tier], min(float(utilisation(network, run)[link]), 1.0), why)


def _hidden(run: Run, step: Step, window: float) -> Bottleneck:
    """A step that does not wait for its communication."""
    busy, took = float(run.compute_s[run.median_draw].mean()), float(run.step_s[run.median_draw])
    why = "no communication" if window == 0.0 else "all communication hides behind compute"
    if busy > step.compute_s * (1 + 1e-9):
        why += f", which it stretches by {format_time(busy - step.compute_s)}"
    else:
        why += ": a faster network would not shorten the step"
    return Bottleneck("GPU compute", min(busy / took, 1.0) if took else 0.0, why)


def _why(network: Network, run: Run, carriage: Carriage, tier: str, link: int) -> str:
    rate = format_rate(float(network.rate_bps[link]))
    line = format_rate(float(network.fabric.links["rate_bps"][link]))
    if "nvlink" in tier:
        return f"NVLink gives each GPU {rate} of payload inside the server: a faster network would not help"
    if "pcie" in tier:
        port = _fastest(network, "nic-leaf")
        return f"PCIe gives {rate} of payload between GPU and NIC, the NIC's port {port}: a faster port would not help"
    if "nic" in tier:
        return f"the {line} ports of the NICs are full ({rate} of payload): faster ports would help"
    return _fabric_why(network, run, carriage, tier, link, rate)


def _fabric_why(network: Network, run: Run, carriage: Carriage, tier: str, link: int, rate: str) -> str:
    tiers = network.fabric.links["tier"].to_numpy()
    flows = run.link_flows[run.median_draw]
    mean, here = float(flows[tiers == tier].mean()), float(flows[link])
    reasons = []
    if carriage.balancing in CHOOSERS and here >= COLLISION * mean and here >= 2:
        reasons.append(f"{CHOOSERS[carriage.balancing]} {here:.0f} flows on one link, the tier's mean is {mean:.3g}")
    ends = tier.split("-")
    below = next(name for name in TIERS if name in ends)
    ratio = _oversubscription(network, below)
    if ends[0] != ends[1] and ratio > 1.001:
        reasons.append(f"each {below} has {ratio:.3g} times the capacity down that it has up")
    return "; ".join(reasons) or f"traffic fills these links evenly ({rate} of payload each): more of them would help"


def _fastest(network: Network, tier: str) -> str:
    rates = network.rate_bps[(network.fabric.links["tier"] == tier).to_numpy()]
    return format_rate(float(rates.max()))


def _oversubscription(network: Network, below: str) -> float:
    """Capacity down over capacity up of the switches of a tier, as built."""
    tiers = network.fabric.links["tier"].to_numpy()
    place = TIERS.index(below)
    down, up = ([f"{below}-{end}" for end in ends] for ends in (("nic", *TIERS[:place]), TIERS[place + 1 :]))
    totals = [float(network.rate_bps[np.isin(tiers, way)].sum()) for way in (down, up)]
    return totals[0] / totals[1] if totals[1] else 1.0
