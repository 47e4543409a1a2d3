"""The JSON schema of study files, with which an editor completes and checks them while one writes."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import WithDefaultSchema

from eastwest.spec.study import Study

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _AsWritten(GenerateJsonSchema):
    """Leaves out defaults that are not what a person would write: what a shorthand is read to."""

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        json = super().default_schema(schema)
        if isinstance(json.get("default"), dict | list):
            del json["default"]
        return json


def json_schema() -> dict[str, Any]:
    """The schema, draft 2020-12. It is less strict than `load`: names and sums are checked only there."""
    schema = Study.model_json_schema(schema_generator=_AsWritten)
    return {"$schema": DIALECT, **schema, "title": "eastwest study"}
