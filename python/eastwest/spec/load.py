"""From a file to a study: finds it, reads it, resolves `like`, checks it, and reports every mistake at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from eastwest.catalog import Catalog, CatalogError
from eastwest.document import Document, Mistake, MistakesError, Place, name_of, nearest, parse, read
from eastwest.spec import shares
from eastwest.spec.complaints import complaints
from eastwest.spec.fabrics import Cluster, Fabric, meaningless
from eastwest.spec.imported import Imported
from eastwest.spec.parameters import columns
from eastwest.spec.study import Settings, Source, Study, StudyError
from eastwest.spec.sweep import SETTINGS, Variant, expand
from eastwest.spec.training import Training
from eastwest.spec.values import Surroundings
from eastwest.spec.workloads import (
    CollectiveOperation,
    Group,
    Measured,
    Operations,
    ScheduleOperation,
    SendRecvOperation,
    Workload,
)
from eastwest.workload import ScheduleError, scheduled

_REQUIRED = ("name", "clusters", "fabrics", "workloads")


def bundled_studies() -> tuple[str, ...]:
    """Names of the studies that come with eastwest."""
    folder = files("eastwest") / "studies"
    return tuple(sorted(each.name[: -len(".yaml")] for each in folder.iterdir() if each.name.endswith(".yaml")))


def load(name: str | Path) -> Study:
    """The study of a file, or the bundled study of that name. Raises `StudyError` with every mistake of the file."""
    try:
        document, folder = _find(name)
        return from_document(document, folder)
    except StudyError:
        raise
    except MistakesError as error:
        raise StudyError(error.mistakes) from None


def loads(text: str | bytes, file: str = "study", folder: Path | None = None) -> Study:
    """The study of a YAML text; `file` is how messages name it, `folder` where files that it names lie.

    Raises `StudyError` with every mistake of the text.
    """
    try:
        return from_document(parse(text, file), folder)
    except StudyError:
        raise
    except MistakesError as error:
        raise StudyError(error.mistakes) from None


def from_mapping(data: Mapping[str, Any], folder: Path | None = None) -> Study:
    """The study of plain values, with the keys of a study file; `folder` is where files that it names lie.

    Raises `StudyError` with every mistake in it.
    """
    return from_document(Document("study", dict(data)), folder)


def _find(name: str | Path) -> tuple[Document, Path | None]:
    text = str(name)
    bundled = bundled_studies()
    try:
        path = Path(name)
        there = path.exists()
        usable = there and not path.is_dir()
    except (OSError, ValueError):
        raise StudyError([Mistake(repr(text)[:80], None, None, "is no usable file name")]) from None
    if not usable and text in bundled:
        resource = files("eastwest") / "studies" / f"{text}.yaml"
        return parse(resource.read_bytes(), f"{text}.yaml"), None
    if not there and "/" not in text and not text.endswith((".yaml", ".yml")):
        message = "there is no such file, and no bundled study of that name"
        raise StudyError([Mistake(text, None, None, message, bundled, nearest(text, bundled))])
    return read(path), path.parent


def from_document(document: Document, folder: Path | None) -> Study:
    """The study of a document that was read; raises `StudyError` with every mistake in it."""
    if document.data is None:
        raise StudyError([document.mistake((), "is empty: `eastwest init` writes a study to start from")])
    if not isinstance(document.data, dict):
        message = f"a study is a mapping with {', '.join(_REQUIRED)}, not {name_of(document.data)}"
        raise StudyError([document.mistake((), message)])
    mistakes: list[Mistake] = []
    catalog = _catalog(document, folder, mistakes)
    fabrics, source = _inherit(document, mistakes)
    clusters, joined, workloads = (_names(document, each) for each in ("clusters", "fabrics", "workloads"))
    around = Surroundings(catalog, clusters, joined, workloads, folder)
    data, sweep = expand(document, {**document.data, **fabrics}, mistakes)
    source = replace(source, sweep=sweep)
    settings = [_settings(data, setting, source, mistakes) for setting in sweep.settings]
    study: Study | None = None
    try:
        study = Study.model_validate({**data, **settings[0]}, context=around)
    except ValidationError as error:
        mistakes += complaints(error, replace(source, setting=sweep.settings[0]))
    mistakes += _references(source, around, data, study)
    if study is None or mistakes:
        raise StudyError(mistakes)
    study._catalog = catalog
    study._source = replace(source, setting=sweep.settings[0])
    study._folder = folder
    study._settings = tuple(Settings(**each) for each in settings)
    study._columns = columns(sweep, data)
    return study


def _settings(data: dict[str, Any], setting: Variant, source: Source, mistakes: list[Mistake]) -> dict[str, Any]:
    """One combination of the study's settings, checked."""
    chosen = {choice.path[0]: choice.value for choice in setting.choices}
    values = {key: chosen.get(key, data[key]) for key in SETTINGS if key in data}
    try:
        Settings.model_validate(values)
    except ValidationError as error:
        mistakes += complaints(error, replace(source, setting=setting))
    return values


