//! A port: the queues before one direction of a cable, and the packets in flight on it.

use std::collections::VecDeque;

use super::pool::{Place, Pool};
use crate::Picoseconds;

/// Fractions of a picosecond in which the time of a byte is counted.
const FINE: u32 = 8;

/// One direction of a cable with what waits for it. Laid out so that what an event touches lies together.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Port {
    /// When the transmission under way ends.
    pub free_at: Picoseconds,
    /// Time of a byte, in parts of 2^-FINE picoseconds.
    byte_time: u32,
    /// Packets that bit errors take, of a thousand million.
    pub loss: u32,
    /// From the last bit out to the last bit in and forwarded.
    latency: Picoseconds,
    /// Where it leads: a host or a switch, by its own number.
    pub to: End,
    /// Where it begins.
    pub from: End,
    /// Bytes of data that wait.
    pub data_bytes: u32,
    /// Bytes of answers and headers that wait.
    pub urgent_bytes: u32,
    /// Bytes that the switch at its end still holds of what came in by it.
    pub held: u32,
    /// Whether an event is due when it becomes free.
    pub is_armed: bool,
    /// Whether the other end has asked it to pause.
    pub is_paused: bool,
    /// Whether it has asked the port at its beginning to pause, as the way in to a switch.
    pub is_pausing: bool,
    /// Whether nothing passes.
    pub is_down: bool,
    /// Packets on the cable with their times of arrival.
    pub flying: VecDeque<(Picoseconds, Place)>,
    /// Data that waits.
    pub data: VecDeque<Place>,
    /// What goes ahead of data.
    pub urgent: VecDeque<Place>,
    /// Where nothing is dropped: the way in of each packet of `data`.
    pub came_by: VecDeque<u32>,
    /// Since when it is paused.
    pub paused_since: Picoseconds,
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
            paused_since: 0,
            data: VecDeque::new(),
            urgent: VecDeque::new(),
            came_by: VecDeque::new(),
            flying: VecDeque::new(),
        }
    }

    /// Gives it another rate, bytes a second, for transmissions to come.
    pub fn set_rate(&mut self, rate: f64) {
        self.byte_time = byte_time(rate);
    }

    /// Time to send so many bytes.
    pub fn time_of(&self, bytes: u16) -> Picoseconds {
        (u64::from(bytes) * u64::from(self.byte_time)) >> FINE
    }

    /// Time from the last bit out to the last bit in.
    pub fn latency(&self) -> Picoseconds {
        self.latency
    }

    /// Bytes that wait.
    pub fn waiting(&self) -> u32 {
        self.data_bytes + self.urgent_bytes
    }

    /// Puts a packet of so many bytes on the cable; gives its arrival where no other event announces it.
    pub fn transmit(&mut self, now: Picoseconds, packet: Place, bytes: u16) -> Option<Picoseconds> {
        self.free_at = now + self.time_of(bytes);
        let arrival = self.free_at + self.latency;
        let is_first = self.flying.is_empty();
        self.flying.push_back((arrival, packet));
        is_first.then_some(arrival)
    }

    /// Takes what is to go next.
    pub fn next(&mut self, pool: &Pool) -> Option<Place> {
        if let Some(packet) = self.urgent.pop_front() {
            self.urgent_bytes -= u32::from(pool[packet].size);
            return Some(packet);
        }
        if self.is_paused {
            return None;
        }
        let packet = self.data.pop_front()?;
        self.data_bytes -= u32::from(pool[packet].size);
        Some(packet)
    }

    /// Whether anything could go now but for a transmission under way.
    pub fn has_work(&self) -> bool {
        !self.urgent.is_empty() || (!self.is_paused && !self.data.is_empty())
    }
}

/// Time of a byte at a rate in bytes a second, in parts of 2^-FINE picoseconds.
fn byte_time(rate: f64) -> u32 {
    (1e12 * f64::from(1u32 << FINE) / rate).round() as u32
}
