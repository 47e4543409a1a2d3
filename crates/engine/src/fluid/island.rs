//! One connected component of demands and resources, from an arrival or a split to the next.

use super::completions::{Completions, Due};
use super::filling::{Filling, Scratch};
use super::network::Network;
use crate::{PS_PER_S, Picoseconds};

/// Completions this near to each other, relative to the time until them, are the same but for rounding.
const SAME: f64 = 1e-9;

/// Part of a span that may be rounding: it does not push a completion over to the next picosecond.
const ROUNDING: f64 = 1e-14;

/// A demand on its way, as of the latest change of its rate.
#[derive(Clone, Copy)]
pub(super) struct Flight {
    /// The add that it came with, and its index there.
    pub batch: u32,
    pub index: u32,
    /// Counts changes of its rate within an island.
    stamp: u32,
    /// Whether it has no end; `remaining` is then what it has progressed, below zero.
    is_endless: bool,
    started: Picoseconds,
    since: Picoseconds,
    /// Bytes of progress that were left then.
    remaining: f64,
    /// Progress from then on, bytes a second.
    rate: f64,
    /// When it is out of work; the end of time if it never is, or has been.
    end: Picoseconds,
    /// Bytes by which an exact run can be ahead or behind (see [`super::Fluid`] on batching).
    drift: f64,
}

impl Flight {
    pub(super) fn new(batch: u32, index: u32, work: f64, now: Picoseconds) -> Self {
        let (end, is_endless) = (Picoseconds::MAX, work == f64::INFINITY);
        let remaining = if is_endless { 0.0 } else { work };
        Self { batch, index, stamp: 0, is_endless, started: now, since: now, remaining, rate: 0.0, end, drift: 0.0 }
    }

    /// Bytes of progress that are left at a time; of one without end, less than none by as many as it has made.
    pub(super) fn remaining_at(&self, now: Picoseconds) -> f64 {
        let left = self.remaining - self.rate * seconds(now - self.since);
        if self.is_endless { left } else { left.max(0.0) }
    }

    /// Changes the rate, which is late by `lag` seconds. Gives whether that is a change.
    fn change(&mut self, rate: f64, now: Picoseconds, lag: f64) -> bool {
        if rate == self.rate {
            return false;
        }
        self.drift += (rate - self.rate).abs() * lag;
        (self.remaining, self.since, self.rate) = (self.remaining_at(now), now, rate);
        self.stamp += 1;
        self.end = now.saturating_add(match self.remaining {
            _ if self.is_endless => Picoseconds::MAX,
            0.0 => 0,
            remaining => whole(remaining / rate * PS_PER_S),
        });
        true
    }

    fn due(&self, flight: u32) -> Due {
        Due { time: self.end, flight, stamp: self.stamp }
    }
}

/// What a demand's completion tells.
pub(super) struct Landing {
    pub batch: u32,
    pub index: u32,
    /// Bytes that its rates had not carried by then.
    pub left: f64,
    /// Error that batching can have caused in the time since the demand's start, relative.
    pub error: f64,
}

/// Demands of one component under their present rates.
pub(super) struct Island {
    flights: Vec<Flight>,
    /// How many of them are not done.
    live: usize,
    network: Network,
    filling: Filling,
    completions: Completions,
    /// The flights that are done at the next event.
    members: Vec<u32>,
    /// When the first of them is out of work, and those that are so then but for rounding.
    first: Picoseconds,
    first_same: Picoseconds,
    /// Place of the first of them in the order of freezing.
    place: u32,
    /// Time of the next event; the end of time if there never is one.
    pub next: Picoseconds,
    /// The flight that would be done last at present rates.
    slowest: u32,
    /// At most the shortest span from start to completion, and the latest start.
    shortest: Picoseconds,
    youngest: Picoseconds,
}

impl Island {
    /// Computes the rates of flights; where that changes them, it is late by up to `lag` seconds.
    pub(super) fn new(
        mut flights: Vec<Flight>,
        network: Network,
        now: Picoseconds,
        lag: f64,
        scratch: &mut Scratch,
    ) -> Self {
        let filling = Filling::new(&network, scratch);
        for (f, flight) in (0..).zip(&mut flights) {
            flight.change(filling.rate(&network, f), now, lag);
            flight.stamp = 0;
        }
        // Those of equal work and weight end in the opposite order.
        let due = filling.frozen().iter().rev().map(|&f| flights[f as usize].due(f)).collect();
        let mut island = Self {
            live: flights.len(),
            youngest: flights.iter().map(|flight| flight.started).max().unwrap_or(now),
            flights,
            network,
            filling,
            completions: Completions::new(due),
            members: Vec::new(),
            first: 0,
            first_same: 0,
            place: 0,
            next: Picoseconds::MAX,
            slowest: 0,
            shortest: 0,
        };
        island.survey();
        island
    }

    /// Finite resources that the component spans.
    pub(super) fn resources(&self) -> &[u32] {
        &self.network.crossed
    }

    /// Whether no flight is left.
    pub(super) fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Whether so many flights are done that compiling the rest anew pays, once rates must be computed again.
    pub(super) fn is_sparse(&self) -> bool {
        2 * self.live < self.flights.len()
    }

    /// Whether flights are left whose rates the latest completions can change.
    pub(super) fn is_unsettled(&self) -> bool {
        self.filling.would_change(self.place, |f| self.filling.is_gone(f))
    }

    /// Flights that are not done.
    pub(super) fn flights(&self) -> impl Iterator<Item = &Flight> {
        (0..).zip(&self.flights).filter(|&(f, _)| !self.filling.is_gone(f)).map(|(_, flight)| flight)
    }

