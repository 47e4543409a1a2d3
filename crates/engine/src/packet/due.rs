//! An event with its time, as one number: events are handled from the least to the greatest.
//!
//! Events of one time have an order that time and word give, whenever they were added; it differs from time to time, so
//! that no port is always first.

use super::pool::Place;
use crate::Picoseconds;

/// An odd number, and its inverse modulo 2^32: the golden ratio's, as Knuth shuffles words (TAOCP 3, 6.4).
const SHUFFLE: u32 = 0x9E37_79B1;
const UNSHUFFLE: u32 = 0x0E8B_2F51;

/// From the top: the time, the event's word shuffled, and of an arrival the packet's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due(u128);

impl Due {
    /// After every event.
    pub const NEVER: Self = Self(u128::MAX);

    /// An event at a time.
    pub fn new(time: Picoseconds, event: u32, place: Place) -> Self {
        let order = (event ^ time as u32).wrapping_mul(SHUFFLE);
        Self(u128::from(time) << 64 | u128::from(order) << 32 | u128::from(place))
    }

    /// When.
    pub fn time(self) -> Picoseconds {
        (self.0 >> 64) as Picoseconds
    }

    /// Its word.
    pub fn event(self) -> u32 {
        ((self.0 >> 32) as u32).wrapping_mul(UNSHUFFLE) ^ self.time() as u32
    }

    /// What arrives.
    pub fn place(self) -> Place {
        self.0 as Place
    }
}
