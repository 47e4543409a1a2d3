"""MRC as a part of `eastwest build`."""

import json

import pytest

from eastwest import artifacts, spec
from eastwest.artifacts.mrc import network, sonic_tables
from eastwest.spec import StudyError

STUDY = """\
name: planes
clusters: { small: { server: gb200-nvl72, servers: 4 } }
fabrics:
  planes:
    shape: SHAPE
    technology: TECHNOLOGY
    link: 400 Gb/s
    planes: 2
    nic: connectx-8
    switch: sn5600
    breakout: 4
workloads: { sync: { kind: operations, operations: [{ name: s, collective: all-gather, bytes: 1 GB }] } }
"""


@pytest.fixture
def subject(tmp_path):
    def made(shape="leaf-spine", technology="mrc", more=""):
        path = tmp_path / "study.yaml"
        path.write_text(STUDY.replace("SHAPE", shape + more).replace("TECHNOLOGY", technology))
        return artifacts.subject(spec.load(str(path)), "planes")

    return made


def test_an_mrc_fabric_gets_tables_lists_and_a_directory(subject):
    made = subject()
    paths = {file.path for file in artifacts.build(made, ["mrc"])}
    tables = {f"switches/{switch.name}/srv6.batch" for switch in made.plan.switches}
    assert paths == tables | {f"mrc/paths/{host.name}.json" for host in made.plan.hosts} | {
        "mrc/fabric.json",
        "plan.json",
    }


def test_another_fabric_gets_none(subject):
    made = subject(technology="rocev2")
    assert not [file.path for file in artifacts.build(made) if "mrc" in file.path or "srv6" in file.path]


def test_a_shape_without_a_tree_is_refused_at_its_line(subject):
    with pytest.raises(StudyError, match=r"study.yaml:4:3: fabric 'planes': MRC's paths climb"):
        artifacts.build(subject("mesh", more="\n    links_per_pair: 1\n    servers_per_unit: 1"))


def test_sonic_gets_the_same_tables_and_routes_by_no_protocol(subject, models):
    made = subject()
    configs = {
        file.path.split("/")[1]: json.loads(file.text)
        for file in artifacts.build(made, ["sonic"])
        if file.path.endswith("/config_db.json")
    }
    of = network(made.plan)
    assert configs.keys() == of.tree.switches.keys()
    for name, config in configs.items():
        assert sonic_tables(of, made.plan.switch(name)).items() <= config.items()
        assert "bgp_asn" not in config["DEVICE_METADATA"]["localhost"]
    assert models.faults(configs) == {}
