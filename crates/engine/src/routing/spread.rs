//! Spraying and adaptive routing: shares over all ports and shortest paths, and the links that always carry equal ones.
//!
//! A NIC deals its packets evenly over the ports from which a path leads to the receiver, each port's to one of the
//! receiver's, on the same plane where both have as many. What the switches do is the same for all NICs with one
//! [`Home`](super::endpoint::Home), so pairs of homes are what is worked out.
//!
//! Two links are one resource when their shares are equal for every pair of homes (and so are their rates). On a
//! regular Clos that makes all uplinks of a leaf one resource and all downlinks into it another, together with those of
//! its like on other planes; where a link is missing or slower, exactly the links that this sets apart are split off. A
//! NIC's ports are one resource likewise.
//!
//! Shares are sums of products of fractions. To compare them exactly, and over all pairs at once, each link gets a
//! fingerprint: the sum over pairs of its share times a fixed random number of the pair, in the integers modulo the
//! prime 2^61 - 1, where division is exact. It is linear, so one pass over the fabric for each destination carries all
//! sources together. Links with equal shares have equal fingerprints; others agree with probability 2^-61.

use std::sync::OnceLock;

use super::candidates::Candidates;
use super::down::Down;
use super::endpoint::{Card, Endpoints, Home, joined};
use super::field;
use super::hash::{mix, pair};
use super::paths::Paths;
use super::{Leg, NONE, Resources, Topology};
use crate::Picoseconds;
use crate::graph::Graph;

/// How traffic between every two homes spreads over the fabric; pairs are worked out when first asked for.
pub(super) struct Spread {
    pub resources: Resources,
    /// Candidates of its own, where they are not those of the paths.
    own: Option<Candidates>,
    /// Share of each candidate within its set.
    split: Vec<f64>,
    homes: usize,
    pairs: Vec<OnceLock<Bundle>>,
}

/// All shortest paths of a pair, taken together.
pub(super) struct Bundle {
    /// Ports at both ends that are used, each pair of them for an equal share.
    pub lanes: Box<[(usize, usize)]>,
    /// Fabric resources, each once.
    pub legs: Box<[Leg]>,
    /// Latency of the longest of the paths.
    pub latency: Picoseconds,
}

impl Spread {
    /// Spreads traffic at each switch in proportion to the weights of the candidate links, the paths' or others.
    pub fn by_weight(graph: &Graph, paths: &Paths, endpoints: &Endpoints, own: Option<Candidates>) -> Self {
        let weights = own.as_ref().unwrap_or(&paths.candidates).weights.clone();
        Self::new(graph, paths, endpoints, own, &weights)
    }

    /// Spreads traffic at each switch in proportion to the rates of the candidate links.
    pub fn by_rate(graph: &Graph, paths: &Paths, endpoints: &Endpoints) -> Self {
        // Integers, so that shares compare exactly: parts of the fastest link's rate, 2^-50 fine.
        let fastest = graph.rate.iter().copied().fold(0.0, f64::max);
        let parts = |link: u32| (graph.rate[link as usize] / fastest * 2f64.powi(50)).round().max(1.0) as u64;
        let weights: Vec<u64> = paths.candidates.hops.iter().map(|hop| parts(hop.link)).collect();
        Self::new(graph, paths, endpoints, None, &weights)
    }

    fn new(graph: &Graph, paths: &Paths, endpoints: &Endpoints, own: Option<Candidates>, weights: &[u64]) -> Self {
        let candidates = own.as_ref().unwrap_or(&paths.candidates);
        let mut split = Vec::with_capacity(weights.len());
        let mut exact_split = Vec::with_capacity(weights.len());
        for set in candidates.sets() {
            let weights = &weights[set];
            let total: u64 = weights.iter().sum();
            let inverse = field::inverse(total);
            split.extend(weights.iter().map(|&weight| weight as f64 / total as f64));
            exact_split.extend(weights.iter().map(|&weight| field::multiply(weight, inverse)));
        }
        let prints = fingerprints(graph.links(), paths, candidates, endpoints, &exact_split);
        let resources = Resources::grouped(graph, |link| {
            let ends = [graph.src[link], graph.dst[link]];
            match ends.map(|node| paths.switch_of[node as usize] != NONE) {
                [true, true] => (NONE, NONE, prints[link], graph.rate[link].to_bits()),
                [false, true] => (ends[0], NONE, prints[link], graph.rate[link].to_bits()),
                [true, false] => (NONE, ends[1], prints[link], graph.rate[link].to_bits()),
                [false, false] => (link as u32, link as u32, 0, 0),
            }
        });
        let homes = endpoints.homes.len();
        let pairs = (0..homes.pow(2)).map(|_| OnceLock::new()).collect();
        Self { resources, own, split, homes, pairs }
    }

