"""What a study file says of a fabric's configuration, beyond the network itself: addressing, and whom switches tell.

Not here: what is written from it (`artifacts`).
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Strict, WithJsonSchema

from eastwest.spec.values import Entry, refuse

_NAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*")


def _address(written: Any) -> str:
    try:
        return str(ip_address(written)) if isinstance(written, str) else _no_address(written)
    except ValueError:
        return _no_address(written)


def _no_address(written: Any) -> str:
    raise refuse(f"{written!r} is no IPv4 or IPv6 address")


def _host(written: Any) -> str:
    if isinstance(written, str) and re.fullmatch(r"[\d.]+|.*:.*", written):
        return _address(written)
    if not isinstance(written, str) or len(written) > 253 or not _NAME.fullmatch(written):
        raise refuse(f"{written!r} is neither an address nor a host name")
    return written


Address = Annotated[str, BeforeValidator(_address), WithJsonSchema({"type": "string", "examples": ["192.0.2.10"]})]
HostOrAddress = Annotated[
    str, BeforeValidator(_host), WithJsonSchema({"type": "string", "examples": ["ntp.example.net", "192.0.2.10"]})
]


class Sflow(Entry):
    """Samples of packets that switches send to collectors."""

    collectors: Annotated[tuple[Address, ...], Field(min_length=1, max_length=2)]
    """Addresses of one or two, on the management network; SONiC knows no more."""
    sample: Annotated[int, Strict(), Field(ge=256, le=8_388_608)] = 400_000
    """One packet of so many is sampled on every port: at 400 Gb/s some 30 a second of full ones."""


class Building(Entry):
    """What `eastwest build` cannot know from the network."""

    addressing: Literal["unnumbered", "numbered"] = "unnumbered"
    """Whether links between switches have IPv6 link-local addresses alone, or a /31 and a /127 besides."""
    ntp: tuple[HostOrAddress, ...] = ()
    """Servers of the time, by name or address."""
    syslog: tuple[HostOrAddress, ...] = ()
    """Servers that switches send their log to."""
    sflow: Sflow | None = None
    """Where switches send samples of packets; nowhere where left out."""
