"""Every switch's config_db is what SONiC's YANG models allow, and the check would notice if it were not."""

import json

import pytest

from eastwest.artifacts import build


@pytest.fixture(scope="module")
def configs(pune):
    files = build(pune, ["sonic"])
    return {file.path.split("/")[1]: json.loads(file.text) for file in files if file.path.endswith("/config_db.json")}


def test_every_switch_of_the_bundled_fabric(models, configs):
    assert len(configs) == 48
    assert models.faults(configs) == {}


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
