"""Sites: as many copies of one network, each with border switches above its top tier, joined pairwise over distance.

Not here: the long-haul links' rate and length, which are the plan's.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eastwest.fabric.faceplate import Faceplate
from eastwest.fabric.plan import FabricError, Tier
from eastwest.fabric.shapes.wiring import Cables, Indices, Switches, Wiring, switches


def ports_for_borders(one: Wiring, sites: int, links: int, border: Faceplate) -> int:
    """Ports that each switch of a site's top tier needs for its borders; errors as `in_sites`."""
    tier, tops = list(one.tiers.items())[-1]
    borders, parallel = _borders(sites, links, len(tops), border, tier)
    return borders * parallel


def in_sites(one: Wiring, sites: int, links: int, border: Faceplate) -> Wiring:
    """The wiring of one site `sites` times, with `links` long-haul links between every two, dealt out over borders.

    A site has as few borders as have the ports: for their part of the long-haul links, and for at least as much
    capacity to the top tier, each joining every switch there alike; those must have `ports_for_borders` to spare.
    Raises `FabricError` on "sites" where no number of borders has the ports.
    """
    tier, below = list(one.tiers.items())[-1]
    borders, parallel = _borders(sites, links, len(below), border, tier)
    tiers: dict[Tier, Switches] = {at: _copies(of, sites) for at, of in one.tiers.items()}
    tiers[tier] = replace(tiers[tier], up=below.up + borders * parallel)
    tiers["border"] = switches(
        sites * borders,
        len(below) * parallel,
        links // borders * (sites - 1),
        site=np.repeat(np.arange(sites, dtype=np.int32), borders),
    )
    up = np.stack(np.divmod(np.arange(len(below) * borders), borders)).repeat(parallel, axis=1).astype(np.int32)
    count = {at: len(of) for at, of in one.tiers.items()} | {"border": borders}
    cables = tuple(
        replace(each, ends=_ends(each.ends, sites, count[each.lower], count[each.upper]))
        for each in (*one.cables, Cables(tier, "border", up))
    )
    return Wiring(
        unit_of_server=_beside(one.unit_of_server, sites),
        pod_of_server=_beside(one.pod_of_server, sites),
        site_of_server=np.repeat(np.arange(sites, dtype=np.int32), len(one.unit_of_server)),
        leaf_of_port=np.concatenate([one.leaf_of_port + np.int32(site * count["leaf"]) for site in range(sites)]),
        tiers=tiers,
        cables=(*cables, Cables("border", "border", _long_haul(sites, borders, links))),
    )


def _borders(sites: int, links: int, tops: int, border: Faceplate, tier: Tier) -> tuple[int, int]:
    """The fewest borders of a site that share its links evenly, and the cables from each to each switch below."""
    for borders in range(1, links + 1):
        up = links // borders * (sites - 1)
        parallel = -(-border.downlinks(up) // tops)
        if links % borders == 0 and border.fits(tops * parallel, up):
            return borders, parallel
    raise FabricError(
        "sites",
        f"a border switch needs a port for each of the {tops} switches of its site's {tier} tier, and for the other "
        f"{sites - 1} sites; {border.has()}: try {border.wider() or 'a border with more ports'}",
    )


def _copies(one: Switches, sites: int) -> Switches:
    """The switches of one tier at every site; units and pods are numbered on from site to site."""
    return replace(
        one,
        unit=_beside(one.unit, sites),
        pod=_beside(one.pod, sites),
        rail=np.tile(one.rail, sites),
        plane=np.tile(one.plane, sites),
        group=np.tile(one.group, sites),
        site=np.repeat(np.arange(sites, dtype=np.int32), len(one)),
    )


def _beside(numbers: Indices, sites: int) -> Indices:
    """Numbers of one site for all, counting on; -1 stays."""
    each = int(numbers.max(initial=-1)) + 1
    return np.concatenate([np.where(numbers < 0, -1, numbers + site * each) for site in range(sites)]).astype(np.int32)


def _ends(ends: Indices, sites: int, lower: int, upper: int) -> Indices:
    of_all = [ends + np.array([[site * lower], [site * upper]], dtype=np.int32) for site in range(sites)]
    return np.concatenate(of_all, axis=1)


def _long_haul(sites: int, borders: int, links: int) -> Indices:
    """Links between borders of equal number of every two sites, dealt out in turn."""
    a, b = (end.repeat(links) for end in np.triu_indices(sites, 1))
    border = np.tile(np.arange(links) % borders, sites * (sites - 1) // 2)
    return np.stack([a * borders + border, b * borders + border]).astype(np.int32)
