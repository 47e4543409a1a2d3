//! NICs of several ports, one a plane: which ports a connection takes, in which shares, and what stays one resource.

mod shapes;

use eastwest_engine::graph::Graph;
use eastwest_engine::routing::{Balancing, Connection, Leg, Router, Topology};
use proptest::prelude::*;
use shapes::{LeafSpine, Network};

fn size() -> LeafSpine {
    LeafSpine { leaves: 4, servers_per_leaf: 3, gpus_per_server: 2, spines: 2, links_per_pair: 1, rate: 50e9 }
}

/// Share of a connection on each link.
fn on_links(router: &Router, connection: Connection, qps: usize) -> Vec<f64> {
    let mut legs: Vec<Leg> = Vec::new();
    router.connect(connection, &vec![1.0 / qps as f64; qps], &mut legs).expect("a path");
    let mut shares = vec![0.0; router.topology().graph().links()];
    for leg in legs {
        let links = router.resources().links(leg.resource);
        links.iter().for_each(|&link| shares[link as usize] += leg.share / links.len() as f64);
    }
    shares
}

/// Share of a connection on each port of its sender's NIC.
fn on_ports(network: &Network, router: &Router, connection: Connection, qps: usize) -> Vec<f64> {
    let shares = on_links(router, connection, qps);
    let sender = network.gpus.iter().position(|&gpu| gpu == connection.from).expect("a GPU");
    let graph = &network.graph;
    let leads_out = |&&link: &&u32| network.leaves.contains(&graph.dst[link as usize]);
    graph.out(network.nics[sender]).iter().filter(leads_out).map(|&link| shares[link as usize]).collect()
}

fn across(network: &Network, channel: u32) -> Connection {
    Connection { from: network.gpus[0], to: *network.gpus.last().expect("a GPU"), channel }
}

fn fabric_resources(router: &Router) -> usize {
    router.resources().is_fabric.iter().filter(|&&fabric| fabric).count()
}

#[test]
fn one_queue_pair_of_one_channel_takes_one_plane() {
    let network = shapes::in_planes(size(), 4);
    let topology = Topology::new(network.graph.clone()).unwrap();
    for balancing in [Balancing::Ecmp, Balancing::Pinned] {
        let router = Router::new(&topology, balancing, true, 5);
        let mut shares = on_ports(&network, &router, across(&network, 0), 1);
        shares.sort_by(f64::total_cmp);
        assert_eq!(shares, [0.0, 0.0, 0.0, 1.0]);
    }
}

#[test]
fn as_many_queue_pairs_as_planes_take_all_of_them() {
    let network = shapes::in_planes(size(), 4);
    let topology = Topology::new(network.graph.clone()).unwrap();
    for balancing in [Balancing::Ecmp, Balancing::Pinned] {
        let router = Router::new(&topology, balancing, true, 5);
        assert_eq!(on_ports(&network, &router, across(&network, 0), 4), [0.25; 4]);
        assert_eq!(on_ports(&network, &router, across(&network, 1), 8), [0.25; 4]);
    }
}

#[test]
fn channels_go_on_where_the_queue_pairs_of_the_channel_before_ended() {
    let network = shapes::in_planes(size(), 4);
    let topology = Topology::new(network.graph.clone()).unwrap();
    let router = Router::new(&topology, Balancing::Ecmp, true, 5);
    for (channels, qps) in [(4, 1), (2, 2)] {
        let mut sum = [0.0; 4];
        for channel in 0..channels {
            let shares = on_ports(&network, &router, across(&network, channel), qps);
            sum.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
        }
        assert_eq!(sum, [f64::from(channels) / 4.0; 4]);
    }
}

#[test]
fn channels_as_far_apart_as_a_server_has_gpus_take_turns_too() {
    for (gpus_per_server, planes) in [(2, 2), (2, 4), (4, 2), (3, 2)] {
        let network = shapes::in_planes(LeafSpine { gpus_per_server, ..size() }, planes);
        let topology = Topology::new(network.graph.clone()).unwrap();
        let router = Router::new(&topology, Balancing::Ecmp, true, 5);
        let mut sum = vec![0.0; planes as usize];
        for round in 0..planes {
            let shares = on_ports(&network, &router, across(&network, round * gpus_per_server), 1);
            sum.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
        }
        assert_eq!(sum, vec![1.0; planes as usize], "{gpus_per_server} GPUs, {planes} planes");
    }
}

#[test]
fn peers_of_one_sender_start_on_different_planes() {
    let network = shapes::in_planes(size(), 2);
    let topology = Topology::new(network.graph.clone()).unwrap();
    let router = Router::new(&topology, Balancing::Ecmp, true, 0);
    let mut sum = [0.0; 2];
    for &to in &network.gpus[2..] {
        let shares = on_ports(&network, &router, Connection { from: network.gpus[0], to, channel: 0 }, 1);
        sum.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
    }
    assert_eq!(sum, [11.0, 11.0]);
}

