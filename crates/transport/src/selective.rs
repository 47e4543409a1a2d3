//! What selective repeat knows, at its sender, of packets under way on one path: which have arrived, and which to send
//! again.
//!
//! On one path packets arrive in the order in which they were sent. So what was sent before a packet that has arrived, and
//! has not arrived itself, is lost: a packet that was sent for the first time, as IRN has it (Mittal et al., SIGCOMM 2018,
//! section 3.1), and a repeat too. What is sent last of all shows nothing, and is left to the timer. Not here: timers, and
//! what a receiver tells.

use std::collections::VecDeque;

use crate::{Bitmap, Flags, Packet};

/// A packet that was sent again.
#[derive(Clone, Copy, Debug)]
struct Again {
    seq: u32,
    /// The next packet that was yet to be sent for the first time.
    before: u32,
}

/// Packets of one message that were sent and are not acknowledged in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selective {
    arrived: Bitmap,
    lost: Bitmap,
    /// Below which all that was lost at its first sending is known.
    examined: u32,
    /// Repeats under way, in the order in which they were sent.
    repeats: VecDeque<Again>,
}

impl Selective {
    /// Takes in an answer to a packet; all below `acknowledged` has arrived, and nothing from `highest` on was sent.
    pub fn on_answer(&mut self, answer: &Packet, acknowledged: u32, highest: u32) {
        self.arrived.advance_to(acknowledged);
        self.lost.advance_to(acknowledged);
        self.examined = self.examined.max(acknowledged);
        let is_quiet = self.arrived.count() == 0 && self.repeats.is_empty();
        if answer.seq >= highest || (is_quiet && answer.seq < acknowledged) {
            return;
        }
        let base = answer.base();
        let told = (0..64).filter(|bit| answer.bitmap >> bit & 1 == 1).map(|bit| base.saturating_add(bit));
        for seq in told.chain([answer.seq]).filter(|seq| (acknowledged..highest).contains(seq)) {
            self.arrived.mark(seq);
            self.lost.unmark(seq);
        }
        let sent_before = if answer.flags.has(Flags::AGAIN) {
            self.repeats.iter().position(|again| again.seq == answer.seq).map_or(0, |place| place + 1)
        } else {
            (self.examined..answer.seq).for_each(|seq| self.miss(seq));
            self.examined = self.examined.max(answer.seq + 1);
            self.repeats.partition_point(|again| again.before <= answer.seq)
        };
        for _ in 0..sent_before {
            if let Some(again) = self.repeats.pop_front() {
                self.miss(again.seq);
            }
        }
    }

    /// Takes all up to `highest` for lost that has not arrived: nothing was heard for too long.
    pub fn on_silence(&mut self, acknowledged: u32, highest: u32) {
        self.repeats.clear();
        self.examined = highest;
        (acknowledged..highest).for_each(|seq| self.miss(seq));
    }

    /// What is to be sent again first.
    pub fn first(&self) -> Option<u32> {
        self.lost.first()
    }

    /// A packet is sent again, before `highest` is sent for the first time.
    pub fn on_repeated(&mut self, seq: u32, highest: u32) {
        self.lost.unmark(seq);
        self.repeats.push_back(Again { seq, before: highest });
    }

    /// Has a packet sent again, unless it has arrived.
    fn miss(&mut self, seq: u32) {
        if !self.arrived.has(seq) {
            self.lost.mark(seq);
        }
    }
}
