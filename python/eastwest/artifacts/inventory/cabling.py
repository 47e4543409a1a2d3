"""The cable list for whoever pulls cables, and what each end should see of the other once they are plugged.

Not here: NetBox's own list of cables (`inventory.netbox`), or what is really plugged in.
"""

from __future__ import annotations

import json
from typing import Any

from eastwest.artifacts.inventory.media import part
from eastwest.artifacts.inventory.sheets import sheet
from eastwest.artifacts.plan import Cable, Plan

COLUMNS = (
    "cable", "tiers", "a_device", "a_port", "a_label", "b_device", "b_port", "b_label", "rate_gbps", "length_m", "part",
)  # fmt: skip


def label(cable: Cable) -> str:
    """The name that both ends of a cable bear: that of its lower port, which no growth of the fabric changes."""
    return f"{cable.a}:{cable.a_interface}"


def cable_list(plan: Plan) -> str:
    """One row a cable; the label of an end says where it goes and, after it, where the other end does."""
    return sheet(COLUMNS, (_row(cable) for cable in plan.cables))


def _row(cable: Cable) -> tuple[object, ...]:
    a, b = f"{cable.a}:{cable.a_interface}", f"{cable.b}:{cable.b_interface}"
    return (
        label(cable),
        cable.tiers,
        cable.a,
        cable.a_interface,
        f"{a} > {b}",
        cable.b,
        cable.b_interface,
        f"{b} > {a}",
        f"{cable.rate_bps / 1e9:g}",
        f"{cable.length_m:g}",
        part(cable.rate_bps, cable.length_m),
    )


def neighbours(plan: Plan) -> str:
    """What LLDP should say: of each device, by interface, the neighbour's name and port, as lldpd's JSON calls them.

    A port's identifier is its name where `lldpd` is told so (`configure lldp portidsubtype ifname`), as SONiC tells it.
    """
    found: dict[str, dict[str, Any]] = {each: {} for each in plan.by_name}
    for cable in plan.cables:
        for here, port, there, other in (
            (cable.a, cable.a_interface, cable.b, cable.b_interface),
            (cable.b, cable.b_interface, cable.a, cable.a_interface),
        ):
            found[here][port] = {"chassis": there, "port": other}
    devices = (f"{json.dumps(name)}: {json.dumps(ports)}" for name, ports in found.items())
    return "{\n" + ",\n".join(devices) + "\n}\n"


def dot(plan: Plan) -> str:
    """The same as a graph in DOT, as Cumulus Linux's PTM, NVIDIA Air and UFM's cable validation read it."""
    name = json.dumps(plan.name)
    edges = (f'  "{cable.a}":"{cable.a_interface}" -- "{cable.b}":"{cable.b_interface}"' for cable in plan.cables)
    return "\n".join((f"graph {name} {{", *edges, "}", ""))
