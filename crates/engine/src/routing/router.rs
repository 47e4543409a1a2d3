//! One draw of the hash seeds: connections to legs.

use std::cell::Cell;

use super::candidates::{Candidates, Choice};
use super::down::Down;
use super::endpoint::{Between, Port, Way};
use super::hash::{choose, choose_weighted, five_tuple, fraction, mix, pair, source_port};
use super::spread::{Spread, lanes};
use super::{Balancing, Connection, Leg, Resources, Topology};
use crate::{Picoseconds, Result};

/// Routes connections over a [`Topology`]. Cheap to make: a word for each switch.
pub struct Router<'t> {
    topology: &'t Topology,
    pub(super) rule: Rule<'t>,
}

pub(super) enum Rule<'t> {
    Hashed { candidates: &'t Candidates, switch_seeds: Vec<u64>, port_seed: u64, flowlets: u32 },
    Pinned,
    Spread(&'t Spread),
    Source { candidates: &'t Candidates, seed: u64, paths: u32 },
}

impl<'t> Router<'t> {
    /// A router of one draw. `seed` matters where flows are hashed or paths drawn: it sets the
    /// switches' hash seeds and the queue pairs' UDP source ports. Without `per_switch_seeds` all switches hash alike, so
    /// that flows which one tier puts on one link stay together on the next (polarisation).
    pub fn new(topology: &'t Topology, balancing: Balancing, per_switch_seeds: bool, seed: u64) -> Self {
        let hashed = |candidates: &'t Candidates, flowlets: u32| {
            let drawn = mix(seed);
            let switch_seed = |switch: u64| if per_switch_seeds { mix(drawn ^ switch) } else { drawn };
            let switch_seeds = (0..topology.paths.switches.len() as u64).map(switch_seed).collect();
            Rule::Hashed { candidates, switch_seeds, port_seed: mix(!drawn), flowlets: flowlets.max(1) }
        };
        let rule = match balancing {
            Balancing::Ecmp => hashed(&topology.paths.candidates, 1),
            Balancing::Wcmp => hashed(topology.weighted(), 1),
            Balancing::Flowlet { flowlets } => hashed(&topology.paths.candidates, flowlets),
            Balancing::Spray => Rule::Spread(topology.sprayed()),
            Balancing::Adaptive => Rule::Spread(topology.adaptive()),
            Balancing::Pinned => Rule::Pinned,
            Balancing::Source { paths: None } => Rule::Spread(topology.by_sender()),
            Balancing::Source { paths: Some(paths) } => {
                Rule::Source { candidates: topology.even(), seed: mix(seed), paths: paths.max(1) }
            }
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
            Rule::Hashed { .. } | Rule::Pinned | Rule::Source { .. } => &self.topology.single_links,
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
            latency += match self.rule {
                Rule::Spread(spread) => spread.connect(self.topology, between.from, between.to, legs),
                _ => {
                    let first = legs.len();
                    self.carry(connection, &between, qp_shares, &mut Load { legs, first })
                }
            };
        }
        Ok(latency + self.whole(down, legs))
    }

    /// The part of a connection's bytes whose paths cross a link that is down, as long as nobody knows; none where it
    /// stays inside a server.
    ///
    /// # Errors
    /// As [`Router::connect`].
    pub(crate) fn lost(&self, connection: Connection, qp_shares: &[f64], down: &mut Down) -> Result<Option<f64>> {
        if connection.from == connection.to {
            return Ok(None);
        }
        let Way { between, .. } = self.topology.endpoints.way(&self.topology.paths, connection)?;
        let Some(between) = between else { return Ok(None) };
        if let Rule::Spread(spread) = self.rule {
            return Ok(Some(spread.lost(self.topology, between.from, between.to, down)));
        }
        (down.meets, down.lost) = (false, 0.0);
        self.carry(connection, &between, qp_shares, down);
        Ok(Some(down.lost))
    }

    /// Takes each part of a connection that has a path of its own over it. Gives the latency of the longest path.
    fn carry(
        &self,
        connection: Connection,
        between: &Between,
        qp_shares: &[f64],
        crossing: &mut impl Crossing,
    ) -> Picoseconds {
        let Topology { paths, pinned, graph, .. } = self.topology;
        match &self.rule {
            Rule::Hashed { candidates, switch_seeds, port_seed, flowlets } => {
                let ends = [between.from.nic, between.to.nic].map(|nic| graph.address[nic as usize]);
                let word = word(connection);
                let flow = |flow: u32| five_tuple(ends[0], ends[1], source_port(*port_seed, word, flow));
                self.flows(between, qp_shares, *flowlets, candidates, crossing, |number, _, switch, choice| {
                    let seed = switch_seeds[switch as usize];
                    match choice.weights {
                        None => choose(flow(number), seed, choice.hops.len()),
                        Some(weights) => choose_weighted(flow(number), seed, weights),
                    }
                })
            }
            Rule::Source { candidates, seed, paths } => {
                self.drawn(between, mix(seed ^ word(connection)), *paths, candidates, crossing)
            }
            Rule::Pinned | Rule::Spread(_) => {
                let choose = |_, to: &Port, switch, choice: Choice| pinned.choose(paths, switch, to, choice.hops.len());
                self.flows(between, qp_shares, 1, &paths.candidates, crossing, choose)
            }
        }
    }

    /// Sends each queue pair from the port whose turn it is along the links that `choose` picks for each of its flowlets,
    /// by number, destination, switch and candidates. Gives the latency of the longest path.
    fn flows(
        &self,
        between: &Between,
        qp_shares: &[f64],
        flowlets: u32,
        candidates: &Candidates,
        crossing: &mut impl Crossing,
        choose: impl Fn(u32, &Port, u32, Choice) -> usize,
    ) -> Picoseconds {
        let Topology { paths, endpoints, .. } = self.topology;
        let (from, to) = (between.from, between.to);
        let mut longest = 0;
        for (qp, &share) in qp_shares.iter().enumerate().filter(|&(_, &share)| share > 0.0) {
            let (source, destination) = endpoints.ports(paths, from, to, between.turn.of(qp, qp_shares.len()));
            for flowlet in 0..flowlets {
                let number = qp as u32 * flowlets + flowlet;
                let choose = |switch, choice: Choice| choose(number, destination, switch, choice);
                let part = share / f64::from(flowlets);
                longest = longest.max(self.walk(source, destination, candidates, choose, part, crossing));
            }
        }
        longest
    }

    /// Sends equal parts of a connection over so many `paths`: ports take turns, and of those over two ports one is
    /// drawn from each of as many equal parts of all shortest paths, so that they lie evenly among them.
    fn drawn(
        &self,
        between: &Between,
        word: u64,
        paths: u32,
        candidates: &Candidates,
        crossing: &mut impl Crossing,
    ) -> Picoseconds {
        let Topology { endpoints, paths: all, .. } = self.topology;
        let homes = [between.from, between.to].map(|card| &endpoints.homes[card.home as usize]);
        let lanes = lanes(all, homes[0], homes[1]);
        let mut longest = 0;
        for number in 0..paths as usize {
            let (turn, round) = (number % lanes.len(), number / lanes.len());
            let on_lane = (paths as usize - turn).div_ceil(lanes.len());
            let place = (round as f64 + fraction(mix(word ^ number as u64))) / on_lane as f64;
            let (a, b) = lanes[turn.wrapping_add(word as usize) % lanes.len()];
            let source = &endpoints.ports[between.from.ports.start + a];
            let destination = &endpoints.ports[between.to.ports.start + b];
            let place = Cell::new(place);
            let choose = |_, choice: Choice| {
                let (index, within) = part_at(place.get(), choice);
                place.set(within);
                index
            };
            let part = 1.0 / f64::from(paths);
            longest = longest.max(self.walk(source, destination, candidates, choose, part, crossing));
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
        candidates: &Candidates,
        choose: impl Fn(u32, Choice) -> usize,
        share: f64,
        crossing: &mut impl Crossing,
    ) -> Picoseconds {
        let mut latency = 0;
        let mut over = |link: u32| {
            crossing.cross(link, share);
            latency += self.topology.graph.latency[link as usize];
        };
        over(from.up);
        let mut at = from.switch;
        while at != to.switch {
            let choice = candidates.choice(at, to.attachment);
            let hop = choice.hops[if choice.hops.len() == 1 { 0 } else { choose(at, choice) }];
            over(hop.link);
            at = hop.to;
        }
        over(to.down);
        crossing.arrive(share);
        latency
    }
}

/// What is done along the paths of a connection's parts, one path after another.
trait Crossing {
    /// A part of the connection takes a link.
    fn cross(&mut self, link: u32, share: f64);
    /// It has arrived.
    fn arrive(&mut self, share: f64);
}

/// Adds up legs, those from `first` on.
struct Load<'l> {
    legs: &'l mut Vec<Leg>,
    first: usize,
}

impl Crossing for Load<'_> {
    fn cross(&mut self, link: u32, share: f64) {
        merge(self.legs, self.first, link, share);
    }

    fn arrive(&mut self, _: f64) {}
}

