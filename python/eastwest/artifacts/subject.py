"""What is built: a fabric of a study, joined to one of its clusters, and its address plan.

Not here: what is made of it (`build`, and a module a part).
"""

from __future__ import annotations

from dataclasses import dataclass

from eastwest import spec
from eastwest.artifacts.coordinates import PlanError
from eastwest.artifacts.plan import Network, Plan, make_plan
from eastwest.errors import InputError
from eastwest.fabric import FabricError
from eastwest.spec import Study, StudyError
from eastwest.spec.packets.switches import is_lossless
from eastwest.spec.packets.transports import TRANSPORTS
from eastwest.study import fabrics


@dataclass(frozen=True)
class Subject:
    """What is built: a fabric of a study, joined to one of its clusters, and its plan."""

    study: Study
    fabric: str
    cluster: str
    plan: Plan

    @property
    def asked(self) -> spec.fabrics.Fabric:
        """The fabric's entry in the study."""
        return self.study.fabrics[self.fabric]

    def refused(self, error: InputError) -> StudyError:
        """The error to raise where a part of what is built cannot be: at the fabric's line in the study."""
        return _at(self.study, self.fabric, error)


def subject(study: Study, fabric: str, cluster: str | None = None) -> Subject:
    """A fabric of a study with its plan: as designed, whatever the study says has failed.

    Raises:
        InputError: there is no such fabric or cluster, several, or the plan has no numbers or names for it.
        StudyError: the fabric cannot be built; names the line.
    """
    name, of = fabrics.named(study, fabric, cluster)
    asked, built = study.fabrics[name], fabrics.build(study, name, of, ())
    lossless: dict[Network, bool] = {
        "gpus": is_lossless(asked.packets.switch, TRANSPORTS[asked.technology]),
        "frontend": study.frontend_technology(name) == "rocev2",
    }
    try:
        plan = make_plan(built, study.catalog_entries(), asked.build.addressing, lossless)
        return Subject(study, name, of, plan)
    except (PlanError, FabricError) as error:
        raise _at(study, name, error) from None


def _at(study: Study, fabric: str, error: InputError) -> StudyError:
    return study.error_at(("fabrics", fabric), f"fabric {study.base('fabrics', fabric)!r}: {error}")
