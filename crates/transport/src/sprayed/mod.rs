//! What transports share that spread a message's packets over many paths: selective acknowledgement of packets in any
//! order, repeats one by one, and a window moved by marks and delay.
//!
//! How paths are chosen, and what is learnt of them, is each transport's own ([`Paths`]).

mod context;
mod credit;
mod nscc;
mod receiver;
mod sender;
mod window;

pub use context::PeerContext;
pub use credit::{Credit, CreditUse};
pub use nscc::{Nscc, NsccSettings};
pub use receiver::SprayedReceiver;
pub use sender::SprayedSender;
pub use window::Window;

use crate::{Framing, PathHealth, Picoseconds};

/// What a receiver does with packets that come before others that are missing, by Ultra Ethernet's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Reliable unordered delivery: it places them.
    Rud,
    /// Reliable ordered delivery: it drops them and tells of the gap once; all from there on is sent again.
    Rod,
}

/// What all flows of a fabric share.
#[derive(Clone, Copy, Debug)]
pub struct SprayedSettings {
    /// How messages are cut.
    pub framing: Framing,
    /// Congestion control.
    pub nscc: NsccSettings,
    /// What becomes of packets out of order.
    pub delivery: Delivery,
    /// Bytes after which a receiver acknowledges, where nothing else makes it.
    pub ack_every: u32,
    /// Time after which a packet of which nothing was heard is taken for lost.
    pub timeout: Picoseconds,
    /// By how much packets of one plane may overtake each other: one sent so much before another that has arrived is taken
    /// for lost. Twice as much where they are of different planes. None where only timers tell.
    pub overtaking: Option<Picoseconds>,
    /// Planes of a NIC, over which entropy values are dealt in turn.
    pub planes: u16,
    /// Whether a loss is a sign of congestion, for which the window shrinks; else the path alone is blamed.
    pub loss_is_congestion: bool,
    /// Time without a flow after which what was learnt of a peer is forgotten.
    pub keeps: Picoseconds,
}

/// What became of a packet over some path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// It arrived unmarked.
    Good,
    /// It arrived, marked.
    Marked,
    /// It was trimmed on the way.
    Trimmed,
    /// It was taken for lost.
    Lost,
}

/// Chooses the path of each packet, by entropy value.
pub trait Paths {
    /// The value of the next packet.
    fn deal(&mut self) -> u16;

    /// Takes note of what became of a packet with a value.
    fn learn(&mut self, now: Picoseconds, value: u16, feedback: Feedback);

    /// A value that is to be probed now, if any.
    fn probe(&mut self, now: Picoseconds) -> Option<u16>;

    /// When the next value is to be probed, if any is.
    fn next_probe(&self) -> Option<Picoseconds>;

    /// A probe over a value has come back.
    fn probed(&mut self, value: u16);

    /// How many values there are and are passed over; nothing where there is but one path.
    fn health(&self) -> PathHealth {
        PathHealth::default()
    }
}
