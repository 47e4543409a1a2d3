"""What a host is told beside its addresses: the kernel's settings, its NICs' classes, and NCCL's environment.

All follow from the study's fabric (queue pairs, balancing), the marking that switches have too, and whose NICs these
are. Not here: addresses and routes (`hosts.netplan`).
"""

from __future__ import annotations

from collections.abc import Sequence

from eastwest.artifacts import marking
from eastwest.artifacts.hosts.nics import family
from eastwest.artifacts.plan import Host, NicPort
from eastwest.artifacts.subject import Subject
from eastwest.artifacts.texts import text
from eastwest.catalog.entries import SPRAYING
from eastwest.units import format_rate

_ROUND_TRIP_S = 1e-3
_LEAST_BUFFER, _MOST_BUFFER = 1 << 24, 1 << 30
DATA_SHARE, OTHER_SHARE = 90, 10
"""Per cent of a NIC that RoCE and all else get where both want it; CNPs go before both."""


def sysctl(host: Host, ports: Sequence[NicPort]) -> str:
    """The kernel's settings of a host whose `ports` are on Ethernet."""
    fastest_bps = max(port.rate_bps for port in ports)
    in_flight = int(fastest_bps * _ROUND_TRIP_S / 8)
    buffer = min(max(1 << (in_flight - 1).bit_length(), _LEAST_BUFFER), _MOST_BUFFER)
    rate = format_rate(fastest_bps)
    return text("hosts/sysctl.conf.j2", server=host.name, nics=ports, rate=rate, buffer=buffer)


def nic_script(subject: Subject, host: Host, ports: Sequence[NicPort]) -> str | None:
    """Commands that name and set up the NICs of a server's GPUs; None where a cloud has done so."""
    device, plan = ports[0].device, subject.plan
    of = family(device)
    if of.commands is None:
        return None
    is_lossless = plan.technology == "rocev2"
    by_queue = [0] * 8
    by_queue[marking.LOSSY], by_queue[marking.LOSSLESS] = OTHER_SHARE, DATA_SHARE
    longest_m = max((plan.cables[port.cable].length_m for port in ports if port.cable is not None), default=0.0)
    return text(
        "hosts/nic.sh.j2",
        server=host.name,
        nic_name=device,
        technology=plan.technology,
        ports=[{"name": port.name, "guid": _by_words(port.guid)} for port in ports],
        maker=of.commands,
        marking=marking,
        lossless=is_lossless,
        reorders=is_reordering(subject),
        cable_m=max(1, round(longest_m)),
        pfc=",".join("1" if is_lossless and number == marking.LOSSLESS else "0" for number in range(8)),
        tsa=",".join("strict" if number == marking.CNP else "ets" for number in range(8)),
        tcbw=",".join(map(str, by_queue)),
        prio_tc=" ".join(f"{number}:{_broadcom_class(number)}" for number in range(8)),
        data_share=DATA_SHARE,
        other_share=OTHER_SHARE,
    )


def _broadcom_class(priority: int) -> int:
    return {marking.LOSSLESS: 1, marking.CNP: 2}.get(priority, 0)


def _by_words(guid: int) -> str:
    """A GUID as sysfs writes it: 0265:7702:0a00:0001."""
    digits = f"{guid:016x}"
    return ":".join(digits[place : place + 4] for place in range(0, 16, 4))


def is_reordering(subject: Subject) -> bool:
    """Whether RoCE's packets may overtake each other: a scheduled fabric puts them in order again."""
    asked = subject.asked
    return asked.balancing in ("spray", "adaptive") and asked.shape != "scheduled"


def nccl_conf(subject: Subject, ports: Sequence[NicPort], has_frontend: bool) -> str:
    """NCCL's environment on servers whose GPUs' NICs are `ports`."""
    asked, plan = subject.asked, subject.plan
    gpu = plan.fabric.plan["server"]["gpu"]
    return text(
        "hosts/nccl.conf.j2",
        fabric=plan.name,
        study=subject.study.name,
        nvidia_gpu=gpu["architecture"] is not None,
        devices=[port.name for port in ports],
        front=has_frontend,
        socket="front" if has_frontend else f"^{'ib' if plan.technology == 'infiniband' else 'rail'},lo,docker",
        roce=plan.technology in ("rocev2", "ultra-ethernet"),
        gid_index=family(ports[0].device).gid_index,
        marking=marking,
        qps=asked.qps,
        split=asked.qp_use == "split",
        rails=asked.shape in ("rail-optimized", "rail-only"),
        balancing=asked.balancing,
        # A transport that is made to be sprayed places packets itself.
        adaptive=None if plan.technology in SPRAYING else is_reordering(subject),
    )
