//! Runs graphs of chunks over the fluid network: the same collectives as their demands, piece by piece.

use super::RunOptions;
use crate::demand::Demands;
use crate::fluid::Fluid;
use crate::lower::ChunkGraph;
use crate::routing::{Router, Topology};
use crate::{Error, Picoseconds, Result};

/// Runs chunk graphs that start together, and gives the time when each has ended. Transfers under way share the network
/// like any demands. Latency is left out: with it a transfer would hold up the next on its connection, as pipelined
/// slices do not.
///
/// # Errors
/// [`Error::Unreachable`] where ranks that must talk have no path.
pub fn run_chunks(
    topology: &Topology,
    gpu_of_rank: &[u32],
    graphs: &[ChunkGraph],
    options: &RunOptions,
    seed: u64,
) -> Result<Vec<Picoseconds>> {
    let router = Router::new(topology, options.balancing, options.per_switch_seeds, seed);
    let mut fluid = Fluid::new(options.capacity(&router), options.tolerance);
    let mut moving = graphs.iter().map(|graph| Moving::new(&router, gpu_of_rank, graph)).collect::<Result<Vec<_>>>()?;
    let mut first_tag = Vec::with_capacity(graphs.len());
    let mut tags = 0u32;
    for moving in &moving {
        first_tag.push(tags);
        tags += moving.graph.len() as u32;
    }
    let mut done = Vec::new();
    loop {
        for (moving, &first) in moving.iter_mut().zip(&first_tag) {
            moving.start(first, &mut fluid);
        }
        let Some(next) = fluid.next() else { break };
        fluid.advance(next, &mut done);
        for (tag, _) in done.drain(..) {
            let graph = first_tag.partition_point(|&first| first <= tag) - 1;
            moving[graph].end(tag - first_tag[graph], next);
        }
    }
    moving.into_iter().map(|moving| moving.finish()).collect()
}

/// A graph under way.
struct Moving<'a> {
    graph: &'a ChunkGraph,
    /// Each lane as a demand of its own, without work.
    rows: Vec<Demands>,
    /// For each transfer: those that wait for it, and how many it still waits for.
    waiting: Vec<Vec<u32>>,
    waits: Vec<u32>,
    ready: Vec<u32>,
    left: usize,
    ended: Picoseconds,
}

impl<'a> Moving<'a> {
    fn new(router: &Router, gpu_of_rank: &[u32], graph: &'a ChunkGraph) -> Result<Self> {
        let mut waiting = vec![Vec::new(); graph.len()];
        for transfer in 0..graph.len() {
            for &before in graph.after(transfer) {
                waiting[before as usize].push(transfer as u32);
            }
        }
        Ok(Self {
            graph,
            rows: graph.lanes.iter().map(|lane| graph.demand(router, gpu_of_rank, lane)).collect::<Result<_>>()?,
            waiting,
            waits: (0..graph.len()).map(|transfer| graph.after(transfer).len() as u32).collect(),
            ready: (0..graph.len() as u32).filter(|&transfer| graph.after(transfer as usize).is_empty()).collect(),
            left: graph.len(),
            ended: 0,
        })
    }

    /// Starts what may start; joins end at once.
    fn start(&mut self, first_tag: u32, fluid: &mut Fluid) {
        while let Some(transfer) = self.ready.pop() {
            match self.graph.lane[transfer as usize] {
                Some(lane) => {
                    let demand = &mut self.rows[lane as usize];
                    demand.work[0] = self.graph.bytes[transfer as usize];
                    fluid.add(demand.clone(), first_tag + transfer);
                }
                None => self.end(transfer, fluid.now()),
            }
        }
    }

    fn end(&mut self, transfer: u32, now: Picoseconds) {
        self.left -= 1;
        self.ended = now;
        for &next in &self.waiting[transfer as usize] {
            self.waits[next as usize] -= 1;
            if self.waits[next as usize] == 0 {
                self.ready.push(next);
            }
        }
    }

    fn finish(self) -> Result<Picoseconds> {
        match self.left {
            0 => Ok(self.ended),
            left => Err(Error::Internal(format!("{left} of {} transfers never ended", self.graph.len()))),
        }
    }
}
