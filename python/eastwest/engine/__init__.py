"""The one door to the Rust engine: a fabric and a step in, times and loads out. It knows no models and no money."""

from eastwest.engine._native import EngineError, UnreachableError
from eastwest.engine.by_packet import Wire, run_by_packet, wire_rates
from eastwest.engine.messages import Messages
from eastwest.engine.network import Balancing, Carriage, Fidelity, HashSeeds, Losses, Network, QpUse, Run, Stated
from eastwest.engine.record import Record

__all__ = [
    "Balancing",
    "Carriage",
    "EngineError",
    "Fidelity",
    "HashSeeds",
    "Losses",
    "Messages",
    "Network",
    "QpUse",
    "Record",
    "Run",
    "Stated",
    "UnreachableError",
    "Wire",
    "run_by_packet",
    "wire_rates",
]
