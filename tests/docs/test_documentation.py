"""The documentation does what it says: commands are run, snippets executed, tables and figures compared."""

import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from ruamel.yaml import YAML

import eastwest as ew
from eastwest import engine, report, spec

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WIDTH = 112  # columns of a terminal in which no line of the tables shown is broken
MOST_BYTES_OF_A_PICTURE = 250_000


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def with_blocks(language):
    return [pytest.param(page, id=page.name) for page in PAGES if blocks(page, language)]


def eastwest(command, folder):
    """Runs `eastwest ...` as a shell would; gives the lines of its output and messages together."""
    words = shlex.split(command, comments=True)
    assert Path(words[0]).name == "eastwest", command
    done = subprocess.run(
        [sys.executable, "-c", "from eastwest.cli import main; main()", *words[1:]],
        cwd=folder,
        env=os.environ | {"COLUMNS": str(WIDTH), "PYTHONPATH": str(Path(ew.__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return stripped(done.stdout)


def stripped(text):
    """Lines without what an eye does not see: trailing blanks, and that a blank does not break."""
    return [line.replace("\N{NO-BREAK SPACE}", " ").rstrip() for line in text.strip("\n").splitlines()]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the starting study in it, as `eastwest init my.yaml` leaves it, and the examples."""
    monkeypatch.chdir(tmp_path)
    spec.write_starting_file(tmp_path / "my.yaml")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


@pytest.mark.parametrize("page", with_blocks("python"))
def test_python_snippets_of_a_page_run_one_after_another(page, folder, capsys):
    names = {}
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), names)


@pytest.mark.parametrize("page", with_blocks("console"))
def test_commands_print_what_the_page_shows(page, tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for block in blocks(page, "console"):
        command, _, shown = block.removeprefix("$ ").partition("\n")
        assert eastwest(command, tmp_path) == stripped(shown)


def test_the_readme_s_commands_for_one_s_own_cluster_work(tmp_path):
    commands = [line for block in blocks(ROOT / "README.md", "sh") for line in block.splitlines()]
    for command in (line for line in commands if "eastwest " in line and "git" not in line):
        eastwest(command, tmp_path)
    assert (tmp_path / "report" / "report.html").exists()


@pytest.mark.parametrize("page", with_blocks("yaml"))
def test_yaml_snippets_fit_into_the_starting_study(page):
    for block in blocks(page, "yaml"):
        study = YAML(typ="safe").load(spec.starting_file())
        for key, value in YAML(typ="safe").load(block).items():
            study[key] = {**study.get(key, {}), **value} if isinstance(value, dict) else value
        spec.from_mapping(study)


@pytest.mark.parametrize("block", blocks(ROOT / "docs" / "simulate.md", "yaml packets"))
def test_packet_settings_shown_are_read_by_the_transport_that_knows_them(block, tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text(block)
    assert spec.read_settings(path, "infiniband" if "infiniband:" in block else "rocev2")


def rows(page, heading):
    """Cells of the table below a heading row, without code marks."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(heading))
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return
        yield [cell.strip().strip("`") for cell in line.strip("|").split("|")]


def mistakes():
    return [pytest.param(*cells, id=cells[1]) for cells in rows(ROOT / "docs" / "study.md", "| in place of |")]


@pytest.mark.parametrize(("right", "wrong", "message"), mistakes())
def test_mistakes_are_told_as_the_page_says(right, wrong, message):
    start = spec.starting_file()
    assert right in start
    with pytest.raises(spec.StudyError, match=re.escape(message)):
        ew.run(YAML(typ="safe").load(start.replace(right, wrong, 1)))


def test_every_key_of_the_schema_is_described():
    keyed = ("study.md", "simulate.md", "import.md", "datapath.md", "training.md")
    pages = [(ROOT / "docs" / page).read_text(encoding="utf-8") for page in keyed]
    described = set(re.findall(r"`(\w+)`", "".join(pages)))
    schema = spec.json_schema()
    keys = {key for part in (schema, *schema["$defs"].values()) for key in part["properties"]}
    assert keys <= described


def test_every_field_of_a_result_is_described():
    described = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "study.md").read_text(encoding="utf-8")))
    case = {"fabric", "workload", "placement", "cluster", "fidelity"}
    bound = YAML(typ="safe").load(spec.starting_file()) | {"fidelity": "ideal"}
    row = ew.run(bound).json["results"][0]
    assert {key for key in row if not key.endswith("_p95_s")} <= described | case


CARRIAGES = {
    "ECMP, 1 flow a connection": engine.Carriage("ecmp"),
    "ECMP, 4 flows": engine.Carriage("ecmp", qps=4),
    "ECMP, 16 flows": engine.Carriage("ecmp", qps=16),
    "ECMP, 1 flow, all switches one seed": engine.Carriage("ecmp", hash_seeds="shared"),
    "ECMP, 1 flow of 8 flowlets": engine.Carriage("flowlet"),
    "16 paths that the sender draws": engine.Carriage("source", paths=16),
    "static routes": engine.Carriage("pinned"),
    "spraying": engine.Carriage("spray"),
}


def test_the_losses_of_ecmp_are_those_of_the_snippet():
    page = ROOT / "docs" / "engine.md"
    names = {}
    exec(compile(blocks(page, "python")[0], page.name, "exec"), names)
    shown = {name: (mean, slowest) for name, mean, slowest in rows(page, "| of a port's rate |")}
    found = {name: names["mean_and_slowest"](carriage) for name, carriage in CARRIAGES.items()}
    assert shown == {name: (f"{100 * mean:.0f} %", f"{100 * slowest:.0f} %") for name, (mean, slowest) in found.items()}


@pytest.fixture(scope="module")
def pune():
    return ew.run("pune-1024")


def test_the_readme_shows_the_bundled_study_as_it_is(pune):
    console = Console(width=WIDTH, file=io.StringIO(), legacy_windows=False)
    console.print(report.table(pune.result))
    printed = stripped(console.file.getvalue())
    shown = stripped(blocks(ROOT / "README.md", "text")[0])
    assert printed[: len(shown)] == shown


@pytest.mark.parametrize(
    ("fabric", "workload", "placement"),
    [
        ("roce-400g", "customer", "packed"),
        ("roce-200g", "customer", "packed"),
        ("roce-100g", "customer", "packed"),
        ("roce-800g", "customer", "packed"),
        ("b200-800g", "customer", "packed"),
        ("roce-400g-4to1", "customer", "packed"),
        ("roce-400g", "customer", "scattered"),
        ("roce-400g-4to1", "customer", "scattered"),
        ("roce-400g-spray", "customer", "scattered"),
        ("roce-400g", "moe", "packed"),
        ("roce-400g-spray", "moe", "packed"),
        ("roce-400g-4to1", "moe", "packed"),
        ("roce-400g", "moe", "scattered"),
        ("roce-400g-spray", "moe", "scattered"),
        ("roce-400g-4to1", "moe", "scattered"),
    ],
)
def test_the_readme_s_findings_are_the_bundled_study_s(pune, fabric, workload, placement):
    row = pune.frame.row(by_predicate=frame_is(fabric, workload, placement), named=True)
    findings = (ROOT / "README.md").read_text(encoding="utf-8").partition("## What the 1,024 GPUs show")[2]
    assert f"{row['exposed_s']:.2f} s" in findings.replace("0.4 s", "0.40 s")


def frame_is(fabric, workload, placement):
    import polars as pl

    return (pl.col("fabric") == fabric) & (pl.col("workload") == workload) & (pl.col("placement") == placement)


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES])
def test_links_lead_somewhere_and_pictures_are_small(page):
    targets = re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8"))
    for target in (page.parent / target for target in targets if "://" not in target):
        assert target.exists(), f"{page.name} links to {target.name}"
        assert target.suffix != ".png" or target.stat().st_size < MOST_BYTES_OF_A_PICTURE
