//! One draw of the hash seeds: connections to legs.

use super::endpoint::{Between, Port, Way};
use super::hash::{choose, five_tuple, mix, pair, source_port};
use super::paths::Hop;
use super::spread::Spread;
use super::{Balancing, Connection, Leg, Resources, Topology};
use crate::{Picoseconds, Result};

/// Routes connections over a [`Topology`]. Cheap to make: a word for each switch.
pub struct Router<'t> {
    topology: &'t Topology,
    pub(super) rule: Rule<'t>,
}

pub(super) enum Rule<'t> {
    Hashed { switch_seeds: Vec<u64>, port_seed: u64 },
    Pinned,
    Spread(&'t Spread),
}

impl<'t> Router<'t> {
    /// A router of one draw. `seed` matters to [`Balancing::Ecmp`] alone: it sets the switches' hash seeds and the queue
    /// pairs' UDP source ports. Without `per_switch_seeds` all switches hash alike, so that flows which one tier puts
    /// on one link stay together on the next (polarisation).
    pub fn new(topology: &'t Topology, balancing: Balancing, per_switch_seeds: bool, seed: u64) -> Self {
        let rule = match balancing {
            Balancing::Ecmp => {
                let drawn = mix(seed);
                let switch_seed = |switch: u64| if per_switch_seeds { mix(drawn ^ switch) } else { drawn };
                Rule::Hashed {
                    switch_seeds: (0..topology.paths.switches.len() as u64).map(switch_seed).collect(),
                    port_seed: mix(!drawn),
                }
            }
            Balancing::Spray => Rule::Spread(topology.sprayed()),
            Balancing::Adaptive => Rule::Spread(topology.adaptive()),
            Balancing::Pinned => Rule::Pinned,
        };
        Self { topology, rule }
    }

    /// The topology routed over.
    pub fn topology(&self) -> &'t Topology {
        self.topology
    }

    /// What legs refer to.
    pub fn resources(&self) -> &'t Resources {
        match self.rule {
            Rule::Spread(spread) => &spread.resources,
            Rule::Hashed { .. } | Rule::Pinned => &self.topology.single_links,
        }
    }

    /// Appends the legs of a connection whose queue pair `q` carries `qp_shares[q]` of its bytes (they sum to 1), each
    /// resource once, in path order but for spread fabric legs, and gives the latency of the longest path used. A GPU's
    /// connection to itself has no legs.
    ///
    /// # Errors
    /// [`Error::Unreachable`](crate::Error::Unreachable) where no path joins the GPUs, [`Error::Graph`](crate::Error::Graph)
    /// where a node is no GPU; `legs` is then as it was.
    pub fn connect(&self, connection: Connection, qp_shares: &[f64], legs: &mut Vec<Leg>) -> Result<Picoseconds> {
        if connection.from == connection.to {
            return Ok(0);
        }
        let Way { up, between, down } = self.topology.endpoints.way(&self.topology.paths, connection)?;
        let mut latency = self.whole(up, legs);
        if let Some(between) = between {
            latency += match &self.rule {
                Rule::Hashed { switch_seeds, port_seed } => {
                    let addresses = &self.topology.graph.address;
                    let ends = [between.from.nic, between.to.nic].map(|nic| addresses[nic as usize]);
                    let word = mix(pair(connection.from, connection.to)) ^ u64::from(connection.channel);
                    self.flows(&between, qp_shares, legs, |qp, _, switch, len| {
                        let flow = five_tuple(ends[0], ends[1], source_port(*port_seed, word, qp));
                        choose(flow, switch_seeds[switch as usize], len)
                    })
                }
                Rule::Pinned => self.flows(&between, qp_shares, legs, |_, to, switch, len| {
                    self.topology.pinned.choose(&self.topology.paths, switch, to, len)
                }),
                Rule::Spread(spread) => spread.connect(self.topology, between.from, between.to, legs),
            };
        }
        Ok(latency + self.whole(down, legs))
    }

    /// Sends each queue pair from the port whose turn it is along the links that `choose` picks for it, by queue pair,
    /// destination, switch and number of candidates. Gives the latency of the longest path.
    fn flows(
        &self,
        between: &Between,
        qp_shares: &[f64],
        legs: &mut Vec<Leg>,
        choose: impl Fn(u32, &Port, u32, usize) -> usize,
    ) -> Picoseconds {
        let Topology { paths, endpoints, .. } = self.topology;
        let (from, to) = (between.from, between.to);
        let first = legs.len();
        let mut longest = 0;
        for (qp, &share) in qp_shares.iter().enumerate().filter(|&(_, &share)| share > 0.0) {
            let (source, destination) = endpoints.ports(paths, from, to, between.turn.of(qp, qp_shares.len()));
            let choose = |switch, len| choose(qp as u32, destination, switch, len);
            longest = longest.max(self.walk(source, destination, choose, |link| merge(legs, first, link, share)));
        }
        longest
    }

    /// Appends legs for links that carry all of a connection.
    fn whole(&self, links: &[u32], legs: &mut Vec<Leg>) -> Picoseconds {
        let resources = self.resources();
        legs.extend(links.iter().map(|&link| Leg { resource: resources.of_link(link), share: 1.0 }));
        links.iter().map(|&link| self.topology.graph.latency[link as usize]).sum()
    }

    /// Follows one flow from port to port. Links are their own resources wherever flows are followed singly.
    fn walk(
        &self,
        from: &Port,
        to: &Port,
        choose: impl Fn(u32, usize) -> usize,
        mut cross: impl FnMut(u32),
    ) -> Picoseconds {
        let paths = &self.topology.paths;
        let mut latency = 0;
        let mut over = |link: u32| {
            cross(link);
            latency += self.topology.graph.latency[link as usize];
        };
        over(from.up);
        let mut at = from.switch;
        while at != to.switch {
            let candidates: &[Hop] = &paths.candidates[paths.nearer(at, to.attachment)];
            let index = if candidates.len() == 1 { 0 } else { choose(at, candidates.len()) };
            let hop = candidates[index];
            over(hop.link);
            at = hop.to;
        }
        over(to.down);
        latency
    }
}

/// Adds a share to a resource's leg, looking among the legs from `first` on: they are few.
pub(super) fn merge(legs: &mut Vec<Leg>, first: usize, resource: u32, share: f64) {
    match legs[first..].iter_mut().find(|leg| leg.resource == resource) {
        Some(leg) => leg.share += share,
        None => legs.push(Leg { resource, share }),
    }
}
