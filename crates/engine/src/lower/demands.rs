//! Strands to demands: one rate for all that is pipelined.

use std::sync::Arc;

use super::latency::Latency;
use super::route::{Hop, Routes};
use super::strand::{Edge, Pattern, Strand, describe};
use super::{direct, queue_pairs};
use crate::Result;
use crate::demand::Demands;
use crate::program::{Carriage, Collective, Overheads, QpUse, Stream};
use crate::routing::{Leg, Router};

/// Demands that start together; the next phase starts when all of them are done.
#[derive(Clone, Debug, Default)]
pub struct Phase {
    /// One for each strand: a ring's channel, a pair of a direct exchange, a rail's channel. Shared with the solver: they
    /// can be many.
    pub demands: Arc<Demands>,
    /// Bytes handed from rank to rank, each counted once and not at every hop.
    pub bytes: f64,
}

/// Lowers operations of one program over one router; keeps its buffers from one to the next.
pub struct Lowering<'r> {
    router: &'r Router<'r>,
    gpu: &'r [u32],
    strands: StrandLowering,
}

/// Lowers a collective of one group, phase by phase; no phases where there is nothing to send.
///
/// `gpu_of_rank` gives the node of each rank's GPU. Each strand becomes one demand. Its work is the bytes of one edge
/// (between servers, where the strand has any), its coefficient on a resource the sum over its edges of the share of
/// that edge's bytes that cross it (times the edge's bytes over the work, where edges differ, and the bytes on the wire
/// for one of payload), its weight the queue pairs in use on a connection, its cap what the protocol allows its channels,
/// its latency that of its hops one after another (see [`Overheads`]).
///
/// # Errors
/// [`crate::Error::Program`] as [`super::check`] and for a hierarchy of unequal servers;
/// [`crate::Error::Unreachable`] where ranks that must talk have no path.
pub fn demands(router: &Router, gpu_of_rank: &[u32], collective: &Collective, group: &[u32]) -> Result<Vec<Phase>> {
    Lowering::new(router, gpu_of_rank).collective(collective, group)
}

impl<'r> Lowering<'r> {
    /// Prepares to lower for ranks on these GPU nodes.
    pub fn new(router: &'r Router<'r>, gpu_of_rank: &'r [u32]) -> Self {
        Self { router, gpu: gpu_of_rank, strands: StrandLowering::new(router.resources().len()) }
    }

    /// As [`demands`].
    ///
    /// # Errors
    /// As [`demands`].
    pub fn collective(&mut self, collective: &Collective, group: &[u32]) -> Result<Vec<Phase>> {
        let Self { router, gpu, strands } = self;
        let place = places(router, gpu);
        let routes = Routes::new(router, gpu, collective);
        let mut phases: Vec<(Demands, f64)> = Vec::new();
        let mut first_phase = None;
        strands.shared_for = f64::NAN;
        describe(collective, group, &place, &mut |phase, strand| {
            if phase >= phases.len() {
                phases.resize_with(phase + 1, Default::default);
            }
            let (demands, bytes) = &mut phases[phase];
            let is_first = *first_phase.get_or_insert(phase) == phase;
            let base_s = if is_first { collective.overheads.base_s } else { 0.0 };
            let overheads = Overheads { base_s, ..collective.overheads };
            *bytes += strands.push(&routes, &collective.carriage, &overheads, strand, demands)?;
            Ok(())
        })?;
        phases.retain(|(demands, _)| !demands.is_empty());
        Ok(phases.into_iter().map(|(demands, bytes)| Phase { demands: Arc::new(demands), bytes }).collect())
    }

    /// Lowers one message from rank to rank, with what its protocol adds.
    ///
    /// # Errors
    /// [`crate::Error::Unreachable`] where they have no path.
    pub fn message(
        &mut self,
        from: u32,
        to: u32,
        bytes: f64,
        carriage: &Carriage,
        overheads: &Overheads,
    ) -> Result<Vec<Phase>> {
        if bytes == 0.0 {
            return Ok(Vec::new());
        }
        let (mut strand, mut demands) = (Strand::default(), Demands::default());
        direct::pair(&mut strand, Edge::ranks(from, to, bytes), 1);
        let bytes = self.append(&strand, carriage, overheads, &mut demands)?;
        Ok(vec![Phase { demands: Arc::new(demands), bytes }])
    }

    /// Lowers flows between nodes, of so many bytes in equal parts, that begin together.
    ///
    /// # Errors
    /// [`crate::Error::Unreachable`] where two have no path.
    pub fn flows(&mut self, flows: &[(u32, u32)], bytes: f64, carriage: &Carriage) -> Result<Vec<Phase>> {
        if bytes == 0.0 || flows.is_empty() {
            return Ok(Vec::new());
        }
        let Self { router, strands, .. } = self;
        let (mut demands, part) = (Demands::default(), bytes / flows.len() as f64);
        strands.shared_for = f64::NAN;
        for &(from, to) in flows {
            let mut strand = Strand::default();
            direct::pair(&mut strand, Edge::ranks(0, 1, part), 1);
            let routes = Routes { router, gpu: &[from, to], nvlink_sharp: 1.0 };
            strands.push(&routes, carriage, &Overheads::NONE, &strand, &mut demands)?;
        }
        Ok(vec![Phase { demands: Arc::new(demands), bytes }])
    }

