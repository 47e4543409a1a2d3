//! What the flows to one peer share: Ultra Ethernet's congestion control context.

use super::{Credit, Window};

/// Window and paths to one peer, and how much is under way to it.
#[derive(Clone, Debug)]
pub struct PeerContext<P, W> {
    /// How much may be under way.
    pub congestion: W,
    /// Which paths packets take.
    pub paths: P,
    /// Credit, where the receiver grants any.
    pub credit: Option<Credit>,
    /// Packets thought to be under way, of all flows.
    in_flight: u32,
}

impl<P, W> PeerContext<P, W> {
    /// To a peer of which nothing is known.
    pub fn new(paths: P, congestion: W) -> Self {
        Self { congestion, paths, credit: None, in_flight: 0 }
    }

    /// Packets thought to be under way.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Under the credit of a receiver.
    #[must_use]
    pub fn under(mut self, credit: Option<Credit>) -> Self {
        self.credit = credit;
        self
    }

    /// A flow now has so many packets under way, and had so many before.
    pub(super) fn recount(&mut self, before: u32, now: u32) {
        self.in_flight = self.in_flight - before + now;
    }
}

impl<P, W: Window> PeerContext<P, W> {
    /// Bytes that may be under way.
    pub(super) fn window(&self) -> u64 {
        match &self.credit {
            Some(credit) if credit.is_alone() => u64::MAX,
            _ => self.congestion.window(),
        }
    }
}
