//! Static routes: the patterns that they carry without conflict.

mod shapes;

use eastwest_engine::routing::{Balancing, Connection, Router, Topology};
use shapes::{LeafSpine, Network};

/// Most connections that any fabric link carries when GPU `i` sends to GPU `i + by`.
fn worst_link(network: &Network, by: usize) -> f64 {
    let topology = Topology::new(network.graph.clone()).unwrap();
    let router = Router::new(&topology, Balancing::Pinned, true, 0);
    let count = network.gpus.len();
    let mut load = vec![0.0; network.graph.links()];
    let mut legs = Vec::new();
    for from in 0..count {
        let (from, to) = (network.gpus[from], network.gpus[(from + by) % count]);
        router.connect(Connection { from, to, channel: 0 }, &[0.5, 0.5], &mut legs).unwrap();
    }
    legs.iter().for_each(|leg| load[leg.resource as usize] += leg.share);
    (0..load.len()).filter(|&link| network.graph.is_fabric[link]).map(|link| load[link]).fold(0.0, f64::max)
}

fn two_tiers(spines: u32, links_per_pair: u32) -> Network {
    shapes::leaf_spine(LeafSpine {
        leaves: 4,
        servers_per_leaf: 8,
        gpus_per_server: 1,
        spines,
        links_per_pair,
        rate: 50e9,
    })
}

#[test]
fn shifts_over_a_non_blocking_leaf_spine_are_free_of_conflicts() {
    for network in [two_tiers(8, 1), two_tiers(4, 2), two_tiers(2, 4)] {
        for by in 1..32 {
            assert_eq!(worst_link(&network, by), 1.0, "shift by {by}");
        }
    }
}

#[test]
fn shifts_over_a_fat_tree_are_free_of_conflicts() {
    let network = shapes::fat_tree(6, 50e9);
    for by in 1..54 {
        assert_eq!(worst_link(&network, by), 1.0, "shift by {by}");
    }
}

#[test]
fn a_two_to_one_leaf_carries_two_connections_a_link() {
    let network = two_tiers(4, 1);
    assert_eq!(worst_link(&network, 8), 2.0);
}

#[test]
fn all_senders_take_the_same_way_down_to_a_destination() {
    let network = two_tiers(8, 1);
    let topology = Topology::new(network.graph.clone()).unwrap();
    let router = Router::new(&topology, Balancing::Pinned, true, 0);
    let last_hop = |from: usize| {
        let mut legs = Vec::new();
        let connection = Connection { from: network.gpus[from], to: network.gpus[31], channel: from as u32 };
        router.connect(connection, &[1.0], &mut legs).unwrap();
        legs[4].resource // up to PCIe, NIC, leaf, spine; then down
    };
    assert!((1..24).all(|from| last_hop(from) == last_hop(0)));
}
