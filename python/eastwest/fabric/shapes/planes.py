"""Planes: as many copies of one wiring as each NIC has ports, port p of every NIC on plane p.

Nothing but NICs joins the planes. Not here: how a NIC's rate is split, or how traffic is spread over its ports.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eastwest.fabric.shapes.wiring import Indices, Switches, Wiring


def in_planes(wiring: Wiring, planes: int) -> Wiring:
    """The wiring `planes` times, tier by tier and plane by plane; as it is where there is but one."""
    if planes == 1:
        return wiring
    tiers = {tier: _switches(switches, planes) for tier, switches in wiring.tiers.items()}
    count = {tier: len(switches) for tier, switches in wiring.tiers.items()}
    first_leaf = np.arange(planes, dtype=np.int32) * count["leaf"]
    return replace(
        wiring,
        leaf_of_port=wiring.leaf_of_port + first_leaf.astype(np.int32),
        tiers=tiers,
        cables=tuple(
            replace(cables, ends=_ends(cables.ends, planes, count[cables.lower], count[cables.upper]))
            for cables in wiring.cables
        ),
    )


def _switches(one: Switches, planes: int) -> Switches:
    copies = {place: np.tile(getattr(one, place), planes) for place in ("unit", "pod", "rail", "site", "group")}
    return Switches(
        **copies,
        plane=np.repeat(np.arange(planes, dtype=np.int32), len(one)),
        down=one.down,
        up=one.up,
        names=None
        if one.names is None
        else tuple(f"plane-{plane}/{name}" for plane in range(planes) for name in one.names),
    )


def _ends(ends: Indices, planes: int, lower: int, upper: int) -> Indices:
    first = np.arange(planes, dtype=np.int32) * np.array([[lower], [upper]], dtype=np.int32)
    of_all: Indices = (ends[:, None, :] + first[:, :, None]).reshape(2, -1)
    return of_all
