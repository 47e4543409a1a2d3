//! The transports of AI fabrics: pairs of state machines, a sender and a receiver of one flow.
//!
//! They take packets and the time and give back packets, a deadline and completion. There is no clock, socket or
//! simulator inside, so that the packet engine and real sockets drive the same code. Packets are plain headers; their
//! bytes are another crate's business.
//!
//! A driver calls [`Sender::on_packet`] with what comes back for a flow, then [`Sender::poll_transmit`] whenever the
//! NIC can send for it, and [`Sender::on_deadline`] once the time that [`Sender::deadline`] names has come. What outlasts
//! a message is in a context, which flows may share: the driver keeps it and lends it for each call.
//! Arithmetic is on integers: bytes, picoseconds, packets.

mod bitmap;
pub mod dcqcn;
pub mod dctcp;
pub mod infiniband;
pub mod mrc;
mod packet;
mod path_health;
mod random;
pub mod roce;
mod selective;
pub mod sprayed;
pub mod uet;

pub use bitmap::Bitmap;
pub use packet::{Flags, Kind, Packet};
pub use path_health::PathHealth;
pub use random::Random;

/// Time, in picoseconds.
pub type Picoseconds = u64;

/// What a sender has for the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// This packet, now.
    Packet(Packet),
    /// Nothing before this time, unless a packet or a deadline comes first.
    NotBefore(Picoseconds),
    /// Nothing until a packet or a deadline comes.
    Nothing,
    /// Nothing until a packet or a deadline of any flow comes that shares the context: it has no room.
    NoRoom,
}

/// What a receiver answers to one packet: at most two packets.
pub type Answers = [Option<Packet>; 2];

/// The sending side of one flow: a message of known length.
pub trait Sender {
    /// What flows to one peer, or those of one queue pair, share and hand on: window or rate, and what is known of paths.
    type Context;

    /// Takes a packet that came back.
    fn on_packet(&mut self, context: &mut Self::Context, now: Picoseconds, packet: &Packet);

    /// Credit has come for a context, whether or not the flow lasts that it names.
    fn on_credit(_context: &mut Self::Context, _credit: &Packet) {}

    /// Gives the next packet that the transport's rules allow to send.
    fn poll_transmit(&mut self, context: &mut Self::Context, now: Picoseconds) -> Transmit;

    /// When [`Sender::on_deadline`] is to be called, if nothing changes; a driver may call it earlier.
    fn deadline(&self, context: &Self::Context) -> Option<Picoseconds>;

    /// Acts on a deadline that has come; does nothing where none has.
    fn on_deadline(&mut self, context: &mut Self::Context, now: Picoseconds);

    /// Whether every byte is known to have arrived.
    fn is_done(&self) -> bool;

    /// Whether every packet has been sent at least once.
    fn has_sent_all(&self) -> bool;

    /// Packets sent again so far.
    fn retransmits(&self) -> u64;

    /// What is known of the paths of flows of a context; nothing where there is but one.
    fn paths(_context: &Self::Context) -> PathHealth {
        PathHealth::default()
    }

    /// Whether it has given up: nothing more will come of the flow.
    fn has_failed(&self) -> bool {
        false
    }
}

/// The receiving side of one flow.
pub trait Receiver {
    /// What flows that share the sender's context share at the receiver.
    type Context;

    /// Takes a packet of the flow; gives the answers that are due.
    fn on_packet(&mut self, context: &mut Self::Context, now: Picoseconds, packet: &Packet) -> Answers;

    /// Packets of the flow that have arrived, each counted once.
    fn received(&self) -> u32;

    /// Whether all of it has arrived.
    fn is_done(&self) -> bool;
}

/// How a message is cut into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Payload bytes of a full packet.
    pub payload: u16,
    /// Header bytes that every packet bears besides.
    pub header: u16,
    /// Header bytes that the first packet of a message bears besides these (RDMA's address and length, RETH).
    pub first: u16,
    /// Bytes of a packet that carries no payload: acknowledgements and trimmed packets.
    pub control: u16,
    /// Bytes of a congestion notification.
    pub notification: u16,
}

impl Framing {
    /// Every packet with the same headers, and every answer of one size.
    pub fn even(payload: u16, header: u16, control: u16) -> Self {
        Self { payload, header, first: 0, control, notification: control }
    }

    /// Packets that a message takes; one without bytes takes one.
    pub fn packets(&self, bytes: u64) -> u32 {
        bytes.div_ceil(u64::from(self.payload)).max(1).try_into().unwrap_or(u32::MAX)
    }

    /// Payload bytes of a packet of data.
    pub fn payload_of(&self, packet: &Packet) -> u16 {
        let first = if packet.seq == 0 { self.first } else { 0 };
        packet.size.saturating_sub(self.header + first)
    }

    /// Bytes of a packet of a message, headers included.
    pub fn size(&self, bytes: u64, seq: u32) -> u16 {
        let before = u64::from(seq) * u64::from(self.payload);
        let payload = bytes.saturating_sub(before).min(u64::from(self.payload));
        payload as u16 + self.header + if seq == 0 { self.first } else { 0 }
    }
}
