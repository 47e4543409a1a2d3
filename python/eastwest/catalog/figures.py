"""Which figures each kind of catalogue entry has, and how each is written in YAML.

A figure is written `{value: 400 Gb/s, source: "..."}`, or as the plain value in a reader's own file. A source may be a
list of texts, so that several figures can share one by a YAML alias and add where in it they stand.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

from eastwest import units
from eastwest.catalog.entries import Architecture, Joined, Retransmission, Technology

Reader = Callable[[Any], Any]


@dataclass(frozen=True)
class Figure:
    """A figure of an entry: its field in the dataclass and the reader of what is written."""

    field: str
    read: Reader


def _fraction(written: Any) -> float:
    """A share of 1, written as a number or as the division it comes from: 0.824, "20.6 / 25"."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*/\s*(\d+(?:\.\d+)?)\s*", str(written))
    if match and float(match.group(2)):
        value = float(match.group(1)) / float(match.group(2))
    elif isinstance(written, int | float) and not isinstance(written, bool):
        value = float(written)
    else:
        value = math.nan
    if not 0 < value <= 1:
        raise ValueError(f"{written!r} is no share of 1: write it like 0.824 or 20.6 / 25")
    return value


def _up_to(most_s: float, what: str) -> Reader:
    """A time of at most so many seconds: what many parts add up to on a path must stay within what is counted."""

    def read(written: Any) -> float:
        value = units.parse_time(written)
        if value > most_s:
            raise ValueError(f"{written!r} is more than {what}")
        return value

    return read


def _count(written: Any) -> int:
    if isinstance(written, bool) or not isinstance(written, int) or not 0 < written <= 1_000_000:
        raise ValueError(f"{written!r} is no count: write a whole number from 1 to 1000000")
    return written


def _flag(written: Any) -> bool:
    if not isinstance(written, bool):
        raise ValueError(f"{written!r} is neither true nor false")
    return written


def _list_of(read: Reader) -> Reader:
    def read_all(written: Any) -> tuple[Any, ...]:
        if not isinstance(written, list) or not written:
            raise ValueError("write a list, as in [a, b]")
        return tuple(read(each) for each in written)

    return read_all


def _word(*words: str) -> Reader:
    def read(written: Any) -> str:
        if written not in words:
            raise ValueError(f"{written!r} is none of {', '.join(words)}")
        return str(written)

    return read


def _name(written: Any) -> str:
    if not isinstance(written, str):
        raise ValueError(f"{written!r} is no name of a catalogue entry")
    return written


def _text(written: Any) -> str:
    if not isinstance(written, str) or not written.strip():
        raise ValueError(f"{written!r} is no text")
    return written


def _identifier(written: Any) -> str:
    if not isinstance(written, str) or not re.fullmatch(r"[A-Za-z0-9][\w.+-]{0,254}", written, re.ASCII):
        raise ValueError(f"{written!r} is no name of letters, digits, - and _")
    return written


_latency = _up_to(1.0, "1 s, the longest that a part may hold data up")
_technology = _word(*get_args(Technology))

FIGURES: dict[str, dict[str, Figure]] = {
    "gpus": {
        "memory": Figure("memory_bytes", units.parse_size),
        "memory_bandwidth": Figure("memory_bps", units.parse_rate),
        "bf16": Figure("bf16_flops", units.parse_compute),
        "nvlink": Figure("nvlink_bps", units.parse_rate),
        "nvlink_efficiency": Figure("nvlink_efficiency", _fraction),
        "nvlink_latency": Figure("nvlink_latency_s", _latency),
        "pcie": Figure("pcie_bps", units.parse_rate),
        "pcie_efficiency": Figure("pcie_efficiency", _fraction),
        "pcie_latency": Figure("pcie_latency_s", _latency),
        "power": Figure("power_w", units.parse_power),
        "nvlink_sharp": Figure("nvlink_sharp", _fraction),
        "joined": Figure("joined", _word(*get_args(Joined))),
        "architecture": Figure("architecture", _word(*get_args(Architecture))),
        "fp8": Figure("fp8_flops", units.parse_compute),
        "fp4": Figure("fp4_flops", units.parse_compute),
        "bf16_sustained": Figure("bf16_sustained_flops", units.parse_compute),
        "fp8_sustained": Figure("fp8_sustained_flops", units.parse_compute),
        "fp4_sustained": Figure("fp4_sustained_flops", units.parse_compute),
        "training": Figure("training_share", _fraction),
        "training_fp8": Figure("training_fp8_share", _fraction),
        "sms": Figure("sms", _count),
    },
    "nics": {
        "technologies": Figure("technologies", _list_of(_technology)),
        "port": Figure("port_bps", units.parse_rate),
        "port_speeds": Figure("port_speeds_bps", _list_of(units.parse_rate)),
        "pcie": Figure("pcie_bps", units.parse_rate),
        "latency": Figure("latency_s", _latency),
        "places_out_of_order": Figure("places_out_of_order", _flag),
        "retransmission": Figure("retransmission", _word(*get_args(Retransmission))),
        "power": Figure("power_w", units.parse_power),
        "ethernet_port": Figure("ethernet_port_bps", units.parse_rate),
        "max_planes": Figure("max_planes", _count),
        "offloads": Figure("offloads", _list_of(_text)),
        "host_cores_saved": Figure("host_cores_saved", _count),
    },
    "switches": {
        "technologies": Figure("technologies", _list_of(_technology)),
        "cages": Figure("cages", _count),
        "cage": Figure("cage_bps", units.parse_rate),
        "port_speeds": Figure("port_speeds_bps", _list_of(units.parse_rate)),
        "default_breakout": Figure("default_breakout", _count),
        "max_breakout": Figure("max_breakout", _count),
        "max_ports": Figure("max_ports", _count),
        "latency": Figure("latency_s", _latency),
        "power": Figure("power_w", units.parse_power),
        "cell_cages": Figure("cell_cages", _count),
        "cell_efficiency": Figure("cell_efficiency", _fraction),
        "in_network_reduction": Figure("in_network_reduction", _flag),
        "cage_lanes": Figure("cage_lanes", _count),
        "buffer": Figure("buffer_bytes", units.parse_size),
        "cell": Figure("cell_bytes", lambda written: int(units.parse_size(written))),
        "headroom_pool": Figure("headroom_pool", _flag),
        "sonic_platform": Figure("sonic_platform", _identifier),
        "sonic_hwsku": Figure("sonic_hwsku", _identifier),
    },
    "servers": {
        "gpu": Figure("gpu", _name),
        "gpus": Figure("gpus", _count),
        "nics": Figure("nics", _count),
        "nic": Figure("nic", _name),
        "power": Figure("power_w", units.parse_power),
        "nvlink_domain_servers": Figure("nvlink_domain_servers", _count),
    },
    "links": {
        "mtu": Figure("mtu_bytes", lambda written: int(units.parse_size(written))),
        "efficiency": Figure("efficiency", _fraction),
        "fibre_delay_of_a_metre": Figure("fibre_s_per_m", _up_to(1e-6, "1 us, some two hundred times that of glass")),
    },
}
"""Figures of each kind by the name that the YAML gives them. One whose field has a default may be left out."""
