//! Hierarchies: inside each server over NVLink, between servers along the rails. The parts of both are the same,
//! staged or pipelined; only what waits for what differs.

use super::direct::pair;
use super::ring;
use super::servers::Servers;
use super::strand::{Edge, Emit, End, Pattern, Strand};
use crate::program::{Collective, Kind};
use crate::{Error, Result};

/// Stage by stage: a stage begins when the one before has ended everywhere.
pub(super) fn staged(collective: &Collective, servers: &Servers, emit: &mut Emit) -> Result<()> {
    let rails = rails(servers)?;
    let part = collective.bytes / rails as f64;
    let (mut whole, mut strand) = (Strand::default(), Strand::default());
    for phase in 0..3 {
        for rail in 0..rails {
            if phase != 1 {
                whole.restart(0, 1);
                inside(&mut whole, collective.kind, servers, rail, part, phase == 0);
                for &edge in &whole.edges {
                    pair(&mut strand, edge, collective.channels);
                    emit(phase, &strand)?;
                }
                continue;
            }
            for channel in 0..collective.channels {
                strand.restart(channel, 1);
                between(&mut strand, collective.kind, servers, rail, part / f64::from(collective.channels));
                if !strand.edges.is_empty() {
                    emit(phase, &strand)?;
                }
            }
        }
    }
    Ok(())
}

/// All stages at once: one strand for each rail and channel, as fast as its slowest edge.
pub(super) fn pipelined(collective: &Collective, servers: &Servers, emit: &mut Emit) -> Result<()> {
    let rails = rails(servers)?;
    let part = collective.bytes / rails as f64 / f64::from(collective.channels);
    let mut strand = Strand::default();
    for rail in 0..rails {
        for channel in 0..collective.channels {
            strand.restart(channel, 1);
            inside(&mut strand, collective.kind, servers, rail, part, true);
            between(&mut strand, collective.kind, servers, rail, part);
            inside(&mut strand, collective.kind, servers, rail, part, false);
            emit(0, &strand)?;
        }
    }
    Ok(())
}

/// Number of ranks in each server.
fn rails(servers: &Servers) -> Result<usize> {
    let rails = servers.ranks[0].len();
    match servers.ranks.iter().position(|ranks| ranks.len() != rails) {
        None => Ok(rails),
        Some(other) => Err(Error::Program(format!(
            "a hierarchical collective needs equally many ranks in every server of a group, but the server of rank {} \
             has {rails} and that of rank {} has {}",
            servers.ranks[0][0],
            servers.ranks[other][0],
            servers.ranks[other].len()
        ))),
    }
}

/// Appends the NVLink stage of one rail's `part` of the buffer: before the rail (to its ranks) or after (from them).
fn inside(strand: &mut Strand, kind: Kind, servers: &Servers, rail: usize, part: f64, is_before: bool) {
    let others = |ranks: &[u32]| ranks.iter().copied().filter(|&rank| rank != ranks[rail]).collect::<Vec<_>>();
    let edges: Vec<Edge> = match (kind, is_before) {
        (Kind::AllReduce | Kind::ReduceScatter, true) => (servers.ranks.iter())
            .flat_map(|ranks| others(ranks).into_iter().map(|from| Edge::ranks(from, ranks[rail], part)))
            .collect(),
        (Kind::Broadcast, true) => {
            let to = servers.ranks[0][rail];
            let edge = Edge::ranks(servers.root, to, part);
            if to == servers.root { vec![] } else { vec![edge] }
        }
        (Kind::AllReduce | Kind::AllGather | Kind::Broadcast, false) => (servers.ranks.iter())
            .flat_map(|ranks| others(ranks).into_iter().map(|to| Edge::ranks(ranks[rail], to, part)))
            .filter(|edge| kind != Kind::Broadcast || edge.to != End::Rank(servers.root))
            .collect(),
        (Kind::AllGather, true) | (Kind::ReduceScatter, false) | (Kind::AllToAll | Kind::Reduce, _) => vec![],
    };
    strand.stage(Pattern::Together, edges);
}

/// Appends the stage between servers of one rail: a ring, or a chain from the root's server.
fn between(strand: &mut Strand, kind: Kind, servers: &Servers, rail: usize, part: f64) {
    let ranks: Vec<u32> = servers.ranks.iter().map(|ranks| ranks[rail]).collect();
    ring::push(strand, kind, &ranks, part);
}
