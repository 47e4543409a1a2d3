"""The JSON schema of study files, with which an editor completes and checks them while one writes."""

from __future__ import annotations

from typing import Any

from eastwest.spec.study import Study

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The schema, draft 2020-12. It is less strict than `load`: names and sums are checked only there."""
    return {"$schema": DIALECT, **Study.model_json_schema(), "title": "eastwest study"}
