//! Which links lead on from each switch to each destination, and how traffic is dealt over them.

use std::collections::HashMap;
use std::ops::Range;

/// A link that leads nearer, and the switch that it enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hop {
    pub link: u32,
    pub to: u32,
}

/// A set of candidates as a switch sees it.
#[derive(Clone, Copy)]
pub(super) struct Choice<'t> {
    pub hops: &'t [Hop],
    /// What goes over each, relative to the others; none where all are alike.
    pub weights: Option<&'t [u64]>,
}

/// Candidate sets by switch and destination. Most destinations share a set.
#[derive(Clone)]
pub(super) struct Candidates {
    destinations: usize,
    /// Set of each switch and destination, row-major; set 0 is empty.
    set: Vec<u32>,
    start: Vec<u32>,
    /// Members of all sets, each set in link order.
    pub hops: Vec<Hop>,
    /// What goes over each member relative to the others of its set: 1 each where all are alike, else up to [`PARTS`].
    pub weights: Vec<u64>,
    is_even: Vec<bool>,
}

/// Resolution of weights that are no whole numbers: those of the largest member. Any sum of a switch's is below 2^61.
const PARTS: f64 = (1u64 << 44) as f64;

impl Candidates {
    /// Empty sets for every switch and destination.
    pub fn new(switches: usize, destinations: usize) -> Self {
        Self {
            destinations,
            set: vec![0; switches * destinations],
            start: vec![0, 0],
            hops: Vec::new(),
            weights: Vec::new(),
            is_even: vec![true],
        }
    }

    /// Where the links that lead from a switch to a destination stand among all members; empty on arrival and where
    /// nothing leads there.
    #[inline]
    pub fn towards(&self, switch: u32, destination: u32) -> Range<usize> {
        self.members(self.set_of(switch, destination))
    }

    /// The links that lead from a switch to a destination.
    pub fn choice(&self, switch: u32, destination: u32) -> Choice<'_> {
        let set = self.set_of(switch, destination);
        let members = self.members(set);
        let weights = (!self.is_even[set as usize]).then(|| &self.weights[members.clone()]);
        Choice { hops: &self.hops[members], weights }
    }

    /// Number of the set for a switch and a destination; 0 is empty.
    #[inline]
    pub fn set_of(&self, switch: u32, destination: u32) -> u32 {
        self.set[switch as usize * self.destinations + destination as usize]
    }

    /// Every distinct set, as ranges of the members.
    pub fn sets(&self) -> impl Iterator<Item = Range<usize>> {
        self.start.windows(2).map(|ends| ends[0] as usize..ends[1] as usize)
    }

    /// Where the members of a set stand among all.
    #[inline]
    pub fn members(&self, set: u32) -> Range<usize> {
        self.start[set as usize] as usize..self.start[set as usize + 1] as usize
    }

    /// Gives a switch another set for a destination.
    pub fn replace(&mut self, switch: u32, destination: u32, set: u32) {
        self.set[switch as usize * self.destinations + destination as usize] = set;
    }

    /// Adds a set, not empty.
    pub fn push(&mut self, hops: &[Hop], weights: &[u64]) -> u32 {
        self.hops.extend(hops);
        self.weights.extend(weights);
        self.start.push(self.hops.len() as u32);
        self.is_even.push(weights.windows(2).all(|pair| pair[0] == pair[1]));
        self.start.len() as u32 - 2
    }
}

/// Fills in sets, each distinct one once.
pub(super) struct Filling {
    candidates: Candidates,
    known: HashMap<(Vec<Hop>, Vec<u64>), u32>,
    /// The set before: neighbours mostly share one, and comparing is cheaper than hashing.
    last: u32,
}

impl Filling {
    pub fn new(switches: usize, destinations: usize) -> Self {
        Self { candidates: Candidates::new(switches, destinations), known: HashMap::new(), last: 0 }
    }

    /// Sets for another switch, none of whose links the switches before have.
    pub fn next_switch(&mut self) {
        self.known.clear();
    }

    /// Gives a switch its set for a destination; `weights` are equal where all hops are alike.
    pub fn set(&mut self, switch: u32, destination: u32, hops: &[Hop], weights: &[u64]) {
        if hops.is_empty() {
            return;
        }
        let candidates = &mut self.candidates;
        let last = candidates.members(self.last);
        if candidates.hops[last.clone()] != *hops || candidates.weights[last] != *weights {
            let key = (hops.to_vec(), weights.to_vec());
            self.last = *self.known.entry(key).or_insert_with(|| candidates.push(hops, weights));
        }
        candidates.replace(switch, destination, self.last);
    }

    pub fn finish(self) -> Candidates {
        self.candidates
    }
}

/// Whole numbers in proportion to positive weights: 1 each where all are alike.
pub(super) fn whole(weights: &[f64]) -> Vec<u64> {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    if weights.iter().all(|&weight| weight == largest) {
        return vec![1; weights.len()];
    }
    weights.iter().map(|weight| (weight / largest * PARTS).round().max(1.0) as u64).collect()
}
