"""Forwarding tables from a file beside the study: used as they are, and refused where they are named."""

from pathlib import Path

import pytest

from eastwest import spec
from eastwest.errors import InputError
from eastwest.fabric import write_routes
from eastwest.study import routes, run, with_routes

STUDY = """name: tables
clusters:
  pod: {server: hgx-h100, servers: 16}
fabrics:
  own: {shape: rail-optimized, technology: rocev2, link: 400 Gb/s, switch: sn5400, breakout: 1, servers_per_unit: 8}
  pinned: {like: own, balancing: pinned}
  given: {like: own, routes: routes.csv}
workloads:
  job: {kind: operations, operations: [{name: it, collective: all-to-all, bytes: 100 MB}]}
seeds: 3
"""


def study(folder: Path, fabric: str = "own", text: str = STUDY) -> spec.Study:
    """The study, with the tables of one of its fabrics in a file beside it."""
    (folder / "routes.csv").write_text("switch,destination,next\n")
    file = folder / "study.yaml"
    file.write_text(text)
    built, tables = routes(spec.load(file), fabric)
    write_routes(tables, built, folder / "routes.csv")
    return spec.load(file)


@pytest.mark.parametrize("fabric", ["own", "pinned"])
def test_a_fabric_with_the_tables_of_another_takes_the_same_step(fabric: str, tmp_path: Path) -> None:
    rows = {row.fabric: row for row in run(study(tmp_path, fabric)).rows}
    assert rows["given"].step_s == pytest.approx(rows[fabric].step_s, rel=1e-9)
    assert rows["given"].tiers == rows[fabric].tiers


def test_tables_that_do_not_fit_are_told_where_they_are_named(tmp_path: Path) -> None:
    given = study(tmp_path)
    (tmp_path / "routes.csv").write_text("switch,destination,next\nleaf-u0-r0,leaf-u1-r0,spine-9\n")
    with pytest.raises(
        spec.StudyError, match=r"study.yaml:7:30: fabric 'given': .*routes.csv:2: there is no switch 'spine-9'"
    ):
        run(given)


def test_tables_with_a_hole_are_told_with_the_switch_and_the_destination(tmp_path: Path) -> None:
    given = study(tmp_path)
    (tmp_path / "routes.csv").write_text("switch,destination,next\nleaf-u0-r0,leaf-u1-r0,spine-1\n")
    with pytest.raises(spec.StudyError, match="spine-1 is sent what is for leaf-u1-r0 and has no route there"):
        run(given)


def test_balancing_that_tables_leave_nothing_to_is_refused(tmp_path: Path) -> None:
    text = STUDY.replace("routes: routes.csv", "routes: routes.csv, balancing: pinned")
    with pytest.raises(
        spec.StudyError, match=r"and leave pinned nothing to choose .expected one of: ecmp, flowlet, spray"
    ):
        study(tmp_path, text=text)


def test_a_file_that_is_not_there_or_elsewhere_is_refused(tmp_path: Path) -> None:
    for name, message in (
        ("no.csv", "there is no file or folder 'no.csv'"),
        ("../x.csv", "is outside the study's folder"),
    ):
        with pytest.raises(spec.StudyError, match=message):
            study(tmp_path, text=STUDY.replace("routes.csv", name))


def test_no_file_says_what_senders_draw(tmp_path: Path) -> None:
    text = STUDY.replace("balancing: pinned", "balancing: source, paths: 4")
    with pytest.raises(spec.StudyError, match=r"study.yaml:6:.*paths that senders draw are in no switch's table"):
        study(tmp_path, "pinned", text)


def test_routes_named_on_the_command_line_take_the_place_of_the_fabrics_own(tmp_path: Path) -> None:
    given = study(tmp_path, "pinned")
    own, pinned = (run(given, where=f"fabric={each}").rows[0].step_s for each in ("own", "pinned"))
    assert own != pinned
    routed = with_routes(given, tmp_path / "routes.csv", "own")
    assert run(routed, where="fabric=own").rows[0].step_s == pytest.approx(pinned, rel=1e-9)


def test_a_fabric_that_adapts_hashes_over_routes_named_on_the_command_line(tmp_path: Path) -> None:
    given = study(tmp_path, text=STUDY.replace("routes: routes.csv", "balancing: adaptive"))
    assert with_routes(given, tmp_path / "routes.csv", "given").fabrics["given"].balancing == "ecmp"


@pytest.mark.parametrize(
    ("fabric", "file", "told"),
    [
        (None, "routes.csv", "has fabrics own, pinned, given: say whose routes these are with --fabric"),
        ("pined", "routes.csv", "no fabric 'pined'; did you mean 'pinned'?"),
        ("own", "rout.csv", "--routes: there is no file .*rout.csv"),
    ],
)
def test_routes_on_the_command_line_that_fit_nothing_are_told(
    fabric: str | None, file: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=told):
        with_routes(study(tmp_path), tmp_path / file, fabric)
