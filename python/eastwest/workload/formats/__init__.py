"""Workloads in the files of other tools."""

from eastwest.workload.formats.asked import Asked, Imported, Roofline
from eastwest.workload.formats.htsim import START_UNITS, read_htsim_flows
from eastwest.workload.formats.ns3 import read_ns3_flows
from eastwest.workload.formats.recognise import import_job, named_files

__all__ = [
    "START_UNITS",
    "Asked",
    "Imported",
    "Roofline",
    "import_job",
    "named_files",
    "read_htsim_flows",
    "read_ns3_flows",
]
