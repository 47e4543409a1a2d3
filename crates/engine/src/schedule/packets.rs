//! Runs a program with every packet between servers simulated: one run for each seed, and what packets tell of it.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use super::RunOptions;
use super::by_packet::{ByPacket, check_burden};
use super::plan::Plan;
use super::run::run_by_packet;
use crate::fluid::Fluid;
use crate::graph::Graph;
use crate::lower;
use crate::outcome::Outcome;
use crate::packet::{Live, NetworkSettings, PacketOutcome};
use crate::program::{Op, Program, Work};
use crate::routing::{Crossing, Forwarding, Router, Topology};
use crate::{Error, Result};

/// Opens a network of packets between NICs, with settings.
pub type Open<'a> = dyn Fn(&[u32], NetworkSettings) -> Result<Box<dyn Live + 'a>> + Sync + 'a;

/// A network as packets see it: the nodes and links of the topology, at the rates of the wire.
#[derive(Clone, Copy)]
pub struct PacketNet<'a> {
    /// Rates on the wire.
    pub graph: &'a Graph,
    /// Its switches' tables.
    pub forwarding: &'a Forwarding,
    /// Payload of a full packet, bytes.
    pub payload: f64,
    /// Payload in a byte on the wire, of each link.
    pub efficiency: &'a [f64],
    /// Opens the network between NICs, with settings.
    pub open: &'a Open<'a>,
    /// How switches treat packets; each run draws with a seed of its own.
    pub settings: NetworkSettings,
}

/// One run.
#[derive(Clone, Debug, Default)]
pub struct PacketRun {
    /// As of a fluid run. Links carry all that crosses them, repeats and answers too, in bytes of payload at their rate;
    /// the busiest counts as limiting for as long as it was busy, and flows are not counted.
    pub outcome: Outcome,
    /// Each message between servers and what became of its packets.
    pub packets: PacketOutcome,
}

/// Runs a program by packets, once for each seed, in parallel.
///
/// # Errors
/// As [`super::run_seeds`]; [`Error::Program`] also for background traffic and storage, for more packets than end in reasonable time,
/// and for what packets cannot do.
pub fn run_packets(
    topology: &Topology,
    program: &Program,
    options: &RunOptions,
    net: &PacketNet,
    seeds: &[u64],
    stop: &AtomicBool,
) -> Result<Vec<PacketRun>> {
    if !program.mix.background.is_empty() {
        return Err(Error::Program("background traffic is not run by packets".into()));
    }
    let is_storage = |op: &Op| matches!(op.work, Work::Storage { .. });
    if let Some(op) = program.ops.iter().position(is_storage) {
        return Err(Error::Program(format!("operation {op}: what storage reads and writes is not run by packets")));
    }
    if [net.graph.links(), net.efficiency.len()] != [topology.graph().links(); 2] {
        return Err(Error::Graph("the networks of packets and of paths have not as many links".into()));
    }
    let plan = Plan::in_full(topology, program, options)?;
    let router = Router::new(topology, options.balancing, options.per_switch_seeds, 0);
    let mut nics = BTreeSet::new();
    let burden = lower::burden(&router, program, &mut |crossing, bytes| {
        nics.extend(crossing.nics);
        packet_hops(net, crossing, bytes)
    })?;
    check_burden(burden)?;
    let nics: Vec<u32> = nics.into_iter().collect();
    let one = |&seed: &u64| {
        let live = (net.open)(&nics, NetworkSettings { seed, ..net.settings })?;
        let fluid = Fluid::new(options.capacity(&router), options.tolerance);
        let by_packet = ByPacket::new(&router, program, live, fluid, plan.tasks.len());
        let (mut outcome, by_packet) = run_by_packet(&router, program, &plan, options, by_packet, stop)?;
        let packets = by_packet.finish(net.efficiency, &mut outcome)?;
        Ok(PacketRun { outcome, packets })
    };
    seeds.par_iter().map(one).collect()
}

/// Packets of so many bytes times the links that they cross.
fn packet_hops(net: &PacketNet, crossing: &Crossing, bytes: f64) -> f64 {
    let plug = |nic: u32| net.forwarding.plugs(net.graph, nic).ok()?.first().map(|plug| plug.attachment);
    let [from, to] = crossing.nics.map(plug);
    let links = from.zip(to).map_or(2, |(from, to)| net.forwarding.hops(from, to).saturating_add(1));
    (bytes / net.payload).ceil() * f64::from(links)
}
