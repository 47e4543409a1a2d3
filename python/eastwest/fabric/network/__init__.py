"""A network that has no shape: nodes and cables as a file gives them, read, wired, and written from any fabric."""

from eastwest.fabric.network.read import read_network
from eastwest.fabric.network.values import NetworkCable, NetworkEnd, NetworkFile, NetworkServer, NetworkSwitch
from eastwest.fabric.network.wire import wire
from eastwest.fabric.network.write import write_network

__all__ = [
    "NetworkCable",
    "NetworkEnd",
    "NetworkFile",
    "NetworkServer",
    "NetworkSwitch",
    "read_network",
    "wire",
    "write_network",
]