def _catalog(document: Document, folder: Path | None, mistakes: list[Mistake]) -> Catalog:
    catalog = Catalog.bundled()
    name = document.data.get("catalog")
    if not isinstance(name, str):
        return catalog
    if folder is None:
        mistakes.append(document.mistake(("catalog",), "a catalogue of one's own needs a study in a folder"))
        return catalog
    try:
        path = (folder / name).resolve()
        is_inside = path.is_relative_to(folder.resolve())
    except (OSError, ValueError):
        is_inside = False
    if not is_inside:
        mistakes.append(document.mistake(("catalog",), f"{name!r} is outside the study's folder"))
        return catalog
    try:
        return catalog.with_file(path, str(folder / name))
    except CatalogError as error:
        if any(mistake.line is None for mistake in error.mistakes):
            mistakes.append(document.mistake(("catalog",), f"{name!r}: {error.mistakes[0].message}"))
        else:
            mistakes += error.mistakes
        return catalog


def _names(document: Document, section: str) -> tuple[str, ...]:
    entries = document.data.get(section)
    return tuple(entries) if isinstance(entries, dict) else ()


def _inherit(document: Document, mistakes: list[Mistake]) -> tuple[dict[str, Any], Source]:
    """The fabrics with what they are `like` filled in, and where each inherited entry is written."""
    entries = document.data.get("fabrics")
    origins: dict[tuple[str, str], str] = {}
    if not isinstance(entries, dict):
        return {}, Source(document)
    merged = {name: _merged(name, entries, document, origins, mistakes) for name in entries}
    return {"fabrics": merged}, Source(document, origins)


def _merged(
    name: str, entries: dict[str, Any], document: Document, origins: dict[tuple[str, str], str], mistakes: list[Mistake]
) -> Any:
    chain = [name]
    while isinstance(entries[chain[-1]], dict) and (like := entries[chain[-1]].get("like")) is not None:
        place: Place = ("fabrics", chain[-1], "like")
        if not isinstance(like, str) or like not in entries:
            others = tuple(other for other in entries if other != chain[-1])
            mistakes.append(document.mistake(place, f"there is no fabric {like!r}", others, nearest(like, others)))
            break
        if like in chain:
            mistakes.append(document.mistake(place, f"fabric {chain[-1]!r} is like itself, by way of {like!r}"))
            break
        chain.append(like)
    if not isinstance(entries[name], dict):
        return entries[name]
    merged: dict[str, Any] = {}
    for owner in reversed(chain):
        entry = entries[owner]
        if not isinstance(entry, dict):
            continue
        lost = meaningless(entry.get("shape"), entry.get("tiers"), entry.get("technology"))
        merged = {key: value for key, value in merged.items() if key not in lost}
        stated = {key: value for key, value in entry.items() if key != "like"}
        merged |= stated
        origins.update(dict.fromkeys(((name, key) for key in stated), owner))
    return merged if entries[name].get("like") is None else {"like": entries[name]["like"], **merged}


