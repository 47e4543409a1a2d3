//! What became of each port over a run: its deepest queue and its pauses. Costs nothing where packets pass by.
//!
//! Not here: what ports carried, marked and lost, and when; that is [`super::series`].

use super::run::Simulation;
use super::transport::Transport;
use crate::Picoseconds;

/// One port's fate: that of a link, seen from where it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortOutcome {
    /// Most bytes of data that waited before it.
    pub deepest: u32,
    /// Pauses that its other end asked for; with credits, times that it had something to send and none for it.
    pub pauses: u64,
    /// Time that it was paused, summed over traffic classes, or waited for credits.
    pub paused: Picoseconds,
}

/// Pauses of one port, over the run so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pauses {
    asked: u64,
    /// Time of those that are over.
    paused: Picoseconds,
}

impl<T: Transport> Simulation<'_, T> {
    /// Asks the port at the beginning of a cable to pause, or a class of it, by the event's word.
    pub(super) fn ask_to_pause(&mut self, ingress: u32, word: u32) {
        self.totals.pauses += 1;
        self.pauses.entry(ingress).or_default().asked += 1;
        self.signal(ingress, word);
    }

    /// A port that was paused no longer is.
    pub(super) fn end_pause(&mut self, index: u32) {
        let Some(since) = self.paused_since.remove(&index) else { return };
        let paused = self.now - since;
        self.totals.paused += paused;
        self.pauses.entry(index).or_default().paused += paused;
    }

    /// Time that a port was paused until a time, summed over traffic classes.
    pub(super) fn paused(&self, index: u32, now: Picoseconds) -> Picoseconds {
        if let Some(credits) = &self.credits {
            return credits.waited(index, now);
        }
        if let Some(table) = &self.classes {
            return table.paused(index, now);
        }
        let over = self.pauses.get(&index).map_or(0, |pauses| pauses.paused);
        over + self.paused_since.get(&index).map_or(0, |&since| now.saturating_sub(since))
    }

    /// The fates of all ports, by link, where the run ended at a time.
    pub(super) fn port_outcomes(&self, end: Picoseconds) -> Vec<PortOutcome> {
        let outcome = |(index, port): (u32, &super::port::Port)| PortOutcome {
            deepest: port.deepest,
            pauses: match &self.credits {
                Some(credits) => credits.waits(index),
                None => self.pauses.get(&index).map_or(0, |pauses| pauses.asked),
            },
            paused: self.paused(index, end),
        };
        (0..).zip(&self.ports).map(outcome).collect()
    }
}
