//! Random numbers of the network: for each place, time and purpose its own, whatever else happens and in which order.

use eastwest_transport::{Picoseconds, Random};

/// What is drawn for.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(super) enum Purpose {
    /// Whether a bit error takes what comes in by a port.
    Loss,
    /// By which port what came in by a port goes on.
    Path,
    /// Which packet is cut, as one that came in by a port finds no room.
    Trim,
    /// Whether what leaves by a port is marked.
    Mark,
}

/// The draws of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draws {
    seed: u64,
}

impl Draws {
    /// Equal seeds give equal draws.
    pub fn new(seed: u64) -> Self {
        Self { seed: Random::new(seed).bits() }
    }

    /// Random numbers for what happens at a port at a time: SplitMix64 makes them of any states, however near.
    pub fn at(self, purpose: Purpose, port: u32, now: Picoseconds) -> Random {
        Random::new(self.seed ^ (purpose as u64) << 62 ^ u64::from(port) << 34 ^ now)
    }
}
