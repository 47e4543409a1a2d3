"""What holds a step back, in the words of a person who knows the network.

The engine says for how long each link was what held back the transfer that would finish last; the tier that held
longest is named, with the reason that the numbers give: a full port, PCIe, NVLink, an oversubscribed tier, a collision.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from eastwest.engine import Carriage, Network, Run
from eastwest.engine.program import BITS
from eastwest.fabric import FRONTEND_TIERS, HOST_TIERS, TIERS
from eastwest.study.load import utilisation, window_s
from eastwest.study.result import Bottleneck
from eastwest.units import format_rate, format_time
from eastwest.workload import Collective, Step, Storage

PLACES = {
    "gpu-nvlink": "NVLink, out of the GPUs",
    "nvlink-gpu": "NVLink, into the GPUs",
    "gpu-pcie": "PCIe, GPU to NIC",
    "pcie-nic": "PCIe, GPU to NIC",
    "nic-pcie": "PCIe, NIC to GPU",
    "pcie-gpu": "PCIe, NIC to GPU",
    "nic-leaf": "NIC ports, server to leaf",
    "leaf-nic": "NIC ports, leaf to server",
    "host-pcie": "PCIe, host to NIC",
    "pcie-frontend": "PCIe, host to NIC",
    "pcie-storage": "PCIe, host to NIC",
    "frontend-pcie": "PCIe, NIC to host",
    "storage-pcie": "PCIe, NIC to host",
    "pcie-host": "PCIe, NIC to host",
    "disk-storage": "disks of the storage servers, reading",
    "storage-disk": "disks of the storage servers, writing",
    "frontend-leaf": "front-end NIC ports, server to leaf",
    "leaf-frontend": "front-end NIC ports, leaf to server",
    "frontend-access": "front-end NIC ports, server to access",
    "access-frontend": "front-end NIC ports, access to server",
    "storage-leaf": "storage NIC ports, storage to leaf",
    "leaf-storage": "storage NIC ports, leaf to storage",
    "storage-access": "storage NIC ports, storage to access",
    "access-storage": "storage NIC ports, access to storage",
}
"""Where a bottleneck can be, by directed tier, up to the leaves or access switches."""

_BELOW = (*TIERS, *FRONTEND_TIERS)
"""Tiers of switches, each behind those nearer to the servers."""

BETWEEN_SWITCHES = {f"{here}-{there}": f"{here} to {there} links" for here, there in itertools.product(_BELOW, _BELOW)}
BETWEEN_SWITCHES["border-border"] = "links between sites"
"""The same between switches."""

CHANNELS = "NCCL's channels"
"""Where no link is one: a collective's channels, each of which carries no more than NCCL's constants say."""

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
    window -= _hide(held, _storage_alone_s(run, step))
    capped_s, rate = float(run.capped_s[draw]), _channel_rate(step)
    if capped_s > max(held.values(), default=0.0) and capped_s >= LATENCY_RULES * window and math.isfinite(rate):
        return Bottleneck(CHANNELS, min(capped_s / window, 1.0), _channels_why(step, rate))
    if capped_s and math.isinf(rate):  # the port of a NIC, which aggregation trees share
        held["nic-leaf"] = held.get("nic-leaf", 0.0) + capped_s
        capped_s = 0.0
    if sum(held.values()) + capped_s < LATENCY_RULES * window:
        waiting = 1 - (sum(held.values()) + capped_s) / window
        return Bottleneck("latency", waiting, f"{waiting:.0%} of the exchange is latency: its messages are small")
    tier = max(held, key=lambda candidate: held[candidate])
    link = int(np.argmax(np.where(tiers == tier, limiting, -1.0)))
    why = _why(network, run, carriage, tier, link)
    if tier not in BETWEEN_SWITCHES and bound < window:
        why += f"; the links between switches cost {format_time(window - bound)} more"
    return Bottleneck(places[tier], min(float(utilisation(network, run)[link]), 1.0), why)


def _channel_rate(step: Step) -> float:
    """The least that a channel of the step's collectives may carry, payload in bytes a second; infinite without cap."""
    return min((each.overheads.channel_rate for each in _collectives(step)), default=math.inf)


def _collectives(step: Step) -> list[Collective]:
    return [each for each in step.operations if isinstance(each, Collective)]


