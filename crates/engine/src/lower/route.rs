//! From an edge's ends to legs: between ranks, to and from an NVLink switch, up and down an aggregation tree.

use super::strand::End;
use crate::program::Collective;
use crate::routing::{AggregationTree, Connection, Leg, Router};
use crate::{Picoseconds, Result};

/// What a strand's edges need to find their ways.
pub(super) struct Routes<'a> {
    pub router: &'a Router<'a>,
    /// GPU node of each rank.
    pub gpu: &'a [u32],
    /// Part of NVLink's rate that is reached where its switch adds up or copies.
    pub nvlink_sharp: f64,
}

/// Over what an edge passes on what was there before, as far as protocols tell. What passes a switch that adds up or
/// copies counts once, on the way out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hop {
    /// Not yet out of a switch.
    Half,
    Inside,
    Between,
}

impl<'a> Routes<'a> {
    /// Routes for a collective's edges.
    pub fn new(router: &'a Router<'a>, gpu: &'a [u32], collective: &Collective) -> Self {
        Self { router, gpu, nvlink_sharp: collective.nvlink_sharp }
    }

    /// The aggregation tree over some ranks.
    pub fn tree(&self, members: &[u32], channel: u32, turn: u32) -> Result<AggregationTree> {
        let gpus: Vec<u32> = members.iter().map(|&rank| self.gpu[rank as usize]).collect();
        self.router.aggregation_tree(&gpus, channel, turn)
    }

    /// Appends the legs of an edge, whose resources may repeat, and gives the latency of its path.
    pub fn legs(
        &self,
        (from, to): (End, End),
        channel: u32,
        tree: Option<&AggregationTree>,
        qp_shares: &[f64],
        legs: &mut Vec<Leg>,
    ) -> Result<Picoseconds> {
        let gpu = |rank: u32| self.gpu[rank as usize];
        let mut over_nvlink = |(leg, latency): (Leg, Picoseconds)| {
            legs.push(Leg { share: leg.share / self.nvlink_sharp, ..leg });
            latency
        };
        match (from, to) {
            (End::Rank(from), End::Rank(to)) => {
                self.router.connect(Connection { from: gpu(from), to: gpu(to), channel }, qp_shares, legs)
            }
            (End::Rank(rank), End::NvSwitch(_)) => self.router.nvlink(gpu(rank)).map(|[up, _]| over_nvlink(up)),
            (End::NvSwitch(_), End::Rank(rank)) => self.router.nvlink(gpu(rank)).map(|[_, down]| over_nvlink(down)),
            (members, End::Root) => {
                Ok(tree.map_or(0, |tree| tree.up(self.router, members.among(tree.members()), legs)))
            }
            (_, members) => Ok(tree.map_or(0, |tree| tree.down(self.router, members.among(tree.members()), legs))),
        }
    }

    /// How an edge counts among hops.
    pub fn hop(&self, (from, to): (End, End)) -> Result<Hop> {
        let domain = |rank: u32| self.router.topology().domain(self.gpu[rank as usize]);
        Ok(match (from, to) {
            (End::Rank(from), End::Rank(to)) if domain(from)? != domain(to)? => Hop::Between,
            (End::Rank(_) | End::NvSwitch(_), End::Rank(_)) => Hop::Inside,
            (End::Root, _) => Hop::Between,
            _ => Hop::Half,
        })
    }
}