def _references(source: Source, around: Surroundings, data: Mapping[str, Any], study: Study | None) -> list[Mistake]:
    """What only several entries together can get wrong; looks at those that are sound by themselves."""
    mistakes: list[Mistake] = []
    clusters: dict[str, Cluster]
    workloads: dict[str, Workload]
    if study is None:
        clusters = _sound("clusters", TypeAdapter(Cluster), data, around)
        workloads = _sound("workloads", TypeAdapter(Workload), data, around)
    else:
        clusters, workloads = study.clusters, study.workloads
    fabrics = study.fabrics if study is not None else {}
    gpus = {name: each.servers * around.catalog.server(each.server).gpus for name, each in clusters.items()}
    for name, workload in workloads.items():
        place: Place = ("workloads", name)
        if isinstance(workload, Measured):
            mistakes += _measured_on(place, workload, fabrics, tuple(clusters), source)
        mistakes += _workload_on(place, workload, gpus, source)
    if study is not None and not mistakes:

        def fits(workload: str, job: str, ranks: int) -> list[Mistake]:
            return _workload_on(("workloads", workload), study.workloads[workload], {job: ranks}, source)

        mistakes += shares.mistakes_of(study.mixes, clusters, gpus, source, fits)
    if study is not None and len(set(study.placements)) < len(study.placements):
        mistakes.append(source.mistake(("placements",), "a placement appears twice"))
    return mistakes


def _workload_on(place: Place, workload: Workload, gpus: dict[str, int], source: Source) -> list[Mistake]:
    """What is wrong with a workload on so many GPUs, by where they are."""
    if isinstance(workload, Measured):
        return _group(workload.collective.group, (*place, "collective"), gpus, source)
    if isinstance(workload, Training):
        return []  # whether a job fits is told of each size, when it is run
    if isinstance(workload, Imported):
        return _ranks(place, workload, gpus, source)
    return _operations(place, workload, gpus, source)


def _sound(section: str, adapter: TypeAdapter[Any], data: Mapping[str, Any], around: Surroundings) -> dict[str, Any]:
    entries = data.get(section)
    sound: dict[str, Any] = {}
    for name, entry in entries.items() if isinstance(entries, dict) else ():
        try:
            sound[name] = adapter.validate_python(entry, context=around)
        except ValidationError:
            continue  # reported with the study as a whole
    return sound


def _measured_on(
    place: Place, workload: Measured, fabrics: dict[str, Fabric], clusters: tuple[str, ...], source: Source
) -> list[Mistake]:
    there: Place = (*place, "measured_on")
    name, chosen = workload.measured_on.fabric, workload.measured_on.cluster
    kinds = source.sweep.of("fabrics", name)
    if len(kinds) > 1:
        message = f"fabric {name!r} is swept, and the step was measured on one of its {len(kinds)} variants"
        return [source.mistake((*there, "fabric"), f"{message}: describe that one as a fabric of its own")]
    fabric = fabrics.get(kinds[0])
    if fabric is None:
        return []
    bases = tuple(dict.fromkeys(source.base("clusters", each) for each in clusters))
    if fabric.cluster is None and chosen is None and len(bases) > 1:
        message = f"fabric {name!r} fits several clusters: say which, with 'cluster:'"
        return [source.mistake(there, message, bases)]
    if fabric.cluster is not None and chosen not in (None, fabric.cluster):
        message = f"fabric {name!r} joins cluster {fabric.cluster!r}, not {chosen!r}"
        return [source.mistake((*there, "cluster"), message)]
    cluster = chosen or fabric.cluster or bases[0]
    sizes = source.sweep.of("clusters", cluster)
    if len(sizes) > 1:
        message = f"cluster {cluster!r} is swept, and the step was measured on one of its {len(sizes)} variants"
        return [source.mistake(there, f"{message}: describe that one as a cluster of its own")]
    return []


