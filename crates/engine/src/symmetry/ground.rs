//! What programs stand on: ranks' places in the network and the vertices of ranks and resources.

use rayon::prelude::*;

use super::colours::{Web, digest};
use crate::Result;
use crate::routing::{Exit, Router, neighbourhoods};

/// Resources are the first vertices of the web, ranks the next.
pub(super) struct Ground<'r> {
    router: &'r Router<'r>,
    gpu: &'r [u32],
    neighbourhood: Vec<u32>,
    exits: Vec<Option<Exit>>,
}

/// Part of a coefficient's mantissa that tells it from others: sums in another order differ in the bits after it.
const TOLD: u64 = !0xFFFF;

impl<'r> Ground<'r> {
    /// Finds the ranks' places, and their ways out and neighbourhoods where there are exchanges to take together.
    ///
    /// # Errors
    /// [`crate::Error::Graph`] where a rank is on no GPU.
    pub fn new(router: &'r Router<'r>, gpu: &'r [u32], has_exchanges: bool) -> Result<Self> {
        let (mut exits, mut neighbourhood) = (Vec::new(), Vec::new());
        if has_exchanges {
            exits = gpu.iter().map(|&gpu| router.exit(gpu)).collect::<Result<_>>()?;
            neighbourhood = neighbourhoods(router.topology().graph());
        }
        Ok(Self { router, gpu, neighbourhood, exits })
    }

    /// Adds the vertices of resources and ranks to an empty web, and joins each rank to the resources of its way out.
    /// Ranks of different seeds are never alike.
    pub fn draw(&self, web: &mut Web, seeds: &[u64]) {
        let resources = self.router.resources();
        for resource in 0..resources.len() as u32 {
            web.vertex(digest([1].into_iter().chain(resources.likeness(resource))));
        }
        for (rank, &seed) in (0..).zip(seeds) {
            let exit = self.exit(rank);
            let rank = web.vertex(digest([2, seed]));
            for &(link, part) in exit.iter().flat_map(|exit| &exit.links) {
                web.join(rank, resources.of_link(link), digest([2, part]));
            }
        }
    }

    /// The vertex of a rank.
    pub fn rank_vertex(&self, rank: u32) -> u32 {
        self.router.resources().len() as u32 + rank
    }

    /// A rank's way out.
    pub fn exit(&self, rank: u32) -> Option<&Exit> {
        self.exits.get(rank as usize)?.as_ref()
    }

    /// NVLink domain and place there of a rank's GPU.
    ///
    /// # Errors
    /// [`crate::Error::Graph`] where it is on no GPU.
    pub fn place(&self, rank: u32) -> Result<(u32, u32)> {
        let (topology, gpu) = (self.router.topology(), self.gpu[rank as usize]);
        Ok((topology.domain(gpu)?, topology.local_index(gpu)?))
    }

    /// Whether two ranks may talk without leaving their server.
    pub fn is_near(&self, a: u32, b: u32) -> bool {
        self.neighbourhood_of(a) == self.neighbourhood_of(b)
    }

    fn neighbourhood_of(&self, rank: u32) -> u32 {
        self.neighbourhood[self.gpu[rank as usize] as usize]
    }

    /// The ranks of a group, server by server.
    pub fn by_neighbourhood(&self, group: &[u32]) -> Vec<Vec<u32>> {
        let mut placed: Vec<_> = group.iter().map(|&rank| (self.neighbourhood_of(rank), rank)).collect();
        placed.sort_unstable();
        let servers = placed.chunk_by(|a, b| a.0 == b.0);
        servers.map(|server| server.iter().map(|&(_, rank)| rank).collect()).collect()
    }

    /// Works out the paths between pairs of homes, on all threads; gives whether all pairs have some.
    pub fn work_out(&self, mut homes: Vec<(u32, u32)>) -> bool {
        // All to one home, then all to the next: what leads there is still in the cache.
        homes.sort_unstable_by_key(|&(from, to)| (to, from));
        homes.par_iter().all(|&(from, to)| self.router.trunk(from, to).is_some())
    }

    /// Adds the vertex of a trunk between two homes that a path joins, and its edges to the resources that it loads.
    pub fn draw_trunk(&self, web: &mut Web, from: u32, to: u32, seed: u64) -> u32 {
        let Some(trunk) = self.router.trunk(from, to) else { return web.vertex(seed) };
        let lanes = trunk.lanes.iter().flat_map(|&(a, b)| [a as u64, b as u64]);
        let vertex = web.vertex(digest([seed, 3, trunk.latency].into_iter().chain(lanes)));
        for leg in trunk.legs {
            web.join(vertex, leg.resource, coefficient(leg.share));
        }
        vertex
    }
}

/// The label of a load.
pub(super) fn coefficient(share: f64) -> u64 {
    digest([3, share.to_bits().wrapping_add(0x8000) & TOLD])
}
