"""The fabric for NetBox: device types as YAML and everything else as CSV, in the order in which it takes them.

Columns are the fields of NetBox's import forms (netbox/dcim/forms/bulk_import.py, ipam/forms/bulk_import.py; 4.2 and
later, where MAC addresses are objects). Interfaces are rows and no part of a device type, since their names follow from
what cages are broken out into, and NetBox would make those of the type as well. A type's height is not in the catalogue
and stands as 0. Not here: racks and power, which the plan does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from eastwest.artifacts.file import File
from eastwest.artifacts.inventory.cabling import label
from eastwest.artifacts.inventory.media import medium
from eastwest.artifacts.inventory.sheets import sheet
from eastwest.artifacts.plan import Host, Plan, Switch
from eastwest.artifacts.texts import text

_MAKERS: tuple[tuple[str, str], ...] = (
    ("sn", "NVIDIA"),
    ("qm", "NVIDIA"),
    ("q3", "NVIDIA"),
    ("hgx-mi", "AMD"),
    ("hgx-", "NVIDIA"),
    ("gb", "NVIDIA"),
    ("tomahawk", "Broadcom"),
    ("jericho", "Broadcom"),
    ("ramon", "Broadcom"),
    ("cisco", "Cisco"),
    ("aws", "AWS"),
    ("gcp", "Google"),
    ("oci", "Oracle"),
)
"""Makers by how the catalogue's names begin; parts of a catalogue of one's own are "Generic"."""
_ETHERNET: Mapping[int, str] = {
    10: "10gbase-x-sfpp",
    25: "25gbase-x-sfp28",
    40: "40gbase-x-qsfpp",
    50: "50gbase-x-sfp56",
    100: "100gbase-x-qsfp28",
    200: "200gbase-x-qsfp56",
    400: "400gbase-x-qsfpdd",
    800: "800gbase-x-osfp",
    1600: "1.6tbase-x-osfp1600",
}
_INFINIBAND: Mapping[int, str] = {
    100: "infiniband-edr",
    200: "infiniband-hdr",
    400: "infiniband-ndr",
    800: "infiniband-xdr",
}
"""NetBox's words for interfaces (netbox/dcim/choices.py, InterfaceTypeChoices), by Gb/s."""
_COLORS: Mapping[str, str] = {
    "server": "2196f3", "storage": "9c27b0", "leaf": "4caf50", "spine": "ff9800", "core": "f44336", "border": "795548",
    "access": "607d8b", "aggregation": "9e9e9e",
}  # fmt: skip
SITE = "site"
LOOPBACK = "Loopback0"


def files(plan: Plan) -> Iterator[File]:
    """The files, numbered in the order of import."""
    types = sorted({_type_of(plan, each) for each in plan.by_name.values()})
    makers = sorted({maker(name) for name in types})
    for number, (name, content) in enumerate(
        (
            ("sites", sheet(("name", "slug", "status"), ((name, name, "planned") for name in _sites(plan)))),
            ("manufacturers", sheet(("name", "slug"), ((name, name.lower()) for name in makers))),
            ("device-roles", sheet(("name", "slug", "color", "vm_role"), _roles(plan))),
            ("devices", sheet(("name", "role", "manufacturer", "device_type", "status", "site"), _devices(plan))),
            ("interfaces", sheet(_INTERFACE_COLUMNS, _interfaces(plan))),
            ("mac-addresses", sheet(("mac_address", "device", "interface", "is_primary"), _macs(plan))),
            ("ip-addresses", sheet(_ADDRESS_COLUMNS, _addresses(plan))),
            ("cables", sheet(_CABLE_COLUMNS, _cables(plan))),
        ),
        start=1,
    ):
        yield File(f"inventory/netbox/{number}-{name}.csv", content)
    for name in types:
        yield File(f"inventory/netbox/device-types/{_slug(name)}.yaml", device_type(name))


def device_type(name: str) -> str:
    """A device type: what all devices of it have, management alone."""
    return text("inventory/device-type.yaml.j2", manufacturer=maker(name), model=name, slug=_slug(name))


def maker(name: str) -> str:
    """Who makes a device of the catalogue."""
    return next((found for prefix, found in _MAKERS if name.startswith(prefix)), "Generic")


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-") or "device"


def _sites(plan: Plan) -> list[str]:
    return sorted({_site(each) for each in plan.by_name.values()})


