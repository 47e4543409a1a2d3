//! The Ultra Ethernet transport: packets sprayed over entropy values, selective acknowledgement, trimming, and congestion
//! control at the sender (NSCC).
//!
//! After the Ultra Ethernet specification 1.0 (June 2025), sections on the packet delivery sublayer and congestion
//! management, with the constants that the consortium's own reference simulator uses. Not here: receiver-based control
//! (RCCC), packet delivery contexts, the semantic sublayer.

mod entropy;
mod nscc;
mod receiver;
mod sender;

pub use entropy::{Feedback, Spraying};
pub use nscc::{Nscc, NsccSettings};
pub use receiver::UetReceiver;
pub use sender::UetSender;

use crate::{Framing, Picoseconds};

/// What all flows of a fabric share.
#[derive(Clone, Copy, Debug)]
pub struct UetSettings {
    /// How messages are cut.
    pub framing: Framing,
    /// Congestion control.
    pub nscc: NsccSettings,
    /// Entropy values that a flow sprays over: a power of two.
    pub entropies: u16,
    /// Bytes after which a receiver acknowledges, where nothing else makes it.
    pub ack_every: u32,
    /// Time after which a packet of which nothing was heard is taken for lost.
    pub timeout: Picoseconds,
}
