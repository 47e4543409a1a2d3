//! Spraying and adaptive routing: shares against a walk over every path, and the links that are one resource.

mod shapes;

use std::collections::VecDeque;

use eastwest_engine::Error;
use eastwest_engine::graph::{Graph, NodeKind};
use eastwest_engine::routing::{Balancing, Connection, Leg, Router, Topology};
use proptest::prelude::*;
use shapes::{LeafSpine, Plan};

fn regular() -> LeafSpine {
    LeafSpine { leaves: 8, servers_per_leaf: 4, gpus_per_server: 1, spines: 4, links_per_pair: 2, rate: 50e9 }
}

fn fabric_resources(router: &Router) -> usize {
    router.resources().is_fabric.iter().filter(|&&fabric| fabric).count()
}

/// Share of a connection on each link, from its legs.
fn shares(router: &Router, graph: &Graph, legs: &[Leg]) -> Vec<f64> {
    let mut shares = vec![0.0; graph.links()];
    for leg in legs {
        let links = router.resources().links(leg.resource);
        for &link in links {
            shares[link as usize] += leg.share / links.len() as f64;
        }
    }
    shares
}

/// Hops of every node to one, over the links between switches alone; a second search, forward from each node.
fn hops(graph: &Graph, from: u32, to: u32) -> Option<usize> {
    let mut queue = VecDeque::from([(from, 0)]);
    let mut seen = vec![false; graph.nodes()];
    while let Some((node, hops)) = queue.pop_front() {
        if node == to {
            return Some(hops);
        }
        if !std::mem::replace(&mut seen[node as usize], true) {
            let fabric = graph.out(node).iter().filter(|&&link| graph.is_fabric[link as usize]);
            queue.extend(fabric.map(|&link| (graph.dst[link as usize], hops + 1)));
        }
    }
    None
}

/// Adds to each link the mass that walkers from `at` to `to` put on it, path by path.
fn walk(graph: &Graph, at: u32, to: u32, mass: f64, weight: &dyn Fn(u32) -> f64, shares: &mut [f64]) {
    let here = hops(graph, at, to).expect("a path");
    let nearer = |link: &u32| {
        graph.is_fabric[*link as usize]
            && hops(graph, graph.dst[*link as usize], to).is_some_and(|hops| hops + 1 == here)
    };
    let candidates: Vec<u32> = graph.out(at).iter().copied().filter(nearer).collect();
    let total: f64 = candidates.iter().map(|&link| weight(link)).sum();
    for link in candidates {
        let part = mass * weight(link) / total;
        shares[link as usize] += part;
        walk(graph, graph.dst[link as usize], to, part, weight, shares);
    }
}

#[test]
fn a_regular_leaf_spine_has_two_fabric_resources_a_leaf() {
    let network = shapes::leaf_spine(regular());
    let topology = Topology::new(network.graph.clone()).unwrap();
    for balancing in [Balancing::Spray, Balancing::Adaptive] {
        let router = Router::new(&topology, balancing, true, 0);
        assert_eq!(fabric_resources(&router), 16);
        let resources = router.resources();
        for resource in (0..resources.len()).filter(|&resource| resources.is_fabric[resource]) {
            assert_eq!(resources.links(resource as u32).len(), 8);
            assert_eq!(resources.capacity[resource], 8.0 * 50e9);
        }
        let single = resources.len() - 16;
        assert_eq!(single, 32 * 6, "access links stay single");
    }
}

#[test]
fn a_fat_tree_has_two_resources_a_leaf_and_two_a_pod() {
    let network = shapes::fat_tree(4, 50e9);
    let topology = Topology::new(network.graph.clone()).unwrap();
    assert_eq!(fabric_resources(&Router::new(&topology, Balancing::Spray, true, 0)), 2 * 8 + 2 * 4);
}

