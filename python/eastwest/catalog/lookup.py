"""Reads catalogue files and finds entries by name.

A file has the top keys `gpus`, `nics`, `switches`, `servers` and `links`; below each, entries by name; below each entry
its figures. An entry may be `like:` another and state only what differs; the sources come along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from eastwest.catalog.entries import SPRAYING, Gpu, LinkLayer, Nic, Server, Switch, Technology
from eastwest.catalog.figures import FIGURES
from eastwest.document import Document, Mistake, MistakesError, Place, name_of, nearest, parse, read
from eastwest.errors import InputError

_BUNDLED = ("gpus", "nics", "switches", "servers", "links")


class CatalogError(MistakesError):
    """A catalogue file that cannot be used, with every mistake in it."""


class UnknownPartError(InputError):
    """A name that the catalogue does not have; `nearest` is the closest one that it has, `known` all of them."""

    def __init__(self, what: str, name: str, known: tuple[str, ...]) -> None:
        self.name = name
        self.known = known
        self.nearest = nearest(name, known)
        meant = f"; did you mean {self.nearest!r}?" if self.nearest else ""
        super().__init__(f"the catalogue has no {what} {name!r}{meant} (it has: {', '.join(known)})")


_ONE = {"gpus": "GPU", "nics": "NIC", "switches": "switch", "servers": "server", "links": "link layer"}


@dataclass(frozen=True)
class _Written:
    """A figure as a file has it."""

    value: Any
    source: str
    document: Document
    place: Place


_Entries = Mapping[str, Mapping[str, Mapping[str, _Written]]]


@dataclass(frozen=True)
class Catalog:
    """Catalogue entries by kind and name."""

    _written: _Entries
    _parts: Mapping[str, Mapping[str, Any]]

    @staticmethod
    def bundled() -> Catalog:
        """The catalogue that comes with eastwest."""
        return _bundled()

    def with_file(self, path: Path, shown: str | None = None) -> Catalog:
        """Adds a reader's own entries, which win where names meet.

        `shown` is how messages name the file. Raises `CatalogError` with all mistakes of the file.
        """
        try:
            document = read(path, shown)
        except MistakesError as error:
            raise CatalogError(error.mistakes) from None
        return _extended(self, document)

    def names(self, kind: str) -> tuple[str, ...]:
        """Names of a kind's entries ("gpus", "nics", "switches", "servers", "links"), in the order of the files."""
        return tuple(self._parts[kind])

    def gpu(self, name: str) -> Gpu:
        """The GPU of that name. Raises `UnknownPartError`."""
        gpu: Gpu = self._part("gpus", name)
        return gpu

    def nic(self, name: str) -> Nic:
        """The NIC of that name. Raises `UnknownPartError`."""
        nic: Nic = self._part("nics", name)
        return nic

    def switch(self, name: str) -> Switch:
        """The switch of that name. Raises `UnknownPartError`."""
        switch: Switch = self._part("switches", name)
        return switch

    def server(self, name: str) -> Server:
        """The server of that name. Raises `UnknownPartError`."""
        server: Server = self._part("servers", name)
        return server

    def link_layer(self, technology: Technology) -> LinkLayer:
        """What a technology leaves of the line rate. Raises `UnknownPartError`."""
        layer: LinkLayer = self._part("links", technology)
        return layer

    def sources(self, kind: str, name: str) -> dict[str, str]:
        """Source of each figure of an entry, by the figure's name in the YAML. Raises `UnknownPartError`."""
        self._part(kind, name)
        return {figure: written.source for figure, written in self._written[kind][name].items()}

    def listing(self, part: str | None = None, kind: str | None = None) -> list[dict[str, Any]]:
        """Entries as plain values: `kind`, `name`, and `figures`, each with its `figure`, `value` as written, `source`.

        Only those named `part` or of one `kind`, where given. Raises `UnknownPartError` where none has that name.
        """
        found = [
            {
                "kind": each,
                "name": name,
                "figures": [
                    {"figure": figure, "value": written.value, "source": written.source}
                    for figure, written in self._written[each][name].items()
                ],
            }
            for each in FIGURES
            if kind in (None, each)
            for name in self._parts[each]
            if part in (None, name)
        ]
        if part is not None and not found:
            kinds = [each for each in FIGURES if kind in (None, each)]
            raise UnknownPartError("part", part, tuple(name for each in kinds for name in self._parts[each]))
        return found

    def _part(self, kind: str, name: str) -> Any:
        parts = self._parts[kind]
        if name not in parts:
            raise UnknownPartError(_ONE[kind], name, tuple(parts))
        return parts[name]


@lru_cache(maxsize=1)
def _bundled() -> Catalog:
    catalog = Catalog({kind: {} for kind in FIGURES}, {kind: {} for kind in FIGURES})
    # one document, so that servers find their GPUs and NICs whatever the order of the files
    folder = files("eastwest.catalog")
    text = "\n".join((folder / f"{kind}.yaml").read_text(encoding="utf-8") for kind in _BUNDLED)
    return _extended(catalog, parse(text, "bundled catalogue"))


def _extended(catalog: Catalog, document: Document) -> Catalog:
    mistakes: list[Mistake] = []
    written = _collect(catalog._written, document, mistakes)
    parts: dict[str, dict[str, Any]] = {}
    for kind, build in (("gpus", Gpu), ("nics", Nic), ("switches", Switch), ("links", LinkLayer)):
        parts[kind] = {name: _build(build, kind, name, entry, mistakes) for name, entry in written[kind].items()}
    parts["servers"] = {
        name: _build(Server, "servers", name, entry, mistakes, parts) for name, entry in written["servers"].items()
    }
    if mistakes:
        raise CatalogError(mistakes)
    return Catalog(written, parts)


