//! Latency of a strand: its hops one after another, stage after stage.
//!
//! A hop takes the latency of its path and what the protocol adds, which differs inside a server and between servers.
//! Stages of edges that do not wait for each other take their longest hop, chains and trees their longest way from a
//! first rank to a last. Of a ring, the paths count with their mean, and the protocol as in NCCL's tuning (`tuning.cc`):
//! a round of `n - 1` steps leaves out one of the ring's edges, an edge between servers where there is one. A strand of a
//! collective that stands for several takes all of it as often.

use super::route::Hop;
use super::strand::{Edge, Pattern};
use crate::program::Overheads;
use crate::{PS_PER_S, Picoseconds};

/// Adds up a strand's latency; keeps its buffers from one to the next.
#[derive(Default)]
pub(super) struct Latency {
    /// Since the strand's begin, stages that have ended.
    total: f64,
    /// What the protocol adds to each kind of [`Hop`].
    added: [f64; 3],
    /// How often all of it counts.
    repeats: f64,
    /// Of the stage at hand: sum of its paths, edges between servers, longest hop.
    paths: f64,
    between: u32,
    longest: f64,
    /// Of the stage at hand: each hop, and when data arrives at each rank.
    hops: Vec<f64>,
    arrival: Vec<f64>,
}

impl Latency {
    /// Begins a strand.
    pub fn begin(&mut self, overheads: &Overheads) {
        self.total = overheads.base_s * PS_PER_S;
        self.added = [0.0, overheads.intra_s * PS_PER_S, overheads.inter_s * PS_PER_S];
        self.repeats = f64::from(overheads.repeats);
    }

    /// Notes the next edge of the stage at hand, by the latency of its path and what kind of hop it is.
    pub fn hop(&mut self, path: Picoseconds, hop: Hop) {
        let takes = (path as f64 + self.added[hop as usize]).max(0.0);
        self.paths += path as f64;
        self.between += u32::from(hop == Hop::Between);
        self.longest = self.longest.max(takes);
        self.hops.push(takes);
    }

    /// Ends the stage at hand, which had these edges.
    pub fn end_stage(&mut self, pattern: Pattern, edges: &[Edge]) {
        self.total += match pattern {
            Pattern::Together => self.longest,
            Pattern::Relay => self.longest_way(edges),
            Pattern::Ring { steps } => {
                let steps = f64::from(steps);
                let around = edges.len() as f64;
                let between = steps / (around - 1.0) * f64::from(self.between.saturating_sub(1));
                let added =
                    between * self.added[Hop::Between as usize] + (steps - between) * self.added[Hop::Inside as usize];
                (steps * self.paths / around + added).max(0.0)
            }
        };
        (self.paths, self.between, self.longest) = (0.0, 0, 0.0);
        self.hops.clear();
    }

    /// Picoseconds since the strand's begin.
    pub fn total(&self) -> Picoseconds {
        (self.total * self.repeats).round() as Picoseconds
    }

    /// Longest way along edges that each come after those that feed them.
    fn longest_way(&mut self, edges: &[Edge]) -> f64 {
        let ends = edges.iter().map(|edge| [edge.from, edge.to].map(|end| end.rank().unwrap_or(0) as usize));
        let ranks = ends.clone().flatten().max().map_or(0, |rank| rank + 1);
        self.arrival.resize(ranks.max(self.arrival.len()), 0.0);
        let mut longest: f64 = 0.0;
        for ([from, to], hop) in ends.clone().zip(&self.hops) {
            let arrival = self.arrival[from] + hop;
            self.arrival[to] = self.arrival[to].max(arrival);
            longest = longest.max(arrival);
        }
        ends.flatten().for_each(|rank| self.arrival[rank] = 0.0);
        longest
    }
}
