//! Hashing with weights, flowlets and paths that senders draw: what goes over which link.

mod shapes;

use eastwest_engine::routing::{Balancing, Connection, Leg, Router, Topology};
use shapes::{LeafSpine, Network, Plan};

/// 2 leaves of 200 one-GPU servers under 4 spines, two links from each leaf to each spine.
fn two_leaves() -> Network {
    shapes::leaf_spine(LeafSpine {
        leaves: 2,
        servers_per_leaf: 200,
        gpus_per_server: 1,
        spines: 4,
        links_per_pair: 2,
        rate: 50e9,
    })
}

/// The same plan without one of the links from one node to another.
fn less_one(plan: &Plan, from: u32, to: u32) -> Plan {
    let link = (0..plan.src.len()).find(|&link| (plan.src[link], plan.dst[link]) == (from, to)).expect("a link");
    plan.without(link)
}

/// Share of all connections, one from each of the first `count` GPUs to the GPU as far on, on each link from `from` to
/// any of `to`, in order.
fn shares(topology: &Topology, router: &Router, gpus: &[u32], count: usize, from: u32, to: &[u32]) -> Vec<f64> {
    let graph = topology.graph();
    let mut load = vec![0.0; graph.links()];
    for index in 0..count {
        let mut legs: Vec<Leg> = Vec::new();
        let connection = Connection { from: gpus[index], to: gpus[index + count], channel: 0 };
        router.connect(connection, &[1.0], &mut legs).expect("a path");
        for leg in legs {
            let links = router.resources().links(leg.resource);
            links.iter().for_each(|&link| load[link as usize] += leg.share / (links.len() * count) as f64);
        }
    }
    let over = |spine: &u32| {
        let links = graph.out(from).iter().filter(|&&link| graph.dst[link as usize] == *spine);
        links.map(|&link| load[link as usize]).sum()
    };
    to.iter().map(over).collect()
}

#[test]
fn after_a_link_failed_ecmp_overloads_what_is_left_and_wcmp_goes_by_capacity() {
    // Spine 0 has one of two links left to leaf 1: 7 links in all. ECMP at leaf 0 sees 8 alike and sends 1/4 to spine 0,
    // over one link; in proportion to capacity it is 1/7. 200 flows, 500 draws: 0.005 is over four standard deviations.
    let network = two_leaves();
    let plan = less_one(&network.plan, network.spines[0], network.leaves[1]);
    let topology = Topology::new(plan.graph()).unwrap();
    let mean = |balancing| {
        let mut sum = [0.0; 4];
        for seed in 0..500 {
            let router = Router::new(&topology, balancing, true, seed);
            let found = shares(&topology, &router, &network.gpus, 200, network.leaves[0], &network.spines);
            sum.iter_mut().zip(found).for_each(|(sum, share)| *sum += share / 500.0);
        }
        sum
    };
    for (balancing, weak) in [(Balancing::Ecmp, 1.0 / 4.0), (Balancing::Wcmp, 1.0 / 7.0)] {
        let found = mean(balancing);
        assert!((found[0] - weak).abs() < 0.005, "{balancing:?}: {found:?}");
        for share in &found[1..] {
            assert!((share - (1.0 - weak) / 3.0).abs() < 0.005, "{balancing:?}: {found:?}");
        }
    }
}

#[test]
fn wcmp_sees_what_is_missing_two_tiers_up() {
    // A fat tree of 4-port switches: spine 0 of pod 0 loses one of its 2 links to cores, so a leaf of pod 0 has half as
    // much behind that spine as behind the other: 1/3 and 2/3 to other pods. 4,000 draws of a flow: 0.03 is 4 sigma.
    let network = shapes::fat_tree(4, 50e9);
    let plan = less_one(&network.plan, network.spines[0], network.cores[0]);
    let topology = Topology::new(plan.graph()).unwrap();
    let mut weak = 0.0;
    for seed in 0..4000 {
        let router = Router::new(&topology, Balancing::Wcmp, true, seed);
        weak +=
            shares(&topology, &router, &[network.gpus[0], network.gpus[8]], 1, network.leaves[0], &network.spines)[0];
    }
    assert!((weak / 4000.0 - 1.0 / 3.0).abs() < 0.03, "{}", weak / 4000.0);
}

#[test]
fn wcmp_is_ecmp_where_nothing_is_missing() {
    let network = two_leaves();
    let topology = Topology::new(network.graph.clone()).unwrap();
    let legs = |balancing, index: usize| {
        let mut legs = Vec::new();
        let connection = Connection { from: network.gpus[index], to: network.gpus[index + 200], channel: 0 };
        let latency = Router::new(&topology, balancing, true, 7).connect(connection, &[0.5, 0.5], &mut legs).unwrap();
        (legs, latency)
    };
    for index in 0..200 {
        assert_eq!(legs(Balancing::Wcmp, index), legs(Balancing::Ecmp, index));
    }
}

