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

/// Sorts events, the latest first, in a time that grows with their number alone where they are spread evenly.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    /// Where each bucket's events go, and at last where they end.
    ends: Vec<u32>,
    dealt: Vec<Due>,
}

impl Sorter {
    /// Sorts by dealing into as many buckets of equal spans of time as there are events, and then within each.
    pub fn sort(&mut self, dues: &mut Vec<Due>) {
        let (Some(first), Some(last)) =
            (dues.iter().min_by_key(|due| due.time()), dues.iter().max_by_key(|due| due.time()))
        else {
            return;
        };
        let (first, last) = (first.time(), last.time());
        let shift = ((last - first).max(1).ilog2() + 1).saturating_sub(dues.len().ilog2());
        let bucket = |due: &Due| ((last - due.time()) >> shift) as usize;
        self.ends.clear();
        self.ends.resize(((last - first) >> shift) as usize + 2, 0);
        dues.iter().for_each(|due| self.ends[bucket(due) + 1] += 1);
        let mut before = 0;
        for end in &mut self.ends {
            before += *end;
            *end = before;
        }
        self.dealt.resize(dues.len(), Due::NEVER);
        for due in &*dues {
            let end = &mut self.ends[bucket(due)];
            self.dealt[*end as usize] = *due;
            *end += 1;
        }
        std::mem::swap(dues, &mut self.dealt);
        let mut start = 0;
        for &end in &self.ends[..self.ends.len() - 1] {
            let end = end as usize;
            if end > start + 1 {
                dues[start..end].sort_unstable_by(|a, b| b.cmp(a));
            }
            start = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eastwest_transport::Random;

    #[test]
    fn a_word_comes_back_out_of_its_shuffled_place() {
        let due = Due::new(123_456_789_012_345, 0x1234_5678, 9);
        assert_eq!((due.time(), due.event(), due.place()), (123_456_789_012_345, 0x1234_5678, 9));
    }

    #[test]
    fn the_latest_comes_first_wherever_times_crowd() {
        let (mut sorter, mut random) = (Sorter::default(), Random::new(4));
        for (count, span) in
            [(0, 1), (1, 1), (2, 1), (500, 1), (500, 3), (500, 1 << 40), (70, 1000), (3, u32::MAX.into())]
        {
            let time = |random: &mut Random| 7 + u64::from(random.below(1 << 30)) * span / (1 << 30);
            let mut dues: Vec<Due> = (0..count).map(|word| Due::new(time(&mut random), word, word)).collect();
            let mut expected = dues.clone();
            expected.sort_by(|a, b| b.cmp(a));
            sorter.sort(&mut dues);
            assert_eq!(dues, expected);
        }
    }
}
