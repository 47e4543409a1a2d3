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
    /// Bytes each operation moved over its transfers, before multiplication by hops.
    pub op_bytes: Vec<f64>,
    /// Largest relative error that batching of completions can have caused (0 where none were batched).
    pub batching_error: f64,
    /// Events handled: rate computations of the fluid solver.
    pub rounds: u64,
}
