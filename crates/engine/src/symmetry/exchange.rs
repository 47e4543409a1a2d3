//! Uniform exchanges, whose pairs are too many to list: trunks between ends in place of pairs between ranks.
//!
//! Ranks of a group whose NICs share a home are an *end*; two ends are joined by a *trunk*, which stands for all pairs of
//! their ranks but those inside one neighbourhood (a server), which are listed. A far pair loads its sender's links out,
//! its trunk and its receiver's links in. So its class is told by three colours, its sender's, its trunk's and its
//! receiver's, once colours are stable in a web where
//!
//! * an end is joined to its ranks and to its trunks, going out and coming in,
//! * a trunk is joined to the resources that it loads,
//! * a rank is joined to the resources of its way out,
//! * a near pair is joined to both ranks, the resources that it loads, and the trunk that a far pair would take.
//!
//! For then two ranks of one colour have equally many partners of each colour over trunks of each colour: an end's colour
//! tells how many ranks of each colour it and its trunks' other ends have, and the near pairs tell which of these are not
//! far. Likewise two resources of one colour are loaded equally by each class of pairs.
//!
//! Of a relayed exchange (PXN) the same holds of the hop from relay to receiver, both on one rail: ends are then of one
//! rail too, and each such hop carries the pairs of all the relay's neighbours.

use std::collections::HashMap;
use std::ops::Range;

use super::colours::{Web, digest};
use super::ground::Ground;
use crate::Result;
use crate::lower::Uniform;

/// Ordered pairs of a group, trunk by trunk and near by near, with the vertices that stand for them.
pub(super) struct Exchange {
    pub uniform: Uniform,
    /// Ranks, end by end.
    pub ranks: Vec<u32>,
    pub ends: Vec<Range<usize>>,
    /// Trunks over which there are far pairs: ends and vertex.
    pub trunks: Vec<(u32, u32, u32)>,
    /// Sender, receiver and vertex.
    pub near: Vec<(u32, u32, u32)>,
}

/// What an end has in common: a home, and a rail where what arrives is relayed.
type EndKey = (u32, u32);

impl Exchange {
    /// Lays out a group's exchange, without vertices yet, if its pairs can be taken together: where every rank has one way
    /// out, every pair that leaves its server has a path there, and relays are as good as these.
    ///
    /// # Errors
    /// [`crate::Error::Graph`] where a rank is on no GPU.
    pub fn plan(ground: &Ground, uniform: Uniform, group: &[u32]) -> Result<Option<Self>> {
        let mut keyed: Vec<(EndKey, u32)> = Vec::with_capacity(group.len());
        for &rank in group {
            let Some(exit) = ground.exit(rank) else { return Ok(None) };
            let rail = if uniform.is_relayed { ground.place(rank)?.1 } else { 0 };
            keyed.push(((exit.home, rail), rank));
        }
        keyed.sort_unstable();
        let ranks: Vec<u32> = keyed.iter().map(|&(_, rank)| rank).collect();
        let mut ends = Vec::new();
        let mut begin = 0;
        for end in keyed.chunk_by(|a, b| a.0 == b.0) {
            ends.push(begin..begin + end.len());
            begin += end.len();
        }
        let neighbours = ground.by_neighbourhood(group);
        if uniform.is_relayed && !has_all_relays(ground, &neighbours)? {
            return Ok(None);
        }
        let mut exchange = Self { uniform, ranks, ends, trunks: vec![], near: vec![] };
        for server in &neighbours {
            for &from in server {
                exchange.near.extend(server.iter().filter(|&&to| to != from).map(|&to| (from, to, 0)));
            }
        }
        let is_joined = exchange.find_trunks(ground, &keyed);
        Ok(is_joined.then_some(exchange))
    }

