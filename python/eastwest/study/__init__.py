"""The main job: from a study file to an answer."""

from eastwest.study.fabrics import build_fabric
from eastwest.study.join import run
from eastwest.study.result import FabricFacts, Row, StudyResult, to_json, to_table

__all__ = ["FabricFacts", "Row", "StudyResult", "build_fabric", "run", "to_json", "to_table"]
