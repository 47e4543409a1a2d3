"""The address plan as a file: `plan.json`, which `eastwest lab` and `eastwest check` read, or any program.

Addresses, MACs and GUIDs are text (GUIDs as 0x and 16 digits), rates bit/s, lengths metres. Not here: the plan itself.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from eastwest.artifacts.file import File
from eastwest.artifacts.plan import Plan

PLAN = "plan.json"
FORMAT = 1
"""Version of the file's layout."""


def plan_file(plan: Plan) -> File:
    """The plan of all switches, hosts and cables."""
    document = {
        "eastwest": "plan",
        "format": FORMAT,
        "fabric": plan.name,
        "technology": plan.technology,
        "addressing": plan.addressing,
        "mtu_bytes": plan.mtu_bytes,
        "switches": [
            {**_plain(switch), "host_subnets": [str(subnet) for subnet in switch.host_subnets]}
            for switch in plan.switches
        ],
        "hosts": [_plain(host) for host in plan.hosts],
        "cables": [_plain(cable) for cable in plan.cables],
    }
    return File(PLAN, json.dumps(document, indent=1) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, str | int | float):
        return value
    if hasattr(value, "__dataclass_fields__"):
        return {each.name: _written(each.name, getattr(value, each.name)) for each in fields(value)}
    return str(value)


def _written(name: str, value: Any) -> Any:
    return f"0x{value:016x}" if name.endswith("guid") else _plain(value)
