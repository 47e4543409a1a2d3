"""A study's answer depends on neither the order of entries in the file nor the number of threads."""

import json
import os
import subprocess
import sys

import pytest
from tests.study.conftest import pune_values

from eastwest import spec
from eastwest.study import run, to_json

FABRICS = ("roce-400g", "roce-400g-4to1", "roce-400g-spray")

RUN = """
import json, sys
from eastwest import spec
from eastwest.study import run, to_json

print(json.dumps(to_json(run(spec.from_mapping(json.load(sys.stdin))))))
"""


@pytest.fixture(scope="module")
def small():
    """The bundled study on fewer fabrics, with 16 servers in units of 4 and groups of 16 GPUs."""
    values = pune_values(seeds=5)
    values["clusters"] = {"h100": {**values["clusters"]["h100"], "servers": 16}}
    values["fabrics"] = {name: values["fabrics"][name] for name in FABRICS}
    values["fabrics"]["roce-400g"]["servers_per_unit"] = 4
    values["workloads"]["moe"]["collective"]["group"] = 16
    return values


def results(answer):
    return sorted(answer["results"], key=lambda row: (row["fabric"], row["workload"], row["placement"]))


def test_the_order_of_entries_changes_nothing_but_the_order_of_rows(small):
    turned = dict(small)
    for section in ("fabrics", "workloads"):
        turned[section] = dict(reversed(small[section].items()))
    turned["placements"] = small["placements"][::-1]
    turned = dict(reversed(turned.items()))
    first, second = (to_json(run(spec.from_mapping(values))) for values in (small, turned))
    assert len(results(first)) == 12
    assert results(first) == results(second)
    assert first["results"][0] != second["results"][0]


def test_the_number_of_threads_changes_nothing(small):
    answers = []
    for threads in ("1", "2", "3"):
        done = subprocess.run(
            [sys.executable, "-c", RUN],
            input=json.dumps(small),
            env={**os.environ, "RAYON_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        )
        answers.append(json.loads(done.stdout)["results"])
    assert answers[0] == answers[1] == answers[2]
