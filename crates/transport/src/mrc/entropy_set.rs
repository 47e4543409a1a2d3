//! The entropy values of a peer and what is known of their paths.
//!
//! A value that is retired is probed once, a while later, by itself: most losses are of one packet. What stays silent then
//! is probed in turn, one value at a time and ever more rarely, since a peer's values are silent by the dozen where a plane
//! or a switch is lost, and all peers' at once. An answer says that something was repaired: each has two more values
//! probed at once, so that all that are reached again are back within a few round trips. The published summaries of MRC
//! do not say how probes are paced.

use std::collections::VecDeque;

use crate::sprayed::{Feedback, Paths};
use crate::{PathHealth, Picoseconds, Random};

/// Largest penalty of a value: turns for which it is passed over.
const WORST: u8 = 15;

/// Mark of a value that is retired, in place of its penalty.
const RETIRED: u8 = u8::MAX;

/// Longest pause between two probes of silent values, in times between probes.
const LONGEST_PAUSE: u64 = 32;

/// Silent values that are probed at once for each answer.
const PROBES_PER_ANSWER: u16 = 2;

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
    /// Retired values that are yet to be probed, and when, soonest first.
    fresh: VecDeque<(Picoseconds, u16)>,
    /// Retired values that were probed and have not answered, in turn.
    silent: VecDeque<u16>,
    /// When the next of them is probed, and how long after the one before that is.
    silent_at: Picoseconds,
    pause: Picoseconds,
    /// How many of them are probed without a pause.
    prompt: u16,
    random: Random,
}

impl EntropySet {
    /// A set of a number of values, a power of two, of which all are thought good.
    pub fn new(values: u16, probe_every: Picoseconds, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let upper = random.bits() as u16 & !(values - 1);
        let shuffle = random.bits() as u16 & (values - 1);
        let penalty = vec![0; usize::from(values)];
        Self {
            values,
            upper,
            turn: 0,
            shuffle,
            penalty,
            probe_every,
            fresh: VecDeque::new(),
            silent: VecDeque::new(),
            silent_at: 0,
            pause: probe_every,
            prompt: 0,
            random,
        }
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

    /// A value is thought good again.
    fn bring_back(&mut self, index: usize) {
        self.penalty[index] = 0;
        self.fresh.retain(|&(_, value)| usize::from(value) != index);
        self.silent.retain(|&value| usize::from(value) != index);
    }

    /// The first probe of a value that is due.
    fn probe_fresh(&mut self, now: Picoseconds) -> Option<u16> {
        let &(_, value) = self.fresh.front().filter(|&&(due, _)| due <= now)?;
        self.fresh.pop_front();
        if self.silent.is_empty() {
            self.prompt = 0;
            self.pause = self.probe_every;
            self.silent_at = now + self.pause;
        }
        self.silent.push_back(value);
        Some(value)
    }

    /// The next silent value, if its time has come.
    fn probe_silent(&mut self, now: Picoseconds) -> Option<u16> {
        let value = *self.silent.front().filter(|_| self.silent_at <= now)?;
        self.silent.rotate_left(1);
        self.prompt = self.prompt.saturating_sub(1);
        if self.prompt == 0 {
            self.pause = (2 * self.pause).min(LONGEST_PAUSE * self.probe_every);
            self.silent_at = now + self.pause;
        }
        Some(value)
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
            Feedback::Good | Feedback::Marked if *penalty == RETIRED => self.bring_back(index), // it was late, not lost
            Feedback::Good | Feedback::Trimmed => {}
            Feedback::Marked if *penalty < WORST => *penalty += 1,
            Feedback::Lost if *penalty != RETIRED => {
                *penalty = RETIRED;
                self.fresh.push_back((now + self.probe_every, index as u16));
            }
            Feedback::Marked | Feedback::Lost => {}
        }
    }

    fn probe(&mut self, now: Picoseconds) -> Option<u16> {
        let value = self.probe_fresh(now).or_else(|| self.probe_silent(now))?;
        Some(self.upper | value)
    }

    fn next_probe(&self) -> Option<Picoseconds> {
        let fresh = self.fresh.front().map(|&(due, _)| due);
        let silent = self.silent.front().map(|_| self.silent_at);
        fresh.into_iter().chain(silent).min()
    }

    fn probed(&mut self, value: u16) {
        let index = self.index(value);
        if self.penalty[index] != RETIRED {
            return;
        }
        self.bring_back(index);
        self.pause = self.probe_every;
        self.silent_at = 0;
        self.prompt = (self.prompt + PROBES_PER_ANSWER).min(self.silent.len() as u16);
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

    /// A set of which so many values were lost and have been probed once without an answer; and when the last was.
    fn silent(values: u16, lost: u16) -> (EntropySet, Picoseconds) {
        let mut set = EntropySet::new(values, EVERY, 3);
        (0..lost).for_each(|value| set.learn(0, value, Feedback::Lost));
        (0..lost).for_each(|_| assert!(set.probe(EVERY).is_some()));
        (set, EVERY)
    }

    #[test]
    fn silent_values_are_probed_in_turn_ever_more_rarely() {
        let (mut set, start) = silent(128, 16);
        let mut times = vec![start];
        let mut probed = std::collections::BTreeSet::new();
        for _ in 0..16 {
            let due = set.next_probe().unwrap();
            assert_eq!(set.probe(due - 1), None);
            probed.insert(set.probe(due).unwrap());
            assert_eq!(set.probe(due), None, "one at a time");
            times.push(due);
        }
        let pauses: Vec<u64> = times.windows(2).map(|pair| (pair[1] - pair[0]) / EVERY).collect();
        assert_eq!(pauses[..8], [1, 2, 4, 8, 16, 32, 32, 32]);
        assert_eq!(probed.len(), 16, "each has its turn");
    }

    #[test]
    fn once_one_answers_all_that_are_reached_again_are_back_within_a_few_round_trips() {
        let (mut set, _) = silent(128, 31);
        let mut now = set.next_probe().unwrap();
        let mut answers = vec![set.probe(now).unwrap()];
        for _ in 0..5 {
            now += EVERY / 10; // a round trip
            answers.drain(..).for_each(|value| set.probed(value));
            answers.extend(std::iter::from_fn(|| set.probe(now)));
        }
        assert_eq!(set.health().retired, 0); // 1 + 2 + 4 + 8 + 16
    }

    #[test]
    fn answers_lead_to_no_more_than_two_probes_each_of_what_stays_silent() {
        let (mut set, start) = silent(128, 64);
        (0..8).for_each(|value| set.probed(value));
        assert_eq!(std::iter::from_fn(|| set.probe(start + 1)).count(), 16);
    }

    #[test]
    fn a_value_that_is_lost_alone_is_probed_as_soon_while_others_are_silent() {
        let (mut set, _) = silent(128, 16);
        let mut now = 0;
        for _ in 0..10 {
            now = set.next_probe().unwrap();
            set.probe(now);
        }
        let value = set.upper | 77;
        set.learn(now, value, Feedback::Lost);
        assert_eq!(set.next_probe(), Some(now + EVERY));
        assert_eq!(set.probe(now + EVERY), Some(value));
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
