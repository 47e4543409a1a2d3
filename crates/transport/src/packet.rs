//! The header that transports exchange: fixed, plain and small enough to be copied from queue to queue.

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Payload, from sender to receiver.
    Data = 0,
    /// What has arrived, from receiver to sender.
    Ack = 1,
    /// A packet that is missed, from receiver to sender.
    Nack = 2,
    /// Congestion seen, from receiver to sender (RoCEv2's CNP).
    Cnp = 3,
    /// A question whether a path works, from sender to receiver.
    Probe = 4,
    /// Its answer.
    ProbeAnswer = 5,
    /// What a sender without credit asks for, from sender to receiver.
    Request = 6,
    /// Credit, from receiver to sender.
    Credit = 7,
}

impl Kind {
    /// Whether such packets go from sender to receiver.
    pub fn is_forward(self) -> bool {
        matches!(self, Kind::Data | Kind::Probe | Kind::Request)
    }
}

/// Bits of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// Marked on the way: congestion experienced.
    pub const CE: Flags = Flags(1);
    /// The payload was cut off on the way.
    pub const TRIMMED: Flags = Flags(2);
    /// The sender asks for an answer at once.
    pub const ACK_NOW: Flags = Flags(4);
    /// Sent before.
    pub const AGAIN: Flags = Flags(8);
    /// Trimmed at the last hop, where no other path would help.
    pub const LAST_HOP: Flags = Flags(16);
    /// Of an answer: packets after the one that is missed have come and were not kept.
    pub const OUT_OF_ORDER: Flags = Flags(32);

    /// Whether all bits of another set are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// With the bits of another set.
    #[must_use]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// With the bits of another set if a condition holds.
    #[must_use]
    pub fn with_if(self, other: Flags, holds: bool) -> Flags {
        if holds { self.with(other) } else { self }
    }
}

/// A packet as simulated: no payload, 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Of an acknowledgement: whether packet `cumulative + ahead + i` has arrived, in bit i. Of data and requests under
    /// credit: bytes that are asked for; of a credit: bytes granted; both in all.
    pub bitmap: u64,
    /// Flow that it belongs to, in both directions.
    pub flow: u32,
    /// Of data: its packet sequence number, from 0. Of an answer: that of the packet that it answers.
    pub seq: u32,
    /// Of an answer: the lowest sequence number that has not arrived.
    pub cumulative: u32,
    /// Of an acknowledgement: packets that have arrived in all, each counted once.
    pub received: u32,
    /// Of an acknowledgement: how far above `cumulative` bit 0 of its bitmap stands.
    pub ahead: u16,
    /// Bytes, headers included.
    pub size: u16,
    /// Entropy value: what switches hash besides the flow. An answer echoes that of the packet that it answers.
    pub entropy: u16,
    /// What it is for.
    pub kind: Kind,
    /// Its bits. An answer bears the marks of the packet that it answers.
    pub flags: Flags,
}

impl Packet {
    /// A packet of data.
    pub fn data(flow: u32, seq: u32, size: u16, entropy: u16, flags: Flags) -> Self {
        Self { bitmap: 0, flow, seq, cumulative: 0, received: 0, ahead: 0, size, entropy, kind: Kind::Data, flags }
    }

    /// Sequence number of bit 0 of an acknowledgement's bitmap.
    pub fn base(&self) -> u32 {
        self.cumulative + u32::from(self.ahead)
    }

    /// Bytes that a packet of data or a request asks for in all, or a credit grants.
    pub fn credit(&self) -> u64 {
        self.bitmap
    }

    /// Asking for so many bytes in all.
    #[must_use]
    pub fn asking(self, bytes: u64) -> Self {
        Self { bitmap: bytes, ..self }
    }

    /// A request for credit.
    pub fn request(flow: u32, size: u16, entropy: u16, bytes: u64) -> Self {
        Self { kind: Kind::Request, ..Self::data(flow, 0, size, entropy, Flags::default()).asking(bytes) }
    }

    /// A credit for the sender of a packet, of so many bytes in all.
    pub fn credit_of(&self, bytes: u64, size: u16) -> Self {
        Self { flags: Flags::default(), bitmap: bytes, ..self.answer(Kind::Credit, size) }
    }

    /// A probe of a path.
    pub fn probe(flow: u32, size: u16, entropy: u16) -> Self {
        Self { kind: Kind::Probe, ..Self::data(flow, 0, size, entropy, Flags::default()) }
    }

    /// An answer of some kind to a packet; echoes its entropy value, and of its bits those that say what it met.
    pub fn answer(&self, kind: Kind, size: u16) -> Self {
        Self { kind, size, ..*self }
    }
}
