//! A switch's shared memory: what is free, the dynamic thresholds of who may take how much, and headroom for what comes
//! after a pause.
//!
//! A group is what is accounted for together: of a lossless class all that came in by one cable, of a lossy class all that
//! waits for one port. Each has a reserve of its own; beyond that it may hold a multiple *alpha* of what is free of the
//! shared memory at the moment (Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches",
//! IEEE/ACM Transactions on Networking 6(2), 1998). *N* groups that all want more so come to hold alpha B / (1 + N alpha)
//! each of a memory of B. A lossless group beyond its threshold has asked for a pause, and takes what still comes into its
//! headroom.

use super::classes::Threshold;
use super::switching::PAUSE_BYTES;
use crate::{Error, Picoseconds, Result};

/// Parts of a whole in which thresholds are counted.
const FINE: u32 = 10;

/// Bytes that may still come by a cable after its switch has decided to pause it: a full packet that holds the pause up,
/// the pause's own time and its way, during which the sender goes on; all that is on the way then; and the full packet that
/// it is sending when the pause comes. `latency` is one way, `rate` bytes a second. (Cisco, "Priority Flow Control: Build
/// Reliable Layer 2 Infrastructure", 2009, less the time that a sender takes to respond.)
pub fn headroom(rate: f64, latency: Picoseconds, full: u16) -> u32 {
    let under_way = rate * 2.0 * latency as f64 / crate::PS_PER_S;
    (under_way.ceil() as u64 + u64::from(PAUSE_BYTES) + 2 * u64::from(full)).min(u32::MAX.into()) as u32
}

/// How much of a memory the groups of one class may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowance {
    /// Bytes that are a group's own.
    pub reserve: u32,
    most: Most,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Most {
    Bytes(u32),
    /// Multiple of what is free, in parts of 2^-FINE.
    OfFree(u32),
}

impl Allowance {
    /// A reserve in bytes, and a threshold beyond it.
    ///
    /// # Errors
    /// [`Error::Graph`] where a multiple of what is free is not positive, or too large to count.
    pub fn new(reserve: u32, threshold: Threshold) -> Result<Self> {
        let alpha = match threshold {
            Threshold::Bytes(bytes) => return Ok(Self { reserve, most: Most::Bytes(bytes) }),
            Threshold::Alpha(alpha) => alpha,
        };
        let parts = (alpha * f64::from(1u32 << FINE)).round();
        if !(1.0..=f64::from(u32::MAX)).contains(&parts) {
            return Err(Error::Graph(format!("a threshold of {alpha} times the free memory cannot be kept")));
        }
        Ok(Self { reserve, most: Most::OfFree(parts as u32) })
    }

    /// Bytes of the shared memory that a group may hold at the moment.
    pub fn threshold(self, free: u64) -> u64 {
        match self.most {
            Most::Bytes(bytes) => bytes.into(),
            Most::OfFree(alpha) => u64::try_from((u128::from(free) * u128::from(alpha)) >> FINE).unwrap_or(u64::MAX),
        }
    }
}

/// Bytes that a group holds, and of what. What came last is let go first: headroom, then shared memory, then its reserve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    reserved: u32,
    pub shared: u32,
    pub headroom: u32,
}

impl Group {
    /// Bytes in all.
    pub fn bytes(&self) -> u32 {
        self.reserved + self.shared + self.headroom
    }

    /// Takes room for a packet of a lossy class, unless the group would then hold more than it may.
    pub fn admit(&mut self, bytes: u32, allowed: Allowance, free: &mut u64) -> bool {
        let may_share = u64::from(self.shared + bytes) <= allowed.threshold(*free);
        self.take_reserved(bytes, allowed) || (may_share && self.take_shared(bytes, free))
    }

    /// Takes room for a packet of a lossless class, in its headroom where it is beyond its threshold already; false where
    /// that is full.
    pub fn admit_lossless(&mut self, bytes: u32, allowed: Allowance, headroom: u32, free: &mut u64) -> bool {
        let may_share = self.headroom == 0 && u64::from(self.shared) <= allowed.threshold(*free);
        if self.take_reserved(bytes, allowed) || (may_share && self.take_shared(bytes, free)) {
            return true;
        }
        let fits = self.headroom + bytes <= headroom;
        self.headroom += if fits { bytes } else { 0 };
        fits
    }

    /// Whether a lossless group is beyond its threshold.
    pub fn is_beyond(&self, allowed: Allowance, free: u64) -> bool {
        self.headroom > 0 || u64::from(self.shared) > allowed.threshold(free)
    }

    /// Whether a lossless group has come down to so many bytes below its threshold, or to nothing.
    pub fn is_below(&self, allowed: Allowance, free: u64, by: u32) -> bool {
        self.headroom == 0 && u64::from(self.shared) <= allowed.threshold(free).saturating_sub(by.into())
    }

    /// Gives back the room of a packet.
    pub fn release(&mut self, bytes: u32, free: &mut u64) {
        let from_headroom = bytes.min(self.headroom);
        let from_shared = (bytes - from_headroom).min(self.shared);
        self.headroom -= from_headroom;
        self.shared -= from_shared;
        self.reserved -= bytes - from_headroom - from_shared;
        *free += u64::from(from_shared);
    }

    fn take_reserved(&mut self, bytes: u32, allowed: Allowance) -> bool {
        let fits = self.shared == 0 && self.headroom == 0 && self.reserved + bytes <= allowed.reserve;
        self.reserved += if fits { bytes } else { 0 };
        fits
    }

    fn take_shared(&mut self, bytes: u32, free: &mut u64) -> bool {
        let Some(left) = free.checked_sub(bytes.into()) else { return false };
        *free = left;
        self.shared += bytes;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headroom_holds_a_round_trip_a_pause_and_two_packets() {
        // 400 Gb/s, 1 us each way: 100,000 B under way
        assert_eq!(headroom(50e9, 1_000_000, 4096), 100_000 + 84 + 2 * 4096);
    }

    #[test]
    fn groups_that_want_more_come_to_hold_equal_parts_of_the_memory() {
        for (alpha, count) in [(1.0, 1), (0.125, 4), (8.0, 16)] {
            let (mut free, memory) = (1_000_000, 1_000_000.0);
            let allowed = Allowance::new(0, Threshold::Alpha(alpha)).unwrap();
            let mut groups = vec![Group::default(); count];
            while groups.iter_mut().map(|group| group.admit(100, allowed, &mut free)).filter(|&is_in| is_in).count() > 0
            {
            }
            let expected = alpha * memory / (1.0 + count as f64 * alpha);
            for group in groups {
                assert!((f64::from(group.shared) - expected).abs() <= 200.0, "{group:?}, {expected}");
            }
        }
    }

    #[test]
    fn what_came_last_is_let_go_first() {
        let (mut free, allowed) = (1000, Allowance::new(500, Threshold::Alpha(1.0)).unwrap());
        let mut group = Group::default();
        let taken = [400, 400, 300, 300, 300].map(|bytes| group.admit_lossless(bytes, allowed, 500, &mut free));
        assert_eq!(taken, [true, true, true, true, false]);
        assert_eq!((group.reserved, group.shared, group.headroom, free), (400, 700, 300, 300));
        group.release(400, &mut free);
        assert_eq!((group.reserved, group.shared, group.headroom, free), (400, 600, 0, 400));
        group.release(1000, &mut free);
        assert_eq!((group, free), (Group::default(), 1000));
    }
}
