"""What InfiniBand's subnet manager is told: which routing engine, and how many addresses a port has."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Strict

from eastwest.spec.values import Entry

Engine = Literal["minhop", "updn", "dnup", "ftree", "lash", "dor", "torus-2QoS", "nue", "dfsssp", "sssp"]
"""Routing engines of OpenSM 3.3."""


class Subnet(Entry):
    """Settings of the subnet manager (OpenSM), for the files that `eastwest build` writes."""

    routing: Engine | None = None
    """Routing engine of OpenSM; where left out the one that suits the network: ftree for trees."""
    lmc: Annotated[int, Strict(), Field(ge=0, le=7)] = 0
    """Each port has 2 to the power of this addresses (LIDs), so as many paths lead to it."""