    /// Lists the trunks with far pairs; gives whether all of them have a path.
    fn find_trunks(&mut self, ground: &Ground, keyed: &[(EndKey, u32)]) -> bool {
        let end_of = self.end_of();
        let mut near: HashMap<(u32, u32), usize> = HashMap::new();
        for &(from, to, _) in &self.near {
            *near.entry((end_of[&from], end_of[&to])).or_default() += 1;
        }
        let key = |end: &Range<usize>| keyed[end.start].0;
        let mut homes = Vec::new();
        for (from, source) in (0..).zip(&self.ends) {
            for (to, destination) in (0..).zip(&self.ends) {
                let (a, b) = (key(source), key(destination));
                if self.uniform.is_relayed && a.1 != b.1 {
                    continue;
                }
                let with_themselves = if from == to { source.len() } else { 0 };
                let close = near.get(&(from, to)).copied().unwrap_or(0) + with_themselves;
                if source.len() * destination.len() > close {
                    self.trunks.push((from, to, 0));
                    homes.push((a.0, b.0));
                }
            }
        }
        ground.work_out(homes)
    }

    /// The end of each rank.
    pub fn end_of(&self) -> HashMap<u32, u32> {
        let ends = (0..).zip(&self.ends);
        ends.flat_map(|(end, range)| self.ranks[range.clone()].iter().map(move |&rank| (rank, end))).collect()
    }

    /// Edges that [`draw`](Self::draw) will add, about.
    pub fn edges(&self) -> usize {
        8 * self.trunks.len() + 6 * self.near.len() + self.ranks.len()
    }

    /// Adds the vertices of ends, trunks and near pairs to the web. `task` stands for the exchange, `seed` for what
    /// exchanges of one operation have in common.
    ///
    /// # Errors
    /// [`crate::Error::Unreachable`] where near ranks have no path.
    pub fn draw(&mut self, ground: &Ground, web: &mut Web, task: u32, seed: u64, near: &mut NearRow) -> Result<()> {
        let end_of = self.end_of();
        let has_trunks = !self.trunks.is_empty();
        let mut ends = Vec::with_capacity(self.ends.len());
        for range in &self.ends {
            let ranks = &self.ranks[range.clone()];
            if has_trunks {
                let end = web.vertex(digest([seed, 1]));
                web.join(end, task, 1);
                ranks.iter().for_each(|&rank| web.join(end, ground.rank_vertex(rank), 1));
                ends.push((end, ground.exit(ranks[0]).map_or(0, |exit| exit.home)));
            }
        }
        let mut trunk_at: HashMap<(u32, u32), u32> = HashMap::new();
        for (from, to, vertex) in &mut self.trunks {
            let (source, destination) = (ends[*from as usize], ends[*to as usize]);
            *vertex = ground.draw_trunk(web, source.1, destination.1, seed);
            web.join(*vertex, source.0, 2);
            web.join(*vertex, destination.0, 3);
            trunk_at.insert((*from, *to), *vertex);
        }
        for (from, to, vertex) in &mut self.near {
            *vertex = near(web, *from, *to)?;
            if has_trunks {
                web.join(*vertex, ground.rank_vertex(*from), 4);
                web.join(*vertex, ground.rank_vertex(*to), 5);
                if let Some(&trunk) = trunk_at.get(&(end_of[from], end_of[to])) {
                    web.join(*vertex, trunk, 6);
                }
            }
        }
        Ok(())
    }
}

/// Draws the demand of a near pair, from one rank to another; gives its vertex.
pub(super) type NearRow<'a> = dyn FnMut(&mut Web, u32, u32) -> Result<u32> + 'a;

/// Whether every server has ranks on the same rails, one on each, so that each pair has its relay.
fn has_all_relays(ground: &Ground, neighbours: &[Vec<u32>]) -> Result<bool> {
    let mut rails: Option<Vec<u32>> = None;
    for server in neighbours {
        let places = server.iter().map(|&rank| ground.place(rank)).collect::<Result<Vec<_>>>()?;
        let mut here: Vec<u32> = places.iter().map(|place| place.1).collect();
        here.sort_unstable();
        let one_domain = places.iter().all(|place| place.0 == places[0].0);
        if !one_domain || rails.get_or_insert_with(|| here.clone()) != &here {
            return Ok(false);
        }
    }
    Ok(true)
}
