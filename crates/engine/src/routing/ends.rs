//! What sprayed connections have in common, for those who reckon with many at once instead of one by one.
//!
//! Where traffic is sprayed, what a connection loads between two NICs depends on their homes alone: its [`Trunk`]. What
//! it loads of its own on either side are the links of that GPU's way out: its [`Exit`]. Connections inside a server
//! go other ways; GPUs between which there may be such a way are in one neighbourhood.

use super::endpoint::Card;
use super::router::Rule;
use super::{Leg, NONE, Resources, Router};
use crate::graph::{Graph, NodeKind};
use crate::{Picoseconds, Result};

/// A GPU's only way out of its server.
pub(crate) struct Exit {
    /// Stands for the switches that its NIC's ports lead to.
    pub home: u32,
    /// Links of the way, with a word for the part that each plays and its latency: the same for GPUs whose ways are alike.
    pub links: Vec<(u32, u64)>,
}

/// What every connection from a NIC of one home to one of another loads and takes between them.
pub(crate) struct Trunk<'t> {
    /// Ports at both ends that are used, each pair of them for an equal share.
    pub lanes: &'t [(usize, usize)],
    /// Resources between switches.
    pub legs: &'t [Leg],
    /// Latency of the longest path between switches.
    pub latency: Picoseconds,
}

impl Router<'_> {
    /// Whether traffic is sprayed, so that trunks stand for all connections between their homes.
    pub(crate) fn sprays(&self) -> bool {
        matches!(self.rule, Rule::Spread(_))
    }

    /// A GPU's way out, if it has just one and traffic is sprayed.
    ///
    /// # Errors
    /// [`Error::Graph`](crate::Error::Graph) where the node is no GPU.
    pub(crate) fn exit(&self, gpu: u32) -> Result<Option<Exit>> {
        let topology = self.topology();
        let [Card { up, down, ports, home, .. }] = topology.endpoints.cards(gpu)? else { return Ok(None) };
        let ports = topology.endpoints.ports[ports.clone()].iter().flat_map(|port| [port.up, port.down]);
        let way = up.iter().chain(down).copied().chain(ports).enumerate();
        let links = way.map(|(part, link)| (link, (part as u64) << 48 ^ topology.graph().latency[link as usize]));
        Ok(self.sprays().then(|| Exit { home: *home, links: links.collect() }))
    }

    /// What connections between NICs of two homes have in common; none where no path joins them, or traffic is not
    /// sprayed.
    pub(crate) fn trunk(&self, from: u32, to: u32) -> Option<Trunk<'_>> {
        let Rule::Spread(spread) = &self.rule else { return None };
        let bundle = spread.bundle_of(self.topology(), from, to);
        let trunk = Trunk { lanes: &bundle.lanes, legs: &bundle.legs, latency: bundle.latency };
        (!trunk.lanes.is_empty()).then_some(trunk)
    }
}

/// Neighbourhood of each node of the graph: nodes inside servers that links join without crossing a switch.
pub(crate) fn neighbourhoods(graph: &Graph) -> Vec<u32> {
    let mut neighbourhood = vec![NONE; graph.nodes()];
    let (mut count, mut reached) = (0, Vec::new());
    for first in 0..graph.nodes() as u32 {
        if neighbourhood[first as usize] != NONE || graph.kind[first as usize] == NodeKind::Switch {
            continue;
        }
        neighbourhood[first as usize] = count;
        reached.push(first);
        while let Some(node) = reached.pop() {
            for to in graph.out(node).iter().map(|&link| graph.dst[link as usize]) {
                if graph.kind[to as usize] != NodeKind::Switch && neighbourhood[to as usize] == NONE {
                    neighbourhood[to as usize] = count;
                    reached.push(to);
                }
            }
        }
        count += 1;
    }
    neighbourhood
}

impl Resources {
    /// What links of one resource have in common that matters to who loads it: resources that differ in it are not alike.
    pub(crate) fn likeness(&self, resource: u32) -> [u64; 3] {
        let at = resource as usize;
        [self.capacity[at].to_bits(), u64::from(self.is_fabric[at]), self.links(resource).len() as u64]
    }
}
