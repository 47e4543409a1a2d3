"""Networks in the files of other tools, read into fabrics."""

from eastwest.fabric.formats.htsim import read_htsim_topology
from eastwest.fabric.formats.htsim_failures import read_htsim_failures
from eastwest.fabric.formats.ns3 import read_ns3_topology

__all__ = ["read_htsim_failures", "read_htsim_topology", "read_ns3_topology"]