def _collect(known: _Entries, document: Document, mistakes: list[Mistake]) -> dict[str, dict[str, Any]]:
    """Entries known before and those of the document, `like` resolved."""
    collected: dict[str, dict[str, Any]] = {kind: dict(entries) for kind, entries in known.items()}
    data = document.data
    if not isinstance(data, dict):
        message = f"a catalogue file is a mapping of {', '.join(FIGURES)}, not {name_of(data)}"
        mistakes.append(document.mistake((), message))
        return collected
    for kind, entries in data.items():
        if kind not in FIGURES:
            message = f"unknown kind of part {kind!r}"
            mistakes.append(document.mistake((kind,), message, FIGURES, nearest(kind, FIGURES), key=True))
        elif not isinstance(entries, dict):
            mistakes.append(document.mistake((kind,), f"{kind} are entries by name, not {name_of(entries)}"))
        else:
            for name in entries:
                collected[kind][name] = _figures(kind, name, entries, known[kind], document, mistakes, ())
    return collected


def _figures(
    kind: str,
    name: str,
    entries: Mapping[str, Any],
    known: Mapping[str, Mapping[str, _Written]],
    document: Document,
    mistakes: list[Mistake],
    within: tuple[str, ...],
) -> dict[str, _Written]:
    place: Place = (kind, name)
    entry = entries[name]
    if not isinstance(entry, dict) or not entry:
        mistakes.append(document.mistake(place, f"{_ONE[kind]} {name!r} is a mapping of figures, not {name_of(entry)}"))
        return {}
    figures: dict[str, _Written] = {}
    like = entry.get("like")
    if like is not None:
        others = {**known, **{other: None for other in entries if other != name}}
        if like in within:
            mistakes.append(document.mistake((*place, "like"), f"{name!r} is like itself, by way of {like!r}"))
        elif isinstance(like, str) and like in entries and like != name:
            figures |= _figures(kind, like, entries, known, document, mistakes, (*within, name))
        elif isinstance(like, str) and like in known:
            figures |= known[like]
        else:
            message = f"{like!r} is no other {_ONE[kind]}"
            mistakes.append(document.mistake((*place, "like"), message, others, nearest(like, others)))
    for figure, value in entry.items():
        if figure == "like":
            continue
        if figure not in FIGURES[kind]:
            message = f"unknown figure {figure!r} of {_ONE[kind]} {name!r}"
            expected = ("like", *FIGURES[kind])
            mistakes.append(document.mistake((*place, figure), message, expected, nearest(figure, expected), key=True))
            continue
        figures[figure] = _figure((*place, figure), value, document, mistakes)
    return figures


def _figure(place: Place, value: Any, document: Document, mistakes: list[Mistake]) -> _Written:
    if not isinstance(value, dict):
        return _Written(value, f"given in {document.file}", document, place)
    for key in value:
        if key not in ("value", "source"):
            message = f"a figure has a value and a source, not {key!r}"
            mistakes.append(document.mistake((*place, key), message, key=True))
    if "value" not in value:
        mistakes.append(document.mistake(place, f"{place[-1]} lacks its value"))
    said = value.get("source")
    source = "; ".join(str(part) for part in said) if isinstance(said, list) else said
    return _Written(value.get("value"), str(source or f"given in {document.file}"), document, (*place, "value"))


def _build(
    make: type[Gpu | Nic | Switch | Server | LinkLayer],
    kind: str,
    name: str,
    entry: Mapping[str, _Written],
    mistakes: list[Mistake],
    parts: Mapping[str, Mapping[str, Any]] | None = None,
) -> Any:
    """The frozen entry, or None where it has mistakes (which are noted)."""
    before = len(mistakes)
    values: dict[str, Any] = {"technology" if kind == "links" else "name": name}
    for figure, reader in FIGURES[kind].items():
        if figure not in entry:
            continue
        written = entry[figure]
        try:
            values[reader.field] = reader.read(written.value)
        except ValueError as error:
            mistakes.append(written.document.mistake(written.place, f"{figure} of {name!r}: {error}"))
            continue
        refers = {"gpu": "gpus", "nic": "nics"}.get(figure) if parts is not None else None
        if parts is not None and refers:
            known = parts[refers]
            if written.value not in known:
                message = f"{written.value!r} is no {_ONE[refers]}"
                near = nearest(written.value, known)
                mistakes.append(written.document.mistake(written.place, message, known, near))
            values[reader.field] = known.get(written.value)
    defaults = {field.name for field in fields(make) if field.default is not MISSING}
    lacking = [name for name, figure in FIGURES[kind].items() if name not in entry and figure.field not in defaults]
    if lacking and entry:
        document = next(iter(entry.values())).document
        message = f"{_ONE[kind]} {name!r} lacks {', '.join(lacking)}"
        mistakes.append(document.mistake((kind, name), message))
    if len(mistakes) > before or lacking:
        return None
    part = make(**values)
    if isinstance(part, Nic):
        _check_transports(part, entry["technologies"], mistakes)
    return part


def _check_transports(nic: Nic, written: _Written, mistakes: list[Mistake]) -> None:
    """Transports that spray need a NIC that places packets out of order and sends again only what was lost."""
    for technology in nic.technologies:
        if technology in SPRAYING and not (nic.places_out_of_order and nic.retransmission == "selective-repeat"):
            message = (
                f"{nic.name!r} cannot speak {technology}, which sprays: that takes places_out_of_order: true and "
                f"retransmission: selective-repeat"
            )
            mistakes.append(written.document.mistake(written.place, message))
