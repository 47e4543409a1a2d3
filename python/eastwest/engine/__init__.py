"""The one door to the Rust engine: a fabric and a step in, times and loads out. It knows no models and no money."""

from eastwest.engine._native import EngineError, UnreachableError
from eastwest.engine.network import Balancing, Carriage, Fidelity, HashSeeds, Losses, Network, QpUse, Run
from eastwest.engine.record import Record

__all__ = [
    "Balancing",
    "Carriage",
    "EngineError",
    "Fidelity",
    "HashSeeds",
    "Losses",
    "Network",
    "QpUse",
    "Record",
    "Run",
    "UnreachableError",
]