#[test]
fn a_missing_link_splits_off_exactly_the_links_that_it_sets_apart() {
    let network = shapes::leaf_spine(LeafSpine { links_per_pair: 1, ..regular() });
    // Leaf 0 loses its link to spine 0. Its 3 other uplinks stay one resource: 8 groups up. Down to every other leaf, spine
    // 0 now misses leaf 0's traffic and the other spines share it; leaf 0 itself is reached as before: 1 + 7 x 2.
    let lost = network.graph.out(network.leaves[0])[4];
    let plan = network.plan.without(lost as usize);
    let graph = plan.graph();
    let topology = Topology::new(graph.clone()).unwrap();
    assert_eq!(fabric_resources(&Router::new(&topology, Balancing::Spray, true, 0)), 8 + 15);

    // With the way back gone too, the other leaves' uplinks to spine 0 carry nothing for leaf 0: 1 + 7 x 2 up as well.
    let graph = plan.without(lost as usize).graph();
    let topology = Topology::new(graph.clone()).unwrap();
    assert_eq!(fabric_resources(&Router::new(&topology, Balancing::Spray, true, 0)), 15 + 15);
}

/// Two leaves joined by one link of each rate, and a GPU on each.
fn joined_by(rates: &[f64]) -> (Graph, Vec<u32>) {
    let mut plan = Plan::default();
    let leaves = plan.nodes(NodeKind::Switch, 2);
    let mut gpus = Vec::new();
    for &leaf in &leaves {
        let (gpu, nic) = plan.server(1);
        plan.cable(nic[0], leaf, 50e9);
        gpus.extend(gpu);
    }
    rates.iter().for_each(|&rate| plan.cable(leaves[0], leaves[1], rate));
    (plan.graph(), gpus)
}

#[test]
fn adaptive_splits_by_rate_and_spraying_evenly() {
    let (graph, gpus) = joined_by(&[100e9, 50e9, 50e9]);
    let topology = Topology::new(graph.clone()).unwrap();
    let fabric_shares = |balancing| {
        let router = Router::new(&topology, balancing, true, 0);
        let mut legs = Vec::new();
        router.connect(Connection { from: gpus[0], to: gpus[1], channel: 0 }, &[1.0], &mut legs).unwrap();
        let shares = shares(&router, &graph, &legs);
        let uplinks = graph.out(0).iter().filter(|&&link| graph.is_fabric[link as usize]);
        uplinks.map(|&link| shares[link as usize]).collect::<Vec<_>>()
    };
    assert_eq!(fabric_shares(Balancing::Adaptive), [0.5, 0.25, 0.25]);
    for share in fabric_shares(Balancing::Spray) {
        assert!((share - 1.0 / 3.0).abs() < 1e-15);
    }
}

#[test]
fn links_of_other_rates_are_resources_of_their_own() {
    let (graph, _) = joined_by(&[100e9, 50e9, 50e9]);
    let topology = Topology::new(graph.clone()).unwrap();
    assert_eq!(fabric_resources(&Router::new(&topology, Balancing::Spray, true, 0)), 4);
}

/// A small Clos of two or three tiers with some fabric links gone and some slower.
fn damaged_clos() -> impl Strategy<Value = (Graph, Vec<u32>)> {
    let size = (2u32..5, 1u32..4, 1u32..3, any::<bool>());
    let damage = proptest::collection::vec((any::<proptest::sample::Index>(), any::<bool>()), 0..8);
    (size, damage).prop_map(|((leaves, spines, links_per_pair, has_cores), damage)| {
        let network = if has_cores {
            shapes::fat_tree(4, 50e9)
        } else {
            let size =
                LeafSpine { leaves, servers_per_leaf: 1, gpus_per_server: 1, spines, links_per_pair, rate: 50e9 };
            shapes::leaf_spine(size)
        };
        let mut plan = network.plan;
        for (which, is_gone) in damage {
            let fabric: Vec<usize> = (0..plan.src.len()).filter(|&link| plan.is_fabric[link]).collect();
            match (fabric.is_empty(), is_gone) {
                (true, _) => {}
                (false, true) => plan = plan.without(fabric[which.index(fabric.len())]),
                (false, false) => plan.rate[fabric[which.index(fabric.len())]] = 25e9,
            }
        }
        (plan.graph(), network.gpus)
    })
}

/// Leaf of a GPU that has one NIC.
fn leaf_of(graph: &Graph, gpu: u32) -> u32 {
    (0..3).fold(gpu, |node, _| {
        let mut onward = graph.out(node).iter().map(|&link| graph.dst[link as usize]);
        onward.find(|&next| graph.kind[next as usize] as u8 > graph.kind[node as usize] as u8).expect("a way out")
    })
}

