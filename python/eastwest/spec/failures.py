"""Failed and degraded parts of a fabric, as a study file names them. Which cables that are is for `eastwest.fabric`."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, Strict, WithJsonSchema, model_validator

from eastwest import fabric as fabrics
from eastwest.fabric import LinksDown, PartDown, PlaneDown, SomeLinksDown
from eastwest.spec.values import Count, Entry, Rate, Seed, refuse

SUBJECTS = ("switch", "nic", "plane", "link", "tier")
"""What can fail: an item names one."""

BELONGS = {"count": ("link",), "links": ("tier",), "seed": ("tier",), "rate": ("link", "tier")}
"""Of which an entry can be said."""


def _part_of_links(written: Any) -> int | float:
    """How many links: 3, or a share of all, "5%"."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", written) if isinstance(written, str) else None
    if match and 0 < float(match[1]) <= 100:
        return float(match[1]) / 100
    if isinstance(written, int) and not isinstance(written, bool) and written >= 1:
        return written
    raise refuse(f"{written!r} is no part of the links: write a number of them, or a share as in '5%'")


LinkPart = Annotated[
    int | float,
    BeforeValidator(_part_of_links),
    WithJsonSchema(
        {"type": ["integer", "string"], "examples": [3, "5%"], "description": "A number of links, or '5%'."}
    ),
]


def _server(data: Any) -> Any:
    """A server is refused with the reason, before it is unknown."""
    if isinstance(data, dict) and "server" in data:
        message = "a job does not outlive a server: study a cluster of fewer servers, or the failure of its NICs"
        raise refuse(message, at="server")
    return data


class Failure(Entry):
    """One thing that has failed, or runs slower than it should."""

    switch: str | None = None
    """Name of a switch that is down."""
    nic: str | None = None
    """Name of a NIC that is down, as in server-003/nic-2."""
    plane: Annotated[int, Strict(), Field(ge=0)] | None = None
    """Number of a plane that is down."""
    link: tuple[str, str] | None = None
    """Names of two nodes, the cables between which are down."""
    tier: str | None = None
    """Pair of tiers, as in leaf-spine, some of whose cables are down."""
    count: Count | None = None
    """Of the cables of a link, how many; all where left out."""
    links: LinkPart | None = None
    """Of the cables of a tier, how many, or a share of all."""
    seed: Seed = 0
    """Draws which cables of a tier."""
    rate: Rate | None = None
    """Rate at which the cables of a link or of a tier run, where they are not down."""

    _names_a_server = model_validator(mode="before")(_server)

    @model_validator(mode="after")
    def _names_one_thing(self) -> Failure:
        named = [name for name in SUBJECTS if getattr(self, name) is not None]
        if len(named) != 1:
            found = f"this names {' and '.join(named)}" if named else "this names nothing"
            raise refuse(f"a failure is of one thing, and {found}", SUBJECTS)
        for name, subjects in BELONGS.items():
            if name in self.model_fields_set and named[0] not in subjects:
                raise refuse(f"{name} is said of a {' or a '.join(subjects)}, not of a {named[0]}", at=name)
        if self.tier is not None and self.links is None:
            raise refuse("links says how many of the tier's cables: a number, or a share as in '5%'")
        return self

    def for_fabric(self) -> fabrics.Failure:
        """The same in the fabric's terms."""
        if self.plane is not None:
            return PlaneDown(self.plane)
        if self.link is not None:
            return LinksDown(self.link, self.count, self.rate)
        if self.tier is not None:
            share = self.links if isinstance(self.links, float) else None
            count = self.links if isinstance(self.links, int) else None
            return SomeLinksDown(self.tier, count, share, self.seed, self.rate)
        return PartDown("nic", self.nic) if self.nic is not None else PartDown("switch", self.switch or "")
