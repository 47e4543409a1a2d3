"""Errors of rows, tables and families, and the facts that predictions must show."""

import json

import pytest

from eastwest.validation.points import Point, family, median_error, shown_size, worst
from eastwest.validation.verdict import own, to_json, validate

HEADER = """\
# cluster: {{ server: hgx-h100, servers: {servers} }}
# fabric: {{ shape: single-switch, technology: infiniband, link: 400 Gb/s, switch: qm9700 }}
"""


def verdict(folder, rows, servers=2, more="", columns="size,time_us"):
    path = folder / "mine.csv"
    path.write_text(HEADER.format(servers=servers) + more + f"{columns}\n" + "\n".join(rows) + "\n")
    return validate(own([path]))


def point(measured_s, predicted_s):
    return Point(1, "", "", measured_s, predicted_s)


def test_an_error_is_predicted_over_measured_less_one():
    assert point(2.0, 1.0).error == -0.5
    assert point(2.0, 3.0).error == 0.5


def test_a_median_takes_errors_without_their_sign_and_the_worst_keeps_it():
    points = [point(1, 0.5), point(1, 1.1), point(1, 1.2)]
    assert median_error(points) == pytest.approx(0.2)
    assert worst(points).error == -0.5


@pytest.mark.parametrize(
    ("collective", "size", "name"),
    [
        ("all-reduce", 2**20, "all-reduce, 1 MiB and up"),
        ("all-reduce", 2**20 - 1, "all-reduce, small (under 1 MiB)"),
        ("reduce-scatter", 2**30, "all-gather and reduce-scatter, 1 MiB and up"),
    ],
)
def test_a_family_is_a_kind_of_collective_at_large_or_small_messages(collective, size, name):
    assert family(collective, size) == name


@pytest.mark.parametrize(("size", "shown"), [(8, "8 B"), (1024, "1 KiB"), (3 << 20, "3 MiB"), (1 << 34, "16 GiB")])
def test_sizes_are_shown_in_powers_of_two(size, shown):
    assert shown_size(size) == shown


def test_a_bus_bandwidth_and_the_time_that_it_stands_for_are_the_same_measurement(tmp_path):
    gib, ranks = 1 << 30, 16
    time_us = 5000
    busbw = gib / (time_us * 1e-6) * 2 * (ranks - 1) / ranks / 1e9  # nccl-tests, doc/PERFORMANCE.md
    (by_time,) = verdict(tmp_path, [f"{gib},{time_us}"]).tables[0].points
    (by_rate,) = verdict(tmp_path, [f"{gib},{busbw}"], columns="size,busbw_GBs").tables[0].points
    assert by_rate.measured_s == pytest.approx(by_time.measured_s)
    assert by_rate.predicted_s == by_time.predicted_s


def test_a_column_with_a_dot_changes_what_it_was_measured_on(tmp_path):
    found = verdict(tmp_path, ["1 GiB,5000,2", "1 GiB,5000,4"], columns="size,time_us,cluster.servers").tables[0]
    assert [each.label for each in found.points] == ["all-reduce, 1 GiB, 16 GPUs", "all-reduce, 1 GiB, 32 GPUs"]


def test_a_fabric_whose_switches_are_not_told_is_non_blocking(tmp_path):
    """Told or not, 2 servers on switches of their rails take the same time."""
    told = "shape: single-switch, technology: infiniband, link: 400 Gb/s, switch: qm9700"
    (whole,) = verdict(tmp_path, ["1 GiB,5000"]).tables[0].points
    path = tmp_path / "mine.csv"
    path.write_text(path.read_text().replace(told, "technology: infiniband, link: 400 Gb/s"))
    (short,) = validate(own([path])).tables[0].points
    assert short.predicted_s == pytest.approx(whole.predicted_s, rel=1e-3)


def test_one_server_of_one_s_own_needs_no_fabric(tmp_path):
    (tmp_path / "parts.yaml").write_text("servers: { ours: { like: hgx-a100, power: 6 kW } }")
    path = tmp_path / "mine.csv"
    path.write_text("# catalog: parts.yaml\n# cluster: { server: ours, servers: 1 }\nsize,time_us\n1 GiB,8200\n")
    (found,) = validate(own([path])).tables[0].points
    assert found.label == "all-reduce, 1 GiB, 8 GPUs"


