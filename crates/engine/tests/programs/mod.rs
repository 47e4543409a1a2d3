//! Programs for the engine's tests: short ways to say an operation and to run it.
#![allow(dead_code, reason = "each test file uses its own part")]

use eastwest_engine::graph::Graph;
use eastwest_engine::outcome::Outcome;
use eastwest_engine::program::{Algorithm, Carriage, Collective, Kind, Mix, Op, Overheads, Program, QpUse, Work};
use eastwest_engine::routing::{Balancing, Topology};
use eastwest_engine::schedule::{Fidelity, RunOptions, run};
use eastwest_engine::{Picoseconds, Result};

/// One queue pair a connection.
pub const ONE_QP: Carriage = Carriage { qps: 1, qp_use: QpUse::Split, message_bytes: f64::INFINITY };

/// Sprayed, so that a fabric with room enough slows nothing.
pub const SPRAYED: RunOptions = options(Balancing::Spray);

/// All links shared, completions exact.
pub const fn options(balancing: Balancing) -> RunOptions {
    RunOptions { fidelity: Fidelity::Fluid, balancing, per_switch_seeds: true, tolerance: 0.0 }
}

/// A collective over one queue pair.
pub fn collective(kind: Kind, algorithm: Algorithm, bytes: f64, channels: u32) -> Collective {
    Collective {
        kind,
        algorithm,
        bytes,
        matrix: None,
        channels,
        carriage: ONE_QP,
        overheads: Overheads::NONE,
        nvlink_sharp: 1.0,
    }
}

/// An operation that computes.
pub fn compute(seconds: f64, after: &[u32]) -> Op {
    Op { after: after.to_vec(), queue: 0, work: Work::Compute { seconds, ranks: None } }
}

/// A ring all-reduce over one group in a queue.
pub fn all_reduce(queue: u32, group: &[u32], bytes: f64, after: &[u32]) -> Op {
    over(queue, vec![group.to_vec()], collective(Kind::AllReduce, Algorithm::Ring, bytes, 1), after)
}

/// A collective over groups in a queue.
pub fn over(queue: u32, groups: Vec<Vec<u32>>, collective: Collective, after: &[u32]) -> Op {
    Op { after: after.to_vec(), queue, work: Work::Collective { groups, collective } }
}

/// Messages between pairs in a queue.
pub fn send(queue: u32, pairs: &[(u32, u32)], bytes: f64, after: &[u32]) -> Op {
    Op {
        after: after.to_vec(),
        queue,
        work: Work::SendRecv { pairs: pairs.to_vec(), bytes, carriage: ONE_QP, overheads: Overheads::NONE },
    }
}

/// Operations on ranks, one on each GPU in order.
pub fn program(gpus: &[u32], ops: Vec<Op>) -> Program {
    Program { gpu: gpus.to_vec(), ops, overlap_slowdown: 1.0, mix: Mix::default() }
}

/// Runs a program of these operations.
pub fn outcome(graph: &Graph, gpus: &[u32], ops: Vec<Op>, options: &RunOptions) -> Result<Outcome> {
    run(&Topology::new(graph.clone())?, &program(gpus, ops), options, 7)
}

/// Seconds as the clock counts them.
pub fn ps(seconds: f64) -> Picoseconds {
    (seconds * 1e12).round() as Picoseconds
}
