//! A port: the queues before one direction of a cable.

use std::collections::VecDeque;

use eastwest_transport::{Flags, Kind, Packet};

use super::pool::Place;
use crate::Picoseconds;

/// Fractions of a picosecond in which the time of a byte is counted.
const FINE: u32 = 8;

/// Bytes a second of the slowest port: 1 Mb/s. The time of a byte of half of that is more than is counted.
pub(super) const SLOWEST: f64 = 125_000.0;

/// What losses are parts of.
pub(super) const LOSS_WHOLE: u64 = 1_000_000_000;

/// A packet that waits, with what its turn needs to know of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub place: Place,
    /// Bytes.
    pub size: u16,
    /// Whether marks are for it: data with its payload.
    pub is_whole: bool,
}

impl Waiting {
    /// How a packet waits.
    pub fn of(place: Place, packet: &Packet) -> Self {
        let is_whole = packet.kind == Kind::Data && !packet.flags.has(Flags::TRIMMED);
        Self { place, size: packet.size, is_whole }
    }
}

/// One direction of a cable with what waits for it. Laid out by cache lines: state, queues, and what lossless ones need.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Port {
    /// Where it leads: a host or a switch, by its own number.
    pub to: End,
    /// Where it begins.
    pub from: End,
    /// Packets that bit errors take, of [`LOSS_WHOLE`].
    pub loss: u32,
    /// Bytes that the switch at its end still holds of what came in by it.
    pub held: u32,
    /// Whether nothing passes.
    pub is_down: bool,
    /// Whether it has asked the port at its beginning to pause, as the way in to a switch.
    pub is_pausing: bool,
    /// Whether the other end has asked it to pause.
    pub is_paused: bool,
    /// Whether an event is due when it becomes free.
    pub is_armed: bool,
    /// Time of a byte, in parts of 2^-FINE picoseconds.
    byte_time: u32,
    /// When the transmission under way ends.
    pub free_at: Picoseconds,
    /// From the last bit out to the last bit in and forwarded.
    latency: Picoseconds,
    /// Bytes of data that wait.
    pub data_bytes: u32,
    /// Bytes of answers and headers that wait.
    pub urgent_bytes: u32,
    /// Most bytes of data that have waited.
    pub deepest: u32,
    /// The regions in which it begins and ends.
    pub regions: [u16; 2],
    /// Data that waits.
    pub data: VecDeque<Waiting>,
    /// What goes ahead of data.
    pub urgent: VecDeque<Waiting>,
    /// Where nothing is dropped: the way in of each packet of `data`.
    pub came_by: VecDeque<u32>,
}

/// What a port leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Host(u32),
    Switch(u32),
}

impl Port {
    /// A port of so many bytes a second.
    pub fn new(rate: f64, latency: Picoseconds, from: End, to: End) -> Self {
        Self {
            free_at: 0,
            byte_time: byte_time(rate),
            loss: 0,
            latency,
            to,
            from,
            is_armed: false,
            is_paused: false,
            is_pausing: false,
            is_down: false,
            held: 0,
            data_bytes: 0,
            urgent_bytes: 0,
            deepest: 0,
            regions: [0, 0],
            data: VecDeque::new(),
            urgent: VecDeque::new(),
            came_by: VecDeque::new(),
        }
    }

    /// Gives it another rate, bytes a second, for transmissions to come.
    pub fn set_rate(&mut self, rate: f64) {
        self.byte_time = byte_time(rate);
    }

    /// Time to send so many bytes.
    #[inline]
    pub fn time_of(&self, bytes: u16) -> Picoseconds {
        (u64::from(bytes) * u64::from(self.byte_time)) >> FINE
    }

    /// Time from the last bit out to the last bit in.
    pub fn latency(&self) -> Picoseconds {
        self.latency
    }

    /// Time that sending all that waits takes.
    pub fn drain_time(&self) -> Picoseconds {
        (u64::from(self.waiting()) * u64::from(self.byte_time)) >> FINE
    }

    /// Bytes of the transmission under way that are yet to leave.
    pub fn unsent(&self, now: Picoseconds) -> u64 {
        (self.free_at.saturating_sub(now) << FINE) / u64::from(self.byte_time.max(1))
    }

    /// Bytes that wait.
    pub fn waiting(&self) -> u32 {
        self.data_bytes + self.urgent_bytes
    }

    /// Puts so many bytes on the cable; gives when the last of them arrives.
    #[inline]
    pub fn transmit(&mut self, now: Picoseconds, bytes: u16) -> Picoseconds {
        self.free_at = now + self.time_of(bytes);
        self.free_at + self.latency
    }

    /// Takes the next of what goes ahead of data.
    #[inline]
    pub fn next_urgent(&mut self) -> Option<Waiting> {
        if self.urgent_bytes == 0 {
            return None;
        }
        let waiting = self.urgent.pop_front()?;
        self.urgent_bytes -= u32::from(waiting.size);
        Some(waiting)
    }

    /// What is to go next, paused or not.
    pub fn head(&self) -> Option<&Waiting> {
        self.urgent.front().or(self.data.front())
    }

    /// Takes what is to go next.
    #[inline]
    pub fn next(&mut self) -> Option<Waiting> {
        if let Some(waiting) = self.next_urgent() {
            return Some(waiting);
        }
        if self.is_paused {
            return None;
        }
        let waiting = self.data.pop_front()?;
        self.data_bytes -= u32::from(waiting.size);
        Some(waiting)
    }

    /// Lets data wait.
    #[inline]
    pub fn push(&mut self, waiting: Waiting) {
        self.data.push_back(waiting);
        self.data_bytes += u32::from(waiting.size);
    }

    /// Lets something wait ahead of data.
    #[inline]
    pub fn push_urgent(&mut self, waiting: Waiting) {
        self.urgent.push_back(waiting);
        self.urgent_bytes += u32::from(waiting.size);
    }

    /// Whether anything could go now but for a transmission under way.
    #[inline]
    pub fn has_work(&self) -> bool {
        self.urgent_bytes > 0 || (!self.is_paused && self.data_bytes > 0)
    }
}

/// Time of a byte at a rate in bytes a second, in parts of 2^-FINE picoseconds.
fn byte_time(rate: f64) -> u32 {
    (1e12 * f64::from(1u32 << FINE) / rate).round() as u32
}