#[test]
fn a_flow_s_flowlets_are_equal_parts_hashed_apart() {
    // 8 flowlets on 8 uplinks: an uplink has 0, 1/8, 2/8, ...; all on one has a chance of 8^-7.
    let network = two_leaves();
    let topology = Topology::new(network.graph.clone()).unwrap();
    let router = Router::new(&topology, Balancing::Flowlet { flowlets: 8 }, true, 3);
    for index in 0..50 {
        let mut legs: Vec<Leg> = Vec::new();
        let connection = Connection { from: network.gpus[index], to: network.gpus[index + 200], channel: 0 };
        router.connect(connection, &[1.0], &mut legs).unwrap();
        let up: Vec<f64> = legs
            .iter()
            .filter(|leg| network.graph.src[leg.resource as usize] == network.leaves[0])
            .map(|leg| leg.share * 8.0)
            .collect();
        assert!(up.len() > 1);
        assert!(up.iter().all(|parts| (parts - parts.round()).abs() < 1e-12));
        assert!((up.iter().sum::<f64>() - 8.0).abs() < 1e-12);
    }
}

#[test]
fn one_flowlet_is_ecmp() {
    let network = two_leaves();
    let topology = Topology::new(network.graph.clone()).unwrap();
    let legs = |balancing| {
        let mut legs = Vec::new();
        let connection = Connection { from: network.gpus[0], to: network.gpus[200], channel: 2 };
        Router::new(&topology, balancing, true, 7).connect(connection, &[0.25; 4], &mut legs).unwrap();
        legs
    };
    assert_eq!(legs(Balancing::Flowlet { flowlets: 1 }), legs(Balancing::Ecmp));
}

/// Shares of one connection by link, of all of a network's links.
fn of_one(network: &Network, topology: &Topology, balancing: Balancing, seed: u64) -> Vec<f64> {
    let router = Router::new(topology, balancing, true, seed);
    let mut legs: Vec<Leg> = Vec::new();
    let last = *network.gpus.last().expect("a GPU");
    router.connect(Connection { from: network.gpus[0], to: last, channel: 0 }, &[1.0], &mut legs).unwrap();
    let mut shares = vec![0.0; network.graph.links()];
    for leg in legs {
        let links = router.resources().links(leg.resource);
        links.iter().for_each(|&link| shares[link as usize] += leg.share / links.len() as f64);
    }
    shares
}

#[test]
fn as_many_drawn_paths_as_there_are_take_each_once() {
    // 4 spines x 2 links up x 2 links down: 16 paths.
    let network = two_leaves();
    let topology = Topology::new(network.graph.clone()).unwrap();
    let all = of_one(&network, &topology, Balancing::Source { paths: None }, 0);
    for seed in 0..10 {
        let drawn = of_one(&network, &topology, Balancing::Source { paths: Some(16) }, seed);
        for (one, other) in all.iter().zip(&drawn) {
            assert!((one - other).abs() < 1e-12);
        }
    }
}

#[test]
fn fewer_drawn_paths_lie_evenly_over_planes_and_spines() {
    // 8 paths on 4 planes of 2 spines: 2 on each plane, one over each of its spines.
    let size =
        LeafSpine { leaves: 2, servers_per_leaf: 1, gpus_per_server: 1, spines: 2, links_per_pair: 1, rate: 50e9 };
    let network = shapes::in_planes(size, 4);
    let topology = Topology::new(network.graph.clone()).unwrap();
    for seed in 0..10 {
        let shares = of_one(&network, &topology, Balancing::Source { paths: Some(8) }, seed);
        let used: Vec<f64> = shares
            .iter()
            .zip(&network.graph.is_fabric)
            .filter(|&(&share, &is_fabric)| is_fabric && share > 0.0)
            .map(|(&share, _)| share)
            .collect();
        assert_eq!(used, [1.0 / 8.0; 16]);
    }
}

#[test]
fn draws_of_paths_differ_by_seed_and_connection() {
    let network = two_leaves();
    let topology = Topology::new(network.graph.clone()).unwrap();
    let drawn = |seed| of_one(&network, &topology, Balancing::Source { paths: Some(3) }, seed);
    assert_eq!(drawn(1), drawn(1));
    assert!((2..6).any(|seed| drawn(seed) != drawn(1)));
}