    fn candidates<'t>(&'t self, paths: &'t Paths) -> &'t Candidates {
        self.own.as_ref().unwrap_or(&paths.candidates)
    }

    /// Appends the legs of a connection between two NICs that a path joins, and gives the latency of the longest path.
    pub fn connect(&self, topology: &Topology, from: &Card, to: &Card, legs: &mut Vec<Leg>) -> Picoseconds {
        let Topology { graph, endpoints, .. } = topology;
        let bundle = self.bundle_of(topology, from.home, to.home);
        let share = 1.0 / bundle.lanes.len() as f64;
        let mut ports = |links: &mut dyn Iterator<Item = u32>| {
            let first = legs.len();
            let mut longest = 0;
            for link in links {
                super::router::merge(legs, first, self.resources.of_link(link), share);
                longest = longest.max(graph.latency[link as usize]);
            }
            longest
        };
        let up = ports(&mut bundle.lanes.iter().map(|lane| endpoints.ports[from.ports.start + lane.0].up));
        let down = ports(&mut bundle.lanes.iter().map(|lane| endpoints.ports[to.ports.start + lane.1].down));
        legs.extend_from_slice(&bundle.legs);
        up + bundle.latency + down
    }

    /// The part of a connection's packets whose paths cross a link that is down.
    pub fn lost(&self, topology: &Topology, from: &Card, to: &Card, down: &mut Down) -> f64 {
        let Topology { paths, endpoints, .. } = topology;
        let lanes = &self.bundle_of(topology, from.home, to.home).lanes;
        let mut through = 0.0;
        for &(a, b) in lanes {
            let (source, destination) = (&endpoints.ports[from.ports.start + a], &endpoints.ports[to.ports.start + b]);
            if down.links[source.up as usize] || down.links[destination.down as usize] {
                continue;
            }
            let ends = (source.attachment, destination.attachment);
            let links = down.links;
            through += *down.through.entry(ends).or_insert_with(|| self.through(paths, ends, links));
        }
        1.0 - through / lanes.len() as f64
    }

    /// What gets from one attachment to another past the links that are down.
    fn through(&self, paths: &Paths, (from, to): (u32, u32), down: &[bool]) -> f64 {
        let candidates = self.candidates(paths);
        let mut order = Vec::new();
        paths.nearest_first(to, &mut order);
        let mut at = vec![0.0; paths.switches.len()];
        at[paths.attachments[from as usize] as usize] = 1.0;
        for &switch in order.iter().rev() {
            for index in candidates.towards(switch, to) {
                let hop = candidates.hops[index];
                if !down[hop.link as usize] {
                    at[hop.to as usize] += at[switch as usize] * self.split[index];
                }
            }
        }
        at[paths.attachments[to as usize] as usize]
    }

    /// All shortest paths between NICs of two homes.
    pub fn bundle_of(&self, topology: &Topology, from: u32, to: u32) -> &Bundle {
        let Topology { graph, paths, endpoints, .. } = topology;
        self.pairs[from as usize * self.homes + to as usize]
            .get_or_init(|| self.bundle(graph, paths, &endpoints.homes, from, to))
    }

    fn bundle(&self, graph: &Graph, paths: &Paths, homes: &[Home], from: u32, to: u32) -> Bundle {
        let (from, to) = (&homes[from as usize], &homes[to as usize]);
        let lanes = lanes(paths, from, to);
        let mut legs: Vec<Leg> = Vec::new();
        let mut latency = 0;
        for &(a, b) in &lanes {
            latency = latency.max(self.lane(graph, paths, from[a], to[b], 1.0 / lanes.len() as f64, &mut legs));
        }
        legs.sort_by_key(|leg| leg.resource);
        legs.dedup_by(|leg, kept| {
            let same = leg.resource == kept.resource;
            if same {
                kept.share += leg.share;
            }
            same
        });
        Bundle { lanes: lanes.into(), legs: legs.into(), latency }
    }

