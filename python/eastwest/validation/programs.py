"""Programs that measure collectives, and what of their time is not the collective's.

A constant belongs to a program, whatever it measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eastwest.workload import Collective, Operation


@dataclass(frozen=True)
class Program:
    """`added_s` comes on top of each collective; `launch_s` is what a process needs to launch it on one of its GPUs.

    Each of its channels takes `channel_s` more. A process launches on its GPUs one after another, while they still run
    what was launched before: the longer of both shows.
    """

    added_s: float = 0.0
    launch_s: float = 0.0
    channel_s: float = 0.0

    def seen_s(self, taken_s: float, gpus_per_process: int, ran: Operation) -> float:
        """The time that the program shows for a collective that takes so long."""
        channels = ran.channels if isinstance(ran, Collective) else 1
        return max(taken_s, (self.launch_s + channels * self.channel_s) * gpus_per_process) + self.added_s


PROGRAMS: Mapping[str, Program] = {
    "nccl-tests": Program(launch_s=4.14e-6, channel_s=0.26e-6),
    "all_reduce_bench": Program(added_s=17e-6),
}
"""By the name that a table has for them.

nccl-tests queues many collectives before it looks at the clock. With `-g 8` one process launches on 8 GPUs: 35 us a
collective, however small, in table a100-8-superbench (to 32 KiB), by which 4.4 us is fitted, of a collective of one
channel. From there to 1 MiB NCCL has ever more, up to 24, and times grow by 0.2 us for each and GPU, and by 0.33
us in table a100-8: 0.26 us is their middle.

all_reduce_bench (github.com/stas00/ml-engineering, network/benchmarks) times one call of torch.distributed at a time,
after a barrier, with an event before it and one behind. 17 us is the median over 32 KiB to 64 MiB of its times on 8
H200 (table h200-8) less those of nccl-tests on 8 H100 (table h100-8-dgxc), whose NVLink is the same: measurement
against measurement.
"""
