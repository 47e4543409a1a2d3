"""The log that docs/expect.md shows, and what it says of it; and what it says of options, findings and JSON."""

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.cli.conftest import Command
from tests.cli.conftest import eastwest as eastwest

from eastwest import expect, spec

PAGE = (Path(__file__).parents[2] / "docs" / "expect.md").read_text(encoding="utf-8")


def block(head: str) -> str:
    found = re.search(rf"^```{head}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def lines(text: str) -> list[str]:
    return [line.replace("\N{NO-BREAK SPACE}", " ").rstrip() for line in text.strip("\n").splitlines()]


def test_the_log_of_the_page_is_explained_as_it_shows(
    eastwest: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "112")
    spec.write_starting_file(tmp_path / "my.yaml")
    (tmp_path / "half.log").write_text(block("text log"))
    command, _, shown = block("text").removeprefix("$ eastwest ").partition("\n")
    said = eastwest(*shlex.split(command))
    assert said.code == 1
    assert lines(said.out) == lines(shown)


def test_every_finding_has_a_row() -> None:
    folder = Path(expect.__file__).parent / "rules"
    source = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    named = set(re.findall(r'return Finding\(\s*"([a-z-]+)"', source)) | {"no-nvls", "other-algorithm"}
    assert len(named) > 12
    assert named <= set(re.findall(r"`([a-z-]+)`", PAGE))


def test_every_key_of_the_json_is_described(eastwest: Command, tmp_path: Path) -> None:
    spec.write_starting_file(tmp_path / "my.yaml")
    (tmp_path / "half.log").write_text(block("text log"))
    asked = ("expect", "my.yaml", "--fabric", "as-built", "--json")
    alone = json.loads(eastwest(*asked, "--nodes", "2", "-b", "1M", "-e", "4M").out)
    beside = json.loads(eastwest(*asked, "--measured", "half.log").out)
    (comparison,) = beside["comparisons"]
    assert beside["agrees"] is False
    finding = comparison["findings"][0]
    parts = (alone, alone["rows"][0], beside, comparison, comparison["bands"][0], comparison["rows"][0], finding)
    keys = {key for part in (*parts, finding["causes"][0]) for key in part}
    assert keys <= set(re.findall(r"`(\w+)`", PAGE))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--measured", "none.log"), "none.log: there is no such file"),
        (("--measured", "small.yaml"), "this looks like a study file"),
        (("--collective", "allreduce"), "did you mean 'all_reduce'?"),
        (("--datatype", "floot"), "no such type"),
        (("--tolerance", "2"), "--tolerance 2.0"),
        (("-b", "8Q"), "write a size as nccl-tests does"),
        (("--nodes", "5"), "--nodes 5: the fabric joins 4 servers"),
        (("-c", "sendrecv", "--algorithm", "ring"), "sendrecv_perf has neither"),
        (("--algorithm", "rnig"), "did you mean 'ring'?"),
    ],
)
def test_mistakes_are_told_with_their_remedy(eastwest: Command, arguments: tuple[str, ...], told: str) -> None:
    said = eastwest("expect", "small.yaml", "--fabric", "one", *arguments)
    assert said.code == 2
    assert told in said.err
    assert said.out == ""


def test_a_log_that_agrees_exits_with_0(eastwest: Command, tmp_path: Path) -> None:
    table = eastwest("expect", "small.yaml", "--fabric", "one", "--nodes", "2", "-b", "1M").out
    (tmp_path / "same.log").write_text(table)
    said = eastwest("expect", "small.yaml", "--fabric", "one", "--measured", "same.log")
    assert said.code == 0
    assert "It agrees." in said.out
