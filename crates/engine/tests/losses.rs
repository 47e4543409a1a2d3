//! What is lost while links are down and routes are as before, counted by hand.

mod shapes;

use eastwest_engine::lower::{Losses, losses};
use eastwest_engine::program::{Carriage, Mix, Op, Overheads, Program, QpUse, Work};
use eastwest_engine::routing::{Balancing, Router, Topology};
use shapes::{LeafSpine, Network};

/// Losses of one message from one GPU to another, while the links between the given pairs of nodes are down.
fn of_message(
    network: &Network,
    topology: &Topology,
    balancing: Balancing,
    seed: u64,
    ends: (usize, usize),
    down: &[(u32, u32)],
) -> Losses {
    let graph = &network.graph;
    let is_down = |link: usize| down.contains(&(graph.src[link], graph.dst[link]));
    let down: Vec<bool> = (0..graph.links()).map(is_down).collect();
    let carriage = Carriage { qps: 1, qp_use: QpUse::Split, message_bytes: 1.0 };
    let work = Work::SendRecv { pairs: vec![(0, 1)], bytes: 8.0, carriage, overheads: Overheads::NONE };
    let gpu = vec![network.gpus[ends.0], network.gpus[ends.1]];
    let ops = vec![Op { after: vec![], queue: 1, work }];
    let program = Program { gpu, ops, overlap_slowdown: 1.0, mix: Mix::default() };
    losses(&Router::new(topology, balancing, true, seed), &program, &down).unwrap()
}

#[test]
fn of_four_paths_one_that_is_down_in_two_places_loses_a_quarter() {
    // GPU 0 in pod 0 to GPU 4 in pod 1: 2 spines x 2 cores.
    let network = shapes::fat_tree(4, 50e9);
    let topology = Topology::new(network.graph.clone()).unwrap();
    let down = [(network.spines[0], network.cores[0]), (network.cores[0], network.spines[2])];
    for balancing in [Balancing::Spray, Balancing::Adaptive, Balancing::Source { paths: None }] {
        let found = of_message(&network, &topology, balancing, 0, (0, 4), &down);
        assert_eq!((found.connections, found.hit, found.bytes, found.lost), (1.0, 1.0, 8.0, 2.0), "{balancing:?}");
        assert_eq!(found.waits, [true, true]);
    }
    let drawn = of_message(&network, &topology, Balancing::Source { paths: Some(4) }, 3, (0, 4), &down);
    assert_eq!(drawn.lost, 2.0, "four paths of four");
}

#[test]
fn a_hashed_connection_loses_all_or_nothing_as_often_as_it_falls_on_the_path() {
    // 2,000 draws of a chance of 1/4: 0.04 is over four standard deviations.
    let network = shapes::fat_tree(4, 50e9);
    let topology = Topology::new(network.graph.clone()).unwrap();
    let down = [(network.spines[0], network.cores[0])];
    let mut hit = 0.0;
    for seed in 0..2000 {
        let found = of_message(&network, &topology, Balancing::Ecmp, seed, (0, 4), &down);
        assert!(found.lost == 8.0 * found.hit);
        hit += found.hit;
    }
    assert!((hit / 2000.0 - 0.25).abs() < 0.04, "{}", hit / 2000.0);
}

#[test]
fn what_takes_another_way_loses_nothing() {
    let network = shapes::fat_tree(4, 50e9);
    let topology = Topology::new(network.graph.clone()).unwrap();
    for balancing in shapes::BALANCINGS {
        let back = [(network.cores[0], network.spines[0])];
        let found = of_message(&network, &topology, balancing, 0, (0, 4), &back);
        assert_eq!((found.connections, found.hit, found.lost), (1.0, 0.0, 0.0), "{balancing:?}");
        assert_eq!(found.waits, [false, false]);
    }
}

#[test]
fn a_port_that_is_down_loses_its_plane() {
    let size =
        LeafSpine { leaves: 2, servers_per_leaf: 1, gpus_per_server: 1, spines: 2, links_per_pair: 1, rate: 50e9 };
    let network = shapes::in_planes(size, 4);
    let topology = Topology::new(network.graph.clone()).unwrap();
    // Leaf 2 of all is the first of the second plane; into the receiver's NIC on the third, its own second leaf.
    let down = [(network.nics[0], network.leaves[2]), (network.leaves[5], network.nics[1])];
    for balancing in [Balancing::Spray, Balancing::Source { paths: Some(8) }] {
        let found = of_message(&network, &topology, balancing, 0, (0, 1), &down);
        assert!((found.lost - 4.0).abs() < 1e-12, "{balancing:?}");
    }
}

#[test]
fn inside_a_server_nothing_is_counted() {
    let size =
        LeafSpine { leaves: 1, servers_per_leaf: 1, gpus_per_server: 2, spines: 1, links_per_pair: 1, rate: 50e9 };
    let network = shapes::leaf_spine(size);
    let topology = Topology::new(network.graph.clone()).unwrap();
    let down = [(network.nics[0], network.leaves[0])];
    let found = of_message(&network, &topology, Balancing::Ecmp, 0, (0, 1), &down);
    assert_eq!((found.connections, found.hit), (0.0, 0.0));
}
