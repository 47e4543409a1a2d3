"""NetworkX's view of a fabric."""

import networkx as nx

from eastwest.fabric import build, to_networkx


def test_networkx_has_every_node_and_link(plan):
    fabric = build(plan(servers=95))
    graph = to_networkx(fabric)
    assert graph.number_of_nodes() == len(fabric.nodes)
    assert graph.number_of_edges() == len(fabric.links)
    assert nx.is_strongly_connected(graph)


def test_networkx_carries_the_columns(plan):
    fabric = build(plan(servers=2))
    graph = to_networkx(fabric)
    assert graph.nodes[0]["name"] == "server-0/gpu-0"
    src, dst = fabric.links.row(0)[1:3]
    assert graph.edges[src, dst, 0]["rate_bps"] == 400e9
