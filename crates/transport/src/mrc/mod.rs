//! Multipath Reliable Connection: every packet over an entropy value of its own, from a set spread evenly over the planes
//! of the NIC; a value whose packet is lost is retired at once, probed, and brought back.
//!
//! After the published summaries of the MRC paper (arXiv 2605.04333): marks move a value's share elsewhere, losses retire
//! it, trimming does not, answers echo it, and paths are static source routes, so nobody computes new ones. They say
//! nothing of the sender's rate; here it is Ultra Ethernet's NSCC. A loss is told by packets of the same plane that were
//! sent later and have arrived, or, with more patience, of other planes. What is known of paths and rate belongs to the peer:
//! all flows to it share a context.

mod entropy_set;

pub use entropy_set::EntropySet;

use crate::sprayed::{Nscc, PeerContext, SprayedReceiver, SprayedSender, SprayedSettings};
use crate::{Picoseconds, Random};

/// What all flows of a fabric share.
#[derive(Clone, Copy, Debug)]
pub struct MrcSettings {
    /// Framing, window and timers.
    pub sprayed: SprayedSettings,
    /// Entropy values of a peer: a power of two, 128 to 256 as published.
    pub entropies: u16,
    /// Time after which a value that was retired is probed; also the shortest pause between probes of those that stay silent.
    pub probe_every: Picoseconds,
}

/// The sending side.
pub type MrcSender = SprayedSender<EntropySet, Nscc>;
/// The receiving side.
pub type MrcReceiver = SprayedReceiver;

/// What flows to one peer share.
pub type MrcContext = PeerContext<EntropySet, Nscc>;

impl MrcSettings {
    /// What flows to a peer begin with; the seed draws the order of its entropy values.
    pub fn context(&self, seed: u64) -> MrcContext {
        let seed = Random::new(seed).bits();
        PeerContext::new(EntropySet::new(self.entropies, self.probe_every, seed), Nscc::new(self.sprayed.nscc))
    }

    /// The sender of a message of so many bytes.
    pub fn sender(&self, flow: u32, bytes: u64) -> MrcSender {
        SprayedSender::new(self.sprayed, flow, bytes)
    }

    /// The receiver of a message of so many bytes.
    pub fn receiver(&self, bytes: u64) -> MrcReceiver {
        SprayedReceiver::new(self.sprayed, bytes)
    }
}
