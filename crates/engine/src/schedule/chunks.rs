//! Runs a graph of chunks over the fluid network: the same collective as its demands, piece by piece.

use super::RunOptions;
use crate::demand::Demands;
use crate::fluid::Fluid;
use crate::lower::ChunkGraph;
use crate::routing::{Connection, Router, Topology};
use crate::{Error, Picoseconds, Result};

/// Time that a chunk graph takes alone on the network, each transfer sharing it with those under way. Latency is left
/// out: with it a transfer would hold up the next on its connection, as pipelined slices do not.
///
/// # Errors
/// [`Error::Unreachable`] where ranks that must talk have no path.
pub fn run_chunks(
    topology: &Topology,
    gpu_of_rank: &[u32],
    graph: &ChunkGraph,
    options: &RunOptions,
    seed: u64,
) -> Result<Picoseconds> {
    let router = Router::new(topology, options.balancing, options.per_switch_seeds, seed);
    let rows = rows(&router, gpu_of_rank, graph)?;
    let mut fluid = Fluid::new(options.capacity(&router), options.tolerance);
    let mut waits: Vec<u32> = (0..graph.len()).map(|transfer| graph.after(transfer).len() as u32).collect();
    let waiting = waiting(graph);
    let mut ready: Vec<u32> = (0..graph.len() as u32).filter(|&transfer| waits[transfer as usize] == 0).collect();
    let (mut done, mut ended) = (Vec::new(), 0);
    loop {
        while let Some(transfer) = ready.pop() {
            match graph.lane[transfer as usize] {
                Some(lane) => {
                    let mut demand = rows[lane as usize].clone();
                    demand.work[0] = graph.bytes[transfer as usize];
                    fluid.add(&demand, transfer);
                }
                None => done.push((transfer, 0)),
            }
        }
        if done.is_empty() {
            let Some(next) = fluid.next() else { break };
            fluid.advance(next, &mut done);
        }
        ended += done.len();
        for (transfer, _) in done.drain(..) {
            for &next in &waiting[transfer as usize] {
                waits[next as usize] -= 1;
                if waits[next as usize] == 0 {
                    ready.push(next);
                }
            }
        }
    }
    if ended != graph.len() {
        return Err(Error::Internal(format!("{ended} of {} transfers ended", graph.len())));
    }
    Ok(fluid.now())
}

/// Each lane as a demand of its own, without work.
fn rows(router: &Router, gpu_of_rank: &[u32], graph: &ChunkGraph) -> Result<Vec<Demands>> {
    let (mut shares, mut legs) = (Vec::new(), Vec::new());
    let row = |lane: &crate::lower::Lane| {
        graph.qp_shares(lane, &mut shares);
        legs.clear();
        let (from, to) = (gpu_of_rank[lane.from as usize], gpu_of_rank[lane.to as usize]);
        router.connect(Connection { from, to, channel: lane.channel }, &shares, &mut legs)?;
        let entries: Vec<(u32, f64)> = legs.iter().map(|leg| (leg.resource, leg.share)).collect();
        let flows = shares.iter().filter(|&&share| share > 0.0).count() as f64;
        let mut demand = Demands::default();
        demand.push(&entries, flows, f64::INFINITY, 0.0, 0);
        Ok(demand)
    };
    graph.lanes.iter().map(row).collect()
}

/// For each transfer, those that wait for it.
fn waiting(graph: &ChunkGraph) -> Vec<Vec<u32>> {
    let mut waiting = vec![Vec::new(); graph.len()];
    for transfer in 0..graph.len() {
        for &before in graph.after(transfer) {
            waiting[before as usize].push(transfer as u32);
        }
    }
    waiting
}
