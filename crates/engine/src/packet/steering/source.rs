//! Source routes: an entropy value of a sender stands for one whole path.
//!
//! A flow's values are dealt over the planes, and on each in turn over the shortest paths by their number, from one that is
//! drawn; where there are fewer values than paths, one path is drawn from each of as many equal parts of all. (MRC's
//! published summaries, arXiv 2605.04333, say that entropy values name static paths, not which.) Switches follow the path
//! and nothing else, so what is down on it loses packets until the sender chooses other values.

use eastwest_transport::Packet;

use crate::packet::choice::scaled;
use crate::routing::{Forwarding, Ranking};

/// Bits in which a share of a part is counted: few enough that a value and a number of paths fit above them.
const FINE: u32 = 16;

/// The paths of all senders.
pub(in crate::packet) struct SourceRoutes<'a> {
    forwarding: &'a Forwarding,
    paths: Ranking<'a>,
    values: u32,
}

impl<'a> SourceRoutes<'a> {
    /// Paths of flows with so many entropy values each.
    pub fn new(forwarding: &'a Forwarding, values: u16) -> Self {
        Self { forwarding, paths: forwarding.paths(), values: u32::from(values).max(1) }
    }

    /// The port by which a packet from one attachment to another leaves a switch; none where its path does not cross it.
    pub fn port(&self, switch: u32, ends: [u32; 2], pair: u32, packet: &Packet, planes: u32) -> Option<u32> {
        let [from, to] = ends;
        let home = self.forwarding.home(from);
        let values = u64::from((self.values / planes).max(1)); // on this plane
        let value = u64::from(u32::from(packet.entropy) % self.values / planes) % values;
        let paths = u64::from(self.paths.count(home, to));
        let key = u64::from(pair) << 16; // of both directions: answers come back by the path of what they answer
        let number = if values >= paths {
            (value + scaled(key, paths)) % paths
        } else {
            let within = scaled(key | value, 1 << FINE); // its part, as a share from 0 to below 1
            ((value << FINE | within) * paths / values) >> FINE
        };
        self.paths.link(home, to, number as u32, switch)
    }
}
