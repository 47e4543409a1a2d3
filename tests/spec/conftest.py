import copy
import json

import pytest
from ruamel.yaml import YAML

from eastwest import spec

SMALL = """name: small
clusters:
  pod: {server: hgx-h100, servers: 4}
fabrics:
  one: {shape: leaf-spine, technology: rocev2, link: 400 Gb/s, switch: sn5400}
workloads:
  job:
    kind: measured
    measured_on: {fabric: one}
    step: 2 s
    exposed: 0.4 s
    collective: {kind: all-reduce}
"""


@pytest.fixture
def small() -> str:
    return SMALL


@pytest.fixture
def changed(tmp_path):
    """Loads the small study with values replaced: changed({("fabrics", "one", "link"): "200 Gb/s"})."""

    def load(changes, drop=()):
        data = copy.deepcopy(YAML(typ="safe").load(SMALL))
        for place, value in changes.items():
            target = data
            for step in place[:-1]:
                target = target[step]
            target[place[-1]] = value
        for place in drop:
            target = data
            for step in place[:-1]:
                target = target[step]
            del target[place[-1]]
        path = tmp_path / "study.yaml"
        path.write_text(json.dumps(data))  # which is YAML, and keeps the order
        return spec.load(path)

    return load


@pytest.fixture
def mistakes(changed):
    """What is said of the small study with values replaced, without the places."""

    def told(changes, drop=()):
        with pytest.raises(spec.StudyError) as caught:
            changed(changes, drop)
        return [str(each).split(": ", 1)[1] for each in caught.value.mistakes]

    return told
