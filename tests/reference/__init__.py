"""A second, independent solution of what the engine computes, in plain numpy: slow, literal, and read in one sitting.

It starts from a fabric's tables and shares no code with `eastwest.engine`:

    paths = Paths(built)                                             # shortest paths over the tables
    edges = rail_ring(gpus_by_server, buffer_bytes, channels=16)     # who sends what to whom
    traffic = ring_traffic(edges, paths.ecmp(edges, carried, seed))  # what crosses which link
    seconds = completions(traffic, paths.capacity).max()             # max-min rates, one completion after another
"""

from tests.reference.collectives import Edges, direct, double_tree, queue_pair_shares, rail_ring
from tests.reference.paths import Crossing, Paths
from tests.reference.traffic import Traffic, pair_traffic, ring_traffic, tree_traffic
from tests.reference.water_filling import completions, max_min

__all__ = [
    "Crossing",
    "Edges",
    "Paths",
    "Traffic",
    "completions",
    "direct",
    "double_tree",
    "max_min",
    "pair_traffic",
    "queue_pair_shares",
    "rail_ring",
    "ring_traffic",
    "tree_traffic",
]
