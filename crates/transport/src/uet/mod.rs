//! The Ultra Ethernet transport: packets sprayed over entropy values, selective acknowledgement, trimming, and congestion
//! control at the sender (NSCC).
//!
//! After the Ultra Ethernet specification 1.0 (June 2025), sections on the packet delivery sublayer and congestion
//! management. Not here: receiver-based control (RCCC), packet delivery contexts, the semantic sublayer.

mod spraying;

pub use spraying::Spraying;

use crate::sprayed::{Nscc, SprayedReceiver, SprayedSender, SprayedSettings};

/// What all flows of a fabric share.
#[derive(Clone, Copy, Debug)]
pub struct UetSettings {
    /// Framing, window and timers.
    pub sprayed: SprayedSettings,
    /// Entropy values that a flow sprays over: a power of two.
    pub entropies: u16,
}

/// The sending side.
pub type UetSender = SprayedSender<Spraying, Nscc>;
/// The receiving side.
pub type UetReceiver = SprayedReceiver;

impl UetSettings {
    /// The sender of a message of so many bytes; the seed draws its entropy values.
    pub fn sender(&self, flow: u32, bytes: u64, seed: u64) -> UetSender {
        let seed = crate::Random::new(seed ^ (u64::from(flow) << 32)).bits();
        SprayedSender::new(self.sprayed, flow, bytes, Spraying::new(self.entropies, seed), Nscc::new(self.sprayed.nscc))
    }

    /// The receiver of a message of so many bytes.
    pub fn receiver(&self, bytes: u64) -> UetReceiver {
        SprayedReceiver::new(self.sprayed, bytes)
    }
}
