//! What one class of ranks does at a time: computing, communicating, both; and for how long so far.

use crate::Picoseconds;

/// A class's clock.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// Factor by which compute takes longer while a communication moves data.
    slowdown: f64,
    since: Picoseconds,
    communications: u32,
    /// Of them, those that stretch compute.
    disturbing: u32,
    /// Undisturbed compute left, picoseconds, where it computes.
    left: Option<f64>,
    /// Counts changes of the expected end of compute, so that older ends can be told from the present one.
    pub version: u32,
    /// Time in which it computed.
    pub compute: Picoseconds,
    /// Time in which a communication moved data.
    pub communication: Picoseconds,
    /// Time in which one did and it did not compute.
    pub exposed: Picoseconds,
}

impl Clock {
    /// A clock at time zero of ranks whose compute communication stretches by a factor.
    pub fn new(slowdown: f64) -> Self {
        Self {
            slowdown,
            since: 0,
            communications: 0,
            disturbing: 0,
            left: None,
            version: 0,
            compute: 0,
            communication: 0,
            exposed: 0,
        }
    }

    /// Counts what has passed until now.
    pub fn catch_up(&mut self, now: Picoseconds) {
        let passed = now - self.since;
        self.since = now;
        if let Some(left) = &mut self.left {
            self.compute += passed;
            *left -= passed as f64 / if self.disturbing > 0 { self.slowdown } else { 1.0 };
        }
        if self.communications > 0 {
            self.communication += passed;
            if self.left.is_none() {
                self.exposed += passed;
            }
        }
    }

    /// When compute ends if nothing changes.
    fn expected_end(&mut self) -> Option<Picoseconds> {
        let stretch = if self.disturbing > 0 { self.slowdown } else { 1.0 };
        self.version += 1;
        self.left.map(|left| self.since + (left.max(0.0) * stretch).round() as Picoseconds)
    }

    /// Begins to compute; gives the expected end.
    pub fn start_compute(&mut self, now: Picoseconds, work: f64) -> Option<Picoseconds> {
        self.catch_up(now);
        self.left = Some(work);
        self.expected_end()
    }

    /// Ends computing.
    pub fn end_compute(&mut self, now: Picoseconds) {
        self.catch_up(now);
        self.left = None;
        self.version += 1;
    }

    /// One communication more, which `disturbs` compute or does not; gives the new expected end of compute where it changes.
    pub fn start_communication(&mut self, now: Picoseconds, disturbs: bool) -> Option<Picoseconds> {
        self.catch_up(now);
        self.communications += 1;
        self.disturbing += u32::from(disturbs);
        if disturbs && self.disturbing == 1 { self.expected_end() } else { None }
    }

    /// One communication fewer; gives the new expected end of compute where it changes.
    pub fn end_communication(&mut self, now: Picoseconds, disturbed: bool) -> Option<Picoseconds> {
        self.catch_up(now);
        self.communications -= 1;
        self.disturbing -= u32::from(disturbed);
        if disturbed && self.disturbing == 0 { self.expected_end() } else { None }
    }
}
