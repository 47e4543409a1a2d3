"""What the figures show, in sentences for people, and where the figures that went in were read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eastwest.engine import Network, Run
from eastwest.spec import CollectiveOperation, Imported, Measured, Study, Training, Workload
from eastwest.study import load
from eastwest.study.case import Case
from eastwest.study.result import JobRow, Row
from eastwest.units import format_size
from eastwest.workload import Collective

RAILED = ("rail-optimized", "rail-only")
"""Shapes in which a NIC's leaf is that of its rail."""

COSTLY = 0.98
"""Ideal over actual communication below which links between switches are said to hold a workload back."""

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


def sentences(
    study: Study, rows: Sequence[Row], remarks: Sequence[Remark], sizes: Mapping[tuple[str, int, float], float]
) -> tuple[str, ...]:
    """What a reader should know beside the table: sizes solved for, GPUs that differ, and what crosses the spine.

    `sizes` are the buffers solved for, in bytes, by workload, seeds and tolerance.
    """
    told = _solved(study, sizes) + _other_gpus(study, remarks) + _crossings(rows, remarks) + _straight(study, remarks)
    return tuple(told)


def _solved(study: Study, sizes: Mapping[tuple[str, int, float], float]) -> list[str]:
    """What each measured workload exchanges; the least and the most where it is swept."""
    found: dict[str, list[float]] = {}
    for (workload, _, _), size in sizes.items():
        found.setdefault(study.base("workloads", workload), []).append(size)
    told = []
    for workload, each in found.items():
        least, most = format_size(min(each)), format_size(max(each))
        span = least if least == most else f"{least} to {most}"
        told.append(f"{workload}: an exchange buffer of {span} on each rank gives the measured time.")
    return told


def _other_gpus(study: Study, remarks: Sequence[Remark]) -> list[str]:
    """Measured steps that also ran on GPUs other than those measured."""
    said: dict[str, None] = {}
    for case in (remark.case for remark in remarks):
        asked = study.workloads[case.workload]
        if isinstance(asked, Measured):
            _, there = study.measured_on(asked)
            measured, here = (study.server(cluster).gpu.name for cluster in (there, case.cluster))
            if measured != here:
                name = study.base("workloads", case.workload)
                said[f"{name} on {here}: compute is kept as measured on {measured}; only the exchange changes."] = None
    return list(said)


def _straight(study: Study, remarks: Sequence[Remark]) -> list[str]:
    """Direct all-to-alls over rails, which NCCL would send another way."""
    direct = {
        study.base("workloads", case.workload): None
        for case in (remark.case for remark in remarks)
        if study.fabrics[case.fabric].shape in RAILED and _goes_straight(study.workloads[case.workload])
    }
    return [
        f"{name}: every GPU sends through its own NIC. Try algorithm: pxn, which first passes data over NVLink to the "
        f"GPU on the receiver's rail, as NCCL does, and keeps more of it below the spine."
        for name in direct
    ]


def _goes_straight(asked: Workload) -> bool:
    """Whether a workload has an all-to-all that is direct."""
    if isinstance(asked, Imported):
        has_one = any(isinstance(each, Collective) and each.kind == "all-to-all" for each in asked.file.step.operations)
        return has_one and asked.algorithm in (None, "direct")
    if isinstance(asked, Measured):
        collective = asked.collective
        return (collective.kind, collective.resolved_algorithm, collective.tuning) == ("all-to-all", "direct", None)
    if isinstance(asked, Training):
        return False
    return any(
        (each.collective, each.resolved_algorithm, each.tuning) == ("all-to-all", "direct", None)
        for each in asked.operations
        if isinstance(each, CollectiveOperation)
    )


def choices(rows: Sequence[Row | JobRow], study: Study) -> tuple[str, ...]:
    """What NCCL would choose for each operation that leaves it open; several where cases differ."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        for each in row.choices:
            found.setdefault((row.workload, each.operation), {})[str(each)] = None
    return tuple(
        f"{workload}, {operation}: NCCL ({study.nccl}) would choose {'; or '.join(ways)}."
        for (workload, operation), ways in found.items()
    )


def _crossings(rows: Sequence[Row], remarks: Sequence[Remark]) -> list[str]:
    """For each workload and placement, what part of its traffic crosses the spine, and whether the spine held it back.

    Only fluid runs over fabrics that have a spine can tell.
    """
    told = []
    for workload, placement in dict.fromkeys((row.workload, row.placement) for row in rows):
        cases = [
            (row, remark.crossing_share)
            for row, remark in zip(rows, remarks, strict=True)
            if (row.workload, row.placement, row.fidelity) == (workload, placement, "fluid")
            and remark.crossing_share is not None
            and any(load.tier == "leaf-spine" for load in row.tiers)
        ]
        if cases:
            shares = [share for _, share in cases]
            held = list(dict.fromkeys(row.fabric for row, _ in cases if row.closeness < COSTLY))
            told.append(f"{workload}, {placement}: {_crossing(min(shares), max(shares), held)}")
    return told


def _crossing(least: float, most: float, held: Sequence[str]) -> str:
    share = f"{most:.0%}" if most - least < 0.01 else f"{least:.0%} to {most:.0%}"
    beyond = f"{share.replace('%', ' %')} of the bytes that leave a server go beyond its leaf"
    if held:
        return f"{beyond}; links between switches hold it back on {', '.join(held)}."
    if most < HARDLY:
        return f"{beyond}: it hardly touches the spine, so balancing and oversubscription there hardly matter."
    return f"{beyond}, but no link between switches holds it back here."


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
        if (frontend := fabric.frontend) is not None:
            parts |= {("nics", frontend.nic): None, ("links", study.frontend_technology(name)): None}
            parts |= {("switches", switch): None for switch in frontend.switch.values()}
    return tuple(
        f"{part}: {'; '.join(dict.fromkeys(catalog.sources(kind, part).values()))}" for kind, part in sorted(parts)
    )
