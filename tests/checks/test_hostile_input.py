"""No input breaks the readers or the rules: they answer, or refuse with a message."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eastwest.checks import check
from eastwest.checks.read import spelling
from eastwest.errors import InputError

TABLES = [
    "PORT",
    "PORT_QOS_MAP",
    "DSCP_TO_TC_MAP",
    "TC_TO_QUEUE_MAP",
    "TC_TO_PRIORITY_GROUP_MAP",
    "BUFFER_PG",
    "BUFFER_PROFILE",
    "BUFFER_POOL",
    "BUFFER_QUEUE",
    "QUEUE",
    "WRED_PROFILE",
    "SCHEDULER",
    "CABLE_LENGTH",
    "PFC_WD",
    "INTERFACE",
    "DEVICE_NEIGHBOR",
    "DEVICE_METADATA",
    "BGP_NEIGHBOR",
]
KEYS = [
    "Ethernet0",
    "Ethernet0,Ethernet4",
    "Ethernet0-8",
    "Ethernet0|3-4",
    "global",
    "AZURE",
    "localhost",
    "GLOBAL",
    "Ethernet0|10.0.0.0/31",
    "|",
    "3",
]
FIELDS = [
    "dscp_to_tc_map",
    "tc_to_queue_map",
    "tc_to_pg_map",
    "pfc_enable",
    "profile",
    "pool",
    "size",
    "xoff",
    "dynamic_th",
    "static_th",
    "speed",
    "mtu",
    "ecn",
    "green_min_threshold",
    "green_max_threshold",
    "wred_profile",
    "scheduler",
    "type",
    "3",
    "26",
    "Ethernet0",
    "hostname",
    "name",
    "port",
    "asn",
]
VALUES = [
    "AZURE",
    "[DSCP_TO_TC_MAP|AZURE]",
    "3,4",
    "3",
    "-3",
    "40m",
    "NULL",
    "100000",
    "",
    "99999999999999999999999",
    "\u0663",
    "Ethernet0",
]
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(VALUES)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3),
    max_leaves=8,
)
rows = st.dictionaries(
    st.sampled_from(KEYS) | st.text(max_size=8), st.dictionaries(st.sampled_from(FIELDS), anything) | anything
)
configs = st.dictionaries(st.sampled_from(TABLES), rows | anything, min_size=1)
text = st.lists(
    st.sampled_from(
        [
            "router bgp 65001",
            " neighbor Ethernet0 interface remote-as external",
            " neighbor X peer-group",
            " neighbor",
            "mlnx_qos -i eth0 --pfc 0,0,0,1,0,0,0,0",
            "mlnx_qos -i",
            "mlnx_qos -i eth0",
            "enabled 0 0 0 1 0 0 0 0",
            "prio:0 dscp:99,",
            "for i in a b; do",
            "echo 48 >/sys/class/net/$i/ecn/roce_np/cnp_dscp",
            "NCCL_IB_TC=106",
            "export NCCL_IB_TC='",
            "dcb app add dev",
            "nicctl update qos pfc --priority",
            "net.ipv4.conf.all.rp_filter = 1",
            "cma_roce_tos -d",
        ]
    )
    | st.text(max_size=20),
    max_size=12,
).map("\n".join)


def answered(name: str, content: str) -> None:
    """Checks one file, which may be refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content.encode("utf-8", "surrogatepass"))
        for paths in ([path], [Path(folder)]):
            try:
                report = check(paths)
            except InputError:
                pass
            else:
                json.dumps([finding.as_json() for finding in report.findings] + [hop.as_json() for hop in report.hops])


@given(configs)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_tables_are_answered(document: dict[str, Any]) -> None:
    answered("config_db.json", json.dumps(document))


@given(text)
def test_any_text_is_answered(content: str) -> None:
    answered("frr.conf", content)
    answered("nic.sh", content)


@given(st.text(max_size=60))
def test_any_yaml_is_answered(content: str) -> None:
    answered("netplan.yaml", f"network:\n  version: 2\n  ethernets:\n    {content}")


@given(st.text(max_size=30))
def test_spellings_of_anything(word: str) -> None:
    assert all(0 <= each < 100 for each in spelling.numbers(word))
    assert len(spelling.names(word)) <= 1024 + len(word)
    found = spelling.number(word)
    assert found is None or str(abs(found)) in word.replace(" ", "").lstrip("+-0") + "0"
