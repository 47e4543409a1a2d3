//! The entropy values of a flow and what is known of their paths.

use std::collections::VecDeque;

use crate::sprayed::{Feedback, Paths};
use crate::{PathHealth, Picoseconds, Random};

/// Largest penalty of a value: turns for which it is passed over.
const WORST: u8 = 15;

/// Mark of a value that is retired, in place of its penalty.
const RETIRED: u8 = u8::MAX;

/// Values in turn, in an order that changes from round to round; marked ones are passed over for a turn, retired ones until
/// a probe comes back.
#[derive(Clone, Debug)]
pub struct EntropySet {
    values: u16,
    /// What distinguishes this flow's values from others': their upper bits.
    upper: u16,
    turn: u16,
    shuffle: u16,
    penalty: Vec<u8>,
    probe_every: Picoseconds,
    /// When each retired value is probed next, soonest first.
    probes: VecDeque<(Picoseconds, u16)>,
    random: Random,
}

impl EntropySet {
    /// A set of a number of values, a power of two, of which all are thought good.
    pub fn new(values: u16, probe_every: Picoseconds, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let upper = random.bits() as u16 & !(values - 1);
        let shuffle = random.bits() as u16 & (values - 1);
        let penalty = vec![0; usize::from(values)];
        Self { values, upper, turn: 0, shuffle, penalty, probe_every, probes: VecDeque::new(), random }
    }

    fn pass(&mut self) {
        self.turn += 1;
        if self.turn == self.values {
            self.turn = 0;
            self.shuffle = self.random.bits() as u16 & (self.values - 1);
        }
    }

    fn index(&self, value: u16) -> usize {
        usize::from(value & (self.values - 1))
    }
}

impl Paths for EntropySet {
    fn deal(&mut self) -> u16 {
        let mut value = self.turn ^ self.shuffle;
        for _ in 0..self.values {
            match &mut self.penalty[usize::from(value)] {
                0 => break,
                &mut RETIRED => {}
                penalty => *penalty -= 1,
            }
            self.pass();
            value = self.turn ^ self.shuffle;
        }
        self.pass(); // where none is free, whichever comes is as good as another
        self.upper | value
    }

    fn learn(&mut self, now: Picoseconds, value: u16, feedback: Feedback) {
        let index = self.index(value);
        let penalty = &mut self.penalty[index];
        match feedback {
            Feedback::Good | Feedback::Marked if *penalty == RETIRED => *penalty = 0, // it was late, not lost
            Feedback::Good | Feedback::Trimmed => {}
            Feedback::Marked if *penalty < WORST => *penalty += 1,
            Feedback::Lost if *penalty != RETIRED => {
                *penalty = RETIRED;
                self.probes.push_back((now + self.probe_every, value));
            }
            Feedback::Marked | Feedback::Lost => {}
        }
    }

    fn probe(&mut self, now: Picoseconds) -> Option<u16> {
        while let Some(&(due, value)) = self.probes.front() {
            if due > now {
                return None;
            }
            self.probes.pop_front();
            if self.penalty[self.index(value)] == RETIRED {
                self.probes.push_back((now + self.probe_every, value));
                return Some(value);
            }
        }
        None
    }

    fn next_probe(&self) -> Option<Picoseconds> {
        self.probes.front().map(|&(due, _)| due)
    }

    fn probed(&mut self, value: u16) {
        let index = self.index(value);
        if self.penalty[index] == RETIRED {
            self.penalty[index] = 0;
        }
    }

    fn health(&self) -> PathHealth {
        let count = |is: fn(u8) -> bool| self.penalty.iter().filter(|&&penalty| is(penalty)).count() as u32;
        PathHealth {
            values: self.values.into(),
            avoided: count(|penalty| penalty != 0 && penalty != RETIRED),
            retired: count(|penalty| penalty == RETIRED),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Picoseconds = 50_000_000;

    #[test]
    fn values_are_spread_evenly_over_planes() {
        let mut set = EntropySet::new(128, EVERY, 9);
        let mut on_plane = [0; 8];
        (0..128).for_each(|_| on_plane[usize::from(set.deal() % 8)] += 1);
        assert_eq!(on_plane, [16; 8]);
    }

    #[test]
    fn a_lost_value_is_retired_probed_and_brought_back() {
        let mut set = EntropySet::new(16, EVERY, 2);
        let lost = set.deal();
        set.learn(1000, lost, Feedback::Lost);
        assert!((0..64).all(|_| set.deal() != lost));
        assert_eq!((set.next_probe(), set.probe(1000 + EVERY - 1)), (Some(1000 + EVERY), None));
        assert_eq!(set.probe(1000 + EVERY), Some(lost));
        assert!((0..64).all(|_| set.deal() != lost), "a probe alone brings nothing back");
        set.probed(lost);
        assert!((0..16).any(|_| set.deal() == lost));
    }

    #[test]
    fn a_value_whose_packet_comes_after_all_is_brought_back_at_once() {
        let mut set = EntropySet::new(16, EVERY, 2);
        let late = set.deal();
        set.learn(1000, late, Feedback::Lost);
        set.learn(2000, late, Feedback::Good);
        assert_eq!(set.health(), PathHealth { values: 16, avoided: 0, retired: 0 });
        assert_eq!(set.probe(1000 + EVERY), None);
    }

    #[test]
    fn trimming_does_not_retire_and_a_mark_moves_one_packet_elsewhere() {
        let mut set = EntropySet::new(4, EVERY, 5);
        let value = set.deal();
        set.learn(0, value, Feedback::Trimmed);
        set.learn(0, value, Feedback::Marked);
        assert_eq!(set.health(), PathHealth { values: 4, avoided: 1, retired: 0 });
        let next: Vec<u16> = (0..12).map(|_| set.deal()).collect();
        assert_eq!(next.iter().filter(|&&dealt| dealt == value).count(), 2, "{next:?}");
    }

    #[test]
    fn with_all_retired_packets_still_go_out() {
        let mut set = EntropySet::new(2, EVERY, 1);
        for value in [0, 1] {
            set.learn(0, value, Feedback::Lost);
        }
        assert_eq!(set.health().retired, 2);
        set.deal();
    }
}
