"""The page from a profile to a step: its commands run, and its figures are those of the profile and of the study."""

import re
from pathlib import Path

import pytest
from tests.docs.test_documentation import ROOT, blocks, eastwest

import eastwest as ew
from eastwest.study.importing import import_files, write_imported
from eastwest.workload.formats.kineto import read_profile

PAGE = ROOT / "docs" / "from-a-profile.md"
EXAMPLES = ROOT / "examples"
PROFILE = EXAMPLES / "traces" / "ddp.pt.trace.json.gz"


@pytest.fixture(scope="module")
def rows():
    frame = ew.run(EXAMPLES / "from-a-profile.yaml").frame
    return frame.rows_by_key(["fabric", "workload"], named=True, unique=True)


@pytest.mark.parametrize("command", [line for block in blocks(PAGE, "sh") for line in block.splitlines()])
def test_a_command_of_the_page_runs(command, tmp_path):
    (tmp_path / "examples").symlink_to(EXAMPLES)
    assert eastwest(command, tmp_path)


@pytest.mark.parametrize("ranks", [2, 64])
def test_the_example_s_steps_are_what_import_makes_of_the_profile(ranks, tmp_path):
    write_imported(import_files([PROFILE], ranks), [PROFILE], tmp_path / "again")
    assert (tmp_path / "again").read_text() == (EXAMPLES / "traces" / f"ddp.{ranks}.step.jsonl").read_text()


def test_the_step_on_the_original_is_the_one_that_was_profiled(rows):
    profile = read_profile(PROFILE)
    row = rows["hgx-200g", "on-2"]
    assert row["step_s"] == pytest.approx(profile.step_s, rel=1e-4)
    assert row["exposed_s"] == pytest.approx(profile.exposed_s, abs=1e-6)
    assert profile.talking_s == pytest.approx(12.3e-3, rel=5e-3)  # five all-reduces and two broadcasts in the file


def test_the_table_of_the_page_is_the_study_s(rows):
    shown = next(block for block in blocks(PAGE, "text") if block.startswith("on-64"))
    found = 0
    for part in shown.strip().split("\n\n"):
        workload, _, heads, *lines = part.splitlines()
        unit = {"s": 1.0, "ms": 1e-3}
        units = [unit[word] for word in heads.split()[1:3]]
        for fabric, step, exposed, *_ in (line.lstrip(" ▸").split() for line in lines):
            row = rows[fabric, workload.removesuffix(", packed")]
            assert float(step) * units[0] == pytest.approx(row["step_s"], rel=1e-2)
            assert float(exposed) * units[1] == pytest.approx(row["exposed_s"], rel=2e-2, abs=5e-5)
            found += 1
    assert found == 6


def test_what_the_page_concludes_is_so(rows):
    assert rows["cloud-25g", "on-64"]["step_s"] == pytest.approx(0.220, abs=2e-3)
    slow, fast = rows["cloud-25g", "host-out-of-the-way"], rows["cloud-200g", "host-out-of-the-way"]
    assert (slow["step_s"], slow["exposed_s"]) == pytest.approx((0.089, 0.050), abs=1e-3)
    assert fast["step_s"] == pytest.approx(0.040, abs=1e-3)


def test_at_25_gigabits_the_exchange_is_as_long_as_a_ring_s_closed_form_says(rows):
    # 2(n-1)/n of 102.2 MB in all over ports of 25 Gb/s, payload 4096 of 4178 bytes (docs/engine.md); latency on top
    ring_s = 2 * 63 / 64 * 102.228e6 * 8 / (25e9 * 4096 / 4178)
    assert ring_s < rows["cloud-25g", "on-64"]["communication_s"] < 1.06 * ring_s


def test_the_page_s_files_are_there():
    named = re.findall(r"examples/[\w./-]+\w", PAGE.read_text())
    assert named
    assert all(Path(ROOT / name).is_file() for name in named)