    /// Time at which the last flight would be done at present rates; the end of time where all are without end.
    pub(super) fn last(&self) -> Picoseconds {
        self.flights[self.slowest as usize].end
    }

    /// The resource that limits that one, or [`NONE`](super::network::NONE).
    pub(super) fn critical(&self) -> u32 {
        self.filling.limit(&self.network, self.slowest)
    }

    /// Computes the rates after completions, which are late by up to `lag` seconds. Gives whether any can change.
    pub(super) fn refill(&mut self, now: Picoseconds, lag: f64, scratch: &mut Scratch) -> bool {
        let Self { flights, network, filling, completions, live, slowest, .. } = self;
        if !filling.refill(network, self.place, scratch) {
            return false;
        }
        let stamp = flights[*slowest as usize].stamp;
        scratch.thawed.retain(|&f| flights[f as usize].change(filling.rate(network, f), now, lag));
        let is_slowest_known = flights[*slowest as usize].stamp == stamp && !filling.is_gone(*slowest);
        if is_slowest_known && 4 * scratch.thawed.len() < *live {
            let due = scratch.thawed.iter().map(|&f| flights[f as usize].due(f));
            completions.extend(due, *live, |due| flights[due.flight as usize].stamp == due.stamp);
            scratch.thawed.iter().for_each(|&f| self.meet(f));
        } else {
            let all = (0..).zip(&*flights).filter(|&(f, _)| !filling.is_gone(f));
            completions.replace(all.map(|(f, flight)| flight.due(f)));
            self.survey();
        }
        true
    }

    /// Finds the slowest flight and the shortest span, looking at all.
    fn survey(&mut self) {
        let flights = self.flights.len() as u32;
        let first = (0..flights).find(|&f| !self.filling.is_gone(f));
        (self.slowest, self.shortest) = (first.expect("an island without flights is dissolved"), Picoseconds::MAX);
        for f in self.slowest..flights {
            if !self.filling.is_gone(f) {
                self.meet(f);
            }
        }
    }

    /// Takes a flight into account for the slowest and the shortest span.
    fn meet(&mut self, f: u32) {
        let flight = &self.flights[f as usize];
        self.shortest = self.shortest.min(flight.end - flight.started);
        let last = self.last();
        if flight.end < Picoseconds::MAX && (flight.end > last || last == Picoseconds::MAX) {
            self.slowest = f;
        }
    }

    /// Decides which flights are done next, and when.
    pub(super) fn plan(&mut self, tolerance: f64) {
        self.members.clear();
        self.next = Picoseconds::MAX;
        let Some(first) = self.take(Picoseconds::MAX) else { return };
        self.first = first.time;
        let until = (first.time - self.flights[first.flight as usize].since) as f64;
        while self.take(self.first.saturating_add((until * SAME) as Picoseconds)).is_some() {}
        self.first_same = self.next;
        if tolerance > 0.0 && self.filling.would_change(self.place, |f| self.flights[f as usize].end <= self.next) {
            // All spans are at least the shortest seen, and at least what has passed since the latest start.
            let span = self.shortest.max(self.first - self.youngest);
            while self.take(self.first.saturating_add((span as f64 * tolerance) as Picoseconds)).is_some() {}
        }
    }

    /// Makes the next flight a member of the event, if it is due by a time before the end of time.
    fn take(&mut self, until: Picoseconds) -> Option<Due> {
        let flights = &self.flights;
        let due = self
            .completions
            .take(until.min(Picoseconds::MAX - 1), |due| flights[due.flight as usize].stamp == due.stamp)?;
        let place = self.filling.place(due.flight);
        self.place = if self.members.is_empty() { place } else { self.place.min(place) };
        self.next = due.time;
        self.members.push(due.flight);
        Some(due)
    }

    /// Lets the flights progress to a time, no later than [`Island::next`], and appends those that are done then.
    /// Gives the seconds by which the changes of rates that this brings may be late; [`Island::refill`] is due.
    pub(super) fn settle(&mut self, now: Picoseconds, landed: &mut Vec<Landing>) -> f64 {
        // Rounding up to a picosecond and joining what is the same but for rounding is no batching.
        let held = if now > self.first_same { seconds(now - self.first) } else { 0.0 };
        let mut lag = 0.0f64;
        for f in self.members.drain(..) {
            let flight = &self.flights[f as usize];
            if flight.end > now {
                continue;
            }
            let mut error = 0.0;
            if held > 0.0 || flight.drift > 0.0 {
                let slowest = self.filling.fair_level(&self.network, f) * self.network.weight[f as usize];
                let slowdown = (flight.rate / slowest).max(1.0);
                let behind = seconds(flight.end - self.first) + flight.drift / flight.rate;
                let shift = (held + flight.drift / flight.rate).max(behind * slowdown);
                error = shift / (seconds(now - flight.started) - shift).max(0.0);
                lag = lag.max(shift);
            }
            self.filling.leave(f);
            self.live -= 1;
            let left = flight.remaining_at(now);
            landed.push(Landing { batch: flight.batch, index: flight.index, left, error });
        }
        lag
    }
}

fn seconds(span: Picoseconds) -> f64 {
    span as f64 / PS_PER_S
}

/// Whole picoseconds that hold a span; the end of time if nothing does.
fn whole(span: f64) -> Picoseconds {
    let below = span as Picoseconds;
    below.saturating_add(Picoseconds::from(span - below as f64 > span * ROUNDING))
}
