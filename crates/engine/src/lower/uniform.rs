//! Exchanges in which every rank sends every other the same: known by their size, so that pairs need not be listed.

use super::strand::{Edge, Pattern, Strand};
use super::{Lowering, direct};
use crate::Result;
use crate::demand::Demands;
use crate::program::{Algorithm, Collective, Kind, Overheads};

/// An exchange between all pairs of a group's ranks, of equal bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Uniform {
    /// Bytes of each pair, in each phase.
    pub bytes: f64,
    /// Phases, all alike.
    pub phases: usize,
    /// Whether what leaves a server goes over the sender's neighbour on the receiver's rail.
    pub is_relayed: bool,
}

impl Uniform {
    /// What a collective of a group of `ranks` exchanges, if it is of this kind.
    pub fn of(collective: &Collective, ranks: usize) -> Option<Self> {
        let is_relayed = collective.algorithm == Algorithm::Pxn;
        let exchanges = is_relayed || collective.algorithm == Algorithm::Direct;
        let phases = match collective.kind {
            Kind::AllReduce => 2,
            Kind::AllToAll | Kind::AllGather | Kind::ReduceScatter => 1,
            _ => 0,
        };
        let bytes = collective.bytes / ranks as f64;
        let is_uniform = exchanges && phases > 0 && collective.matrix.is_none() && ranks > 1 && bytes > 0.0;
        is_uniform.then_some(Self { bytes, phases, is_relayed })
    }
}

impl Lowering<'_> {
    /// Appends the demand that one pair of a uniform exchange, over a relay if it has one, has in a phase; gives the
    /// bytes of its hops.
    ///
    /// # Errors
    /// [`crate::Error::Unreachable`] where ranks that must talk have no path.
    pub(crate) fn pair(
        &mut self,
        collective: &Collective,
        (from, relay, to): (u32, Option<u32>, u32),
        bytes: f64,
        phase: usize,
        demands: &mut Demands,
    ) -> Result<f64> {
        let base_s = if phase == 0 { collective.overheads.base_s } else { 0.0 };
        let overheads = Overheads { base_s, ..collective.overheads };
        let mut strand = Strand::default();
        match relay {
            None => direct::pair(&mut strand, Edge::ranks(from, to, bytes), collective.channels),
            Some(relay) => {
                strand.restart(0, collective.channels);
                let hops = [Edge::ranks(from, relay, bytes), Edge::ranks(relay, to, bytes)];
                strand.stage(Pattern::Relay, hops);
            }
        }
        self.append(&strand, &collective.carriage, &overheads, demands)
    }
}
