//! What a program asks of an engine that moves data piece by piece, told before it is asked.

use super::chunks::slices;
use super::demands::places;
use super::direct;
use super::strand::{Edge, Pattern, Strand, describe};
use crate::Result;
use crate::program::{Carriage, Program, Work};
use crate::routing::{Connection, Crossing, Router};

/// Pieces of all operations of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Burden {
    /// Transfers of all, in the slices that [`super::messages`] cuts.
    pub transfers: f64,
    /// Packets times the links between NICs that they cross, without answers.
    pub packet_hops: f64,
}

/// Adds up a program's pieces, but for storage. `packet_hops` gives those of so many bytes over a crossing.
///
/// # Errors
/// As lowering.
pub fn burden(
    router: &Router,
    program: &Program,
    packet_hops: &mut dyn FnMut(&Crossing, f64) -> f64,
) -> Result<Burden> {
    let mut found = Burden::default();
    let mut add = |strand: &Strand, carriage: &Carriage, wire: f64| -> Result<()> {
        let slices = f64::from(slices(strand, carriage));
        for (pattern, range) in strand.ranges() {
            let steps = if let Pattern::Ring { steps } = pattern { f64::from(steps) } else { 1.0 };
            for edge in &strand.edges[range] {
                found.transfers += slices * steps;
                let (Some(from), Some(to)) = (edge.from.rank(), edge.to.rank()) else { continue };
                let [from, to] = [from, to].map(|rank| program.gpu[rank as usize]);
                let crossing = router.topology().crossing(Connection { from, to, channel: strand.channel })?;
                found.packet_hops += crossing.map_or(0.0, |crossing| packet_hops(&crossing, edge.bytes * wire));
            }
        }
        Ok(())
    };
    let place = places(router, &program.gpu);
    for op in &program.ops {
        match &op.work {
            Work::Compute { .. } | Work::Storage { .. } => {}
            Work::Collective { groups, collective } => {
                let wire = collective.overheads.wire;
                let mut one = |_, strand: &Strand| add(strand, &collective.carriage, wire);
                groups.iter().try_for_each(|group| describe(collective, group, &place, &mut one))?;
            }
            Work::SendRecv { pairs, bytes, carriage, overheads } => {
                let mut strand = Strand::default();
                for &(from, to) in pairs {
                    direct::pair(&mut strand, Edge::ranks(from, to, *bytes), 1);
                    add(&strand, carriage, overheads.wire)?;
                }
            }
        }
    }
    Ok(found)
}
