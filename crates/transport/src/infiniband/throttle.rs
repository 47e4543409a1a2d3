//! How a channel adapter slows down a queue pair that hears of congestion (annex A10 of the InfiniBand Architecture
//! Specification): a backward notification moves an index on along the congestion control table, a timer moves it back,
//! and the table says how long to wait after each packet.

use crate::Picoseconds;

/// Entries of the table.
const ENTRIES: usize = 128;

/// Unit of the timer, picoseconds: 1.024 us.
pub const TIMER_UNIT: Picoseconds = 1_024_000;

/// What a channel adapter is told, with the annex's names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThrottleSettings {
    /// Time of a full packet at the port's rate: the unit of the table.
    pub packet_time: Picoseconds,
    /// Bytes of such a packet; the wait after a smaller one is as much shorter.
    pub packet: u16,
    /// By how much a notification raises the index (CCTI_Increase).
    pub increase: u16,
    /// Time after which it falls by one (CCTI_Timer).
    pub timer: Picoseconds,
    /// Least index (CCTI_Min).
    pub least: u16,
}

/// Of each entry, times of a packet to wait after one: 7 i^2 / 95^2 / 0.218, rounded down, as NVIDIA's congestion control
/// manager fills the table by default (in LLNL's study of it, `opensm-cc-conf-gen.rb`).
fn wait(index: u16) -> u64 {
    (f64::from(index).powi(2) * 7.0 / (95.0 * 95.0) / 0.218) as u64
}

/// The state of one queue pair.
#[derive(Clone, Debug)]
pub struct Throttle {
    settings: ThrottleSettings,
    index: u16,
    /// When the timer next runs out; none where the index is at its least.
    falls_at: Option<Picoseconds>,
    next_at: Picoseconds,
}

impl Throttle {
    /// Unthrottled, but for the least index.
    pub fn new(settings: ThrottleSettings) -> Self {
        Self { settings, index: settings.least, falls_at: None, next_at: 0 }
    }

    /// When the next packet may go.
    pub fn next_at(&self) -> Picoseconds {
        self.next_at
    }

    /// The index at a time.
    pub fn index(&mut self, now: Picoseconds) -> u16 {
        while let Some(time) = self.falls_at.filter(|&time| time <= now) {
            self.index = self.index.saturating_sub(1).max(self.settings.least);
            self.falls_at = (self.index > self.settings.least).then_some(time + self.settings.timer);
        }
        self.index
    }

    /// A backward notification came.
    pub fn on_becn(&mut self, now: Picoseconds) {
        self.index(now);
        self.index = (self.index + self.settings.increase).min(ENTRIES as u16 - 1);
        self.falls_at.get_or_insert(now + self.settings.timer);
    }

    /// A packet of so many bytes goes now.
    pub fn on_sent(&mut self, now: Picoseconds, bytes: u16) {
        let ThrottleSettings { packet_time, packet, .. } = self.settings;
        let own = packet_time * u64::from(bytes) / u64::from(packet);
        let waits = wait(self.index(now));
        // a lone queue pair's port takes the packet's own time anyway
        self.next_at = if waits == 0 { now } else { now + own * (1 + waits) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Picoseconds = 82_440;

    fn throttle() -> Throttle {
        Throttle::new(ThrottleSettings {
            packet_time: PACKET,
            packet: 4122,
            increase: 1,
            timer: 150 * TIMER_UNIT,
            least: 0,
        })
    }

    #[test]
    fn a_notification_raises_the_index_and_the_timer_lowers_it() {
        let mut throttle = throttle();
        (0..20).for_each(|_| throttle.on_becn(0));
        assert_eq!(throttle.index(150 * TIMER_UNIT - 1), 20);
        assert_eq!(throttle.index(150 * TIMER_UNIT), 19);
        assert_eq!(throttle.index(20 * 150 * TIMER_UNIT), 0);
    }

    #[test]
    fn the_index_ends_at_the_end_of_the_table() {
        let mut throttle = throttle();
        (0..1000).for_each(|_| throttle.on_becn(0));
        assert_eq!(throttle.index(0), 127);
    }

    #[test]
    fn packets_are_as_far_apart_as_the_table_says() {
        let mut throttle = throttle();
        throttle.on_sent(0, 4122);
        assert_eq!(throttle.next_at(), 0);
        // 7 * 95^2 / 95^2 / 0.218 = 32.1: 32 packets' time after a packet
        (0..95).for_each(|_| throttle.on_becn(0));
        throttle.on_sent(0, 4122);
        assert_eq!(throttle.next_at(), 33 * PACKET);
        throttle.on_sent(0, 2061);
        assert_eq!(throttle.next_at(), 33 * PACKET / 2);
    }
}
