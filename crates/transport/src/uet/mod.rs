//! The Ultra Ethernet transport: packets sprayed over entropy values, selective acknowledgement, trimming, and congestion
//! control at the sender (NSCC), by the receiver's credit (RCCC), or both.
//!
//! After the Ultra Ethernet specification 1.0 (June 2025), sections on the packet delivery sublayer and congestion
//! management. Not here: packet delivery contexts, the semantic sublayer.

mod credits;
mod spraying;

pub use credits::{CreditSettings, Credits};
pub use spraying::Spraying;

use crate::Random;
use crate::sprayed::{Credit, CreditUse, Delivery, Nscc, PeerContext, SprayedReceiver, SprayedSender, SprayedSettings};

/// What all flows of a fabric share.
#[derive(Clone, Copy, Debug)]
pub struct UetSettings {
    /// Framing, window and timers.
    pub sprayed: SprayedSettings,
    /// Entropy values that packets to a peer are sprayed over: a power of two.
    pub entropies: u16,
    /// Who says how much may be under way.
    pub control: Control,
}

/// Congestion control: a window at the sender, the receiver's credit, or the lesser of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// NSCC alone.
    Sender,
    /// RCCC alone.
    Receiver,
    /// Both.
    Both,
}

/// Packets of one grant (the reference simulator's).
const GRANT: u64 = 4;

/// Part of the link's rate that is granted: what acknowledgements, trimmed packets and requests need is left.
const GRANTED: f64 = 0.99;

/// The sending side.
pub type UetSender = SprayedSender<Spraying, Nscc>;
/// The receiving side.
pub type UetReceiver = SprayedReceiver;

/// What flows to one peer share.
pub type UetContext = PeerContext<Spraying, Nscc>;

impl UetSettings {
    /// What flows to a peer begin with; the seed draws its entropy values, of which ordered delivery has one.
    pub fn context(&self, seed: u64) -> UetContext {
        let entropies = if self.sprayed.delivery == Delivery::Rod { 1 } else { self.entropies };
        let seed = Random::new(seed).bits();
        let credit = (self.control != Control::Sender).then(|| {
            Credit::new(CreditUse { ahead: self.first_window(), is_alone: self.control == Control::Receiver })
        });
        PeerContext::new(Spraying::new(entropies, seed), Nscc::new(self.sprayed.nscc)).under(credit)
    }

    /// How a receiver grants credit, where it does.
    pub fn credits(&self) -> Option<CreditSettings> {
        let nscc = &self.sprayed.nscc;
        (self.control != Control::Sender).then(|| CreditSettings {
            ahead: self.first_window(),
            grant: GRANT * nscc.mtu,
            rate: nscc.rate * GRANTED,
            control: self.sprayed.framing.control,
            mtu: nscc.mtu,
        })
    }

    /// Bytes that a sender may send before it has heard anything: NSCC's first window.
    fn first_window(&self) -> u64 {
        self.sprayed.nscc.bdp() * 3 / 2
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
