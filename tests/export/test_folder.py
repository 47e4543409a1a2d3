"""Exports on disk: whole, in place of an older one, and never over what is someone else's."""

import json

import pytest

from eastwest.errors import InputError
from eastwest.export import Exported, write


def exported(*names):
    return Exported({name: name.encode() for name in names}, {"format": "htsim"}, ("something is left out",))


def test_the_folder_says_what_it_holds_and_what_is_left_out(tmp_path):
    write(exported("a", "b"), tmp_path / "out")
    about = json.loads((tmp_path / "out" / "export.json").read_text())
    assert about["files"] == ["a", "b"]
    assert about["told"] == ["something is left out"]
    assert (tmp_path / "out" / "a").read_bytes() == b"a"


def test_a_new_export_leaves_nothing_of_the_old_one(tmp_path):
    write(exported("a", "b"), tmp_path / "out")
    write(exported("c"), tmp_path / "out")
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["c", "export.json"]
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_a_folder_with_anything_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"thesis\.tex is there"):
        write(exported("a"), tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("about", ["[]", "{", '{"eastwest": "export", "files": 3}', "[" * 10_000])
def test_a_broken_list_of_files_is_no_leave_to_delete(tmp_path, about):
    (tmp_path / "export.json").write_text(about)
    (tmp_path / "a").write_text("mine")
    with pytest.raises(InputError, match="a is there"):
        write(exported("a"), tmp_path)


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match="no folder"):
        write(exported("a"), tmp_path / "out")