proptest! {
    #[test]
    fn shares_equal_a_walk_over_every_path((graph, gpus) in damaged_clos(), is_adaptive in any::<bool>()) {
        let topology = Topology::new(graph.clone()).unwrap();
        let balancing = if is_adaptive { Balancing::Adaptive } else { Balancing::Spray };
        let router = Router::new(&topology, balancing, true, 0);
        let weight = |link: u32| if is_adaptive { graph.rate[link as usize] } else { 1.0 };
        for (from, to) in gpus.iter().flat_map(|&from| gpus.iter().map(move |&to| (from, to))).filter(|(a, b)| a != b) {
            let mut legs = Vec::new();
            let connected = router.connect(Connection { from, to, channel: 0 }, &[1.0], &mut legs);
            let (source, destination) = (leaf_of(&graph, from), leaf_of(&graph, to));
            if hops(&graph, source, destination).is_none() {
                prop_assert_eq!(connected, Err(Error::Unreachable { from, to }));
                continue;
            }
            let mut expected = vec![0.0; graph.links()];
            walk(&graph, source, destination, 1.0, &weight, &mut expected);
            let found = shares(&router, &graph, &legs);
            for link in (0..graph.links()).filter(|&link| graph.is_fabric[link]) {
                prop_assert!((found[link] - expected[link]).abs() < 1e-12, "link {}", link);
            }
        }
    }

    #[test]
    fn what_enters_a_node_leaves_it((graph, gpus) in damaged_clos(), which in 0..shapes::BALANCINGS.len()) {
        let balancing = shapes::BALANCINGS[which];
        let topology = Topology::new(graph.clone()).unwrap();
        let router = Router::new(&topology, balancing, true, 4);
        for (&from, &to) in gpus.iter().zip(&gpus[1..]) {
            let mut legs = Vec::new();
            if router.connect(Connection { from, to, channel: 1 }, &[0.25; 4], &mut legs).is_err() {
                continue;
            }
            let mut balance = vec![0.0; graph.nodes()];
            balance[from as usize] = 1.0;
            balance[to as usize] = -1.0;
            for (link, share) in shares(&router, &graph, &legs).into_iter().enumerate() {
                balance[graph.src[link] as usize] -= share;
                balance[graph.dst[link] as usize] += share;
            }
            prop_assert!(balance.iter().all(|balance| balance.abs() < 1e-12));
        }
    }

    #[test]
    fn a_sender_that_chooses_paths_loads_all_shortest_ones_alike((graph, gpus) in damaged_clos()) {
        let topology = Topology::new(graph.clone()).unwrap();
        let router = Router::new(&topology, Balancing::Source { paths: None }, true, 0);
        for (from, to) in gpus.iter().flat_map(|&from| gpus.iter().map(move |&to| (from, to))).filter(|(a, b)| a != b) {
            let mut legs = Vec::new();
            if router.connect(Connection { from, to, channel: 0 }, &[1.0], &mut legs).is_err() {
                continue;
            }
            let paths = every_path(&graph, leaf_of(&graph, from), leaf_of(&graph, to));
            let found = shares(&router, &graph, &legs);
            for link in (0..graph.links()).filter(|&link| graph.is_fabric[link]) {
                let over = paths.iter().filter(|path| path.contains(&(link as u32))).count();
                prop_assert!((found[link] - over as f64 / paths.len() as f64).abs() < 1e-9, "link {}", link);
            }
        }
    }
}

/// The links of every shortest path between two switches.
fn every_path(graph: &Graph, from: u32, to: u32) -> Vec<Vec<u32>> {
    if from == to {
        return vec![vec![]];
    }
    let left = hops(graph, from, to).expect("a path");
    let mut paths = Vec::new();
    for &link in graph.out(from) {
        let next = graph.dst[link as usize];
        if graph.is_fabric[link as usize] && hops(graph, next, to) == Some(left - 1) {
            paths.extend(every_path(graph, next, to).into_iter().map(|rest| [vec![link], rest].concat()));
        }
    }
    paths
}
