"""Workload text of SimAI: its passes as SimAI runs them, its groups, and lines that are refused."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workload.formats.conftest import imported

from eastwest.errors import InputError
from eastwest.workload import Collective

HEAD = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 16"
LAYERS = """\
first -1 1000 ALLREDUCE 100 2000 NONE 0 3000 ALLREDUCE 500 40
second -1 1000 ALLTOALL_EP 200 2000 ALLREDUCE 100 3000 REDUCESCATTER_DP_EP 600 40
"""


def read(tmp_path, layers=LAYERS, head=HEAD, count=None, **options):
    path = tmp_path / "w.txt"
    count = len(layers.splitlines()) if count is None else count
    path.write_text(f"{head}\n{count}\n{layers}")
    return imported(path, **options)


def shown(found):
    return [(each.name, list(each.after)) for each in found.step.operations]


def groups(operation):
    return [group.tolist() for group in operation.groups]


def test_passes_go_forward_then_backward_and_wait_for_all_but_weight_gradients(tmp_path):
    assert shown(read(tmp_path)) == [
        ("first (1) forward", []),
        ("first (1) forward: all-reduce", ["first (1) forward"]),
        ("second (2) forward", ["first (1) forward: all-reduce"]),
        ("second (2) forward: all-to-all", ["second (2) forward"]),
        ("second (2) input gradients", ["second (2) forward: all-to-all"]),
        ("second (2) input gradients: all-reduce", ["second (2) input gradients"]),
        ("second (2) weight gradients", ["second (2) input gradients: all-reduce"]),
        ("second (2) weight gradients: reduce-scatter", ["second (2) weight gradients"]),
        ("first (1) input gradients", []),  # with its weight gradients: nothing comes between
        ("first (1) weight gradients: all-reduce", ["first (1) input gradients"]),
        ("first (1) update", ["first (1) weight gradients: all-reduce"]),
        ("second (2) update", ["second (2) weight gradients: reduce-scatter"]),
    ]


def test_times_are_nanoseconds_and_none_is_lost(tmp_path):
    assert read(tmp_path).step.compute_s == pytest.approx(2 * (1000 + 2000 + 3000 + 40) * 1e-9)


def test_groups_are_numbered_as_megatron_numbers_them(tmp_path):
    found = {each.queue: groups(each) for each in read(tmp_path).step.operations if isinstance(each, Collective)}
    assert found["TP"][:2] == [[0, 1], [2, 3]]
    assert found["EP"][:2] == [[0, 2], [1, 3]]  # two of the eight that hold the same part of the model
    assert found["DP"] == [list(range(0, 16, 2)), list(range(1, 16, 2))]
    assert found["DP_EP"][0] == [0, 4, 8, 12]


def test_other_numbers_of_ranks_change_data_parallelism(tmp_path):
    found = {
        each.queue: groups(each) for each in read(tmp_path, ranks=32).step.operations if isinstance(each, Collective)
    }
    assert found["DP"][0] == list(range(0, 32, 2))


def test_layers_behind_a_checkpoint_run_forward_again(tmp_path):
    head = f"{HEAD} checkpoints: 1 0 checkpoint_initiates: 1 1"
    names = [name for name, _ in shown(read(tmp_path, head=head))]
    again = names.index("first (1) forward again")
    assert names[again - 1] == "second (2) forward: all-to-all"
    assert names[again + 2] == "second (2) input gradients"


def test_pipelines_are_said_to_be_left_out(tmp_path):
    found = read(tmp_path, head=HEAD.replace("pp: 1", "pp: 2"))
    assert "messages and bubbles of the pipeline are not in the file, and not in the step" in found.facts


def test_simai_s_example_is_two_all_reduces(request):
    found = imported(request.config.rootpath / "tests/data/imports/simai_micro_all_reduce.txt")
    sizes = [each.bytes for each in found.step.operations if isinstance(each, Collective)]
    assert sizes == [16 * 2**20, 64 * 2**20]
    assert found.step.ranks == 8


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_DLRM"), "w.txt:1: HYBRID_DLRM is not followed here"),
        ((" all_gpus: 16", ""), "w.txt:1: all_gpus is missing"),
        (("ep: 2", "ep: 3"), "w.txt:1: 3 ranks of experts do not divide the 8 of data parallelism"),
        (("all_gpus: 16", "all_gpus: 15"), "do not divide the 15 ranks of the job"),
        (("pp: 1", "pp: none"), "pp is a whole number from 1"),
        (("ep: 2", "eep: 2"), "'eep:' is not known; there are model_parallel_NPU_group"),
        (("\n2\n", "\n3\n"), "w.txt:2: 3 layers are declared and 2 are given: the file was cut"),
        (("\n2\n", "\n1\n"), "w.txt:4: 1 layers are declared, and here stands one more"),
        (("\n2\n", "\nmany\n"), "w.txt:2: the number of layers is a whole number"),
        (("ALLTOALL_EP", "ALLTOSOME"), "w.txt:4: 'ALLTOSOME' is no collective"),
        (("ALLTOALL_EP", "ALLTOALL_XP"), "w.txt:4: 'ALLTOALL_XP' is no collective"),
        (("first -1 1000", "first -1 -1000"), "w.txt:3: the time of the forward is a whole number"),
        ((" 600 40", " 600"), "w.txt:4: the time of the update is missing"),
        (("all_gpus: 16", "all_gpus: 16 checkpoints: 1 7"), "checkpoints name layers up to 7, and there are 2"),
        (("all_gpus: 16", "all_gpus: 16 checkpoints: 3 0"), "checkpoints is missing"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused(tmp_path, change, why):
    path = tmp_path / "w.txt"
    path.write_text(f"{HEAD}\n2\n{LAYERS}".replace(*change))
    with pytest.raises(InputError) as refused:
        imported(path)
    assert why in str(refused.value)


@given(st.text(max_size=40), st.integers(40, 300))
def test_whatever_stands_in_a_workload_it_is_read_or_refused(tmp_path_factory, noise, place):
    whole = f"{HEAD}\n2\n{LAYERS}"
    path = tmp_path_factory.mktemp("fuzz") / "w.txt"
    path.write_text(whole[:place] + noise + whole[place:], encoding="utf-8", errors="replace")
    with contextlib.suppress(InputError):
        imported(path)
