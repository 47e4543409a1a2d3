//! When flights are due, earliest first: sorted once, and a heap of those whose time has changed since.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Picoseconds;

/// A flight's time, as of the change of that time which a stamp counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due {
    pub time: Picoseconds,
    pub flight: u32,
    pub stamp: u32,
}

/// Flights by the time when they are due; what is out of date is passed over when met.
pub(super) struct Completions {
    sorted: Vec<Due>,
    /// Of the sorted, those that have been met.
    met: usize,
    changed: BinaryHeap<Reverse<Due>>,
}

impl Completions {
    /// Sorts times; fast where they ascend already.
    pub(super) fn new(mut due: Vec<Due>) -> Self {
        due.sort();
        Self { sorted: due, met: 0, changed: BinaryHeap::new() }
    }

    /// Starts anew, with times in no order of which few will be taken before the next change.
    pub(super) fn replace(&mut self, due: impl Iterator<Item = Due>) {
        (self.sorted, self.met) = (Vec::new(), 0);
        self.changed.clear();
        self.changed.extend(due.map(Reverse));
    }

    /// Adds changed times of which at most `flights` are in date, as `is_current` tells.
    pub(super) fn extend(&mut self, due: impl Iterator<Item = Due>, flights: usize, is_current: impl Fn(&Due) -> bool) {
        self.changed.extend(due.map(Reverse));
        if self.changed.len() > 2 * flights {
            self.changed.retain(|Reverse(due)| is_current(due));
        }
    }

    /// Takes the earliest that is in date, if it is due by a time.
    pub(super) fn take(&mut self, until: Picoseconds, is_current: impl Fn(&Due) -> bool) -> Option<Due> {
        loop {
            let sorted = self.sorted.get(self.met).copied();
            let changed = self.changed.peek().map(|&Reverse(due)| due);
            let first = sorted.into_iter().chain(changed).min().filter(|due| due.time <= until)?;
            if sorted == Some(first) {
                self.met += 1;
            } else {
                self.changed.pop();
            }
            if is_current(&first) {
                return Some(first);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(time: Picoseconds, flight: u32, stamp: u32) -> Due {
        Due { time, flight, stamp }
    }

    #[test]
    fn changed_times_take_the_place_of_those_sorted() {
        let stamps = [0, 1, 0];
        let is_current = |due: &Due| stamps[due.flight as usize] == due.stamp;
        let mut completions = Completions::new(vec![due(5, 0, 0), due(7, 1, 0), due(9, 2, 0)]);
        completions.extend([due(8, 1, 1)].into_iter(), 3, is_current);
        let mut take = |until| completions.take(until, is_current).map(|due| (due.time, due.flight));
        assert_eq!([take(8), take(8), take(8)], [Some((5, 0)), Some((8, 1)), None]);
        assert_eq!([take(9), take(Picoseconds::MAX)], [Some((9, 2)), None]);
    }

    #[test]
    fn no_more_is_kept_than_twice_what_is_in_date() {
        let mut completions = Completions::new(Vec::new());
        for stamp in 0..1000 {
            completions.extend([due(1, 0, stamp)].into_iter(), 1, |due| due.stamp == stamp);
            assert!(completions.changed.len() <= 2);
        }
    }
}
