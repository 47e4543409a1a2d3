//! Double binary trees: two trees over the servers, of which each server is interior in at most one, so that every NIC
//! sends and receives its fair part (Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth broadcast,
//! reduction and scan", Parallel Computing 35, 2009). As NCCL's, they join servers; inside each a chain over NVLink
//! leads from the GPU on the channel's rail through the others. A channel carries half of its bytes on either tree.

use super::servers::Servers;
use super::strand::{Edge, Emit, Pattern, Strand};
use crate::Result;
use crate::program::{Collective, Kind};

/// Describes an all-reduce (up to the roots and down again) or a broadcast.
pub(super) fn describe(collective: &Collective, servers: &Servers, emit: &mut Emit) -> Result<()> {
    let bytes = collective.bytes / f64::from(collective.channels) / 2.0;
    let mut strand = Strand::default();
    for channel in 0..collective.channels {
        let chains: Vec<Vec<u32>> = (servers.ranks.iter().enumerate())
            .map(|(server, ranks)| {
                let root = (collective.kind == Kind::Broadcast && server == 0).then_some(servers.root);
                chain(ranks, channel as usize % ranks.len(), root)
            })
            .collect();
        let heads: Vec<u32> = servers.ranks.iter().map(|ranks| ranks[channel as usize % ranks.len()]).collect();
        for twin in [Twin::First, Twin::Second] {
            strand.restart(channel, 1);
            strand.sharers = 2;
            if collective.kind == Kind::AllReduce {
                let down = downward(&parents(heads.len(), twin), &heads, &chains, bytes);
                both_ways(&mut strand, &down);
            } else {
                let down = downward(&parents_from_first(heads.len(), twin), &heads, &chains, bytes);
                strand.stage(Pattern::Relay, down);
            }
            emit(0, &strand)?;
        }
    }
    Ok(())
}

/// Appends what one of the trees over single ranks carries up and down.
pub(super) fn over(strand: &mut Strand, ranks: &[u32], twin: Twin, bytes: f64) {
    let alone: Vec<Vec<u32>> = ranks.iter().map(|&rank| vec![rank]).collect();
    both_ways(strand, &downward(&parents(ranks.len(), twin), ranks, &alone, bytes));
}

/// Appends what is summed up to the root of a tree and then sent down again.
fn both_ways(strand: &mut Strand, down: &[Edge]) {
    let up = down.iter().rev().map(|&Edge { from, to, bytes }| Edge { from: to, to: from, bytes });
    strand.stage(Pattern::Relay, up);
    strand.stage(Pattern::Relay, down.iter().copied());
}

/// Which of the two trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Twin {
    First,
    Second,
}

/// Parent of each of `n` nodes, none for the root.
///
/// In the first tree odd nodes are leaves: a node whose lowest set bit is `b` hangs on the one with `2b` in its place,
/// or, where there is none, on that without `b`; node 0 is the root. The second is the first mirrored, or, where `n` is
/// odd and mirroring would keep leaves at odd nodes, moved on by one.
fn parents(n: usize, twin: Twin) -> Vec<Option<usize>> {
    let first = |node: usize| {
        let bit = node & node.wrapping_neg();
        let sibling = (node & !bit) | (bit << 1);
        (node != 0).then_some(if sibling < n { sibling } else { node & !bit })
    };
    (0..n)
        .map(|node| match twin {
            Twin::First => first(node),
            Twin::Second if n % 2 == 0 => first(n - 1 - node).map(|parent| n - 1 - parent),
            Twin::Second => first((node + n - 1) % n).map(|parent| (parent + 1) % n),
        })
        .collect()
}

/// The same with node 0 as root of either tree: it feeds the roots of two trees over the others.
fn parents_from_first(n: usize, twin: Twin) -> Vec<Option<usize>> {
    let others = parents(n - 1, twin).into_iter().map(|parent| Some(parent.map_or(0, |parent| parent + 1)));
    [None].into_iter().chain(others).collect()
}

