"""Flows on a network, packet by packet: from the files of other simulators to times and counts."""

from eastwest.engine.defaults import settings_for
from eastwest.engine.faults import changes
from eastwest.simulation.bursts import with_bursts
from eastwest.simulation.capture import capturing, write_pcap
from eastwest.simulation.inputs import check_events, doubts, read_failures, read_flows, read_topology, study_network
from eastwest.simulation.pcie import limited_rates
from eastwest.simulation.result import SimulationResult, simulate
from eastwest.spec import FileSettings, read_settings

__all__ = [
    "FileSettings",
    "SimulationResult",
    "capturing",
    "changes",
    "check_events",
    "doubts",
    "limited_rates",
    "read_failures",
    "read_flows",
    "read_settings",
    "read_topology",
    "settings_for",
    "simulate",
    "study_network",
    "with_bursts",
    "write_pcap",
]
