"""A small model, and times of its chunks, for jobs whose steps are reckoned by hand."""

from eastwest.workload.training.compute import Times
from eastwest.workload.training.description import Overlap, Parallelism, Training
from eastwest.workload.training.model import Experts, Model

DENSE = Model("dense", layers=8, hidden=1024, ffn=4096, vocab=32_000, heads=16, kv_heads=4, head_dim=64)
SPARSE = Model(
    "sparse", 8, 1024, 4096, 32_000, 16, 16, 64, experts=Experts(count=16, active=2, ffn=512, dense_layers=2)
)
NOTHING = Overlap(gradients=False, parameters=False, pipeline=False, context=False)


PASS = Times(1.0, 1.0, 1.0)
"""Seconds of a chunk's passes."""


def training(ranks=8, *, model=DENSE, batch=None, overlap=NOTHING, sequence=2048, recompute="none", **parallelism):
    """A job of one sequence a microbatch, by default with two microbatches on each data-parallel rank."""
    divided = Parallelism(**parallelism)
    copies = ranks // (divided.tensor * divided.pipeline * divided.context)
    return Training(
        model, sequence, batch or 2 * copies, ranks, parallelism=divided, overlap=overlap, recompute=recompute
    )
