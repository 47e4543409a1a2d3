//! What a run gives back.

use crate::Picoseconds;

/// One run of a program over one draw of the hash seeds.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Time when the last rank finished its last operation.
    pub step: Picoseconds,
    /// First start of each operation, over its ranks.
    pub op_start: Vec<Picoseconds>,
    /// Last end of each operation, over its ranks.
    pub op_end: Vec<Picoseconds>,
    /// For each rank: time in which it computed (stretched by overlap).
    pub compute: Vec<Picoseconds>,
    /// For each rank: time in which at least one of its communications ran.
    pub communication: Vec<Picoseconds>,
    /// For each rank: time in which a communication of it ran and it did not compute.
    pub exposed: Vec<Picoseconds>,
    /// For each link: payload bytes carried.
    pub link_bytes: Vec<f64>,
    /// For each link: the number of flows (queue pairs with a share there) that crossed it.
    pub link_flows: Vec<f64>,
    /// For each link: seconds in which it was what held back the operation that finished last among those running
    /// (see `schedule`): the link's claim to be the bottleneck.
    pub link_limiting: Vec<f64>,
    /// Bytes each operation moved over its transfers, before multiplication by hops.
    pub op_bytes: Vec<f64>,
    /// Largest relative error that batching of completions can have caused (0 where none were batched).
    pub batching_error: f64,
    /// Events handled: rate computations of the fluid solver.
    pub rounds: u64,
}
