//! Spraying and adaptive routing: shares over all shortest paths, and the links that always carry equal ones.
//!
//! Two links are one resource when their shares are equal for every pair of attachment switches (and so are their
//! rates). On a regular Clos that makes all uplinks of a leaf one resource and all downlinks into it another; where a link
//! is missing or slower, exactly the links that this sets apart are split off.
//!
//! Shares are sums of products of fractions. To compare them exactly, and over all pairs at once, each link gets a
//! fingerprint: the sum over pairs of its share times a fixed random number of the pair, in the integers modulo the
//! prime 2^61 - 1, where division is exact. It is linear, so one pass over the fabric for each destination carries all
//! sources together. Links with equal shares have equal fingerprints; others agree with probability 2^-61.

use std::sync::OnceLock;

use super::hash::{mix, pair};
use super::paths::{Paths, UNREACHED};
use super::{Leg, NONE, Resources};
use crate::Picoseconds;
use crate::graph::Graph;

/// How traffic between every two attachment switches spreads over the fabric; pairs are worked out when first asked for.
pub(super) struct Spread {
    pub resources: Resources,
    /// Share of each of the paths' candidates within its set.
    split: Vec<f64>,
    pairs: Vec<OnceLock<Bundle>>,
}

/// All shortest paths of a pair, taken together.
pub(super) struct Bundle {
    /// Fabric resources, each once.
    pub legs: Box<[Leg]>,
    /// Latency of the longest of the paths.
    pub latency: Picoseconds,
}

impl Spread {
    /// Spreads traffic at each switch in proportion to `weight` of the candidate links: positive integers.
    pub fn new(graph: &Graph, paths: &Paths, weight: impl Fn(u32) -> u64) -> Self {
        let mut split = Vec::with_capacity(paths.candidates.len());
        let mut exact_split = Vec::with_capacity(paths.candidates.len());
        for set in paths.sets() {
            let weights = paths.candidates[set].iter().map(|hop| weight(hop.link));
            let total: u64 = weights.clone().sum();
            let inverse = field::inverse(total);
            split.extend(weights.clone().map(|weight| weight as f64 / total as f64));
            exact_split.extend(weights.map(|weight| field::multiply(weight, inverse)));
        }
        let fingerprint = fingerprints(graph.links(), paths, &exact_split);
        let is_choice = |link: usize| {
            paths.switch_of[graph.src[link] as usize] != NONE && paths.switch_of[graph.dst[link] as usize] != NONE
        };
        let resources = Resources::grouped(graph, |link| match is_choice(link) {
            true => (u32::MAX, fingerprint[link], graph.rate[link].to_bits()),
            false => (link as u32, 0, 0),
        });
        let pairs = (0..paths.attachments.len().pow(2)).map(|_| OnceLock::new()).collect();
        Self { resources, split, pairs }
    }

    /// The bundle from one attachment to another that it reaches.
    pub fn between(&self, graph: &Graph, paths: &Paths, from: u32, to: u32) -> &Bundle {
        self.pairs[from as usize * paths.attachments.len() + to as usize]
            .get_or_init(|| self.bundle(graph, paths, from, to))
    }

    fn bundle(&self, graph: &Graph, paths: &Paths, from: u32, to: u32) -> Bundle {
        let mut share_at = vec![0.0; paths.switches.len()];
        let mut latency_at = vec![0; paths.switches.len()];
        let mut legs: Vec<Leg> = Vec::new();
        let source = paths.attachments[from as usize];
        share_at[source as usize] = 1.0;
        let (mut level, mut nearer) = (vec![source], Vec::new()); // switches at one distance from `to`
        while !level.is_empty() {
            for &at in &level {
                for index in paths.nearer(at, to) {
                    let hop = paths.candidates[index];
                    let share = share_at[at as usize] * self.split[index];
                    let resource = self.resources.of_link(hop.link);
                    match legs.last_mut() {
                        Some(leg) if leg.resource == resource => leg.share += share,
                        _ => legs.push(Leg { resource, share }),
                    }
                    let there = hop.to as usize;
                    if share_at[there] == 0.0 {
                        nearer.push(hop.to);
                    }
                    share_at[there] += share;
                    latency_at[there] =
                        latency_at[there].max(latency_at[at as usize] + graph.latency[hop.link as usize]);
                }
            }
            level.clear();
            std::mem::swap(&mut level, &mut nearer);
        }
        legs.sort_by_key(|leg| leg.resource);
        legs.dedup_by(|leg, kept| {
            let same = leg.resource == kept.resource;
            if same {
                kept.share += leg.share;
            }
            same
        });
        Bundle { legs: legs.into(), latency: latency_at[paths.attachments[to as usize] as usize] }
    }
}

/// Fingerprint of each link's shares over all pairs; 0 for links that no pair uses.
fn fingerprints(links: usize, paths: &Paths, exact_split: &[u64]) -> Vec<u64> {
    let mut fingerprint = vec![0; links];
    let mut at = vec![0; paths.switches.len()];
    for to in 0..paths.attachments.len() as u32 {
        for (switch, mass) in at.iter_mut().enumerate() {
            let source = paths.attachment_of[switch];
            *mass = if source == NONE { 0 } else { field::reduce(u128::from(mix(pair(source, to)))) };
        }
        let mut farthest_first: Vec<u32> = (0..paths.switches.len() as u32).collect();
        farthest_first.retain(|&switch| paths.hops(switch, to) != UNREACHED);
        farthest_first.sort_by_key(|&switch| std::cmp::Reverse(paths.hops(switch, to)));
        for switch in farthest_first {
            for index in paths.nearer(switch, to) {
                let hop = paths.candidates[index];
                let part = field::multiply(at[switch as usize], exact_split[index]);
                fingerprint[hop.link as usize] = field::add(fingerprint[hop.link as usize], part);
                at[hop.to as usize] = field::add(at[hop.to as usize], part);
            }
        }
    }
    fingerprint
}

/// Arithmetic modulo the Mersenne prime 2^61 - 1.
mod field {
    const PRIME: u64 = (1 << 61) - 1;

    pub fn reduce(value: u128) -> u64 {
        (value % u128::from(PRIME)) as u64
    }

    pub fn add(a: u64, b: u64) -> u64 {
        (a + b) % PRIME
    }

    pub fn multiply(a: u64, b: u64) -> u64 {
        reduce(u128::from(a) * u128::from(b))
    }

    /// By Fermat's little theorem, `a`^(p - 2).
    pub fn inverse(a: u64) -> u64 {
        let (mut result, mut square, mut exponent) = (1, a, PRIME - 2);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = multiply(result, square);
            }
            square = multiply(square, square);
            exponent >>= 1;
        }
        result
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn fractions_add_up_exactly() {
            // 1/3 + 1/6 = 1/2
            assert_eq!(add(inverse(3), inverse(6)), inverse(2));
            assert_eq!(multiply(48, inverse(48)), 1);
        }
    }
}
