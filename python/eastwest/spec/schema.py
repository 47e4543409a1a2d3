"""The JSON schema of study files, with which an editor completes and checks them while one writes."""

from __future__ import annotations

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import WithDefaultSchema

from eastwest.spec.study import Study
from eastwest.spec.sweep import EACH, FIXED, SETTINGS

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _AsWritten(GenerateJsonSchema):
    """Leaves out defaults that are not what a person would write: what a shorthand is read to."""

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        json = super().default_schema(schema)
        if isinstance(json.get("default"), dict | list):
            del json["default"]
        return json


def schema_of_one() -> dict[str, Any]:
    """The schema, draft 2020-12, of a study in which nothing is swept."""
    schema = Study.model_json_schema(schema_generator=_AsWritten)
    return {"$schema": DIALECT, **schema, "title": "eastwest study"}


def json_schema() -> dict[str, Any]:
    """The schema, draft 2020-12. It is less strict than `load`: names and sums are checked only there."""
    schema = schema_of_one()
    settings = {key: _swept(schema["properties"][key]) for key in SETTINGS}
    definitions = {name: each if name in UNSWEPT else _with_sweeps(each) for name, each in schema["$defs"].items()}
    return {**schema, "$defs": definitions | SWEEPS, "properties": schema["properties"] | settings}


UNSWEPT = ("Prices",)
_QUANTITY = {"type": ["number", "string"], "pattern": r"^\s*[-+]?[0-9.]"}
SWEEPS: dict[str, Any] = {
    "Range": {
        "description": "Values to try, from one to another by a factor or a difference.",
        "title": "Range",
        "type": "object",
        "properties": {
            "from": {**_QUANTITY, "description": "The first value."},
            "to": {**_QUANTITY, "description": "The last value, or just above it."},
            "times": {"type": "number", "exclusiveMinimum": 1, "description": "Factor from each value to the next."},
            "step": {**_QUANTITY, "description": "Difference from each value to the next."},
        },
        "required": ["from", "to"],
        "oneOf": [{"required": ["times"]}, {"required": ["step"]}],
        "additionalProperties": False,
    },
    "Each": {
        "description": "Values to try, where a plain list means something else.",
        "title": "Each",
        "type": "object",
        "properties": {EACH: {"type": "array", "minItems": 1, "description": "The values."}},
        "required": [EACH],
        "additionalProperties": False,
    },
}
"""How values to try are written, beside a plain list."""


def _with_sweeps(node: Any) -> Any:
    """A schema whose entries may be swept."""
    if isinstance(node, list):
        return [_with_sweeps(each) for each in node]
    if not isinstance(node, dict):
        return node
    within = {key: _with_sweeps(each) for key, each in node.items() if key != "properties"}
    if "properties" in node:
        entries = node["properties"].items()
        within["properties"] = {
            key: each if key in FIXED or "const" in each else _swept(_with_sweeps(each)) for key, each in entries
        }
    return within


def _swept(node: dict[str, Any]) -> dict[str, Any]:
    """The schema of one value, or of several to try."""
    about: dict[str, Any] = {key: each for key, each in node.items() if key in ("title", "description", "default")}
    one = {key: value for key, value in node.items() if key not in about}
    ways: list[dict[str, Any]] = [{"$ref": "#/$defs/Each"}]
    text = json.dumps(one)
    if not any(each.get("type") == "array" for each in (one, *one.get("anyOf", ()))):
        ways.insert(0, {"type": "array", "items": one, "minItems": 1})
    if "$ref" in one:
        about["description"] = "A mapping, or several to try."
    if any(word in text for word in ('"integer"', '"number"', "[0-9.]")):
        ways.insert(0, {"$ref": "#/$defs/Range"})
    return {**about, "anyOf": [one, *ways]}
