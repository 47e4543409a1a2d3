"""A fabric written to a folder is read back unchanged, and nothing half-written is left."""

import json

import polars as pl
import pytest

from eastwest.fabric import FabricError, build, read, write
from eastwest.fabric import store as store_module

TABLES = ("nodes", "ports", "cages", "cables", "links")


def same(one, other):
    tables = all(getattr(one, table).equals(getattr(other, table)) for table in TABLES)
    return tables and one.name == other.name and one.plan == other.plan


@pytest.fixture
def small(plan):
    return build(plan(servers=2))


def test_round_trip(small, tmp_path):
    folder = write(small, tmp_path / "fabrics" / "small")
    assert same(read(folder), small)


def test_plan_is_kept_as_plain_json(small, tmp_path):
    folder = write(small, tmp_path / "small")
    assert json.loads((folder / "plan.json").read_text())["plan"]["server"]["gpu"]["name"] == "gpu"


def test_replaces_an_older_fabric_whole(small, plan, tmp_path):
    folder = write(build(plan(servers=3)), tmp_path / "small")
    write(small, folder)
    assert same(read(folder), small)
    assert [entry.name for entry in tmp_path.iterdir()] == ["small"]


def test_failure_leaves_the_older_fabric_and_nothing_else(small, plan, tmp_path, monkeypatch):
    folder = write(small, tmp_path / "small")

    def full_disk(fabric, folder):
        (folder / "half").write_text("written")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store_module, "_fill", full_disk)
    with pytest.raises(FabricError, match="No space left on device"):
        write(build(plan(servers=3)), folder)
    assert same(read(folder), small)
    assert [entry.name for entry in tmp_path.iterdir()] == ["small"]


def test_does_not_replace_what_is_no_fabric(small, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(FabricError, match=r"thesis\.tex"):
        write(small, tmp_path)
    assert (tmp_path / "thesis.tex").exists()


def test_does_not_replace_a_file(small, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FabricError, match="is a file"):
        write(small, tmp_path / "file")


def test_does_not_write_through_a_link(small, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FabricError, match="is a link"):
        write(small, tmp_path / "link")


def test_missing_folder(tmp_path):
    with pytest.raises(FabricError, match="is not a folder") as caught:
        read(tmp_path / "none")
    assert caught.value.field == "folder"


@pytest.mark.parametrize("name", ["plan.json", "links.parquet"])
def test_missing_file(small, tmp_path, name):
    folder = write(small, tmp_path / "small")
    (folder / name).unlink()
    with pytest.raises(FabricError, match=name):
        read(folder)


@pytest.mark.parametrize("name", ["plan.json", "links.parquet"])
def test_damaged_file(small, tmp_path, name):
    folder = write(small, tmp_path / "small")
    (folder / name).write_bytes(b"\xff\x00")
    with pytest.raises(FabricError, match="is not readable"):
        read(folder)


def test_file_that_leads_out_of_the_folder(small, tmp_path):
    folder = write(small, tmp_path / "small")
    (folder / "links.parquet").rename(tmp_path / "links.parquet")
    (folder / "links.parquet").symlink_to(tmp_path / "links.parquet")
    with pytest.raises(FabricError, match="leads out"):
        read(folder)


def test_table_with_another_column_type(small, tmp_path):
    folder = write(small, tmp_path / "small")
    small.cables.with_columns(pl.col("length_m").cast(pl.Float32)).write_parquet(folder / "cables.parquet")
    with pytest.raises(FabricError, match="length_m"):
        read(folder)


def test_table_with_a_column_too_many(small, tmp_path):
    folder = write(small, tmp_path / "small")
    small.cables.with_columns(colour=pl.lit("red")).write_parquet(folder / "cables.parquet")
    with pytest.raises(FabricError, match="cables"):
        read(folder)


@pytest.mark.parametrize("header", ["[]", "{}", '{"format": 99, "name": "x", "plan": {}}'])
def test_plan_that_is_not_one(small, tmp_path, header):
    folder = write(small, tmp_path / "small")
    (folder / "plan.json").write_text(header)
    with pytest.raises(FabricError):
        read(folder)
