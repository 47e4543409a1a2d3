//! Rings: who is whose neighbour, and what each edge carries. One channel is one strand.

use super::servers::Servers;
use super::strand::{Edge, Emit, Pattern, Strand};
use crate::Result;
use crate::program::{Collective, Kind};

/// Ring in the group's own order, the same for all channels.
pub(super) fn given(collective: &Collective, group: &[u32], emit: &mut Emit) -> Result<()> {
    let mut strand = Strand::default();
    for channel in 0..collective.channels {
        strand.restart(channel, 1);
        push(&mut strand, collective.kind, group, collective.bytes / f64::from(collective.channels));
        emit(0, &strand)?;
    }
    Ok(())
}

/// NCCL's alternating rings: see [`order`].
pub(super) fn alternating(collective: &Collective, servers: &Servers, emit: &mut Emit) -> Result<()> {
    let (mut strand, mut ranks) = (Strand::default(), Vec::with_capacity(servers.len()));
    for channel in 0..collective.channels {
        order(servers, channel, &mut ranks);
        if collective.kind == Kind::Broadcast {
            let root = ranks.iter().position(|&rank| rank == servers.root).expect("the root is in its own ring");
            ranks.rotate_left(root);
        }
        strand.restart(channel, 1);
        push(&mut strand, collective.kind, &ranks, collective.bytes / f64::from(collective.channels));
        emit(0, &strand)?;
    }
    Ok(())
}

/// Appends the ring (for a broadcast: the chain from the first rank) of one channel with a buffer of `bytes`.
pub(super) fn push(strand: &mut Strand, kind: Kind, ranks: &[u32], bytes: f64) {
    let n = ranks.len();
    let edge = |at: usize, bytes: f64| Edge::ranks(ranks[at], ranks[(at + 1) % n], bytes);
    if n < 2 {
        return;
    }
    if kind == Kind::Broadcast {
        strand.stage(Pattern::Relay, (0..n - 1).map(|at| edge(at, bytes)));
        return;
    }
    let steps = if kind == Kind::AllReduce { 2 * (n - 1) } else { n - 1 };
    let bytes = steps as f64 / n as f64 * bytes;
    strand.stage(Pattern::Ring { steps: steps as u32 }, (0..n).map(|at| edge(at, bytes)));
}

/// Order of the ranks in one channel's rail ring.
///
/// Channel `c` has two rails, `a = c mod g` and `b = (c + 1) mod g`, for `g` ranks a server. It enters the first server
/// at `a` and leaves at `b`, enters the next at `b` and leaves at `a`, and so on: a hop between servers stays on one
/// rail, and over `g` channels each NIC sends for one and receives for one. With an odd number of servers the hop that
/// closes the ring crosses from `b` to `a`. Inside a server the ring visits the ranks from the entry on, the exit last.
///
/// Servers that hold different numbers of ranks take `a` and `b` modulo their own number, and the rank after the entry
/// as exit where both fall together; rails are then kept only as far as servers agree.
fn order(servers: &Servers, channel: u32, out: &mut Vec<u32>) {
    out.clear();
    let widest = servers.ranks.iter().map(Vec::len).max().unwrap_or(1);
    let (a, b) = (channel as usize % widest, (channel as usize + 1) % widest);
    for (server, ranks) in servers.ranks.iter().enumerate() {
        let here = ranks.len();
        let (entry, exit) = if server % 2 == 0 { (a % here, b % here) } else { (b % here, a % here) };
        let exit = if exit == entry { (entry + 1) % here } else { exit };
        out.push(ranks[entry]);
        out.extend((1..here).map(|step| (entry + step) % here).filter(|&at| at != exit).map(|at| ranks[at]));
        if exit != entry {
            out.push(ranks[exit]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Ranks `server * g + rail`, every server full.
    fn full(servers: u32, g: u32) -> Servers {
        let group: Vec<u32> = (0..servers * g).collect();
        Servers::of(&group, &|rank| Ok((rank / g, rank % g))).unwrap()
    }

    fn hops_between(servers: &Servers, channel: u32, g: u32) -> Vec<(u32, u32)> {
        let mut ranks = Vec::new();
        order(servers, channel, &mut ranks);
        let pairs = (0..ranks.len()).map(|at| (ranks[at], ranks[(at + 1) % ranks.len()]));
        pairs.filter(|(from, to)| from / g != to / g).collect()
    }

    proptest! {
        #[test]
        fn every_channel_visits_every_rank_once(servers in 1u32..7, g in 1u32..9, channel in 0u32..32) {
            let mut ranks = Vec::new();
            order(&full(servers, g), channel, &mut ranks);
            ranks.sort_unstable();
            prop_assert_eq!(ranks, (0..servers * g).collect::<Vec<_>>());
        }

        #[test]
        fn servers_of_unequal_size_are_visited_once(
            sizes in prop::collection::vec(1u32..9, 1..6), channel in 0u32..16
        ) {
            let mut group = Vec::new();
            for (server, &size) in sizes.iter().enumerate() {
                group.extend((0..size).map(|position| server as u32 * 10 + position));
            }
            let mut ranks = Vec::new();
            order(&Servers::of(&group, &|rank| Ok((rank / 10, rank % 10))).unwrap(), channel, &mut ranks);
            ranks.sort_unstable();
            prop_assert_eq!(ranks, group);
        }

        #[test]
        fn hops_between_servers_stay_on_a_rail_but_for_the_closing_one(
            servers in 2u32..9, g in 1u32..9, channel in 0u32..32
        ) {
            let hops = hops_between(&full(servers, g), channel, g);
            prop_assert_eq!(hops.len() as u32, servers);
            let crossing = hops.iter().filter(|(from, to)| from % g != to % g).count() as u32;
            prop_assert_eq!(crossing, if g > 1 { servers % 2 } else { 0 });
        }

        #[test]
        fn every_nic_sends_and_receives_for_its_part_of_the_channels(
            servers in 2u32..9, g in 1u32..9, turns in 1u32..4
        ) {
            let split = full(servers, g);
            let (mut sent, mut received) = (vec![0; (servers * g) as usize], vec![0; (servers * g) as usize]);
            for channel in 0..g * turns {
                for (from, to) in hops_between(&split, channel, g) {
                    sent[from as usize] += 1;
                    received[to as usize] += 1;
                }
            }
            prop_assert!(sent.iter().chain(&received).all(|&channels| channels == turns));
        }
    }

    #[test]
    fn ranks_of_a_server_line_up_by_position_whatever_the_group_order() {
        let servers = Servers::of(&[5, 4, 0, 1], &|rank| Ok((rank / 4, rank % 4))).unwrap();
        assert_eq!(servers.ranks, vec![vec![4, 5], vec![0, 1]]);
        assert_eq!(servers.root, 5);
    }
}
