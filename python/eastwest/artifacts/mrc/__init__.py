"""MRC (arXiv 2605.04333): static SRv6 source routes in the place of a routing protocol.

The switches of each plane have fixed tables (`files`, from `network`), and every packet carries its whole path, which
its NIC takes from a list by the packet's entropy value (`paths`, `directory`). Not here: the NIC's transport.
"""

from eastwest.artifacts.mrc.files import files, sonic_tables
from eastwest.artifacts.mrc.network import Network, network

__all__ = ["Network", "files", "network", "sonic_tables"]