    /// Appends the demand of one strand; gives the bytes of its edges.
    pub(super) fn append(
        &mut self,
        strand: &Strand,
        carriage: &Carriage,
        overheads: &Overheads,
        demands: &mut Demands,
    ) -> Result<f64> {
        self.strands.shared_for = f64::NAN;
        let routes = Routes { router: self.router, gpu: self.gpu, nvlink_sharp: 1.0 };
        self.strands.push(&routes, carriage, overheads, strand, demands)
    }
}

/// Lowers background traffic out of one GPU node: one demand to all its receivers, without end and capped.
///
/// # Errors
/// [`crate::Error::Unreachable`] where it cannot reach one.
pub fn stream(router: &Router, nodes: &[u32], stream: &Stream) -> Result<Demands> {
    let Stream { from, to, rate, carriage } = stream;
    // As many messages as occupy each queue pair alike.
    let message = if carriage.qp_use == QpUse::RoundRobin { carriage.message_bytes } else { 1.0 };
    let bytes = message * f64::from(carriage.qps);
    let (mut strand, mut demands) = (Strand::default(), Demands::default());
    strand.restart(0, 1);
    strand.stage(Pattern::Together, to.iter().map(|&to| Edge::ranks(*from, to, bytes)));
    let routes = Routes { router, gpu: nodes, nvlink_sharp: 1.0 };
    StrandLowering::new(router.resources().len()).push(&routes, carriage, &Overheads::NONE, &strand, &mut demands)?;
    demands.cap[0] = rate / to.len() as f64;
    demands.work[0] = f64::INFINITY;
    Ok(demands)
}

/// Where ranks are: the NVLink domain of each one's GPU and its position there.
pub(super) fn places<'a>(router: &'a Router, gpu_of_rank: &'a [u32]) -> impl Fn(u32) -> Result<(u32, u32)> + 'a {
    let topology = router.topology();
    move |rank| {
        let gpu = gpu_of_rank[rank as usize];
        Ok((topology.domain(gpu)?, topology.local_index(gpu)?))
    }
}

/// Merges the legs of a strand's edges: a dense accumulator and the list of resources touched.
struct StrandLowering {
    load: Vec<f64>,
    touched: Vec<u32>,
    legs: Vec<Leg>,
    entries: Vec<(u32, f64)>,
    shares: Vec<f64>,
    /// Bytes of the edge that the shares are for; none (NaN) as an operation begins.
    shared_for: f64,
    latency: Latency,
}

impl StrandLowering {
    fn new(resources: usize) -> Self {
        Self {
            load: vec![0.0; resources],
            touched: vec![],
            legs: vec![],
            entries: vec![],
            shares: vec![],
            shared_for: f64::NAN,
            latency: Latency::default(),
        }
    }

    /// Appends a strand's demand; gives the bytes of its edges.
    fn push(
        &mut self,
        routes: &Routes,
        carriage: &Carriage,
        overheads: &Overheads,
        strand: &Strand,
        demands: &mut Demands,
    ) -> Result<f64> {
        let work = strand.pace().bytes;
        let (mut weight, mut bytes) = (0.0, 0.0);
        let tells_hops = overheads.intra_s != 0.0 || overheads.inter_s != 0.0;
        let tree = if strand.members.is_empty() {
            None
        } else {
            Some(routes.tree(&strand.members, strand.channel, strand.turn)?)
        };
        self.latency.begin(overheads);
        for (pattern, range) in strand.ranges() {
            for edge in &strand.edges[range.clone()] {
                if edge.bytes != self.shared_for {
                    queue_pairs::fill(carriage, edge.bytes, strand.spread, &mut self.shares);
                    self.shared_for = edge.bytes;
                }
                if edge.bytes == work {
                    weight = queue_pairs::active(&self.shares);
                }
                self.legs.clear();
                let ends = (edge.from, edge.to);
                let path = routes.legs(ends, strand.channel, tree.as_ref(), &self.shares, &mut self.legs)?;
                self.add(edge.bytes / work * overheads.wire);
                self.latency.hop(path, if tells_hops { routes.hop(ends)? } else { Hop::Half });
                bytes += edge.bytes;
            }
            self.latency.end_stage(pattern, &strand.edges[range]);
        }
        self.entries.clear();
        for resource in self.touched.drain(..) {
            self.entries.push((resource, std::mem::take(&mut self.load[resource as usize])));
        }
        let port_rate = tree.map_or(f64::INFINITY, |tree| tree.port_rate);
        let cap = strand.cap(overheads.channel_rate).min(port_rate / overheads.wire);
        demands.push(&self.entries, weight, cap, work, self.latency.total());
        Ok(bytes)
    }

    /// Adds the present legs, times a factor.
    fn add(&mut self, factor: f64) {
        for leg in &self.legs {
            let load = &mut self.load[leg.resource as usize];
            if *load == 0.0 {
                self.touched.push(leg.resource);
            }
            *load += leg.share * factor;
        }
    }
}
