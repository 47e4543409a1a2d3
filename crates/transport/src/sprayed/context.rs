//! What the flows to one peer share: Ultra Ethernet's congestion control context.

/// Window and paths to one peer, and how much is under way to it.
#[derive(Clone, Debug)]
pub struct PeerContext<P, W> {
    /// How much may be under way.
    pub congestion: W,
    /// Which paths packets take.
    pub paths: P,
    /// Packets thought to be under way, of all flows.
    in_flight: u32,
}

impl<P, W> PeerContext<P, W> {
    /// To a peer of which nothing is known.
    pub fn new(paths: P, congestion: W) -> Self {
        Self { congestion, paths, in_flight: 0 }
    }

    /// Packets thought to be under way.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// A flow now has so many packets under way, and had so many before.
    pub(super) fn recount(&mut self, before: u32, now: u32) {
        self.in_flight = self.in_flight - before + now;
    }
}