def _operations(place: Place, workload: Operations, gpus: dict[str, int], source: Source) -> list[Mistake]:
    mistakes: list[Mistake] = []
    earlier: list[str] = []
    for index, operation in enumerate(workload.operations):
        here: Place = (*place, "operations", index)
        for number, name in enumerate(operation.after):
            if name not in earlier:
                message = f"operation {operation.name!r} waits for {name!r}, which does not come before it"
                mistakes.append(source.mistake((*here, "after", number), message, earlier, nearest(name, earlier)))
        if operation.name in earlier:
            mistakes.append(source.mistake((*here, "name"), f"two operations are named {operation.name!r}"))
        earlier.append(operation.name)
        if isinstance(operation, CollectiveOperation):
            mistakes += _group(operation.group, here, gpus, source)
            mistakes += _within_group(operation, here, gpus, source)
        elif isinstance(operation, SendRecvOperation):
            mistakes += _pairs(operation, here, gpus, source)
        elif isinstance(operation, ScheduleOperation):
            mistakes += _group(operation.group, here, gpus, source) or _steps(operation, here, gpus, source)
    return mistakes


def _ranks(place: Place, workload: Imported, gpus: dict[str, int], source: Source) -> list[Mistake]:
    """That clusters are too small for the ranks of a file."""
    ranks = workload.file.step.ranks
    remedy = "a larger cluster, or a trace imported with fewer --ranks, would fit"
    return [
        source.mistake((*place, "file"), f"the file has {ranks:,} ranks and {name!r} has {count:,} GPUs: {remedy}")
        for name, count in gpus.items()
        if count < ranks
    ]


def _group(group: Group, place: Place, gpus: dict[str, int], source: Source) -> list[Mistake]:
    if group.size is None:
        return []
    span = group.size * group.stride
    with_stride = f", {group.stride} apart," if group.stride > 1 else ""
    return [
        source.mistake(
            (*place, "group"),
            f"groups of {group.size} ranks{with_stride} do not fill the {count} GPUs of {name!r} evenly",
        )
        for name, count in gpus.items()
        if count % span
    ]


def _within_group(operation: CollectiveOperation, place: Place, gpus: dict[str, int], source: Source) -> list[Mistake]:
    mistakes: list[Mistake] = []
    for name, count in gpus.items():
        size = operation.group.size or count
        if operation.root >= size:
            message = f"root {operation.root} is not among the {size} ranks of a group (on {name!r}), counted from 0"
            mistakes.append(source.mistake((*place, "root"), message))
        if operation.matrix is not None and len(operation.matrix) != size:
            message = f"the matrix has {len(operation.matrix)} rows for a group of {size} ranks (on {name!r})"
            mistakes.append(source.mistake((*place, "matrix"), message))
    return mistakes


def _steps(operation: ScheduleOperation, place: Place, gpus: dict[str, int], source: Source) -> list[Mistake]:
    """The first step of a schedule that the ranks of a group cannot carry out."""
    schedule = operation.schedule
    for name, count in gpus.items():
        members = np.arange(operation.group.size or count, dtype=np.uint32)
        try:
            scheduled(operation.name, schedule.listed, (members,))
        except ScheduleError as error:
            where = schedule.where(error.step)
            at: Place = ("schedule",) if where else ("schedule", "steps", error.step)
            return [source.mistake((*place, *at), f"{where}{error.message} (on {name!r})")]
    return []


def _pairs(operation: SendRecvOperation, place: Place, gpus: dict[str, int], source: Source) -> list[Mistake]:
    mistakes: list[Mistake] = []
    for name, count in gpus.items():
        for number, pair in enumerate(operation.send_recv.pairs or ()):
            if max(pair) >= count or pair[0] == pair[1]:
                message = f"pair {list(pair)} needs two different ranks below {count}, the GPUs of {name!r}"
                mistakes.append(source.mistake((*place, "send_recv", "pairs", number), message))
        if operation.send_recv.shift is not None and operation.send_recv.shift % count == 0:
            message = f"a shift of {operation.send_recv.shift} sends every rank of {name!r} to itself"
            mistakes.append(source.mistake((*place, "send_recv", "shift"), message))
    return mistakes
