"""A build's folder: whole or not at all, in place of an older build alone, the same byte for byte."""

import json
from pathlib import Path

import pytest

from eastwest.artifacts import File, build, check, write
from eastwest.errors import InputError


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_bundled_fabric_is_the_same_byte_for_byte(pune, tmp_path):
    for name in ("one", "two"):
        write(build(pune), {"study": "pune-1024"}, tmp_path / name)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_an_older_build_is_replaced_whole(tmp_path):
    write([File("a/old.txt", "old\n"), File("b.txt", "1\n")], {}, tmp_path / "out")
    write([File("b.txt", "2\n")], {}, tmp_path / "out")
    assert set(contents(tmp_path / "out")) == {"b.txt", "build.json"}
    assert (tmp_path / "out" / "b.txt").read_text() == "2\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_no_build_wrote_is_left_alone(tmp_path):
    out = tmp_path / "out"
    write([File("switches/leaf/frr.conf", "!\n")], {}, out)
    (out / "switches" / "leaf" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"switches/leaf/notes.txt is there, which no build wrote"):
        check(out)


@pytest.mark.parametrize("make", [lambda path: path.write_text(""), lambda path: path.symlink_to("elsewhere")])
def test_what_is_no_folder_is_refused(tmp_path, make):
    make(tmp_path / "out")
    with pytest.raises(InputError, match="this is no folder"):
        check(tmp_path / "out")


def test_nothing_is_left_where_writing_fails(tmp_path):
    """A file stands where another needs a folder."""
    out = tmp_path / "out"
    write([File("kept.txt", "kept\n")], {}, out)
    with pytest.raises(FileExistsError):
        write([File("a", "1\n"), File("a/b", "2\n")], {}, out)
    assert set(contents(tmp_path)) == {"out/kept.txt", "out/build.json"}


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../up", "a//b", "", "."])
def test_no_path_leads_out_of_the_folder(path):
    with pytest.raises(ValueError, match="no path inside a folder"):
        File(path, "")


def test_scripts_can_be_run(tmp_path):
    write([File("run.sh", "#!/bin/sh\n", is_executable=True), File("data.txt", "\n")], {}, tmp_path / "out")
    assert (tmp_path / "out" / "run.sh").stat().st_mode & 0o111
    assert not (tmp_path / "out" / "data.txt").stat().st_mode & 0o111


def test_the_folder_says_what_it_is_of(pune, tmp_path):
    write(build(pune, ["sonic"]), {"study": "pune-1024", "fabric": "roce-400g"}, tmp_path / "out")
    about = json.loads((tmp_path / "out" / "build.json").read_text())
    assert (about["eastwest"], about["fabric"]) == ("build", "roce-400g")
    assert "switches/leaf-u0-r0/config_db.json" in about["files"]
