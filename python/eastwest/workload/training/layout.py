"""Which rank has which place: tensor, context, expert, data and pipeline coordinates, and the groups that follow.

Megatron's order, tp-cp-ep-dp-pp from the fastest to the slowest (arXiv 2104.04473, section 3; Megatron-Core's
`parallel_state`): tensor-parallel ranks are neighbours, stages of the pipeline are farthest apart. A stage is a run of
neighbouring ranks, so every group is some ranks of one stage at a stride. Experts divide the same ranks of a stage by
sizes of their own. Not here: where ranks sit (`fabric.placement`), or what groups exchange (`traffic`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eastwest.workload.operations import Groups
from eastwest.workload.training.description import Training

Ranks = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Layout:
    """The ranks of a training job."""

    training: Training

    @property
    def stage_ranks(self) -> int:
        """Ranks of one pipeline stage."""
        return self.training.ranks // self.training.parallelism.pipeline

    def stage(self, stage: int) -> Ranks:
        """The ranks of a stage, in order."""
        first = stage * self.stage_ranks
        return np.arange(first, first + self.stage_ranks, dtype=np.uint32)

    def tensor(self, stage: int) -> Groups:
        """Ranks that split matrices."""
        return self._groups(stage, self.training.parallelism.tensor, 1)

    def context(self, stage: int) -> Groups:
        """Ranks that split sequences."""
        return self._groups(stage, self.training.parallelism.context, self.training.parallelism.tensor)

    def data(self, stage: int) -> Groups:
        """Ranks with the same weights, whose gradients are summed: data-parallel and context-parallel ones."""
        parallelism = self.training.parallelism
        return self._groups(stage, self.training.data * parallelism.context, parallelism.tensor)

    def shards(self, stage: int) -> Groups:
        """Of those, ranks that share what the sharding names: all, or groups of neighbours (hybrid sharding)."""
        return self._groups(stage, self.training.shared_by, self.training.parallelism.tensor)

    def replicas(self, stage: int) -> Groups:
        """Ranks that hold the same shard, one of each shard group."""
        training = self.training
        copies = training.data * training.parallelism.context // training.shared_by
        return self._groups(stage, copies, training.parallelism.tensor * training.shared_by)

    def expert(self, stage: int) -> Groups:
        """Ranks among which experts are dealt out."""
        parallelism = self.training.parallelism
        return self._groups(stage, parallelism.expert, parallelism.experts_tensor)

    def expert_tensor(self, stage: int) -> Groups:
        """Ranks that split each expert."""
        return self._groups(stage, self.training.parallelism.experts_tensor, 1)

    def expert_data(self, stage: int) -> Groups:
        """Ranks with the same experts, whose gradients are summed."""
        parallelism = self.training.parallelism
        return self._groups(stage, self.training.expert_data, parallelism.experts_tensor * parallelism.expert)

    def expert_shards(self, stage: int) -> Groups:
        """Of those, ranks that share what the sharding names."""
        parallelism = self.training.parallelism
        stride = parallelism.experts_tensor * parallelism.expert
        return self._groups(stage, self.training.experts_shared_by, stride)

    def expert_replicas(self, stage: int) -> Groups:
        """Ranks that hold the same shard of the same experts."""
        parallelism, shared_by = self.training.parallelism, self.training.experts_shared_by
        stride = parallelism.experts_tensor * parallelism.expert * shared_by
        return self._groups(stage, self.training.expert_data // shared_by, stride)

    def messages(self, sender: int, receiver: int) -> Ranks:
        """Pairs of ranks, from one stage to the same place of another; shape (ranks of a stage, 2)."""
        return np.stack([self.stage(sender), self.stage(receiver)], axis=1)

    def ends(self) -> Groups:
        """Each rank of the first stage with that of its place in the last, which hold the same word embeddings."""
        return tuple(self.messages(0, self.training.parallelism.pipeline - 1))

    def _groups(self, stage: int, size: int, stride: int) -> Groups:
        table = self.stage(stage).reshape(-1, size, stride)
        return tuple(np.ascontiguousarray(block[:, offset]) for block in table for offset in range(stride))
