"""Ansible's inventory: groups by role and by place, and of each device what a playbook needs to reach it.

Not here: how a device is logged in to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eastwest.artifacts.plan import Host, Plan, Switch
from eastwest.artifacts.texts import text

_PLACES = ("site", "plane", "pod", "unit", "rail")


def ansible(plan: Plan) -> str:
    """The inventory in YAML; variables stand with a device's role, its other groups name it alone."""
    devices: tuple[Switch | Host, ...] = (*plan.switches, *plan.hosts)
    found: dict[str, list[dict[str, Any]]] = {}
    for each in devices:
        role, *places = _groups(each)
        found.setdefault(role, []).append({"name": each.name, "vars": _variables(each)})
        for place in places:
            found.setdefault(place, []).append({"name": each.name, "vars": {}})
    return text("inventory/ansible.yaml.j2", fabric=plan.name, technology=plan.technology, groups=found)


def _groups(each: Switch | Host) -> Iterator[str]:
    """The role, then all else that a device belongs to: names of letters, digits and underscores, as Ansible wants."""
    if isinstance(each, Switch):
        yield f"{each.tier}_switches"
        yield "switches"
    else:
        yield "servers" if each.kind == "server" else "storage_servers"
    for word in _PLACES:
        value = getattr(each, word, -1)
        if value >= 0:
            yield f"{word}_{value}"


def _variables(each: Switch | Host) -> dict[str, Any]:
    if isinstance(each, Host):
        return {"interfaces": {port.name: str(port.address) for port in each.ports}}
    loopbacks = {"loopback": str(each.loopback), "loopback6": str(each.loopback6)}
    return {"device": each.device, **loopbacks, "asn": each.asn}
