//! Which of a moving window of sequence numbers are marked.

/// Marks of sequence numbers from a base on, which only moves up. Grows with the distance between base and highest mark.
#[derive(Clone, Debug)]
pub struct Bitmap {
    base: u32,
    /// A ring of words, a power of two of them; word of sequence number s is s / 64 modulo their number.
    words: Vec<u64>,
    /// Marks at and above the base.
    count: u32,
}

impl Default for Bitmap {
    fn default() -> Self {
        Self { base: 0, words: vec![0; 4], count: 0 }
    }
}

impl Bitmap {
    /// Lowest sequence number that is not behind the window.
    #[inline]
    pub fn base(&self) -> u32 {
        self.base
    }

    /// Marks in the window.
    #[inline]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether a sequence number is marked; those behind the base count as marked.
    #[inline]
    pub fn has(&self, seq: u32) -> bool {
        seq < self.base || (self.covers(seq) && self.words[self.word(seq)] >> (seq % 64) & 1 == 1)
    }

    /// Marks a sequence number; false where it was marked, or behind the base.
    #[inline]
    pub fn mark(&mut self, seq: u32) -> bool {
        if self.has(seq) {
            return false;
        }
        while !self.covers(seq) {
            self.grow();
        }
        let word = self.word(seq);
        self.words[word] |= 1 << (seq % 64);
        self.count += 1;
        true
    }

    /// Takes back a mark in the window.
    #[inline]
    pub fn unmark(&mut self, seq: u32) {
        if seq >= self.base && self.has(seq) {
            let word = self.word(seq);
            self.words[word] &= !(1 << (seq % 64));
            self.count -= 1;
        }
    }

    /// Moves the base past the marks that follow it without a gap.
    #[inline]
    pub fn advance(&mut self) {
        while self.count > 0 && self.has(self.base) {
            self.unmark(self.base);
            self.base += 1;
        }
    }

    /// Moves the base to a sequence number, forgetting the marks behind it.
    #[inline]
    pub fn advance_to(&mut self, seq: u32) {
        while self.base < seq {
            if self.count == 0 {
                self.base = seq;
                return;
            }
            self.unmark(self.base);
            self.base += 1;
        }
    }

    /// The marks of 64 sequence numbers from one on, the first in bit 0.
    #[inline]
    pub fn window(&self, from: u32) -> u64 {
        let at = |seq: u32| if self.covers_word(seq) { self.words[self.word(seq)] } else { 0 };
        let low = at(from) >> (from % 64);
        if from % 64 == 0 { low } else { low | at(from + 64) << (64 - from % 64) }
    }

    /// Lowest mark, if there is one.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        let mut from = self.base;
        loop {
            let bits = self.words[self.word(from)] >> (from % 64);
            if bits != 0 {
                return Some(from + bits.trailing_zeros());
            }
            from = (from / 64 + 1) * 64;
        }
    }

    #[inline]
    fn word(&self, seq: u32) -> usize {
        (seq / 64) as usize & (self.words.len() - 1)
    }

    #[inline]
    fn covers(&self, seq: u32) -> bool {
        seq >= self.base && self.covers_word(seq)
    }

    /// Whether the word of a sequence number is in the ring.
    #[inline]
    fn covers_word(&self, seq: u32) -> bool {
        (seq / 64).wrapping_sub(self.base / 64) < self.words.len() as u32
    }

    fn grow(&mut self) {
        let mut larger = vec![0; self.words.len() * 2];
        for step in 0..self.words.len() as u32 {
            let word = self.base / 64 + step;
            larger[word as usize & (self.words.len() * 2 - 1)] = self.words[word as usize & (self.words.len() - 1)];
        }
        self.words = larger;
    }
}
