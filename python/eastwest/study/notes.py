"""What the figures show, in sentences for people, and where the figures that went in were read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eastwest.engine import Network, Run
from eastwest.spec import Study
from eastwest.study import load
from eastwest.study.case import Case
from eastwest.units import format_size

HARDLY = 0.10
"""Share of the traffic beyond the leaves below which the spine is said to be hardly touched."""


@dataclass(frozen=True)
class Remark:
    """What a note is made from: the case, and of the bytes that leave servers the part that goes beyond a leaf."""

    case: Case
    crossing_share: float | None


def remark(case: Case, network: Network, run: Run) -> Remark:
    """The remark on one case."""
    return Remark(case, load.crossing_share(network, run))


def sentences(remarks: Sequence[Remark], sizes: Mapping[str, float]) -> tuple[str, ...]:
    """One sentence for each measured size, and one for each workload and placement on what crosses the spine."""
    solved = [
        f"{workload}: an exchange buffer of {format_size(size)} on each rank gives the measured time."
        for workload, size in sizes.items()
    ]
    groups: dict[tuple[str, str], list[Remark]] = {}
    for each in remarks:
        groups.setdefault((each.case.workload, each.case.placement), []).append(each)
    return tuple(solved + [text for key, group in groups.items() if (text := _crossing(*key, group))])


def _crossing(workload: str, placement: str, group: Sequence[Remark]) -> str:
    shares = [each.crossing_share for each in group if each.crossing_share is not None]
    if not shares:
        return ""
    share = max(shares)
    beyond = f"{workload}, {placement}: {share:.0%} of the bytes that leave a server go beyond its leaf"
    if share >= HARDLY:
        return f"{beyond}, so balancing and oversubscription of the spine matter."
    return f"{beyond}: it hardly touches the spine, so balancing and oversubscription there hardly matter."


def sources(study: Study) -> tuple[str, ...]:
    """Where the figures of the parts that the study uses were read, one line a part."""
    catalog = study.catalog_entries()
    parts: dict[tuple[str, str], None] = {}
    for name, fabric in study.fabrics.items():
        for cluster in study.clusters_of(name):
            server = study.server(cluster)
            parts |= dict.fromkeys([("servers", server.name), ("gpus", server.gpu.name)])
            parts[("nics", study.nic(name, cluster).name)] = None
        parts |= {("switches", switch): None for switch in fabric.switch.values()}
        parts[("links", fabric.technology)] = None
    return tuple(
        f"{part}: {'; '.join(dict.fromkeys(catalog.sources(kind, part).values()))}" for kind, part in sorted(parts)
    )
