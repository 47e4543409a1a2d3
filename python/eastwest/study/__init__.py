"""The main job: from a study file to an answer."""

from eastwest.study.curve import Bench, Curve, curve, set_up
from eastwest.study.fabrics import build_fabric, routes
from eastwest.study.join import run
from eastwest.study.result import FabricFacts, Row, StudyResult, jobs_table, to_json, to_table
from eastwest.study.routed import with_routes
from eastwest.study.scaling import Scaling, scaling
from eastwest.study.sensitivity import Sensitivity, sensitivity
from eastwest.study.timeline import Timeline

__all__ = [
    "Bench",
    "Curve",
    "FabricFacts",
    "Row",
    "Scaling",
    "Sensitivity",
    "StudyResult",
    "Timeline",
    "build_fabric",
    "curve",
    "jobs_table",
    "routes",
    "run",
    "scaling",
    "sensitivity",
    "set_up",
    "to_json",
    "to_table",
    "with_routes",
]
