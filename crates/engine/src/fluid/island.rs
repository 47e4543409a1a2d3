//! One connected component of demands and resources, as it progresses between two changes of its rates.

use super::filling::Filling;
use super::network::{NONE, Network};
use crate::{PS_PER_S, Picoseconds};

/// Completions this near to each other, relative to the time until them, are the same but for rounding.
const SAME: f64 = 1e-9;

/// Part of a span that may be rounding: it does not push a completion over to the next picosecond.
const ROUNDING: f64 = 1e-14;

/// A demand on its way.
#[derive(Clone, Copy)]
pub(super) struct Flight {
    /// The add that it came with, and its index there.
    pub batch: u32,
    pub index: u32,
    pub started: Picoseconds,
    /// Bytes of progress until it is done.
    pub remaining: f64,
    /// Bytes by which an exact run can be ahead or behind (see [`super::Fluid`] on batching).
    pub drift: f64,
    /// Progress at present, bytes a second.
    pub rate: f64,
    /// Seconds by which the latest change of this rate may be late.
    pub lag: f64,
}

/// What a demand's completion tells.
pub(super) struct Landing {
    pub batch: u32,
    pub index: u32,
    /// Error that batching can have caused in the time since the demand's start, relative.
    pub error: f64,
}

/// Demands of one component under their present rates.
pub(super) struct Island {
    flights: Vec<Flight>,
    network: Network,
    /// Flights that are not done, ascending.
    live: Vec<u32>,
    rate: Vec<f64>,
    limit: Vec<u32>,
    /// Of each class, as [`Filling::fair_level`]; kept only where completions are batched.
    fair_level: Vec<f64>,
    /// Time to which the flights have progressed.
    since: Picoseconds,
    /// Picoseconds from then until the first of them is out of work.
    first: f64,
    /// Time at which the next of them are done; the end of time if they never are.
    pub next: Picoseconds,
    /// Time at which the last would be done at present rates.
    pub last: Picoseconds,
    /// The resource that limits that last one, or [`NONE`].
    pub critical: u32,
    /// Names these rates: no two solutions of a run have the same.
    pub solution: u64,
}

impl Island {
    pub(super) fn new(flights: Vec<Flight>, network: Network, since: Picoseconds) -> Self {
        let count = flights.len();
        Self {
            live: (0..count as u32).collect(),
            rate: vec![0.0; count],
            limit: vec![NONE; count],
            fair_level: Vec::new(),
            flights,
            network,
            since,
            first: 0.0,
            next: Picoseconds::MAX,
            last: Picoseconds::MAX,
            critical: NONE,
            solution: 0,
        }
    }

    /// Finite resources that the component spans.
    pub(super) fn resources(&self) -> &[u32] {
        &self.network.crossed
    }

    /// Whether no flight is left.
    pub(super) fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// Whether so many flights are done that compiling the rest anew pays.
    pub(super) fn is_sparse(&self) -> bool {
        2 * self.live.len() < self.flights.len()
    }

    /// Flights that are not done.
    pub(super) fn flights(&self) -> impl Iterator<Item = &Flight> {
        self.live.iter().map(|&f| &self.flights[f as usize])
    }

    /// Bytes that each flight not done has still to go at a time, at most one completion ahead.
    pub(super) fn remaining_at(&self, now: Picoseconds) -> impl Iterator<Item = (&Flight, f64)> {
        let seconds = (now - self.since) as f64 / PS_PER_S;
        self.flights().map(move |flight| (flight, (flight.remaining - flight.rate * seconds).max(0.0)))
    }

    /// Computes the rates and, from them, what happens next.
    pub(super) fn solve(&mut self, filling: &mut Filling, tolerance: f64, solution: u64) {
        filling.solve(&self.network, &self.live, &mut self.rate, &mut self.limit);
        let (mut first, mut span) = (f64::INFINITY, f64::INFINITY);
        let (mut last, mut slowest) = (-1.0, NONE);
        for &f in &self.live {
            let flight = &mut self.flights[f as usize];
            let rate = self.rate[f as usize];
            flight.drift += (rate - flight.rate).abs() * flight.lag;
            (flight.rate, flight.lag) = (rate, 0.0);
            let left = left(flight);
            first = left.min(first);
            span = (left + (self.since - flight.started) as f64).min(span);
            if left > last * (1.0 + SAME) {
                (last, slowest) = (left, f);
            }
        }
        (self.first, self.solution) = (first, solution);
        let reach = first + (first * SAME).max(span * tolerance);
        let end = self.flights().map(left).filter(|&left| left <= reach).fold(first, f64::max);
        if tolerance > 0.0 {
            self.fair_level.clone_from(&filling.fair_level);
        }
        self.next = self.since.saturating_add(whole(end));
        self.last = self.since.saturating_add(whole(last));
        self.critical = match self.limit[slowest as usize] {
            NONE => NONE,
            class => self.network.resource[class as usize],
        };
    }

    /// Lets the flights progress to a time, no later than [`Island::next`], and appends those that are done.
    /// Gives whether some of them are late.
    pub(super) fn settle(&mut self, now: Picoseconds, landed: &mut Vec<Landing>) -> bool {
        let elapsed = (now - self.since) as f64;
        let seconds = elapsed / PS_PER_S;
        // Rounding up to a picosecond and joining what is the same but for rounding is no batching.
        let batched = elapsed > self.first * (1.0 + SAME) + 1.0;
        let held = if batched { (elapsed - self.first) / PS_PER_S } else { 0.0 };
        let mut lag = 0.0f64;
        let Self { flights, network, fair_level, first, live, .. } = self;
        live.retain(|&f| {
            let flight = &mut flights[f as usize];
            let left = left(flight);
            if left * (1.0 - ROUNDING) > elapsed {
                flight.remaining = (flight.remaining - flight.rate * seconds).max(0.0);
                return true;
            }
            let mut error = 0.0;
            if held > 0.0 || flight.drift > 0.0 {
                let fair = network.row(f).iter().map(|entry| fair_level[entry.class as usize]);
                let slowest = fair.fold(f64::INFINITY, f64::min) * network.weight[f as usize];
                let slowdown = (flight.rate / slowest).max(1.0);
                let behind = (left - *first).max(0.0) / PS_PER_S + flight.drift / flight.rate;
                let shift = (held + flight.drift / flight.rate).max(behind * slowdown);
                let took = (now - flight.started) as f64 / PS_PER_S;
                error = shift / (took - shift).max(0.0);
                lag = lag.max(shift);
            }
            landed.push(Landing { batch: flight.batch, index: flight.index, error });
            false
        });
        self.since = now;
        if lag > 0.0 {
            for &f in &self.live {
                self.flights[f as usize].lag = lag;
            }
        }
        lag > 0.0
    }
}

/// Picoseconds until a flight is done at its present rate.
#[inline]
fn left(flight: &Flight) -> f64 {
    if flight.remaining > 0.0 { flight.remaining / flight.rate * PS_PER_S } else { 0.0 }
}

/// Whole picoseconds that hold a span; the end of time if it is infinite.
fn whole(span: f64) -> Picoseconds {
    let nearest = span.round();
    let whole = if (span - nearest).abs() <= span * ROUNDING { nearest } else { span.ceil() };
    whole as Picoseconds
}
