//! What happened when: the turns of each class, the phases of each transfer, and how busy links were meanwhile.
//!
//! Kept only where a timeline is asked for. Loads are means over equal spans, from what resources had carried at their
//! ends, so that neither their number nor their cost depends on how many events there were.

use std::ops::Range;

use crate::Picoseconds;
use crate::outcome::{Timeline, Transfer, Turn};
use crate::routing::Resources;

/// What is noted in the course of one run.
pub(super) struct Recorder<'a> {
    /// Tier of each link.
    tiers: &'a [u32],
    resources: &'a Resources,
    /// What each resource had carried at the end of the last span.
    carried: Vec<f64>,
    turns: Vec<Turn>,
    transfers: Vec<Transfer>,
    timeline: Timeline,
}

impl<'a> Recorder<'a> {
    /// A recorder of loads by tier, over spans of `every`.
    pub fn new(every: Picoseconds, tiers: &'a [u32], resources: &'a Resources, turns: usize) -> Self {
        let count = tiers.iter().max().map_or(0, |&last| last as usize + 1);
        Self {
            tiers,
            resources,
            carried: vec![0.0; resources.len()],
            turns: vec![Turn::default(); turns],
            transfers: vec![],
            timeline: Timeline { tiers: count, every: every.max(1), ..Timeline::default() },
        }
    }

    /// Length of a span.
    pub fn every(&self) -> Picoseconds {
        self.timeline.every
    }

    /// When the present span ends.
    pub fn next(&self) -> Picoseconds {
        self.timeline.every.saturating_mul(self.timeline.spans() as Picoseconds + 1)
    }

    /// A class has come to an operation.
    pub fn start(&mut self, turn: u32, op: u32, class: u32, now: Picoseconds) {
        self.turns[turn as usize] = Turn { op, class, start: now, end: Picoseconds::MAX };
    }

    /// A class has ended an operation.
    pub fn end(&mut self, turn: u32, now: Picoseconds) {
        self.turns[turn as usize].end = now;
    }

    /// A phase of some of an operation's groups or pairs begins, equal for all of them; gives their numbers.
    pub fn depart(&mut self, op: u32, parts: Vec<u32>, phase: usize, bytes: f64, now: Picoseconds) -> Range<usize> {
        let (first, bytes) = (self.transfers.len(), bytes / parts.len() as f64);
        let begun = |part| Transfer { op, part, phase: phase as u32, bytes, start: now, end: Picoseconds::MAX };
        self.transfers.extend(parts.into_iter().map(begun));
        first..self.transfers.len()
    }

    /// These phases have ended.
    pub fn arrive(&mut self, transfers: Range<usize>, now: Picoseconds) {
        self.transfers[transfers].iter_mut().for_each(|transfer| transfer.end = now);
    }

    /// Ends a span of `span` picoseconds, by when resources had carried so much in all.
    pub fn sample(&mut self, span: Picoseconds, carried: Vec<f64>) {
        let tiers = self.timeline.tiers;
        let (mut sum, mut links, mut most) = (vec![0.0; tiers], vec![0.0; tiers], vec![0.0f64; tiers]);
        let seconds = span as f64 / crate::PS_PER_S;
        for (resource, (&now, before)) in carried.iter().zip(&self.carried).enumerate() {
            let of_it = self.resources.links(resource as u32);
            let Some(&first) = of_it.first() else { continue };
            let tier = self.tiers[first as usize] as usize;
            let busy = (now - before) / (self.resources.capacity[resource] * seconds);
            sum[tier] += busy * of_it.len() as f64;
            links[tier] += of_it.len() as f64;
            most[tier] = most[tier].max(busy);
        }
        self.carried = carried;
        self.timeline
            .mean
            .extend(sum.iter().zip(&links).map(|(sum, links)| if *links > 0.0 { sum / links } else { 0.0 }));
        self.timeline.most.extend(most);
    }

    /// All that was noted in a run that ended at `now`, when resources had carried so much in all. What was under way
    /// then ends with it, and what had not begun is left out.
    pub fn close(mut self, now: Picoseconds, carried: Vec<f64>) -> Timeline {
        let passed = self.timeline.every * self.timeline.spans() as Picoseconds;
        if now > passed {
            self.sample(now - passed, carried);
        }
        let mut timeline = self.timeline;
        timeline.turns = self.turns.into_iter().filter(|turn| turn.start < Picoseconds::MAX).collect();
        timeline.turns.iter_mut().for_each(|turn| turn.end = turn.end.min(now));
        timeline.transfers = self.transfers;
        timeline.transfers.iter_mut().for_each(|transfer| transfer.end = transfer.end.min(now));
        timeline
    }
}
