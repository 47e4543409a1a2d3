"""What other systems are told of the fabric: NetBox, Ansible, Slurm, Kubernetes, LLDP, and whoever pulls the cables.

Not here: configuration of any device.
"""

from __future__ import annotations

from collections.abc import Iterator

from eastwest.artifacts.file import File
from eastwest.artifacts.inventory import cabling, netbox, schedulers
from eastwest.artifacts.inventory.ansible import ansible
from eastwest.artifacts.subject import Subject

__all__ = ["files"]


def files(subject: Subject) -> Iterator[File]:
    """Every file of the inventory."""
    plan = subject.plan
    yield from netbox.files(plan)
    yield File("inventory/cables.csv", cabling.cable_list(plan))
    yield File("inventory/lldp.json", cabling.neighbours(plan))
    yield File("inventory/topology.dot", cabling.dot(plan))
    yield File("inventory/ansible.yaml", ansible(plan))
    yield from schedulers.files(plan)