impl Crossing for Down<'_> {
    fn cross(&mut self, link: u32, _: f64) {
        self.meets |= self.links[link as usize];
    }

    fn arrive(&mut self, share: f64) {
        self.lost += if std::mem::take(&mut self.meets) { share } else { 0.0 };
    }
}

/// A word for a connection, from which the words of its flows are drawn.
fn word(connection: Connection) -> u64 {
    mix(pair(connection.from, connection.to)) ^ u64::from(connection.channel)
}

/// The member of a set in whose part of all that leads on a place from 0 to 1 falls, and the place within that part.
fn part_at(place: f64, choice: Choice) -> (usize, f64) {
    let weight = |index: usize| choice.weights.map_or(1.0, |weights| weights[index] as f64);
    let mut point = place * (0..choice.hops.len()).map(weight).sum::<f64>();
    let last = choice.hops.len() - 1;
    for index in 0..last {
        if point < weight(index) {
            return (index, point / weight(index));
        }
        point -= weight(index);
    }
    (last, (point / weight(last)).min(1.0))
}

/// Adds a share to a resource's leg, looking among the legs from `first` on: they are few.
pub(super) fn merge(legs: &mut Vec<Leg>, first: usize, resource: u32, share: f64) {
    match legs[first..].iter_mut().find(|leg| leg.resource == resource) {
        Some(leg) => leg.share += share,
        None => legs.push(Leg { resource, share }),
    }
}
