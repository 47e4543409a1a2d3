//! Ways to switches that add up: NVLink one way, and trees in which each switch passes on one stream.

mod shapes;

use std::collections::HashSet;

use eastwest_engine::Error;
use eastwest_engine::graph::NodeKind;
use eastwest_engine::routing::{Balancing, Leg, Router, Topology};
use proptest::prelude::*;
use shapes::{CABLE_PS, LeafSpine, NVLINK_PS, Network, PCIE_PS, fat_tree, in_planes, leaf_spine};

const SIZE: LeafSpine =
    LeafSpine { leaves: 4, servers_per_leaf: 3, gpus_per_server: 2, spines: 3, links_per_pair: 2, rate: 50e9 };

/// Links that a tree over all of `gpus` crosses upwards and downwards; with ECMP a resource is a link.
fn crossed(network: &Network, gpus: &[u32], channel: u32, turn: u32) -> [Vec<u32>; 2] {
    let topology = Topology::new(network.graph.clone()).unwrap();
    let router = Router::new(&topology, Balancing::Ecmp, true, 1);
    let tree = router.aggregation_tree(gpus, channel, turn).unwrap();
    let (mut up, mut down) = (Vec::new(), Vec::new());
    tree.up(&router, 0..gpus.len(), &mut up);
    tree.down(&router, 0..gpus.len(), &mut down);
    [up, down].map(|legs| legs.iter().map(|leg: &Leg| leg.resource).collect())
}

proptest! {
    #[test]
    fn every_switch_passes_one_stream_up_and_the_way_down_is_the_same_backwards(
        picked in prop::collection::vec(any::<bool>(), 24), turn in 0u32..50, is_three_tier in any::<bool>()
    ) {
        let network = if is_three_tier { fat_tree(4, 50e9) } else { leaf_spine(SIZE) };
        let gpus: Vec<u32> = network.gpus.iter().zip(&picked).filter(|(_, picked)| **picked).map(|(gpu, _)| *gpu).collect();
        prop_assume!(!gpus.is_empty());
        let [up, down] = crossed(&network, &gpus, 0, turn);
        let graph = &network.graph;
        let unique: HashSet<u32> = up.iter().copied().collect();
        prop_assert_eq!(unique.len(), up.len(), "no link twice");
        let backwards: HashSet<(u32, u32)> = down.iter().map(|&link| (graph.dst[link as usize], graph.src[link as usize])).collect();
        let upwards: HashSet<(u32, u32)> = up.iter().map(|&link| (graph.src[link as usize], graph.dst[link as usize])).collect();
        prop_assert_eq!(&upwards, &backwards);
        // A tree: every node but the root has one way out, and all members lead to one root.
        let senders: HashSet<u32> = upwards.iter().map(|&(from, _)| from).collect();
        prop_assert_eq!(senders.len(), upwards.len());
        let roots: HashSet<u32> = upwards.iter().map(|&(_, to)| to).filter(|to| !senders.contains(to)).collect();
        prop_assert_eq!(roots.len(), 1);
        prop_assert!(roots.iter().all(|&root| graph.kind[root as usize] == NodeKind::Switch));
    }
}

#[test]
fn turns_take_all_roots_and_then_all_parallel_links() {
    let network = leaf_spine(SIZE);
    let used: HashSet<u32> = (0..6)
        .flat_map(|turn| crossed(&network, &network.gpus, 0, turn)[0].clone())
        .filter(|&link| network.graph.is_fabric[link as usize])
        .collect();
    assert_eq!(used.len(), 4 * 3 * 2, "every uplink of four leaves");
}

#[test]
fn members_behind_one_leaf_meet_there() {
    let network = leaf_spine(SIZE);
    let [up, _] = crossed(&network, &network.gpus[..6], 0, 3);
    assert_eq!(up.len(), 6 * 3, "PCIe, NIC and leaf of each, and nothing above");
}

#[test]
fn a_tree_takes_one_port_of_each_nic_and_its_rate() {
    let network = in_planes(SIZE, 4);
    let topology = Topology::new(network.graph.clone()).unwrap();
    for balancing in [Balancing::Ecmp, Balancing::Spray] {
        let router = Router::new(&topology, balancing, true, 1);
        let port = network
            .graph
            .out(network.nics[0])
            .iter()
            .find(|&&link| network.leaves.contains(&network.graph.dst[link as usize]));
        let tree = router.aggregation_tree(&network.gpus, 2, 0).unwrap();
        assert_eq!(tree.port_rate, network.graph.rate[*port.unwrap() as usize]);
    }
    let ports: HashSet<u32> = (0..4)
        .flat_map(|channel| crossed(&network, &network.gpus, channel, 0)[0].clone())
        .filter(|&link| network.graph.src[link as usize] == network.nics[0])
        .collect();
    assert_eq!(ports.len(), 4, "channels take turns over planes");
}

#[test]
fn a_way_takes_the_latency_of_its_links() {
    let network = leaf_spine(SIZE);
    let topology = Topology::new(network.graph.clone()).unwrap();
    let router = Router::new(&topology, Balancing::Spray, true, 1);
    let tree = router.aggregation_tree(&network.gpus, 0, 0).unwrap();
    assert_eq!(tree.up(&router, 0..1, &mut vec![]), 2 * PCIE_PS + 2 * CABLE_PS, "PCIe twice, leaf, spine");
    let [(up, there), (down, back)] = router.nvlink(network.gpus[0]).unwrap();
    assert_eq!((there, back), (NVLINK_PS, NVLINK_PS));
    assert_ne!(up.resource, down.resource);
}

#[test]
fn members_that_no_switch_joins_and_gpus_without_nvlink_are_told() {
    let apart = leaf_spine(LeafSpine { spines: 0, gpus_per_server: 1, ..SIZE });
    let topology = Topology::new(apart.graph.clone()).unwrap();
    let router = Router::new(&topology, Balancing::Spray, true, 1);
    assert!(matches!(router.aggregation_tree(&apart.gpus, 0, 0), Err(Error::Unreachable { .. })));
    assert!(matches!(router.nvlink(apart.gpus[0]), Err(Error::Graph(cause)) if cause.contains("has no NVLink switch")));
}
