//! The Ultra Ethernet transport: packets sprayed over entropy values, selective acknowledgement, trimming, and congestion
//! control at the sender (NSCC).
//!
//! After the Ultra Ethernet specification 1.0 (June 2025), sections on the packet delivery sublayer and congestion
//! management. Not here: receiver-based control (RCCC), packet delivery contexts, the semantic sublayer.

mod spraying;

pub use spraying::Spraying;

use crate::Random;
use crate::sprayed::{Nscc, PeerContext, SprayedReceiver, SprayedSender, SprayedSettings};

/// What all flows of a fabric share.
#[derive(Clone, Copy, Debug)]
pub struct UetSettings {
    /// Framing, window and timers.
    pub sprayed: SprayedSettings,
    /// Entropy values that packets to a peer are sprayed over: a power of two.
    pub entropies: u16,
}

/// The sending side.
pub type UetSender = SprayedSender<Spraying, Nscc>;
/// The receiving side.
pub type UetReceiver = SprayedReceiver;

/// What flows to one peer share.
pub type UetContext = PeerContext<Spraying, Nscc>;

impl UetSettings {
    /// What flows to a peer begin with; the seed draws its entropy values.
    pub fn context(&self, seed: u64) -> UetContext {
        let seed = Random::new(seed).bits();
        PeerContext::new(Spraying::new(self.entropies, seed), Nscc::new(self.sprayed.nscc))
    }

    /// The sender of a message of so many bytes.
    pub fn sender(&self, flow: u32, bytes: u64) -> UetSender {
        SprayedSender::new(self.sprayed, flow, bytes)
    }

    /// The receiver of a message of so many bytes.
    pub fn receiver(&self, bytes: u64) -> UetReceiver {
        SprayedReceiver::new(self.sprayed, bytes)
    }
}
