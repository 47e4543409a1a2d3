//! Which entropy value the next packet takes.

use std::collections::VecDeque;

use crate::sprayed::{Feedback, Paths};
use crate::{PathHealth, Picoseconds, Random};

/// Largest penalty of an entropy value: turns for which it is passed over.
const WORST: u8 = 15;

/// Most values kept for a second use.
const MOST_RECYCLED: usize = 256;

/// Deals out entropy values: first those that have just proved good (as REPS recycles them), otherwise all in turn, in an
/// order that changes from round to round, passing over those that met congestion.
#[derive(Clone, Debug)]
pub struct Spraying {
    values: u16,
    /// What distinguishes this flow's values from others': their upper bits.
    upper: u16,
    turn: u16,
    /// What the turn is XORed with in this round.
    shuffle: u16,
    penalty: Vec<u8>,
    good: VecDeque<u16>,
    random: Random,
}

impl Spraying {
    /// Sprays over a number of values, a power of two.
    pub fn new(values: u16, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let upper = random.bits() as u16 & !(values - 1);
        let shuffle = random.bits() as u16 & (values - 1);
        let penalty = vec![0; usize::from(values)];
        Self { values, upper, turn: 0, shuffle, penalty, good: VecDeque::new(), random }
    }

    fn pass(&mut self) {
        self.turn += 1;
        if self.turn == self.values {
            self.turn = 0;
            self.shuffle = self.random.bits() as u16 & (self.values - 1);
        }
    }
}

impl Paths for Spraying {
    fn deal(&mut self) -> u16 {
        if let Some(value) = self.good.pop_front() {
            return value;
        }
        let mut value = self.turn ^ self.shuffle;
        // One penalty is served a packet; the values passed over behind it keep theirs, as long as any is free.
        let mut is_served = false;
        for _ in 0..=self.values {
            let penalty = &mut self.penalty[usize::from(value)];
            if *penalty == 0 {
                break;
            }
            if !is_served {
                *penalty -= 1;
                is_served = true;
            }
            self.pass();
            value = self.turn ^ self.shuffle;
        }
        self.pass();
        self.upper | value
    }

    fn learn(&mut self, _now: Picoseconds, value: u16, feedback: Feedback) {
        let index = usize::from(value & (self.values - 1));
        let penalty = match feedback {
            Feedback::Good => {
                if self.good.len() < MOST_RECYCLED {
                    self.good.push_back(value);
                }
                return;
            }
            Feedback::Marked => 1,
            Feedback::Trimmed => 4,
            Feedback::Lost => WORST,
        };
        self.penalty[index] = (self.penalty[index] + penalty).min(WORST);
    }

    fn probe(&mut self, _now: Picoseconds) -> Option<u16> {
        None
    }

    fn next_probe(&self) -> Option<Picoseconds> {
        None
    }

    fn probed(&mut self, _value: u16) {}

    fn health(&self) -> PathHealth {
        let avoided = self.penalty.iter().filter(|&&penalty| penalty > 0).count() as u32;
        PathHealth { values: self.values.into(), avoided, retired: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_feedback_every_value_is_used_once_a_round() {
        let mut spraying = Spraying::new(64, 7);
        for _ in 0..3 {
            let mut round: Vec<u16> = (0..64).map(|_| spraying.deal() & 63).collect();
            round.sort_unstable();
            assert_eq!(round, (0..64).collect::<Vec<u16>>());
        }
    }

    #[test]
    fn a_trimmed_value_is_passed_over_and_comes_back() {
        let mut spraying = Spraying::new(4, 1);
        let trimmed = spraying.deal();
        spraying.learn(0, trimmed, Feedback::Trimmed);
        let next: Vec<u16> = (0..40).map(|_| spraying.deal()).collect();
        assert!(!next[..8].contains(&trimmed));
        assert!(next.contains(&trimmed));
    }

    #[test]
    fn a_good_value_is_used_again_at_once() {
        let mut spraying = Spraying::new(16, 3);
        spraying.deal();
        let good = spraying.deal();
        spraying.learn(0, good, Feedback::Good);
        assert_eq!(spraying.deal(), good);
    }
}
