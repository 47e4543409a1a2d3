"""SONiC's configuration as JSON, in each of its shapes, to tables of rows of strings.

Shapes: `config_db.json` (table, key, field); one key a row (`"PORT|Ethernet0"`, as the tests of sonic-utilities and
redis-dump write it); one object an ASIC (`localhost`, `asic0`); lists of operations that swssconfig takes
(`SWITCH_TABLE:switch`). Says nothing on what the rows mean.
"""

from __future__ import annotations

import json
import re
from typing import Any

from eastwest.checks.read.spelling import text
from eastwest.errors import InputError

Tables = dict[str, dict[str, dict[str, str]]]

_TABLE = re.compile(r"[A-Z][A-Z0-9_]{2,}\Z")
_ASIC = re.compile(r"(localhost|host|asic\d+)\Z")
TABLES = {
    "DEVICE_METADATA", "PORT", "PORT_QOS_MAP", "DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP",
    "MAP_PFC_PRIORITY_TO_QUEUE", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG",
    "BUFFER_QUEUE", "CABLE_LENGTH", "QUEUE", "SCHEDULER", "WRED_PROFILE", "PFC_WD", "INTERFACE", "LOOPBACK_INTERFACE",
    "DEVICE_NEIGHBOR", "BGP_NEIGHBOR", "SWITCH_TABLE", "SWITCH_HASH", "MGMT_INTERFACE", "MGMT_PORT", "FEATURE",
    "VLAN", "PORTCHANNEL", "VERSIONS", "BREAKOUT_CFG", "LOSSLESS_TRAFFIC_PATTERN", "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
    "DEVICE_NEIGHBOR_METADATA", "SYSTEM_PORT", "MGMT_VRF_CONFIG", "NTP_SERVER", "SYSLOG_SERVER", "FLEX_COUNTER_TABLE",
}  # fmt: skip
"""Tables by which a file is known to be SONiC's: those that are read here, and ones that nearly every switch has."""


def parse(text_: str, file: str) -> tuple[Any, list[str]]:
    """A JSON document, and the keys that one of its objects gives twice (the last one counts).

    Raises:
        InputError: it is no JSON, or nested too deep.
    """
    twice: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in items:
            if key in found and found[key] != value:
                twice.append(key)
            found[key] = value
        return found

    try:
        return json.loads(text_, object_pairs_hook=pairs), twice
    except json.JSONDecodeError as mistake:
        raise InputError(
            f"{file}:{mistake.lineno}:{mistake.colno}: this is no JSON: {mistake.msg}. "
            "SONiC would refuse the file too; mend it there."
        ) from None
    except (RecursionError, ValueError):
        raise InputError(f"{file}: this JSON is nested too deep, or holds a number too long, to be read") from None


def is_sonic(document: Any) -> bool:
    """Whether a JSON document looks like SONiC's configuration."""
    if isinstance(document, list):
        return any(_operation(each) for each in document)
    if not isinstance(document, dict) or not document:
        return False
    names = {key.split("|", 1)[0] for key in document}
    if names & TABLES or any(
        _ASIC.match(key) and isinstance(value, dict) and set(value) & TABLES for key, value in document.items()
    ):
        return True
    return all(_TABLE.match(name) for name in names) and all(isinstance(value, dict) for value in document.values())


def tables(document: Any) -> dict[str, Tables]:
    """The tables of a document, for each ASIC; `""` where the document is of a single one.

    Rows and tables of a wrong type are passed over: SONiC does so too, and the rules then see that they are missing.
    """
    if isinstance(document, list):
        return {"": _operations(document)}
    asics = {key: value for key, value in document.items() if _ASIC.match(key) and isinstance(value, dict)}
    if asics and len(asics) == len(document):
        return {key: _nested(value) for key, value in asics.items()}
    return {"": _nested(document)}


def _nested(document: dict[str, Any]) -> Tables:
    out: Tables = {}
    for key, value in document.items():
        if not isinstance(value, dict):
            continue
        name, bar, row = key.partition("|")
        if bar:
            content = value.get("value", {}) if value.get("type") == "hash" else value
            out.setdefault(name, {})[row] = _row(content)
        else:
            rows = out.setdefault(name, {})
            for inner, fields in value.items():
                if isinstance(fields, dict):
                    rows[inner] = _row(fields)
    return out


def _row(fields: Any) -> dict[str, str]:
    """A row's fields as strings; the `@` that marks a list in the database is no part of a name."""
    if not isinstance(fields, dict):
        return {}
    return {key.removesuffix("@"): text(value) for key, value in fields.items() if key != "NULL"}


def _operation(each: Any) -> tuple[str, str] | None:
    """Table and key that an operation for swssconfig sets."""
    if not isinstance(each, dict) or "OP" not in each:
        return None
    for key, value in each.items():
        table, colon, row = key.partition(":")
        if isinstance(value, dict) and colon and _TABLE.match(table):
            return table, row
    return None


def _operations(document: list[Any]) -> Tables:
    out: Tables = {}
    for each in document:
        found = _operation(each)
        if found and each["OP"] == "SET":
            table, row = found
            name = table if table == "SWITCH_TABLE" else table.removesuffix("_TABLE")
            queue = re.fullmatch(r"(.+):([0-9]+(?:-[0-9]+)?)", row)
            key = f"{queue[1]}|{queue[2]}" if queue else row
            out.setdefault(name, {}).setdefault(key, {}).update(_row(each[f"{table}:{row}"]))
    return out
