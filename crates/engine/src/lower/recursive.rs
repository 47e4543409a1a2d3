//! Exchanges with partners at distances that double: recursive halving and doubling, and Bruck's algorithms. Few steps,
//! for small messages; a step begins when the one before has ended everywhere.
//!
//! Recursive halving and doubling pair ranks whose numbers differ in one bit (Thakur, Rabenseifner, Gropp, "Optimization
//! of collective communication operations in MPICH", IJHPCA 19, 2005). Where `n` is no power of two, the first ranks fold
//! in pairs: one hands its part to its neighbour, which takes part for both and hands the result back.

use super::direct::pair;
use super::strand::{Edge, Emit, Strand, backwards};
use crate::Result;
use crate::program::{Collective, Kind};

/// Describes an all-reduce (halving, then doubling back), an all-gather (doubling) or a reduce-scatter (the all-gather
/// backwards).
pub(super) fn halving_doubling(collective: &Collective, group: &[u32], emit: &mut Emit) -> Result<()> {
    match collective.kind {
        Kind::AllReduce => all_reduce(collective, group, emit),
        Kind::ReduceScatter => backwards(emit, &mut |emit| all_gather(collective, group, emit)),
        _ => all_gather(collective, group, emit),
    }
}

/// The largest power of two of a group's ranks, after the others have folded.
struct Core<'a> {
    group: &'a [u32],
    steps: u32,
    /// Pairs that fold: ranks 2i and 2i + 1.
    folds: usize,
}

impl<'a> Core<'a> {
    fn of(group: &'a [u32]) -> Self {
        let steps = group.len().ilog2();
        Self { group, steps, folds: group.len() - (1 << steps) }
    }

    fn len(&self) -> usize {
        1 << self.steps
    }

    /// Rank at a place of the core.
    fn rank(&self, place: usize) -> u32 {
        self.group[if place < self.folds { 2 * place + 1 } else { place + self.folds }]
    }

    /// Ranks that places before this one stand for, folded ones included.
    fn before(&self, place: usize) -> usize {
        place + place.min(self.folds)
    }

    /// An edge from each folded rank to the one that takes part for it.
    fn fold(&self, bytes: f64) -> impl Iterator<Item = Edge> + '_ {
        (0..self.folds).map(move |at| Edge::ranks(self.group[2 * at], self.group[2 * at + 1], bytes))
    }

    /// The edges back.
    fn unfold(&self, bytes: f64) -> impl Iterator<Item = Edge> + '_ {
        (0..self.folds).map(move |at| Edge::ranks(self.group[2 * at + 1], self.group[2 * at], bytes))
    }
}

fn all_reduce(collective: &Collective, group: &[u32], emit: &mut Emit) -> Result<()> {
    let (core, mut steps) = (Core::of(group), Steps::new(collective, emit));
    let exchange = |step: u32| {
        let bytes = collective.bytes / f64::from(2u32 << step);
        let core = &core;
        (0..core.len()).map(move |at| Edge::ranks(core.rank(at), core.rank(at ^ (1 << step)), bytes))
    };
    steps.take(core.fold(collective.bytes))?;
    for step in (0..core.steps).chain((0..core.steps).rev()) {
        steps.take(exchange(step))?;
    }
    steps.take(core.unfold(collective.bytes))
}

fn all_gather(collective: &Collective, group: &[u32], emit: &mut Emit) -> Result<()> {
    let (core, mut steps) = (Core::of(group), Steps::new(collective, emit));
    let block = collective.bytes / group.len() as f64;
    steps.take(core.fold(block))?;
    for step in 0..core.steps {
        steps.take((0..core.len()).map(|at| {
            let first = at >> step << step;
            let blocks = core.before(first + (1 << step)) - core.before(first);
            Edge::ranks(core.rank(at), core.rank(at ^ (1 << step)), blocks as f64 * block)
        }))?;
    }
    steps.take(core.unfold((group.len() - 1) as f64 * block))
}

/// Describes Bruck's all-gather or all-to-all (Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8, 1997): ceil(log2 n)
/// steps for any `n`. In an all-gather a rank passes on all blocks that it has so far; in an all-to-all those whose way
/// round the ranks has the step's bit, so that a block travels once for each bit that is set.
pub(super) fn bruck(collective: &Collective, group: &[u32], emit: &mut Emit) -> Result<()> {
    let n = group.len();
    let mut steps = Steps::new(collective, emit);
    for distance in (0..).map(|step| 1 << step).take_while(|&distance| distance < n) {
        let (blocks, hop) = match collective.kind {
            Kind::AllToAll => ((0..n).filter(|way| way & distance != 0).count(), distance),
            _ => (distance.min(n - distance), n - distance),
        };
        let bytes = blocks as f64 * collective.bytes / n as f64;
        steps.take((0..n).map(|at| Edge::ranks(group[at], group[(at + hop) % n], bytes)))?;
    }
    Ok(())
}

/// Emits steps one after another: each edge a strand of its own, over all channels' queue pairs.
struct Steps<'a, 'e> {
    emit: &'a mut Emit<'e>,
    strand: Strand,
    channels: u32,
    phase: usize,
}

impl<'a, 'e> Steps<'a, 'e> {
    fn new(collective: &Collective, emit: &'a mut Emit<'e>) -> Self {
        Self { emit, strand: Strand::default(), channels: collective.channels, phase: 0 }
    }

    fn take(&mut self, edges: impl Iterator<Item = Edge>) -> Result<()> {
        let mut any = false;
        for edge in edges {
            pair(&mut self.strand, edge, self.channels);
            (self.emit)(self.phase, &self.strand)?;
            any = true;
        }
        self.phase += usize::from(any);
        Ok(())
    }
}
