"""The page that takes a person from a study to switches that forward: its commands run, and print what it shows."""

import re
import shlex
import subprocess
import sys

import pytest
from tests.lab.conftest import ROOT, lab, need

from eastwest.lab import registry
from eastwest.lab.ethernet import ETHERNET

PAGE = ROOT / "docs" / "from-study-to-forwarding.md"
NAME = "live-page"
NUMBER = re.compile(r"(no|\d[\d,.:]*)")


def commands() -> list[tuple[str, str]]:
    """Commands of the page in order, each with what it shows."""
    blocks = re.findall(r"^```text\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    return [(part.partition("\n")[0], part.partition("\n")[2]) for each in blocks for part in each.split("$ ")[1:]]


def pattern(shown: str) -> re.Pattern[str]:
    """What is shown, with any number for a number, any spaces for spaces, and anything for a line of three dots."""
    lines = [line.strip() for line in shown.strip().splitlines()]
    words = [".*" if line == "..." else _line(line) for line in lines]
    return re.compile(r"\s*".join(words), re.S)


def _line(line: str) -> str:
    parts = line.replace("...", "\0").split()
    shown = (NUMBER.sub("\1", word) for word in parts)
    return r"\s+".join(re.escape(word).replace("\1", r"[\w,.:]+").replace("\x00", ".*") for word in shown)


@pytest.fixture
def page(tmp_path):
    """A folder with the examples, and no lab of the page's name left behind."""
    need(ETHERNET)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    yield tmp_path
    if NAME in registry.names():
        lab("down", "--lab", NAME)


def test_the_page_s_commands_run_and_print_what_it_shows(page, report):
    ran = commands()
    assert len(ran) == 12
    for command, shown in ran:
        words = shlex.split(command.removeprefix("sudo "))
        assert words[0] == "eastwest"
        if words[1] == "lab":  # other labs may be up on this machine
            words[3:3] = ["--lab", NAME]
        program = [sys.executable, "-c", "from eastwest.cli import main; main()", *words[1:]]
        done = subprocess.run(program, capture_output=True, text=True, cwd=page, timeout=300, check=False)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        said = done.stdout.replace(NAME, "rails")
        assert pattern(shown).search(said), (command, shown, said)
        if "--measure" in words:
            report(f"{command.removeprefix('sudo ')}: {said.strip()}")