/// The ranks of a server from its head on; from the root on where it has one, the head next.
fn chain(ranks: &[u32], head: usize, root: Option<u32>) -> Vec<u32> {
    let from_head = (0..ranks.len()).map(|step| ranks[(head + step) % ranks.len()]);
    root.into_iter().chain(from_head.filter(|&rank| Some(rank) != root)).collect()
}

/// Edges of a tree from its root down, each after those that feed it: between the `heads` of nodes, and along the chain
/// of each node.
fn downward(parents: &[Option<usize>], heads: &[u32], chains: &[Vec<u32>], bytes: f64) -> Vec<Edge> {
    let mut children: Vec<Vec<usize>> = vec![vec![]; parents.len()];
    for (node, parent) in parents.iter().enumerate() {
        if let Some(parent) = parent {
            children[*parent].push(node);
        }
    }
    let mut order: Vec<usize> = (0..parents.len()).filter(|&node| parents[node].is_none()).collect();
    let mut edges = Vec::new();
    for at in 0.. {
        let Some(&node) = order.get(at) else { break };
        edges.extend(chains[node].windows(2).map(|pair| Edge::ranks(pair[0], pair[1], bytes)));
        edges.extend(children[node].iter().map(|&child| Edge::ranks(heads[node], heads[child], bytes)));
        order.extend(&children[node]);
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn depth(parents: &[Option<usize>], node: usize) -> usize {
        parents[node].map_or(0, |parent| 1 + depth(parents, parent))
    }

    #[test]
    fn eight_nodes_hang_as_in_nccl() {
        // The example in the comments of NCCL's trees.cc: 0 over 4; 4 over 2 and 6; these over the odd nodes.
        let expected = [None, Some(2), Some(4), Some(2), Some(0), Some(6), Some(4), Some(6)];
        assert_eq!(parents(8, Twin::First), expected);
    }

    proptest! {
        #[test]
        fn trees_are_binary_and_as_deep_as_the_logarithm(n in 1usize..600, is_second in any::<bool>()) {
            let parents = parents(n, if is_second { Twin::Second } else { Twin::First });
            prop_assert_eq!(parents.iter().filter(|parent| parent.is_none()).count(), 1);
            for node in 0..n {
                let children = parents.iter().filter(|parent| **parent == Some(node)).count();
                let most = if parents[node].is_none() { 1 } else { 2 };
                prop_assert!(children <= most);
                prop_assert!(depth(&parents, node) <= n.next_power_of_two().trailing_zeros() as usize);
            }
        }

        #[test]
        fn no_node_has_more_than_four_neighbours_in_both_trees_together(n in 2usize..600) {
            let trees = [parents(n, Twin::First), parents(n, Twin::Second)];
            for node in 0..n {
                let neighbours: usize = (trees.iter())
                    .map(|tree| tree.iter().filter(|p| **p == Some(node)).count() + usize::from(tree[node].is_some()))
                    .sum();
                prop_assert!(neighbours <= 4);
            }
        }

        #[test]
        fn every_edge_is_fed_by_one_before_it_or_starts_at_the_root(servers in 1usize..20, g in 1usize..5) {
            let chains: Vec<Vec<u32>> =
                (0..servers).map(|server| (0..g).map(|at| (server * g + at) as u32).collect()).collect();
            let heads: Vec<u32> = chains.iter().map(|chain| chain[0]).collect();
            let edges = downward(&parents(servers, Twin::Second), &heads, &chains, 1.0);
            prop_assert_eq!(edges.len(), servers * g - 1);
            let root = edges.first().map(|edge| edge.from);
            for (index, edge) in edges.iter().enumerate() {
                let is_fed = edges[..index].iter().any(|other| other.to == edge.from);
                prop_assert!(is_fed || Some(edge.from) == root);
            }
        }
    }
}