def _channels_why(step: Step, rate: float) -> str:
    slowest = next(each for each in _collectives(step) if each.overheads.channel_rate == rate)
    count = f"{slowest.channels} {'channel' if slowest.channels == 1 else 'channels'}"
    most = f"no more than {format_rate(rate * BITS)} of payload"
    return (
        f"NCCL's constants let each of the {count} of {slowest.algorithm} carry {most}, and no link is full: a faster "
        "network would not help"
    )


def _hide(held: dict[str, float], alone_s: float) -> float:
    """Leaves to links of hosts what storage can have cost a step that waits for it so long; gives what it took away."""
    hosts = {tier: seconds for tier, seconds in held.items() if tier not in BETWEEN_SWITCHES and _is_of_hosts(tier)}
    too_much = max(sum(hosts.values()) - alone_s, 0.0)
    if too_much:
        held.update({tier: seconds * alone_s / (alone_s + too_much) for tier, seconds in hosts.items()})
    return too_much


def _is_of_hosts(tier: str) -> bool:
    return any(end in tier for end in ("host", *HOST_TIERS))


def _storage_alone_s(run: Run, step: Step) -> float:
    """Seconds of the median draw in which servers read or wrote and no rank did anything else."""
    if not any(isinstance(operation, Storage) for operation in step.operations):
        return 0.0
    draw = run.median_draw
    spans = zip(step.operations, run.op_start_s[draw], run.op_end_s[draw], strict=True)
    told = [(start, end, isinstance(operation, Storage)) for operation, start, end in spans]
    times = sorted({time for start, end, _ in told for time in (start, end)})
    alone = 0.0
    for begin, until in itertools.pairwise(times):
        under_way = [is_storage for start, end, is_storage in told if start <= begin and until <= end]
        alone += float(until - begin) if under_way and all(under_way) else 0.0
    return alone


def _hidden(run: Run, step: Step, window: float) -> Bottleneck:
    """A step that does not wait for its communication."""
    busy, took = float(run.compute_s[run.median_draw].mean()), float(run.step_s[run.median_draw])
    if took == 0.0:
        return Bottleneck("nothing", 0.0, "the step takes no time: there is nothing to compute or to send")
    why = "no communication" if window == 0.0 else "all communication hides behind compute"
    if busy > step.compute_s * (1 + 1e-9):
        why += f", which it stretches by {format_time(busy - step.compute_s)}"
    else:
        why += ": a faster network would not shorten the step"
    return Bottleneck("GPU compute", min(busy / took, 1.0), why)


def _why(network: Network, run: Run, carriage: Carriage, tier: str, link: int) -> str:
    rate = format_rate(float(network.rate_bps[link]))
    line = format_rate(float(network.fabric.links["rate_bps"][link]))
    if "nvlink" in tier:
        return f"NVLink gives each GPU {rate} of payload inside the server: a faster network would not help"
    if "pcie" in tier:
        if _is_of_hosts(tier):
            return f"PCIe gives {rate} of payload between host and NIC: a faster port would not help"
        port = _fastest(network, "nic-leaf")
        return f"PCIe gives {rate} of payload between GPU and NIC, the NIC's port {port}: a faster port would not help"
    if "disk" in tier:
        return f"disks have {rate} for each NIC of a storage server: more servers or faster disks would help"
    if "storage" in tier:
        return f"the {line} ports of the storage servers are full ({rate} of payload): more servers or ports would help"
    if "frontend" in tier:
        return f"the servers' front-end ports of {line} are full ({rate} of payload): faster or more ports would help"
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
    if run.messages:
        carried = run.link_bytes[run.median_draw]
        uneven = float(carried[link]) / float(carried[tiers == tier].mean())
        if uneven >= COLLISION:
            reasons.append(f"this link carried {uneven:.3g} times the tier's mean")
    ends = tier.split("-")
    below = next(name for name in _BELOW if name in ends)
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
    place = _BELOW.index(below)
    nearer, farther = ("nic", *HOST_TIERS, *_BELOW[:place]), _BELOW[place + 1 :]
    down, up = ([f"{below}-{end}" for end in ends] for ends in (nearer, farther))
    totals = [float(network.rate_bps[np.isin(tiers, way)].sum()) for way in (down, up)]
    return totals[0] / totals[1] if totals[1] else 1.0
