//! Ways to the switches that add up what passes them: a GPU's links to its NVLink switch and back, and aggregation
//! trees over the scale-out switches. Static: the balancing of other traffic has no say in them.
//!
//! Where sprayed links are one resource, trees are taken to be spread evenly over them, as many trees with different
//! roots are; on a NIC's ports, which a single tree would overload, [`AggregationTree::port_rate`] is the limit.
//! Not here: how many trees a switch can hold (NVIDIA's plug-in for NCCL names two streaming flows a switch).

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::paths::{Paths, UNREACHED};
use super::{Leg, Router, Topology};
use crate::{Error, Picoseconds, Result};

/// A tree that joins the NICs of some GPUs, its members, with a root switch: each switch takes one stream from each
/// branch below it and passes one up, or the same backwards.
#[derive(Clone, Debug)]
pub struct AggregationTree {
    doors: Vec<Door>,
    branches: HashMap<u32, Branch>,
    /// Rate of the slowest NIC port in it, bytes a second.
    pub port_rate: f64,
}

/// A member's links to its first switch, over PCIe and NIC, and back.
#[derive(Clone, Debug)]
struct Door {
    up: [u32; 3],
    down: [u32; 3],
    switch: u32,
}

/// A switch's links to the next one towards the root and back.
#[derive(Clone, Copy, Debug)]
struct Branch {
    up: u32,
    down: u32,
    above: u32,
}

impl Router<'_> {
    /// The legs of a GPU's way to its NVLink switch and back, with the latency of each.
    ///
    /// # Errors
    /// [`Error::Graph`] where the node is no GPU, or one without NVLink.
    pub fn nvlink(&self, gpu: u32) -> Result<[(Leg, Picoseconds); 2]> {
        let Topology { graph, endpoints, .. } = self.topology();
        match endpoints.nvlink(gpu)? {
            Some(links) => Ok(links.map(|link| {
                (Leg { resource: self.resources().of_link(link), share: 1.0 }, graph.latency[link as usize])
            })),
            None => Err(Error::Graph(format!("GPU node {gpu} has no NVLink switch"))),
        }
    }

    /// An aggregation tree over some GPUs, by way of the NIC and port whose turn the channel is. Its root is one of the
    /// switches that all of them reach in the fewest hops; `turn` chooses among these, and among parallel links.
    ///
    /// # Errors
    /// [`Error::Unreachable`] where no switch reaches all of them.
    pub fn aggregation_tree(&self, gpus: &[u32], channel: u32, turn: u32) -> Result<AggregationTree> {
        let Topology { graph, paths, endpoints, .. } = self.topology();
        let cards = gpus.iter().map(|&gpu| endpoints.card(gpu, channel)).collect::<Result<Vec<_>>>()?;
        let ports = cards.iter().map(|card| card.ports.len()).max().unwrap_or(0);
        for first in (0..ports).map(|next| channel as usize + next) {
            let plugs = cards.iter().map(|card| &endpoints.ports[card.ports.start + first % card.ports.len()]);
            let mut leaves: Vec<u32> = plugs.clone().map(|port| port.attachment).collect();
            leaves.sort_unstable();
            leaves.dedup();
            let roots = roots(paths, &leaves);
            if roots.is_empty() {
                continue;
            }
            let (root, turn) = (roots[turn as usize % roots.len()], turn as usize / roots.len());
            let mut tree = AggregationTree { doors: vec![], branches: HashMap::new(), port_rate: f64::INFINITY };
            for (card, port) in cards.iter().zip(plugs) {
                let ([to_pcie, to_nic], [from_nic, from_pcie]) = (card.up, card.down);
                let (up, down) = ([to_pcie, to_nic, port.up], [port.down, from_nic, from_pcie]);
                tree.port_rate =
                    [port.up, port.down].iter().fold(tree.port_rate, |rate, &link| rate.min(graph.rate[link as usize]));
                tree.doors.push(Door { up, down, switch: port.switch });
            }
            for leaf in leaves {
                tree.grow(self.topology(), root, leaf, turn)?;
            }
            return Ok(tree);
        }
        let (from, to) = (gpus[0], gpus[gpus.len() - 1]);
        Err(Error::Unreachable { from, to })
    }
}

