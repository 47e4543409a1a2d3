//! Runs a program: operations of ranks in queues, with dependencies, over one network that they share.
//!
//! An operation starts on a rank when those before it in its queue and those that it names in `after` have ended there.
//! A collective moves data once all ranks of a group have arrived, a send once both ends have. Compute is stretched
//! while a communication of its rank moves data. Which rates result is the fluid solver's business, which way bytes go
//! that of lowering and routing.
//!
//! Where traffic is sprayed, ranks, groups and transfers that are alike are simulated once (`symmetry`); elsewhere, ranks
//! that belong to the same groups in every operation.
//! Every run checks that each resource carried the bytes that the program puts there, and no more than it can.

mod by_packet;
mod check;
mod chunks;
mod clock;
mod ledger;
mod packets;
mod pieces;
mod plan;
mod recorder;
mod run;

use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use crate::outcome::{Outcome, Timeline};
use crate::program::Program;
use crate::routing::{Balancing, Router, Topology};
use crate::{Error, Picoseconds, Result};

pub use chunks::run_chunks;
pub use packets::{Open, PacketNet, PacketRun, run_packets};

/// How much of the network is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fidelity {
    /// Links between switches are infinitely fast; GPUs, PCIe and NICs are shared: the lower bound.
    Ideal,
    /// All links are shared.
    Fluid,
}

/// Settings of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunOptions {
    /// How much of the network is simulated.
    pub fidelity: Fidelity,
    /// How switches choose among shortest paths.
    pub balancing: Balancing,
    /// Whether each switch hashes with a seed of its own; otherwise all hash alike.
    pub per_switch_seeds: bool,
    /// Transfers that end within this fraction of the remaining time are ended together; 0: none are.
    pub tolerance: f64,
}

impl RunOptions {
    /// Capacity of each resource, bytes a second.
    fn capacity(&self, router: &Router) -> Vec<f64> {
        let resources = router.resources();
        let is_free = |is_fabric: bool| is_fabric && self.fidelity == Fidelity::Ideal;
        let shared = resources.capacity.iter().zip(&resources.is_fabric);
        shared.map(|(&capacity, &is_fabric)| if is_free(is_fabric) { f64::INFINITY } else { capacity }).collect()
    }
}

/// Runs a program once, with the hash seeds drawn from `seed`.
///
/// # Errors
/// [`Error::Program`](crate::Error::Program) for a program that cannot run, with the operation and the cause, or for
/// settings that make no sense;
/// [`Error::Unreachable`](crate::Error::Unreachable) where ranks that must talk have no path.
pub fn run(topology: &Topology, program: &Program, options: &RunOptions, seed: u64) -> Result<Outcome> {
    let stop = AtomicBool::new(false);
    let plan = plan::Plan::new(topology, program, options, &stop)?;
    Ok(run::run(topology, program, &plan, options, seed, &stop, None)?.0)
}

/// As [`run`], with every transfer computed by itself: what runs that take alike transfers together are held against.
///
/// # Errors
/// As [`run`], and [`Error::Program`] where that takes too much memory.
pub fn run_in_full(topology: &Topology, program: &Program, options: &RunOptions, seed: u64) -> Result<Outcome> {
    let plan = plan::Plan::in_full(topology, program, options)?;
    Ok(run::run(topology, program, &plan, options, seed, &AtomicBool::new(false), None)?.0)
}

/// What a timeline is to hold.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Span over which loads are means, picoseconds.
    pub every: Picoseconds,
    /// Tier of each link, as numbers from 0 on; links of one resource are of one tier.
    pub tiers: &'a [u32],
}

/// Runs a program once and records what happened when; the outcome is that of [`run`]. Setting `stop` ends it soon.
///
/// # Errors
/// As [`run_seeds`], and [`Error::Program`] where there are not as many tiers as links.
pub fn record(
    topology: &Topology,
    program: &Program,
    options: &RunOptions,
    seed: u64,
    record: Record,
    stop: &AtomicBool,
) -> Result<(Outcome, Timeline)> {
    let links = topology.graph().links();
    if record.tiers.len() != links {
        return Err(Error::Program(format!("{links} links but {} tiers", record.tiers.len())));
    }
    let plan = plan::Plan::new(topology, program, options, stop)?;
    let (outcome, timeline) = run::run(topology, program, &plan, options, seed, stop, Some(record))?;
    Ok((outcome, timeline.unwrap_or_default()))
}

/// Runs a program once for each seed, in parallel; outcomes are in the order of the seeds and do not depend on the
/// number of threads. Setting `stop` ends all runs soon.
///
/// # Errors
/// As [`run`], and [`Error::Interrupted`](crate::Error::Interrupted) once `stop` is set.
pub fn run_seeds(
    topology: &Topology,
    program: &Program,
    options: &RunOptions,
    seeds: &[u64],
    stop: &AtomicBool,
) -> Result<Vec<Outcome>> {
    let plan = plan::Plan::new(topology, program, options, stop)?;
    let one = |&seed: &u64| run::run(topology, program, &plan, options, seed, stop, None);
    seeds.par_iter().map(|seed| Ok(one(seed)?.0)).collect()
}
