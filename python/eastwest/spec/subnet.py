"""What InfiniBand's subnet manager is told: routing engine, addresses a port, and who may talk to whom."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Strict, WithJsonSchema, model_validator

from eastwest.spec.values import Entry, refuse

Engine = Literal["minhop", "updn", "dnup", "ftree", "lash", "dor", "torus-2QoS", "nue", "dfsssp", "sssp"]
"""Routing engines of OpenSM 3.3."""

ONE_ADDRESS: tuple[Engine, ...] = ("ftree", "lash")
"""Engines that do not do with more: lash says so in opensm(8), ftree gives up ("cannot build lid matrices")."""

LAST_KEY = 0x7FFE
"""The key after it is the default partition's; P_Keys have 15 bits, and 0 is none of them."""


_SPAN = re.compile(r"\s*(\d{1,7})\s*(?:-\s*(\d{1,7})\s*)?", re.ASCII)


def _numbers(written: Any) -> Any:
    """First and last of each span in "0-63, 70"."""
    words = [_SPAN.fullmatch(word) for word in str(written).split(",")]
    spans = [(int(word[1]), int(word[2] or word[1])) for word in words if word]
    if len(spans) < len(words):
        raise refuse(f"servers are numbers from 0 and spans of them, as in 0-63, 70; not {written!r}")
    for first, last in spans:
        if last < first:
            raise refuse(f"a span goes up: {first}-{last} ends below its start")
    return tuple(spans)


ServerNumbers = Annotated[
    tuple[tuple[int, int], ...],
    BeforeValidator(_numbers),
    WithJsonSchema({"type": ["string", "integer"], "description": "Numbers of servers and spans, as in 0-63, 70."}),
]


class Partition(Entry):
    """A tenant: servers that reach each other, and none of another tenant's."""

    servers: ServerNumbers
    """Their numbers, from 0."""
    key: Annotated[int, Strict(), Field(ge=1, le=LAST_KEY)] | None = None
    """P_Key, less its membership bit; partitions count up from 1 in the order of the file where left out."""


class Subnet(Entry):
    """Settings of the subnet manager (OpenSM), for the files that `eastwest build` writes."""

    routing: Engine | None = None
    """Routing engine of OpenSM; where left out the one that suits the network: ftree for trees."""
    lmc: Annotated[int, Strict(), Field(ge=0, le=7)] = 0
    """Each port has 2 to the power of this addresses (LIDs), so as many paths lead to it."""
    partitions: dict[Annotated[str, Field(pattern="^[A-Za-z][A-Za-z0-9_-]{0,31}$")], Partition] = Field(
        default_factory=dict
    )
    """Tenants by name; where there are none, all servers reach each other."""

    @model_validator(mode="after")
    def _is_what_the_engine_does(self) -> Subnet:
        if self.lmc and self.routing in ONE_ADDRESS:
            raise refuse(f"{self.routing} gives each port one address: leave lmc out, or take another engine", at="lmc")
        return self

    @model_validator(mode="after")
    def _keys_differ(self) -> Subnet:
        seen: dict[int, str] = {}
        for name, key in self.keys.items():
            if key in seen:
                raise refuse(
                    f"partitions {seen[key]} and {name} have one key, {key}: give one another", at="partitions"
                )
            seen[key] = name
        return self

    @property
    def keys(self) -> dict[str, int]:
        """The key of each partition."""
        return {name: given.key or number for number, (name, given) in enumerate(self.partitions.items(), start=1)}