impl AggregationTree {
    /// Adds the branches from a leaf up to where the tree has grown already, along a shortest path from the root.
    fn grow(&mut self, topology: &Topology, root: u32, leaf: u32, turn: usize) -> Result<()> {
        let Topology { graph, paths, .. } = topology;
        let mut way = Vec::new();
        let mut at = root;
        while at != paths.attachments[leaf as usize] {
            let candidates = paths.candidates.choice(at, leaf).hops;
            let hop = candidates[turn % candidates.len()];
            way.push((at, hop));
            at = hop.to;
        }
        for &(above, hop) in way.iter().rev() {
            if self.branches.contains_key(&hop.to) || hop.to == root {
                break;
            }
            let (upper, lower) = (paths.switches[above as usize], paths.switches[hop.to as usize]);
            let parallel = |from: u32, to: u32| {
                graph.out(from).iter().copied().filter(move |&link| graph.dst[link as usize] == to)
            };
            let place = parallel(upper, lower).take_while(|&link| link != hop.link).count();
            let Some(up) = parallel(lower, upper).nth(place) else {
                return Err(Error::Graph(format!(
                    "link {} from node {upper} to node {lower} has no link back",
                    hop.link
                )));
            };
            self.branches.insert(hop.to, Branch { up, down: hop.link, above });
        }
        Ok(())
    }

    /// Number of members.
    pub fn members(&self) -> usize {
        self.doors.len()
    }

    /// Appends the legs on which data of some members goes up to the root, added up where branches meet, and gives the
    /// latency of the longest way. A resource may have several legs.
    pub fn up(&self, router: &Router, members: Range<usize>, legs: &mut Vec<Leg>) -> Picoseconds {
        self.along(router, members, |door| door.up, |branch| branch.up, legs)
    }

    /// The same from the root down, copied where branches part.
    pub fn down(&self, router: &Router, members: Range<usize>, legs: &mut Vec<Leg>) -> Picoseconds {
        self.along(router, members, |door| door.down, |branch| branch.down, legs)
    }

    fn along(
        &self,
        router: &Router,
        members: Range<usize>,
        of_door: impl Fn(&Door) -> [u32; 3],
        of_branch: impl Fn(&Branch) -> u32,
        legs: &mut Vec<Leg>,
    ) -> Picoseconds {
        let (latency, resources) = (&router.topology().graph.latency, router.resources());
        let mut cross = |link: u32| legs.push(Leg { resource: resources.of_link(link), share: 1.0 });
        let (mut longest, mut crossed) = (0, HashSet::new());
        for door in &self.doors[members] {
            let links = of_door(door);
            links.iter().for_each(|&link| cross(link));
            let mut path: Picoseconds = links.iter().map(|&link| latency[link as usize]).sum();
            let mut at = door.switch;
            while let Some(branch) = self.branches.get(&at) {
                let link = of_branch(branch);
                if crossed.insert(at) {
                    cross(link);
                }
                path += latency[link as usize];
                at = branch.above;
            }
            longest = longest.max(path);
        }
        longest
    }
}

/// Switches that reach all of these attachments, of those the ones from which the farthest, then all together, are
/// nearest.
fn roots(paths: &Paths, leaves: &[u32]) -> Vec<u32> {
    let mut best: Option<(u16, u32)> = None;
    let mut roots = Vec::new();
    for switch in 0..paths.switches.len() as u32 {
        let hops = leaves.iter().map(|&leaf| paths.hops(switch, leaf));
        let farthest = hops.clone().max().unwrap_or(UNREACHED);
        if farthest == UNREACHED {
            continue;
        }
        let cost = (farthest, hops.map(u32::from).sum());
        if best.is_none_or(|best| cost < best) {
            best = Some(cost);
            roots.clear();
        }
        if best == Some(cost) {
            roots.push(switch);
        }
    }
    roots
}
