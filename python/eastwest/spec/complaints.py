"""What pydantic finds wrong, said in a reader's words: place in the file, what was found, what fits, nearest word."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError
from pydantic_core import ErrorDetails

from eastwest.document import Mistake, Place, name_of, nearest
from eastwest.spec.study import Source, Study

_ONE = {"clusters": "cluster", "fabrics": "fabric", "workloads": "workload", "mixes": "mix"}
_WANTED = {
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dict_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "a text",
}


def complaints(
    error: ValidationError, source: Source, model: type[BaseModel] = Study, whole: str = "the study"
) -> Iterator[Mistake]:
    """Each error of the validation of a study, or of another `model` that is a file of its own, as a mistake in it.

    What a fabric inherits, or lacks although it inherits, is told of the fabric that states or lacks it. Messages call
    the file's content `whole`.
    """
    for details in error.errors(include_url=False):
        if not (_is_inherited(details, source) or _is_short_of_faulty_items(details) or _is_told(details, source)):
            yield _mistake(details, source, model, whole)


def _is_told(details: ErrorDetails, source: Source) -> bool:
    """Whether it comes of a sweep that could not be read."""
    place = source.place(_place(details["loc"], source, missing=False))
    return any(place[: len(wrong)] == wrong for wrong in source.sweep.wrong)


def _is_inherited(details: ErrorDetails, source: Source) -> bool:
    match details["loc"]:
        case ("fabrics", str(name), str(entry), *_):
            base = source.base("fabrics", name)
            if details["type"] == "missing":
                return source.document.data["fabrics"][base].get("like") is not None
            return source.origins.get((base, entry), base) != base
        case _:
            return False


def _is_short_of_faulty_items(details: ErrorDetails) -> bool:
    """Whether a list only seems too short because its items, reported themselves, were not counted."""
    return details["type"] == "too_short" and len(details["input"]) >= (details.get("ctx") or {})["min_length"]


def _mistake(details: ErrorDetails, source: Source, model: type[BaseModel], whole: str) -> Mistake:
    kind, loc = details["type"], details["loc"]
    context: dict[str, Any] = details.get("ctx") or {}
    is_key = bool(loc) and loc[-1] == "[key]"
    place = _place(loc[:-1] if is_key else loc, source, missing=kind == "missing")
    what = _what(place[:-1] if is_key else place, source, whole)
    match kind:
        case "refused":
            if (at := context["at"]) is not None:
                place = (*place, *(at if isinstance(at, tuple) else (at,)))
            return source.mistake(place, context["message"], context["expected"], context["nearest"])
        case "missing":
            owner = _what(place[:-1], source, whole)
            lacking = f"its item {place[-1] + 1}" if isinstance(place[-1], int) else repr(place[-1])
            return source.mistake(place[:-1], f"{owner} lacks {lacking}", key=True)
        case "extra_forbidden":
            known = tuple(_fields(loc[:-1], model))
            message = f"unknown entry {str(loc[-1])!r} in {_what(place[:-1], source, whole)}"
            return source.mistake(place, message, known, nearest(loc[-1], known), key=True)
        case "literal_error":
            words = tuple(re.findall(r"'([^']*)'", context["expected"])) or (context["expected"],)
            near = nearest(details["input"], words)
            return source.mistake(place, f"{_found(details)} does not fit {what}", words, near, key=is_key)
        case _ if kind in _WANTED:
            return source.mistake(place, f"{what} must be {_WANTED[kind]}, not {_found(details)}")
        case "string_pattern_mismatch":
            rule = (
                "a name has letters, digits, dots, dashes and underscores (64 at most) and starts with one of the first"
            )
            return source.mistake(place, f"{_found(details)} is no name: {rule}", key=is_key)
        case "too_short":
            least, given = context["min_length"], len(details["input"])
            if least == 1:
                return source.mistake(place, f"{what} is empty: at least one is needed")
            return source.mistake(
                place, f"{what} has {given} item{'' if given == 1 else 's'}: at least {least} are needed"
            )
        case "too_long":
            return source.mistake(place, f"{what} has more than {context['max_length']} items")
        case "operation":
            return source.mistake(place, details["msg"])
        case "greater_than_equal" | "less_than_equal" | "greater_than" | "less_than":
            return source.mistake(place, f"{what} must be {_bound(kind, context)}, not {_found(details)}")
        case _:
            return source.mistake(place, f"{what}: {details['msg']}")


def _bound(kind: str, context: dict[str, Any]) -> str:
    match kind:
        case "greater_than_equal":
            return f"at least {context['ge']}"
        case "less_than_equal":
            return f"at most {context['le']}"
        case "greater_than":
            return f"above {context['gt']}"
        case _:
            return f"below {context['lt']}"


def _found(details: ErrorDetails) -> str:
    value = details["input"]
    return repr(value)[:60] if isinstance(value, str | int | float) and not isinstance(value, bool) else name_of(value)


def _place(loc: tuple[int | str, ...], source: Source, *, missing: bool) -> Place:
    """Keys of the file that a pydantic location stands for: without the tags of unions and the steps of validators.

    The last key of one that is `missing` is not there, and kept.
    """
    place: Place = ()
    value: Any = source.document.data
    for number, step in enumerate(loc):
        here = source.place((*place, step))
        if isinstance(value, dict) and (step in value or here in source.document.values):
            place = (*place, step)
            value = source.document.at(here)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            place = (*place, step)
            value = value[step]
        elif missing and number == len(loc) - 1:
            place = (*place, step)
    return place


def _what(place: Place, source: Source, whole: str) -> str:
    """A place in words: fabric 'roce-400g', link of fabric 'roce-400g', operation 'sync' of workload 'job'."""
    match place:
        case ():
            return whole
        case (str(kind), name) if kind in _ONE:
            return f"{_ONE[kind]} {source.base(kind, str(name))!r}"
        case (*_, "operations", int(index)):
            entry = source.document.at(source.place(place)) if source.place(place) in source.document.values else None
            called = entry.get("name") if isinstance(entry, dict) else None
            return f"operation {called!r}" if isinstance(called, str) else f"operation {index + 1}"
        case (*_, int()):
            return f"an item of {_what(place[:-1], source, whole)}"
        case (name,):
            return str(name)
        case _:
            return f"{place[-1]} of {_what(place[:-1], source, whole)}"


def _fields(loc: tuple[int | str, ...], root: type[BaseModel]) -> Iterator[str]:
    """Entries that the model at a pydantic location within another knows."""
    annotation: Any = root
    for step in loc:
        annotation = _below(annotation, step)
    model = _bare(annotation)
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return iter(())
    return (info.alias or name for name, info in model.model_fields.items())


def _below(annotation: Any, step: int | str) -> Any:
    bare = _bare(annotation)
    if isinstance(bare, type) and issubclass(bare, BaseModel):
        info = bare.model_fields.get(str(step))
        return info.annotation if info else None
    if get_origin(bare) in (Union, types.UnionType):
        for member in get_args(bare):
            tags = [extra.tag for extra in get_args(member)[1:] if isinstance(extra, Tag)]
            if step in tags:
                return member
        return None
    arguments = get_args(bare)
    return arguments[-1 if get_origin(bare) is dict else 0] if arguments else None


def _bare(annotation: Any) -> Any:
    """A type without what is annotated to it, and without `| None`."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        members = [member for member in get_args(annotation) if member is not type(None)]
        if len(members) == 1:
            return _bare(members[0])
    return annotation
