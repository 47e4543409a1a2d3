"""PyTorch profiles (Kineto): what `torch.profiler` exports of one rank, as the trace of that rank in one of its steps.

Read event by event: a profile of any length takes memory for its kernels alone.
"""

from eastwest.workload.formats.kineto.job import read_profiles
from eastwest.workload.formats.kineto.read import Profile, read_profile
from eastwest.workload.formats.kineto.stream import is_profile

__all__ = ["Profile", "is_profile", "read_profile", "read_profiles"]
