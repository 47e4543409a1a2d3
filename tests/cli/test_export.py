import json

from tests.cli.conftest import Command


def test_an_export_says_what_it_wrote_and_what_is_left_out(eastwest: Command, tmp_path) -> None:
    said = eastwest("export", "small.yaml", "-f", "two", "--to", "htsim", "-w", "job", "--out", "out")
    assert said.code == 0
    assert said.out == "wrote hosts.csv, job.cm, two.topo to out\n"
    assert "NVLink and PCIe inside servers are left out" in said.err
    assert json.loads((tmp_path / "out" / "export.json").read_text())["fabric"] == "two"


def test_what_htsim_has_not_ends_with_code_2_and_writes_nothing(eastwest: Command, tmp_path) -> None:
    said = eastwest("export", "small.yaml", "-f", "one", "--to", "htsim", "--out", "out")
    assert said.code == 2
    assert "fabric 'one': htsim has no such network" in said.err
    assert not (tmp_path / "out").exists()


def test_an_unknown_fabric_is_refused(eastwest: Command) -> None:
    said = eastwest("export", "small.yaml", "-f", "twoo", "--to", "simai", "--out", "out")
    assert said.code == 2
    assert "two" in said.err
