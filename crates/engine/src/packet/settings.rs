//! How switches treat packets.

use super::{Choice, Fecn, LaneBuffer};
use crate::Picoseconds;

/// Marks of congestion: none up to a fill, on every packet from another on, with probability that grows between (RED),
/// looked at when a packet leaves the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marking {
    /// Bytes up to which no packet is marked.
    pub from: u32,
    /// Bytes from which on every packet is.
    pub to: u32,
    /// Probability that is reached just before that, in parts of a thousand.
    pub most: u32,
}

/// What happens to a packet for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trimming {
    /// It is dropped.
    Off,
    /// Its payload is cut off; the header goes on ahead of the data.
    To {
        /// Bytes that remain.
        bytes: u16,
    },
}

/// When a switch asks the port at the other end of a cable to pause (PFC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Bytes held of what came in by one cable, above which it asks.
    pub above: u32,
    /// Bytes at which it lets go.
    pub at: u32,
}

/// Room for packets before each port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// Each port has room for so many bytes of data.
    Lossy {
        /// Bytes of data before one port.
        room: u32,
        /// What happens beyond.
        trimming: Trimming,
    },
    /// Nothing is dropped: senders are paused in time.
    Lossless {
        /// When.
        pause: Pause,
    },
    /// Nothing is dropped: a port sends what it has credits for (InfiniBand).
    Credits {
        /// At the end of each cable.
        buffer: LaneBuffer,
        /// Marks of congestion, where there are any.
        fecn: Option<Fecn>,
    },
}

/// The PFC watchdog of a switch's ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// Pauses longer than this are a storm: what waits is dropped.
    pub detect: Picoseconds,
    /// For so long after that the port hears no pause.
    pub restore: Picoseconds,
}

/// What a message costs a host besides its packets' time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overheads {
    /// From a message's turn until the NIC may send its first packet; a host hands over one message at a time.
    pub post: Picoseconds,
    /// From the packet that completes a message, or tells so, until the software knows.
    pub complete: Picoseconds,
}

/// How switches treat packets, and hosts messages.
#[derive(Clone, Copy, Debug)]
pub struct NetworkSettings {
    /// Room before each port.
    pub buffers: Buffers,
    /// Marks, where there are any.
    pub marking: Option<Marking>,
    /// Packets lost to bit errors on each link, of a thousand million.
    pub loss: u32,
    /// What breaks pauses that last too long, if anything does.
    pub watchdog: Option<Watchdog>,
    /// Time without anything new at any receiver after which the run ends, unfinished: a deadlock, or no way through.
    pub patience: Picoseconds,
    /// What messages cost their hosts.
    pub overheads: Overheads,
    /// How a port is chosen among those that lead on.
    pub choice: Choice,
    /// Whether what a sender learns outlasts its flow, and is shared with others as the transport has it.
    pub shares_contexts: bool,
    /// Seeds hashes and draws.
    pub seed: u64,
}