    /// Carries a share from one attachment to another, a hop at a time; gives the latency of the longest path.
    fn lane(&self, graph: &Graph, paths: &Paths, from: u32, to: u32, share: f64, legs: &mut Vec<Leg>) -> Picoseconds {
        let candidates = self.candidates(paths);
        let mut level = vec![(paths.attachments[from as usize], share, 0)]; // switches as many hops from the start
        let mut nearer: Vec<(u32, f64, Picoseconds)> = Vec::new();
        let mut longest = 0;
        loop {
            for &(at, share_at, latency_at) in &level {
                if at == paths.attachments[to as usize] {
                    longest = longest.max(latency_at);
                }
                for index in candidates.towards(at, to) {
                    let hop = candidates.hops[index];
                    let share = share_at * self.split[index];
                    let resource = self.resources.of_link(hop.link);
                    match legs.last_mut() {
                        Some(leg) if leg.resource == resource => leg.share += share,
                        _ => legs.push(Leg { resource, share }),
                    }
                    let latency = latency_at + graph.latency[hop.link as usize];
                    match nearer.last_mut() {
                        Some(last) if last.0 == hop.to => (last.1, last.2) = (last.1 + share, last.2.max(latency)),
                        _ => nearer.push((hop.to, share, latency)),
                    }
                }
            }
            if nearer.is_empty() {
                return longest;
            }
            // Mostly in order already: links stand by the switch that they enter.
            if !nearer.is_sorted_by(|a, b| a.0 < b.0) {
                nearer.sort_by_key(|reached| reached.0);
                nearer.dedup_by(|reached, kept| {
                    let same = reached.0 == kept.0;
                    if same {
                        (kept.1, kept.2) = (kept.1 + reached.1, kept.2.max(reached.2));
                    }
                    same
                });
            }
            level.clear();
            std::mem::swap(&mut level, &mut nearer);
        }
    }
}

/// The pairs of ports over which NICs of two homes spread their packets: those of all turns that a path joins, each once.
pub(super) fn lanes(paths: &Paths, from: &[u32], to: &[u32]) -> Vec<(usize, usize)> {
    let mut lanes: Vec<_> = (0..from.len().max(to.len())).filter_map(|turn| joined(paths, from, to, turn)).collect();
    lanes.sort_unstable();
    lanes.dedup();
    lanes
}

/// Fingerprint of each link's shares over all pairs of homes; 0 for links that no pair uses.
fn fingerprints(
    links: usize,
    paths: &Paths,
    candidates: &Candidates,
    endpoints: &Endpoints,
    exact_split: &[u64],
) -> Vec<u64> {
    let homes = &endpoints.homes;
    // What reaches each attachment, by the attachment that it comes from; and each home's ports, up and down.
    let mut bound: Vec<Vec<(u32, u64)>> = vec![Vec::new(); paths.attachments.len()];
    let mut ports: Vec<[Vec<u64>; 2]> = homes.iter().map(|home| [vec![0; home.len()], vec![0; home.len()]]).collect();
    for (to, destination) in homes.iter().enumerate() {
        for (from, source) in homes.iter().enumerate() {
            let lanes = lanes(paths, source, destination);
            if lanes.is_empty() {
                continue;
            }
            let whole = field::reduce(u128::from(mix(pair(from as u32, to as u32))));
            let part = field::multiply(whole, field::inverse(lanes.len() as u64));
            for (a, b) in lanes {
                bound[destination[b] as usize].push((source[a], part));
                ports[from][0][a] = field::add(ports[from][0][a], part);
                ports[to][1][b] = field::add(ports[to][1][b], part);
            }
        }
    }
    let mut print = vec![0; links];
    for (plugged, home) in &endpoints.plugged {
        let [up, down] = &ports[*home as usize];
        for (index, port) in endpoints.ports[plugged.clone()].iter().enumerate() {
            print[port.up as usize] = up[index];
            print[port.down as usize] = down[index];
        }
    }
    let (mut at, mut order) = (vec![0; paths.switches.len()], Vec::new());
    for (to, sources) in bound.iter().enumerate() {
        let to = to as u32;
        at.fill(0);
        for &(from, part) in sources {
            let mass = &mut at[paths.attachments[from as usize] as usize];
            *mass = field::add(*mass, part);
        }
        paths.nearest_first(to, &mut order);
        for &switch in order.iter().rev() {
            for index in candidates.towards(switch, to) {
                let hop = candidates.hops[index];
                let part = field::multiply(at[switch as usize], exact_split[index]);
                print[hop.link as usize] = field::add(print[hop.link as usize], part);
                at[hop.to as usize] = field::add(at[hop.to as usize], part);
            }
        }
    }
    print
}