def test_a_program_s_own_time_is_added(tmp_path):
    (plain,) = verdict(tmp_path, ["1 MiB,50"]).tables[0].points
    (slower,) = verdict(tmp_path, ["1 MiB,50"], more="# program: all_reduce_bench\n").tables[0].points
    assert slower.predicted_s - plain.predicted_s == pytest.approx(17e-6)


def test_a_process_of_eight_gpus_launches_on_one_after_another(tmp_path):
    (small, large) = verdict(tmp_path, ["8,35", "1 GiB,5000"], more="# gpus_per_process: 8\n").tables[0].points
    (_, same) = verdict(tmp_path, ["8,35", "1 GiB,5000"]).tables[0].points
    assert small.predicted_s == pytest.approx(8 * 4.4e-6)  # 35 us: superbenchmark's log of 8 A100
    assert large.predicted_s == same.predicted_s


def test_send_recv_moves_each_message_over_the_slowest_link_once(tmp_path):
    (found,) = verdict(tmp_path, ["1 GiB,25000"], more="# collective: send-recv\n").tables[0].points
    rate = 400e9 / 8 * 4096 / 4122  # one NIC from node to node, less InfiniBand's headers
    assert found.predicted_s >= (1 << 30) / rate


def test_on_two_nodes_an_all_reduce_goes_faster_than_the_nics_carry_bytes(tmp_path):
    """Tree and NVLS tree: nccl-tests' bus bandwidth passes what a node's NICs carry (8 of 400 Gb/s)."""
    size, ranks = 16 << 30, 16
    (found,) = verdict(tmp_path, [f"{size},68000"]).tables[0].points
    assert size / found.predicted_s * 2 * (ranks - 1) / ranks > 8 * 400e9 / 8


def test_in_one_node_nvls_goes_faster_than_nvlink(tmp_path):
    """NVLink SHARP: the switch adds up, and bus bandwidth passes NVLink's 450 GB/s."""
    size, ranks = 16 << 30, 8
    (found,) = verdict(tmp_path, [f"{size},62648"], servers=1).tables[0].points
    assert size / found.predicted_s * 2 * (ranks - 1) / ranks > 450e9


def test_families_count_what_was_checked_and_tell_what_was_fitted_apart(tmp_path):
    for name, role, time_us in (("fitted", "fit", 1), ("checked", "check", 5000)):
        (tmp_path / f"{name}.csv").write_text(
            HEADER.format(servers=2) + f"# role: {role}\nsize,time_us\n1 GiB,{time_us}\n"
        )
    found = to_json(validate(own([tmp_path / "fitted.csv", tmp_path / "checked.csv"])))
    (one,) = found["families"]
    assert (one["rows"], one["checked_rows"], one["fitted_rows"]) == (1, 1, 1)
    assert one["median_abs_error"] == abs(found["tables"][1]["points"][0]["error"])
    assert one["fitted_median_abs_error"] > 1


def test_json_has_families_and_tables_with_the_figures_that_programs_read(tmp_path):
    found = json.loads(json.dumps(to_json(verdict(tmp_path, ["8,30", "1 GiB,4500"]))))
    assert {"name", "rows", "median_abs_error", "worst_abs_error"} <= found["families"][0].keys()
    assert {"name", "family", "role", "clean", "rows", "median_abs_error", "worst_abs_error", "source"} <= found[
        "tables"
    ][0].keys()


@pytest.mark.parametrize("more", ["", "# algorithm: ring\n", "# algorithm: direct\n", "# algorithm: rail-ring\n"])
def test_gpus_that_nccl_does_not_know_run_the_usual_algorithm_or_the_one_that_is_named(tmp_path, more):
    """An all-reduce of 1 GiB by ring or in two direct exchanges sends 7/4 GiB out of each GPU, by 7 links."""
    head = "# cluster: { server: hgx-mi300x, servers: 1 }\n"
    (tmp_path / "amd.csv").write_text(f"{head}{more}size,time_us\n1 GiB,5829\n")
    (point,) = validate(own([tmp_path / "amd.csv"])).tables[0].points
    assert 7 / 4 * 2**30 / 450e9 < point.predicted_s < 7 / 4 * 2**30 / 250e9