def _site(each: Switch | Host) -> str:
    return SITE if each.site < 0 else f"{SITE}-{each.site}"


def _type_of(plan: Plan, each: Switch | Host) -> str:
    if isinstance(each, Switch):
        return each.device
    return str(plan.fabric.plan["server"]["name"]) if each.kind == "server" else "storage-server"


def _role(each: Switch | Host) -> str:
    return each.tier if isinstance(each, Switch) else each.kind


def _roles(plan: Plan) -> Iterable[tuple[str, ...]]:
    roles = {_role(each): None for each in plan.by_name.values()}
    return ((role, role, _COLORS.get(role, "9e9e9e"), "false") for role in sorted(roles))


def _devices(plan: Plan) -> Iterator[tuple[str, ...]]:
    for each in plan.by_name.values():
        kind = _type_of(plan, each)
        yield each.name, _role(each), maker(kind), kind, "planned", _site(each)


_INTERFACE_COLUMNS = ("device", "name", "type", "enabled", "speed", "mgmt_only", "description")


def _interfaces(plan: Plan) -> Iterator[tuple[object, ...]]:
    """Every port of every device, spare ones disabled, and the loopback of each switch; speeds are in kbit/s."""
    for each in plan.by_name.values():
        if isinstance(each, Switch) and not _is_infiniband(plan, each.tier):
            yield each.name, LOOPBACK, "virtual", "true", "", "false", ""
        for port in each.ports:
            tier = each.tier if isinstance(each, Switch) else getattr(port, "tier", "server")
            kind = _kind(port.rate_bps, _is_infiniband(plan, tier))
            is_used = port.cable is not None
            told = f"to {port.peer} {port.peer_interface}" if is_used else "spare"
            yield each.name, port.name, kind, str(is_used).lower(), round(port.rate_bps / 1e3), "false", told


def _kind(rate_bps: float, is_infiniband: bool) -> str:
    return (_INFINIBAND if is_infiniband else _ETHERNET).get(round(rate_bps / 1e9), "other")


def _is_infiniband(plan: Plan, tier: str) -> bool:
    """Whether the interfaces of a tier's devices, or NICs of a tier, are InfiniBand's."""
    of_frontend = tier in ("access", "aggregation", "frontend", "storage")
    layer = plan.fabric.plan["frontend"] if of_frontend else plan.fabric.plan
    return bool(layer["link_layer"]["technology"] == "infiniband")


def _macs(plan: Plan) -> Iterator[tuple[str, ...]]:
    for host in plan.hosts:
        for port in host.ports:
            if not _is_infiniband(plan, port.tier):
                yield port.mac, host.name, port.name, "true"


_ADDRESS_COLUMNS = ("address", "status", "role", "device", "interface", "is_primary", "dns_name")


def _addresses(plan: Plan) -> Iterator[tuple[str, ...]]:
    for switch in plan.switches:
        if _is_infiniband(plan, switch.tier):
            continue
        yield f"{switch.loopback}/32", "active", "loopback", switch.name, LOOPBACK, "true", switch.name
        yield f"{switch.loopback6}/128", "active", "loopback", switch.name, LOOPBACK, "true", switch.name
        for port in switch.ports:
            if port.address is not None:
                yield f"{port.address}/31", "active", "", switch.name, port.name, "false", ""
            if port.address6 is not None:
                yield f"{port.address6}/127", "active", "", switch.name, port.name, "false", ""
    for host in plan.hosts:
        for nic in host.ports:
            if not _is_infiniband(plan, nic.tier):
                yield f"{nic.address}/31", "active", "", host.name, nic.name, "false", ""


_CABLE_COLUMNS = (
    "side_a_device", "side_a_type", "side_a_name", "side_b_device", "side_b_type", "side_b_name", "type", "status",
    "label", "length", "length_unit",
)  # fmt: skip


def _cables(plan: Plan) -> Iterator[tuple[str, ...]]:
    kind = "dcim.interface"
    for cable in plan.cables:
        made_of = medium(cable.length_m).netbox
        ends = (cable.a, kind, cable.a_interface, cable.b, kind, cable.b_interface)
        unit = ("km", cable.length_m / 1e3) if cable.length_m >= 1e4 else ("m", cable.length_m)
        yield (*ends, made_of, "planned", label(cable), f"{unit[1]:g}", unit[0])
