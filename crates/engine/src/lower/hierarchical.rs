//! Hierarchies: a part of the work inside each server over NVLink, a part between servers along the rails. Inside, ranks
//! send straight to each other or the NVLink switch adds up and copies; between, there is a ring, a double binary tree or
//! an aggregation tree in the switches. What waits for what differs, staged or pipelined.

use super::direct::pair;
use super::ring;
use super::servers::Servers;
use super::strand::{Edge, Emit, End, Pattern, Strand};
use super::tree::{self, Twin};
use crate::program::{Collective, Kind};
use crate::{Error, Result};

/// How a rail's ranks and the others of their servers exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// Straight, over the NVLink switch.
    Direct,
    /// By way of the NVLink switch, which adds up what it is sent and copies what it sends (NVLink SHARP).
    NvlinkSharp,
}

/// How the ranks of a rail exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Between {
    Ring,
    /// Double binary tree.
    Tree,
    /// Switches add up on the way to a root of their own, and copy on the way back (SHARP).
    Aggregation,
}

/// Stage by stage: a stage begins when the one before has ended everywhere.
pub(super) fn staged(collective: &Collective, servers: &Servers, emit: &mut Emit) -> Result<()> {
    let rails = rails(servers)?;
    let part = collective.bytes / rails as f64;
    let mut strand = Strand::default();
    for phase in 0..3 {
        for rail in 0..rails {
            if phase != 1 {
                for edge in inside(collective.kind, servers, rail, part, phase == 0) {
                    pair(&mut strand, edge, collective.channels);
                    emit(phase, &strand)?;
                }
                continue;
            }
            for channel in 0..collective.channels {
                strand.restart(channel, 1);
                let ranks = on_rail(servers, rail);
                ring::push(&mut strand, collective.kind, &ranks, part / f64::from(collective.channels));
                if !strand.edges.is_empty() {
                    emit(phase, &strand)?;
                }
            }
        }
    }
    Ok(())
}

/// All stages at once: one strand for each rail and channel (two, with two trees), as fast as its slowest edge.
pub(super) fn pipelined(
    collective: &Collective,
    servers: &Servers,
    (within, between): (Inside, Between),
    emit: &mut Emit,
) -> Result<()> {
    let rails = rails(servers)?;
    let twins: &[Twin] = if between == Between::Tree { &[Twin::First, Twin::Second] } else { &[Twin::First] };
    let part = collective.bytes / rails as f64 / f64::from(collective.channels) / twins.len() as f64;
    let kind = collective.kind;
    let mut strand = Strand::default();
    for rail in 0..rails {
        let ranks = on_rail(servers, rail);
        for channel in 0..collective.channels {
            for &twin in twins {
                strand.restart(channel, 1);
                strand.sharers = twins.len() as u32;
                strand.turn = channel * rails as u32 + rail as u32;
                share(&mut strand, within, kind, servers, rail, part, true);
                match between {
                    Between::Ring => ring::push(&mut strand, kind, &ranks, part),
                    Between::Tree => tree::over(&mut strand, &ranks, twin, part),
                    Between::Aggregation => aggregate(&mut strand, kind, &ranks, part),
                }
                share(&mut strand, within, kind, servers, rail, part, false);
                emit(0, &strand)?;
            }
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

/// The rank of each server on a rail.
fn on_rail(servers: &Servers, rail: usize) -> Vec<u32> {
    servers.ranks.iter().map(|ranks| ranks[rail]).collect()
}

/// Appends the NVLink stages of one rail's `part` of the buffer: before the rail (to its ranks) or after (from them).
fn share(strand: &mut Strand, within: Inside, kind: Kind, servers: &Servers, rail: usize, part: f64, is_before: bool) {
    match within {
        Inside::Direct => strand.stage(Pattern::Together, inside(kind, servers, rail, part, is_before)),
        Inside::NvlinkSharp => through_switch(strand, kind, servers, rail, part, is_before),
    }
}

/// Edges from rank to rank inside each server.
fn inside(kind: Kind, servers: &Servers, rail: usize, part: f64, is_before: bool) -> Vec<Edge> {
    let others = |ranks: &[u32]| ranks.iter().copied().filter(|&rank| rank != ranks[rail]).collect::<Vec<_>>();
    match (kind, is_before) {
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
    }
}

/// Appends two stages by way of each server's NVLink switch. The load that adds up (`multimem.ld_reduce`) takes a part
/// from every GPU, that of the rail included, and gives the sum to the rail's; the store that copies (`multimem.st`)
/// takes one part from the rail's and gives it to every GPU, its own included.
fn through_switch(strand: &mut Strand, kind: Kind, servers: &Servers, rail: usize, part: f64, is_before: bool) {
    let reduces = matches!(kind, Kind::AllReduce | Kind::ReduceScatter) && is_before;
    let copies = matches!(kind, Kind::AllReduce | Kind::AllGather) && !is_before;
    let shared = |server: &(usize, &Vec<u32>)| server.1.len() > 1;
    let all = (servers.ranks.iter().enumerate().filter(shared))
        .flat_map(|(server, ranks)| ranks.iter().map(move |&rank| (End::Rank(rank), End::NvSwitch(server as u32))));
    let one = (servers.ranks.iter().enumerate().filter(shared))
        .map(|(server, ranks)| (End::Rank(ranks[rail]), End::NvSwitch(server as u32)));
    let up = |(rank, switch): (End, End)| Edge { from: rank, to: switch, bytes: part };
    let down = |(rank, switch): (End, End)| Edge { from: switch, to: rank, bytes: part };
    if reduces {
        strand.stage(Pattern::Together, all.map(up));
        strand.stage(Pattern::Together, one.map(down));
    } else if copies {
        strand.stage(Pattern::Together, one.map(up));
        strand.stage(Pattern::Together, all.map(down));
    }
}

/// Appends an aggregation tree over the ranks of a rail: up to its root and down to all, or from the first to the others.
fn aggregate(strand: &mut Strand, kind: Kind, ranks: &[u32], part: f64) {
    if ranks.len() < 2 {
        return;
    }
    let (from, to) = if kind == Kind::Broadcast { (End::First, End::Others) } else { (End::Members, End::Members) };
    strand.members.extend(ranks);
    strand.stage(Pattern::Together, [Edge { from, to: End::Root, bytes: part }]);
    strand.stage(Pattern::Together, [Edge { from: End::Root, to, bytes: part }]);
}
