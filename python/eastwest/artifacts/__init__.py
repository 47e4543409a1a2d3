"""What a fabric needs to run: the address plan, and the files that `eastwest build` writes from it.

Everything comes from the one fabric that is also simulated and priced. Not here: whether files are right (`checks`),
or a network that runs on them (`lab`).
"""

from eastwest.artifacts.build import PARTS, build
from eastwest.artifacts.coordinates import PlanError
from eastwest.artifacts.file import File
from eastwest.artifacts.folder import check, write
from eastwest.artifacts.plan import Cable, Host, NicPort, Plan, Port, Switch, link_local, make_plan
from eastwest.artifacts.subject import Subject, subject

__all__ = [
    "PARTS",
    "Cable",
    "File",
    "Host",
    "NicPort",
    "Plan",
    "PlanError",
    "Port",
    "Subject",
    "Switch",
    "build",
    "check",
    "link_local",
    "make_plan",
    "subject",
    "write",
]
