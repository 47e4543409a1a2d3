"""Programs that measure collectives, and the time that they add to each.

A constant belongs to a program, whatever it measured.
"""

from __future__ import annotations

from collections.abc import Mapping

ADDED_S: Mapping[str, float] = {"nccl-tests": 0.0, "all_reduce_bench": 17e-6}
"""Seconds that a program adds to each collective.

nccl-tests queues many before it looks at the clock, and adds nothing that they do not hide. all_reduce_bench
(github.com/stas00/ml-engineering, network/benchmarks) times one call of torch.distributed at a time, after a barrier,
with two events around it. 17 us is the median over 32 KiB to 64 MiB of its times on 8 H200 (table h200-8) less those of
nccl-tests on 8 H100 (table h100-8-dgxc), whose NVLink is the same: measurement against measurement.
"""
