//! What a sender of acknowledged packets asks of its congestion control.

use crate::Picoseconds;

/// A window that moves with what acknowledgements tell.
pub trait Window {
    /// Bytes that may be under way.
    fn window(&self) -> u64;

    /// Delay by queues in a round trip, of which the shortest that was seen is the base.
    fn delay(&mut self, round_trip: Picoseconds) -> Picoseconds;

    /// Mean delay by queues, for acknowledgements that no round trip can be told from.
    fn mean_delay(&self) -> Picoseconds;

    /// Takes a delay into the mean.
    fn sample(&mut self, delay: Picoseconds, is_marked: bool);

    /// An acknowledgement told of `arrived` bytes, after a delay by queues; `in_flight` bytes are still under way.
    fn on_ack(&mut self, now: Picoseconds, is_marked: bool, delay: Picoseconds, arrived: u64, in_flight: u64);

    /// A packet of so many bytes was trimmed.
    fn on_trim(&mut self, now: Picoseconds, bytes: u64, in_flight: u64);

    /// A packet of so many bytes was given up.
    fn on_loss(&mut self, now: Picoseconds, bytes: u64);
}
