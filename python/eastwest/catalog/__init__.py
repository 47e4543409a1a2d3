"""The catalogue: GPUs, NICs, switches, servers and link layers, each figure with its source.

Entries are data (YAML beside this module, and a reader's own file beside the study); `Catalog` looks them up by name.
What a network made of them looks like is the fabric's business.
"""

from eastwest.catalog.entries import Gpu, LinkLayer, Nic, Retransmission, Server, Switch, Technology
from eastwest.catalog.lookup import Catalog, CatalogError, UnknownPartError

__all__ = [
    "Catalog",
    "CatalogError",
    "Gpu",
    "LinkLayer",
    "Nic",
    "Retransmission",
    "Server",
    "Switch",
    "Technology",
    "UnknownPartError",
]
