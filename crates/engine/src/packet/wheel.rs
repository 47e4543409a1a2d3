//! The events to come, in a timing wheel: buckets of equal spans of time, sorted when their turn comes.
//!
//! What lies beyond the wheel's horizon waits in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::due::Due;
use crate::Picoseconds;

const NONE: u32 = u32::MAX;

/// Fewest and most buckets of a wheel, as powers of two.
const BUCKETS: std::ops::RangeInclusive<u32> = 6..=17;

#[derive(Clone, Copy, Debug)]
struct Entry {
    due: Due,
    next: u32,
}

/// Events by time.
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
    #[inline]
    pub fn add(&mut self, due: Due) {
        let bucket = due.time() >> self.shift;
        if bucket <= self.at {
            let place = self.current.partition_point(|&other| other > due);
            self.current.insert(place, due);
        } else if bucket - self.at < self.buckets() as u64 {
            self.link(bucket, due);
        } else {
            self.far.push(Reverse(due));
        }
    }

    /// The next event that begins before a time; [`Due::NEVER`] where none does, or one only does later in its bucket.
    #[inline]
    pub fn peek(&mut self, before: Picoseconds) -> Due {
        match self.current.last() {
            Some(&due) => due,
            None => self.turned(before),
        }
    }

    /// Takes the event that [`Wheel::peek`] gave.
    #[inline]
    pub fn pop(&mut self) {
        self.current.pop();
    }

    /// A time before which no event comes, and after which one soon does; none where there are no events.
    pub fn soonest(&self) -> Option<Picoseconds> {
        match self.current.last() {
            Some(due) => Some(due.time()),
            None => self.next_bucket().map(|bucket| bucket << self.shift),
        }
    }

    /// All events, in no order.
    pub fn iter(&self) -> impl Iterator<Item = Due> {
        let far = self.far.iter().map(|&Reverse(due)| due);
        let linked = self.heads.iter().flat_map(|&head| {
            let entry = |index: u32| (index != NONE).then(|| &self.entries[index as usize]);
            std::iter::successors(entry(head), move |found| entry(found.next)).map(|found| found.due)
        });
        self.current.iter().copied().chain(linked).chain(far)
    }

    fn link(&mut self, bucket: u64, due: Due) {
        let slot = bucket as usize & (self.buckets() - 1);
        let entry = Entry { due, next: self.heads[slot] };
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

    /// Moves on to the next bucket with events that begins before a time, and gives its first event.
    fn turned(&mut self, before: Picoseconds) -> Due {
        let Some(next) = self.next_bucket().filter(|bucket| bucket << self.shift < before) else { return Due::NEVER };
        self.at = next;
        while let Some(&Reverse(due)) = self.far.peek() {
            let bucket = due.time() >> self.shift;
            if bucket - self.at >= self.buckets() as u64 {
                break;
            }
            self.far.pop();
            self.link(bucket, due);
        }
        let slot = next as usize & (self.buckets() - 1);
        let mut index = std::mem::replace(&mut self.heads[slot], NONE);
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        while index != NONE {
            let entry = &mut self.entries[index as usize];
            self.current.push(entry.due);
            let next = std::mem::replace(&mut entry.next, self.free);
            self.free = index;
            index = next;
            self.waiting -= 1;
        }
        self.current.sort_unstable_by_key(|&due| Reverse(due));
        self.current.last().copied().unwrap_or(Due::NEVER)
    }

    fn next_bucket(&self) -> Option<u64> {
        let far = self.far.peek().map(|&Reverse(due)| due.time() >> self.shift);
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
