"""Every switch's config_db is what SONiC's YANG models allow, and the check would notice if it were not."""

import json

import pytest

from eastwest import spec
from eastwest.artifacts import build, subject


@pytest.fixture(scope="module")
def configs(pune):
    files = build(pune, ["sonic"])
    return {file.path.split("/")[1]: json.loads(file.text) for file in files if file.path.endswith("/config_db.json")}


def test_every_switch_of_the_bundled_fabric(models, configs):
    assert len(configs) == 48
    assert models.faults(configs) == {}


SMALL = """
name: small
clusters: {{pod: {{server: hgx-h100, servers: 4}}}}
fabrics:
  one:
    technology: rocev2
    link: 400 Gb/s
    switch: sn5600
    {entries}
workloads: {{job: {{kind: operations, operations: [{{name: a, compute: 1 ms}}]}}}}
"""


@pytest.mark.parametrize(
    "entries",
    [
        "shape: single-switch",
        "shape: rail-optimized\n    breakout: 2",
        "shape: leaf-spine\n    servers_per_unit: 1\n    build: {addressing: numbered, ntp: [ntp.example.net], "
        "syslog: [192.0.2.5, '2001:db8::5'], sflow: {collectors: [192.0.2.9]}}",
        "shape: fat-tree\n    servers_per_unit: 1\n    servers_per_pod: 2\n    packets: {switch: {pauses: 'off'}}",
        "shape: single-switch\n    packets: {switch: {marks: 'off', watchdog: 'off'}, transport: {dcqcn: 'off'}}",
        "shape: torus\n    dims: [2, 2]\n    cables: {server-leaf: 2 m}",
        "shape: single-switch\n    sites: {count: 2, distance: 80 km, links: 2, rate: 400 Gb/s}",
        "shape: rail-optimized\n    frontend: {link: 100 Gb/s, switch: sn5400, storage: {servers: 2}}",
    ],
)
def test_fabrics_of_every_kind(models, entries):
    study = spec.loads(SMALL.format(entries=entries), "small.yaml")
    files = build(subject(study, "one"), ["sonic"])
    dbs = {file.path.split("/")[1]: json.loads(file.text) for file in files if file.path.endswith("/config_db.json")}
    assert dbs
    assert models.faults(dbs) == {}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda db: db.update(PORTS={}), "no model has this table"),
        (lambda db: db["PORT"]["Ethernet0"].update(speeed="1"), "no field speeed"),
        (lambda db: db["PORT"]["Ethernet0"].update(fec="both"), "fec"),
        (lambda db: db["QUEUE"]["Ethernet0|3"].update(wred_profile="OTHER"), "wred_profile"),
        (lambda db: db["BUFFER_PROFILE"]["egress_lossy_profile"].pop("pool"), "pool"),
        (lambda db: db["PORT_QOS_MAP"]["Ethernet0"].update(pfc_enable="8"), "pfc_enable"),
        (lambda db: db["DEVICE_METADATA"]["localhost"].update(docker_routing_config_mode="mine"), "mode"),
        (lambda db: db["PORT"]["Ethernet0"].update(mtu=9100), "text alone"),
    ],
)
def test_the_check_notices(models, configs, change, told):
    changed = json.loads(json.dumps(configs["leaf-u0-r0"]))
    change(changed)
    (said,) = models.faults({"leaf": changed}).values()
    assert told in " ".join(said)