#[test]
fn spraying_splits_over_all_planes() {
    let network = shapes::in_planes(size(), 4);
    let topology = Topology::new(network.graph.clone()).unwrap();
    for balancing in [Balancing::Spray, Balancing::Adaptive] {
        let router = Router::new(&topology, balancing, true, 0);
        assert_eq!(on_ports(&network, &router, across(&network, 0), 1), [0.25; 4]);
        let shares = on_links(&router, across(&network, 0), 1);
        let fabric = (0..shares.len()).filter(|&link| network.graph.is_fabric[link] && shares[link] > 0.0);
        assert!(fabric.clone().all(|link| shares[link] == 1.0 / 8.0), "4 planes of 2 spines");
        assert_eq!(fabric.count(), 2 * 8);
    }
}

#[test]
fn links_that_are_alike_on_all_planes_are_one_resource() {
    for planes in [1, 2, 4] {
        let network = shapes::in_planes(size(), planes);
        let topology = Topology::new(network.graph.clone()).unwrap();
        for balancing in [Balancing::Spray, Balancing::Adaptive] {
            let router = Router::new(&topology, balancing, true, 0);
            assert_eq!(fabric_resources(&router), 2 * 4, "up and down of each of 4 leaves, whatever the planes");
            // A GPU has an NVLink, a link to PCIe and one on to its NIC, whose ports are one: each there and back.
            assert_eq!(router.resources().len(), 2 * 4 + 24 * 4 * 2);
        }
    }
}

#[test]
fn a_receiver_that_lost_a_port_is_sent_to_over_the_planes_left() {
    let network = shapes::in_planes(size(), 4);
    let (receiver, graph) = (*network.nics.last().unwrap(), &network.graph);
    let lost = (0..graph.links()).find(|&link| graph.dst[link] == receiver && graph.src[link] == network.leaves[3]);
    let plan = network.plan.without(lost.unwrap()).without(lost.unwrap() - 1); // both directions of its cable to plane 0
    let network = Network { graph: plan.graph(), plan, ..network };
    let topology = Topology::new(network.graph.clone()).unwrap();
    for balancing in [Balancing::Spray, Balancing::Adaptive] {
        let router = Router::new(&topology, balancing, true, 0);
        let shares = on_ports(&network, &router, across(&network, 0), 1);
        assert_eq!(shares[0], 0.0);
        assert!(shares[1..].iter().all(|&share| (share - 1.0 / 3.0).abs() < 1e-15));
    }
    let router = Router::new(&topology, Balancing::Ecmp, true, 0);
    assert_eq!(on_ports(&network, &router, across(&network, 0), 4)[0], 0.0);
}

#[test]
fn shifts_are_free_of_conflicts_on_every_plane() {
    let network = shapes::in_planes(LeafSpine { servers_per_leaf: 4, gpus_per_server: 1, spines: 4, ..size() }, 2);
    let topology = Topology::new(network.graph.clone()).unwrap();
    let router = Router::new(&topology, Balancing::Pinned, true, 0);
    let count = network.gpus.len();
    for by in 1..count {
        let mut load = vec![0.0; network.graph.links()];
        for from in 0..count {
            let ends = Connection { from: network.gpus[from], to: network.gpus[(from + by) % count], channel: 0 };
            let shares = on_links(&router, ends, 2);
            load.iter_mut().zip(shares).for_each(|(load, share)| *load += share);
        }
        assert!(load.iter().all(|&load| load <= 1.0), "shift by {by}");
    }
}

/// What flows out of each node less what flows in.
fn balance(graph: &Graph, shares: &[f64]) -> Vec<f64> {
    let mut balance = vec![0.0; graph.nodes()];
    for (link, share) in shares.iter().enumerate() {
        balance[graph.src[link] as usize] += share;
        balance[graph.dst[link] as usize] -= share;
    }
    balance
}

proptest! {
    /// All of a connection leaves its sender, all arrives at its receiver, and nothing stays on the way.
    #[test]
    fn what_enters_a_node_leaves_it(
        planes in 1u32..5, leaves in 1u32..4, spines in 1u32..4, links_per_pair in 1u32..3,
        ends in any::<(prop::sample::Index, prop::sample::Index)>(), channel in 0u32..5, qps in 1usize..6, seed: u64,
    ) {
        let network = shapes::in_planes(LeafSpine { leaves, spines, links_per_pair, ..size() }, planes);
        let (from, to) = (ends.0.get(&network.gpus), ends.1.get(&network.gpus));
        prop_assume!(from != to);
        let topology = Topology::new(network.graph.clone()).unwrap();
        for balancing in shapes::BALANCINGS {
            let router = Router::new(&topology, balancing, true, seed);
            let shares = on_links(&router, Connection { from: *from, to: *to, channel }, qps);
            for (node, sum) in balance(&network.graph, &shares).into_iter().enumerate() {
                let expected = f64::from(u8::from(node as u32 == *from)) - f64::from(u8::from(node as u32 == *to));
                prop_assert!((sum - expected).abs() < 1e-12, "node {} of {:?}: {}", node, balancing, sum);
            }
        }
    }
}
