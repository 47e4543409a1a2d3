//! Static routes by destination: which of a switch's candidates the forwarding table holds.

use super::NONE;
use super::endpoint::{Endpoints, Port, links_to};
use super::paths::Paths;
use super::tables::Route;
use crate::graph::{Graph, NodeKind};

/// D-mod-k: on the first tier destinations are dealt to uplinks by their place on their leaf, on the tiers above by how
/// often the places of their leaf, and of the leaves before it, went round. (Zahavi's formula is floor(d / k) mod k
/// there; with leaves rounded up to whole rounds it also serves leaves that are not full.)
pub(super) struct Pinned {
    /// Uplinks of each attachment, at least 1.
    uplinks: Vec<u32>,
    /// Rounds of all attachments before each.
    rounds_before: Vec<u32>,
}

impl Pinned {
    pub fn new(graph: &Graph, paths: &Paths) -> Self {
        let mut pinned = Self { uplinks: Vec::new(), rounds_before: Vec::new() };
        let mut rounds = 0;
        for &attachment in &paths.attachments {
            let node = paths.switches[attachment as usize];
            let uplinks = links_to(graph, node, NodeKind::Switch).count().max(1) as u32;
            pinned.uplinks.push(uplinks);
            pinned.rounds_before.push(rounds);
            rounds += (links_to(graph, node, NodeKind::Nic).count() as u32).div_ceil(uplinks);
        }
        pinned
    }

    /// The tables that this fills: for each NIC, at each switch from which a path leads there, one link.
    pub fn routes(&self, paths: &Paths, endpoints: &Endpoints) -> Vec<Route> {
        let mut routes = Vec::new();
        for (nic, (ports, _)) in endpoints.nics.iter().zip(&endpoints.plugged) {
            for port in &endpoints.ports[ports.clone()] {
                for (switch, &node) in paths.switches.iter().enumerate() {
                    let hops = paths.candidates.choice(switch as u32, port.attachment).hops;
                    if !hops.is_empty() {
                        let link = hops[self.choose(paths, switch as u32, port, hops.len())].link;
                        routes.push(Route { switch: node, destination: *nic, link, weight: 1.0 });
                    }
                }
            }
        }
        routes
    }

    /// Which of `len` candidates a switch's table holds for a destination.
    pub fn choose(&self, paths: &Paths, switch: u32, destination: &Port, len: usize) -> usize {
        let [first, above] = self.turns(destination.attachment, destination.place);
        let turn = if is_first_tier(paths, switch, destination.attachment) { first } else { above };
        turn as usize % len
    }

    /// Turns of a destination by its attachment and its place there: on the first tier, and on those above.
    pub fn turns(&self, attachment: u32, place: u32) -> [u32; 2] {
        let at = attachment as usize;
        [place, self.rounds_before[at] + place / self.uplinks[at]]
    }
}

/// Whether a switch chooses for an attachment as the first tier does: so does the last hop, where candidates are parallel
/// links, which mirrors that choice.
pub(super) fn is_first_tier(paths: &Paths, switch: u32, attachment: u32) -> bool {
    paths.attachment_of[switch as usize] != NONE || paths.hops(switch, attachment) == 1
}
