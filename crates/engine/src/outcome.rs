//! What a run gives back.

use crate::Picoseconds;

/// One run of a program over one draw of the hash seeds.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Time when the last rank finished its last operation.
    pub step: Picoseconds,
    /// First start of each operation, over its ranks: when one of them was ready for it (0 where no rank takes part).
    pub op_start: Vec<Picoseconds>,
    /// Last end of each operation, over its ranks.
    pub op_end: Vec<Picoseconds>,
    /// For each rank: time in which it computed (stretched by overlap).
    pub compute: Vec<Picoseconds>,
    /// For each rank: time in which at least one of its communications ran.
    pub communication: Vec<Picoseconds>,
    /// For each rank: time in which a communication of it ran and it did not compute.
    pub exposed: Vec<Picoseconds>,
    /// For each link: payload bytes carried; links of one resource carry equal shares.
    pub link_bytes: Vec<f64>,
    /// For each link: the most flows (queue pairs) that one operation, all its groups together, had on it in one phase.
    /// A connection's flows count by the share of its bytes that crosses: exact where queue pairs carry equal shares
    /// and each takes one path, the expected number where they are sprayed. (Inside a server a pipelined hierarchy's
    /// flows count by their bytes too.)
    pub link_flows: Vec<f64>,
    /// For each link: seconds in which its resource limited the demand that was then expected to finish last (see
    /// [`crate::fluid::Fluid::limiting`]), shared evenly
    /// by the links of the resource: the claim to be the bottleneck.
    pub link_limiting: Vec<f64>,
    /// Seconds in which that demand was held by a cap of its own: what its channels may carry, or what a switch that adds
    /// up takes in.
    pub capped: f64,
    /// Bytes each operation moved over its transfers, before multiplication by hops.
    pub op_bytes: Vec<f64>,
    /// Largest relative error that batching of completions can have caused (0 where none were batched).
    pub batching_error: f64,
    /// Events handled: rate computations of the fluid solver.
    pub rounds: u64,
}

/// What happened when in one run.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Class of each rank; ranks of one class do the same at the same times.
    pub class_of: Vec<u32>,
    /// Operations of each class, in program order; what never began is left out, what never ended ends with the run.
    pub turns: Vec<Turn>,
    /// Phases of each group's collective or pair's message, in the order in which they began.
    pub transfers: Vec<Transfer>,
    /// Length of each span over which loads are means; the last may be shorter.
    pub every: Picoseconds,
    /// Number of tiers.
    pub tiers: usize,
    /// Mean utilisation of each tier's links, span by span.
    pub mean: Vec<f64>,
    /// Utilisation of each tier's busiest link, span by span.
    pub most: Vec<f64>,
}

impl Timeline {
    /// Number of spans sampled.
    pub fn spans(&self) -> usize {
        self.mean.len().checked_div(self.tiers).unwrap_or(0)
    }
}

/// An operation on a class of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Index of the operation.
    pub op: u32,
    /// The class.
    pub class: u32,
    /// When its ranks were ready for it.
    pub start: Picoseconds,
    /// When they had done it.
    pub end: Picoseconds,
}

impl Default for Turn {
    /// One that has not begun.
    fn default() -> Self {
        Self { op: 0, class: 0, start: Picoseconds::MAX, end: Picoseconds::MAX }
    }
}

/// A phase of one group's collective, or one pair's message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Index of the operation.
    pub op: u32,
    /// Index of the group or pair within the operation.
    pub part: u32,
    /// Number of the phase.
    pub phase: u32,
    /// Bytes handed from rank to rank in it.
    pub bytes: f64,
    /// When it began: all its ranks were there.
    pub start: Picoseconds,
    /// When its last byte had come.
    pub end: Picoseconds,
}
