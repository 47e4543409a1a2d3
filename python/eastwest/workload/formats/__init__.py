"""Workloads in the files of other tools."""

from eastwest.workload.formats.htsim import START_UNITS, read_htsim_flows
from eastwest.workload.formats.ns3 import read_ns3_flows

__all__ = ["START_UNITS", "read_htsim_flows", "read_ns3_flows"]
