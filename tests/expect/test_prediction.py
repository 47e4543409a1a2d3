"""The table that is expected: the same figures as a curve, in nccl-tests' columns."""

import pytest

from eastwest import expect, observe, spec
from eastwest import study as studies
from eastwest.errors import InputError


def test_times_are_those_of_a_curve_left_to_nccl(study: spec.Study) -> None:
    scene = expect.scene(study, "rails", expect.program("all_reduce"), 2, 8)
    sizes = [1 << 10, 1 << 20, 1 << 30]
    curve = studies.curve(study, "rails", "all-reduce", sizes, "auto", 16)
    assert [row.time_s for row in scene.rows(sizes)] == [point.time_s for point in curve.points]


def test_fewer_gpus_of_each_server_take_part(study: spec.Study) -> None:
    scene = expect.scene(study, "rails", expect.program("sendrecv"), 4, 1)
    assert (scene.ranks, scene.nodes, scene.per_node) == (4, 4, 1)
    servers = scene.bench.network.fabric.nodes["server"].to_numpy()[scene.bench.gpus]
    assert len(set(servers.tolist())) == 4


def test_a_message_to_the_next_server_has_its_nic_s_payload_rate(study: spec.Study) -> None:
    (row,) = expect.scene(study, "rails", expect.program("sendrecv"), 2, 1).rows([1 << 30])
    assert row.busbw == pytest.approx(50e9 * 0.98, rel=0.01)  # 400 Gb/s less RoCEv2's headers


def test_what_is_printed_is_read_again_as_a_log(study: spec.Study) -> None:
    scene = expect.scene(study, "rails", expect.program("reduce_scatter"), 2, 8)
    rows = scene.rows(expect.sizes("1K", "1G", 4))
    (found,) = observe.parse("\n".join(expect.lines(scene, rows)).encode(), "printed")
    assert found.test == "reduce_scatter_perf"
    assert [row.size_bytes for row in found.rows] == [row.size_bytes for row in rows]
    assert [row.halves[0].time_s for row in found.rows] == pytest.approx([row.time_s for row in rows], rel=1e-2)


def test_amd_gpus_go_by_the_usual_algorithm_and_it_is_said(study: spec.Study) -> None:
    amd = study.changed({"clusters": {"pod": {"server": "hgx-mi300x", "servers": 2}}}, by="test")
    scene = expect.scene(amd, "rails", expect.program("all_reduce"))
    assert scene.notes
    assert scene.rows([1 << 30])[0].how == "rail-ring"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"nodes": 9}, "--nodes 9: the fabric joins 8 servers"),
        ({"per_node": 9}, "--gpus-per-node 9: the fabric joins 8 GPUs"),
        ({"nodes": 1, "per_node": 1}, "2 GPUs or more"),
    ],
)
def test_more_than_there_is_is_refused(study: spec.Study, asked: dict[str, int], told: str) -> None:
    with pytest.raises(InputError, match=told):
        expect.scene(study, "rails", expect.program("all_reduce"), **asked)
