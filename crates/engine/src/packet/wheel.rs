//! The events to come, in a timing wheel: buckets of equal spans of time, sorted when their turn comes.
//!
//! Events are handled in order of time, and those of one time in the order in which they were added. What lies beyond the
//! wheel's horizon waits in a heap.

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

/// Events by time; an event is a word that the owner gives meaning to.
#[derive(Debug)]
pub(super) struct Wheel {
    /// Bits by which a time is shifted to give its bucket.
    shift: u32,
    /// Bucket at hand, counted from the beginning of time.
    at: u64,
    /// First entry of each bucket's list, the newest first.
    heads: Vec<u32>,
    /// Which buckets hold entries.
    occupied: Vec<u64>,
    entries: Vec<Entry>,
    free: u32,
    /// The bucket at hand, latest first.
    current: Vec<(Picoseconds, u32)>,
    far: BinaryHeap<Reverse<(Picoseconds, u64, u32)>>,
    added: u64,
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
            added: 0,
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
            let place = self.current.partition_point(|&(other, _)| other > time);
            self.current.insert(place, (time, event));
        } else if bucket - self.at < self.buckets() as u64 {
            self.link(bucket, time, event);
        } else {
            self.added += 1;
            self.far.push(Reverse((time, self.added, event)));
        }
    }

    /// Takes the next event of the bucket at hand; none where it is empty, and [`Wheel::turn`] is due.
    pub fn next(&mut self) -> Option<(Picoseconds, u32)> {
        self.current.pop()
    }

    /// The bucket at hand, latest event first.
    pub fn current(&self) -> &[(Picoseconds, u32)] {
        &self.current
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

    /// Moves on to the next bucket with events; false where there is none.
    pub fn turn(&mut self) -> bool {
        let far = self.far.peek().map(|Reverse((time, ..))| time >> self.shift);
        let near = if self.waiting == 0 { None } else { Some(self.next_occupied()) };
        let Some(next) = near.into_iter().chain(far).min() else { return false };
        self.at = next;
        while let Some(&Reverse((time, _, event))) = self.far.peek() {
            if (time >> self.shift) - self.at >= self.buckets() as u64 {
                break;
            }
            self.far.pop();
            self.link(time >> self.shift, time, event);
        }
        let slot = next as usize & (self.buckets() - 1);
        let mut index = std::mem::replace(&mut self.heads[slot], NONE);
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        while index != NONE {
            let entry = &mut self.entries[index as usize];
            self.current.push((entry.time, entry.event));
            let next = std::mem::replace(&mut entry.next, self.free);
            self.free = index;
            index = next;
            self.waiting -= 1;
        }
        // The list is newest first, and the sort is stable: of one time, the oldest ends up last, where it is taken first.
        self.current.sort_by_key(|&(time, _)| Reverse(time));
        true
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
