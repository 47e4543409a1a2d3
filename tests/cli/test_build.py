"""`eastwest build`, run as a shell would."""

import json
from pathlib import Path

import pytest

from .conftest import Command


def test_the_bundled_fabric(eastwest: Command, tmp_path: Path) -> None:
    said = eastwest("build", "pune-1024", "--fabric", "roce-400g", "--out", "out")
    assert said.code == 0, said.err
    assert "to out" in said.out
    plan = json.loads((tmp_path / "out" / "plan.json").read_text())
    assert (len(plan["switches"]), len(plan["hosts"]), len(plan["cables"])) == (48, 128, 2048)
    for switch in plan["switches"]:
        assert (tmp_path / "out" / "switches" / switch["name"] / "config_db.json").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("pune-1024", "--fabric", "roce-400"), "did you mean 'roce-400g'?"),
        (("pune-1024", "--fabric", "roce-400g", "--only", "sonik"), "did you mean 'sonic'?"),
        (("pune-1024", "--fabric", "ib-400g", "--only", "sonic"), "a fabric of infiniband needs none of it"),
    ],
)
def test_mistakes_leave_nothing(eastwest: Command, tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    said = eastwest("build", *arguments, "--out", "out")
    assert said.code == 2
    assert says in said.err
    assert "Traceback" not in said.err
    assert not (tmp_path / "out").exists()


def test_a_folder_of_other_things_is_refused(eastwest: Command, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("")
    said = eastwest("build", "pune-1024", "--fabric", "roce-400g", "--out", "out")
    assert (said.code, "thesis.tex is there, which no build wrote" in said.err) == (2, True)
