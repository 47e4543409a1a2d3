"""Training jobs: models, what they cost in arithmetic, memory and time, and what their ranks do in a step."""

from eastwest.workload.training.description import (
    Overlap,
    Parallelism,
    Precision,
    Recompute,
    Schedule,
    Sharding,
    Training,
)
from eastwest.workload.training.model import Experts, LatentAttention, Model
from eastwest.workload.training.models import gpt, preset, presets
from eastwest.workload.training.software import Software, known_software, software
from eastwest.workload.training.step import step

__all__ = [
    "Experts",
    "LatentAttention",
    "Model",
    "Overlap",
    "Parallelism",
    "Precision",
    "Recompute",
    "Schedule",
    "Sharding",
    "Software",
    "Training",
    "gpt",
    "known_software",
    "preset",
    "presets",
    "software",
    "step",
]
