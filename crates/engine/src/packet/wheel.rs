//! The events to come, in a timing wheel: buckets of equal spans of time, sorted when their turn comes.
//!
//! Events are handled in order of time, and those of one time in an order that time and words give, in whatever order they
//! were added; it differs from time to time, so that no port is always first. What lies beyond the wheel's horizon waits in
//! a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Picoseconds;

const NONE: u32 = u32::MAX;

/// Fewest and most buckets of a wheel, as powers of two.
const BUCKETS: std::ops::RangeInclusive<u32> = 6..=17;

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Picoseconds,
    event: u32,
    next: u32,
}

/// An event with its time, in the order of handling: the time, and below it the event's word, shuffled.
type Due = u128;

/// An odd number, and its inverse modulo 2^32: the golden ratio's, as Knuth shuffles words (TAOCP 3, 6.4).
const SHUFFLE: u32 = 0x9E37_79B1;
const UNSHUFFLE: u32 = 0x0E8B_2F51;

fn due(time: Picoseconds, event: u32) -> Due {
    Due::from(time) << 32 | Due::from((event ^ turn(time)).wrapping_mul(SHUFFLE))
}

fn time_of(due: Due) -> Picoseconds {
    (due >> 32) as Picoseconds
}

fn event_of(due: Due) -> u32 {
    (due as u32).wrapping_mul(UNSHUFFLE) ^ turn(time_of(due))
}

/// What changes the order of events from time to time.
fn turn(time: Picoseconds) -> u32 {
    (time.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}

/// Events by time; an event is a word that the owner gives meaning to.
#[derive(Debug)]
pub(super) struct Wheel {
    /// Bits by which a time is shifted to give its bucket.
    shift: u32,
    /// Bucket at hand, counted from the beginning of time.
    at: u64,
    /// First entry of each bucket's list.
    heads: Vec<u32>,
    /// Which buckets hold entries.
    occupied: Vec<u64>,
    entries: Vec<Entry>,
    free: u32,
    /// The bucket at hand, latest first.
    current: Vec<Due>,
    far: BinaryHeap<Reverse<Due>>,
    waiting: usize,
}

impl Wheel {
    /// A wheel whose buckets span about `apart` picoseconds, enough of them that most events come within `horizon`.
    pub fn new(apart: Picoseconds, horizon: Picoseconds) -> Self {
        let needed = horizon.max(1).ilog2() + 1;
        let shift = apart.max(1).ilog2().max(needed.saturating_sub(*BUCKETS.end()));
        let buckets = 1 << needed.saturating_sub(shift).clamp(*BUCKETS.start(), *BUCKETS.end());
        Self {
            shift,
            at: 0,
            heads: vec![NONE; buckets],
            occupied: vec![0; buckets / 64],
            entries: Vec::new(),
            free: NONE,
            current: Vec::new(),
            far: BinaryHeap::new(),
            waiting: 0,
        }
    }

    fn buckets(&self) -> usize {
        self.heads.len()
    }

    /// Adds an event at a time that is not before that of the last event taken.
    pub fn add(&mut self, time: Picoseconds, event: u32) {
        let bucket = time >> self.shift;
        if bucket <= self.at {
            let due = due(time, event);
            let place = self.current.partition_point(|&other| other > due);
            self.current.insert(place, due);
        } else if bucket - self.at < self.buckets() as u64 {
            self.link(bucket, time, event);
        } else {
            self.far.push(Reverse(due(time, event)));
        }
    }

    /// Takes the next event, if it comes before a time.
    pub fn next(&mut self, before: Picoseconds) -> Option<(Picoseconds, u32)> {
        loop {
            if let Some(&due) = self.current.last() {
                let time = time_of(due);
                if time >= before {
                    return None;
                }
                self.current.pop();
                return Some((time, event_of(due)));
            }
            if !self.turn(before) {
                return None;
            }
        }
    }

    /// A time before which no event comes, and after which one soon does; none where there are no events.
    pub fn soonest(&self) -> Option<Picoseconds> {
        match self.current.last() {
            Some(&due) => Some(time_of(due)),
            None => self.next_bucket().map(|bucket| bucket << self.shift),
        }
    }

    fn link(&mut self, bucket: u64, time: Picoseconds, event: u32) {
        let slot = bucket as usize & (self.buckets() - 1);
        let entry = Entry { time, event, next: self.heads[slot] };
        let index = if self.free == NONE {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        } else {
            let index = self.free;
            self.free = self.entries[index as usize].next;
            self.entries[index as usize] = entry;
            index
        };
        self.heads[slot] = index;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.waiting += 1;
    }

    /// Moves on to the next bucket with events; false where none begins before a time.
    fn turn(&mut self, before: Picoseconds) -> bool {
        let Some(next) = self.next_bucket().filter(|bucket| bucket << self.shift < before) else { return false };
        self.at = next;
        while let Some(&Reverse(due)) = self.far.peek() {
            let time = time_of(due);
            if (time >> self.shift) - self.at >= self.buckets() as u64 {
                break;
            }
            self.far.pop();
            self.link(time >> self.shift, time, event_of(due));
        }
        let slot = next as usize & (self.buckets() - 1);
        let mut index = std::mem::replace(&mut self.heads[slot], NONE);
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        while index != NONE {
            let entry = &mut self.entries[index as usize];
            self.current.push(due(entry.time, entry.event));
            let next = std::mem::replace(&mut entry.next, self.free);
            self.free = index;
            index = next;
            self.waiting -= 1;
        }
        self.current.sort_unstable_by_key(|&due| Reverse(due));
        true
    }

    fn next_bucket(&self) -> Option<u64> {
        let far = self.far.peek().map(|&Reverse(due)| time_of(due) >> self.shift);
        let near = (self.waiting > 0).then(|| self.next_occupied());
        near.into_iter().chain(far).min()
    }

    fn next_occupied(&self) -> u64 {
        let start = (self.at as usize + 1) & (self.buckets() - 1);
        let words = self.occupied.len();
        let mut word = start / 64;
        let mut bits = self.occupied[word] & (u64::MAX << (start % 64));
        loop {
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                let ahead = (slot + self.buckets() - start) & (self.buckets() - 1);
                return self.at + 1 + ahead as u64;
            }
            word = (word + 1) % words;
            bits = self.occupied[word];
        }
    }
}
