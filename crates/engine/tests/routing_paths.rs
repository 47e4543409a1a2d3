//! Distances, ways between GPUs and what happens where there is none.

mod shapes;

use eastwest_engine::Error;
use eastwest_engine::graph::NodeKind;
use eastwest_engine::routing::{Balancing, Connection, Leg, Router, Topology};
use shapes::{CABLE_PS, LeafSpine, NVLINK_PS, PCIE_PS, Plan};

const RATE: f64 = 50e9;

fn small() -> LeafSpine {
    LeafSpine { leaves: 2, servers_per_leaf: 2, gpus_per_server: 2, spines: 2, links_per_pair: 1, rate: RATE }
}

fn connection(from: u32, to: u32, channel: u32) -> Connection {
    Connection { from, to, channel }
}

/// (source, destination) nodes of the links that a connection crosses, over ECMP with one queue pair.
fn crossed(topology: &Topology, connection: Connection) -> Vec<(u32, u32)> {
    let mut legs = Vec::new();
    let router = Router::new(topology, Balancing::Ecmp, true, 0);
    router.connect(connection, &[1.0], &mut legs).expect("a path");
    let graph = topology.graph();
    let link = |leg: &Leg| router.resources().links(leg.resource)[0] as usize;
    legs.iter().map(|leg| (graph.src[link(leg)], graph.dst[link(leg)])).collect()
}

#[test]
fn a_fat_tree_has_hops_0_2_and_4_between_leaves() {
    let network = shapes::fat_tree(6, RATE);
    let topology = Topology::new(network.graph.clone()).unwrap();
    for (i, &a) in network.leaves.iter().enumerate() {
        for (j, &b) in network.leaves.iter().enumerate() {
            let expected = if i == j {
                0
            } else if i / 3 == j / 3 {
                2
            } else {
                4
            };
            assert_eq!(topology.hops(a, b), Some(expected));
        }
        // A core is two hops above every leaf.
        assert_eq!(topology.hops(network.cores[i % 9], a), Some(2));
    }
    assert_eq!(topology.hops(network.leaves[0], network.spines[0]), None, "no NIC plugs into a spine");
    assert_eq!(topology.hops(network.gpus[0], network.leaves[0]), None, "a GPU is no switch");
}

#[test]
fn gpus_of_one_domain_talk_over_nvlink() {
    let network = shapes::leaf_spine(small());
    let topology = Topology::new(network.graph.clone()).unwrap();
    let (a, b) = (network.gpus[0], network.gpus[1]);
    let nvswitch = topology.domain(a).unwrap();
    assert_eq!(network.graph.kind[nvswitch as usize], NodeKind::NvSwitch);
    assert_eq!(topology.domain(b).unwrap(), nvswitch);
    assert_ne!(topology.domain(network.gpus[2]).unwrap(), nvswitch);
    assert_eq!([a, b].map(|gpu| topology.local_index(gpu).unwrap()), [0, 1]);
    assert_eq!(crossed(&topology, connection(a, b, 0)), [(a, nvswitch), (nvswitch, b)]);
}

#[test]
fn a_connection_to_another_leaf_crosses_every_stage_once() {
    let network = shapes::leaf_spine(small());
    let topology = Topology::new(network.graph.clone()).unwrap();
    let (from, to) = (1, 6);
    let path = crossed(&topology, connection(network.gpus[from], network.gpus[to], 0));
    assert_eq!(path.len(), 8);
    assert!(path.windows(2).all(|step| step[0].1 == step[1].0), "links join end to end");
    assert_eq!(path[1].1, network.nics[from]);
    assert_eq!(path[2].1, network.leaves[0]);
    assert!(network.spines.contains(&path[3].1));
    assert_eq!(path[4].1, network.leaves[1]);
    assert_eq!(path[5].1, network.nics[to]);
    assert_eq!(path[7].1, network.gpus[to]);
}

#[test]
fn latency_is_the_sum_over_the_path() {
    let network = shapes::leaf_spine(small());
    let topology = Topology::new(network.graph.clone()).unwrap();
    let gpus = &network.gpus;
    for balancing in shapes::BALANCINGS {
        let router = Router::new(&topology, balancing, true, 3);
        let latency = |to| router.connect(connection(gpus[0], to, 0), &[0.5, 0.5], &mut Vec::new()).unwrap();
        assert_eq!(latency(gpus[0]), 0);
        assert_eq!(latency(gpus[1]), 2 * NVLINK_PS);
        assert_eq!(latency(gpus[2]), 4 * PCIE_PS + 2 * CABLE_PS);
        assert_eq!(latency(gpus[4]), 4 * PCIE_PS + 4 * CABLE_PS);
    }
}

#[test]
fn latency_is_that_of_the_longest_of_all_sprayed_paths() {
    let mut plan = shapes::leaf_spine(small()).plan;
    let slow = plan.is_fabric.iter().rposition(|&fabric| fabric).unwrap(); // from the last spine to the last leaf
    plan.latency[slow - 1] += 7; // from leaf 1 to spine 1
    let graph = plan.graph();
    let topology = Topology::new(graph.clone()).unwrap();
    let gpus: Vec<u32> = (0..graph.nodes() as u32).filter(|&node| graph.kind[node as usize] == NodeKind::Gpu).collect();
    let router = Router::new(&topology, Balancing::Spray, true, 0);
    let latency = router.connect(connection(gpus[4], gpus[0], 0), &[1.0], &mut Vec::new()).unwrap();
    assert_eq!(latency, 4 * PCIE_PS + 4 * CABLE_PS + 7);
}

#[test]
fn gpus_without_nvlink_meet_in_the_pcie_node_that_they_share() {
    let mut plan = Plan::default();
    let gpus = plan.nodes(NodeKind::Gpu, 2);
    let pcie = plan.node(NodeKind::Pcie);
    gpus.iter().for_each(|&gpu| plan.cable(gpu, pcie, RATE));
    let graph = plan.graph();
    let topology = Topology::new(graph.clone()).unwrap();
    assert_eq!(topology.domain(gpus[1]).unwrap(), gpus[1]);
    assert_eq!(topology.local_index(gpus[1]).unwrap(), 0);
    assert_eq!(crossed(&topology, connection(gpus[0], gpus[1], 0)), [(gpus[0], pcie), (pcie, gpus[1])]);
}

#[test]
fn gpus_that_share_only_a_nic_turn_in_it() {
    let mut plan = Plan::default();
    let gpus = plan.nodes(NodeKind::Gpu, 2);
    let pcie = plan.nodes(NodeKind::Pcie, 2);
    let nic = plan.node(NodeKind::Nic);
    let leaf = plan.node(NodeKind::Switch);
    plan.cable(nic, leaf, RATE);
    for i in 0..2 {
        plan.cable(gpus[i], pcie[i], RATE);
        plan.cable(pcie[i], nic, RATE);
    }
    let graph = plan.graph();
    let path = crossed(&Topology::new(graph.clone()).unwrap(), connection(gpus[0], gpus[1], 0));
    assert_eq!(path, [(gpus[0], pcie[0]), (pcie[0], nic), (nic, pcie[1]), (pcie[1], gpus[1])]);
}

/// Two GPUs in separate servers, each with two NICs of one port; port `i` of both goes to leaf `i`. The leaves are joined
/// or not.
fn dual_plane(are_joined: bool) -> (Plan, [u32; 2], [u32; 2]) {
    let mut plan = Plan::default();
    let leaves = [plan.node(NodeKind::Switch), plan.node(NodeKind::Switch)];
    let gpus = [0, 1].map(|_| {
        let (gpu, pcie) = (plan.node(NodeKind::Gpu), plan.node(NodeKind::Pcie));
        plan.cable(gpu, pcie, RATE);
        for leaf in leaves {
            let nic = plan.node(NodeKind::Nic);
            plan.cable(pcie, nic, RATE);
            plan.cable(nic, leaf, RATE);
        }
        gpu
    });
    if are_joined {
        plan.cable(leaves[0], leaves[1], RATE);
    }
    (plan, gpus, leaves)
}

#[test]
fn channels_take_turns_over_the_nics_and_keep_to_a_rail() {
    let (plan, gpus, leaves) = dual_plane(true);
    let graph = plan.graph();
    let topology = Topology::new(graph.clone()).unwrap();
    for channel in 0..4 {
        let path = crossed(&topology, connection(gpus[0], gpus[1], channel));
        assert_eq!(path.len(), 6, "no hop between the leaves");
        assert_eq!(path[2].1, leaves[channel as usize % 2]);
    }
}

#[test]
fn a_port_whose_plane_does_not_reach_the_receiver_is_passed_over() {
    let (mut plan, gpus, leaves) = dual_plane(false);
    let receiver_port = (0..plan.src.len()).filter(|&link| plan.dst[link] == leaves[0]).nth(1).unwrap();
    plan = plan.without(receiver_port + 1).without(receiver_port); // the receiver's cable to leaf 0
    let graph = plan.graph();
    let topology = Topology::new(graph.clone()).unwrap();
    for channel in 0..2 {
        assert_eq!(crossed(&topology, connection(gpus[0], gpus[1], channel))[2].1, leaves[1]);
    }
}

#[test]
fn gpus_that_share_their_nics_start_on_different_ones() {
    let mut plan = Plan::default();
    let leaf = plan.node(NodeKind::Switch);
    let (other, _) = plan.server(1);
    let other_nic = plan.kind.len() as u32 - 1;
    plan.cable(other_nic, leaf, RATE);
    let gpus = plan.nodes(NodeKind::Gpu, 2);
    let pcie = plan.node(NodeKind::Pcie);
    let nics = plan.nodes(NodeKind::Nic, 2);
    gpus.iter().for_each(|&gpu| plan.cable(gpu, pcie, RATE));
    for &nic in &nics {
        plan.cable(pcie, nic, RATE);
        plan.cable(nic, leaf, RATE);
    }
    let graph = plan.graph();
    let topology = Topology::new(graph.clone()).unwrap();
    let first = [0, 1].map(|gpu| crossed(&topology, connection(gpus[gpu], other[0], 0))[1].1);
    assert_eq!(first, [nics[0], nics[1]]);
}

#[test]
fn unreachable_gpus_are_named_when_they_are_to_talk() {
    let (plan, gpus, _) = dual_plane(true);
    let mut plan = plan;
    let (lone, _) = plan.server(1); // its NIC is plugged into nothing
    let graph = plan.graph();
    let topology = Topology::new(graph.clone()).expect("no error until a connection needs the path");
    for balancing in shapes::BALANCINGS {
        let router = Router::new(&topology, balancing, true, 0);
        let mut legs = Vec::new();
        let error = router.connect(connection(gpus[1], lone[0], 0), &[1.0], &mut legs).unwrap_err();
        assert_eq!(error, Error::Unreachable { from: gpus[1], to: lone[0] });
        assert!(legs.is_empty());
    }
}

#[test]
fn a_node_that_is_no_gpu_is_refused() {
    let (plan, gpus, leaves) = dual_plane(true);
    let graph = plan.graph();
    let topology = Topology::new(graph.clone()).unwrap();
    let router = Router::new(&topology, Balancing::Ecmp, true, 0);
    for node in [leaves[0], 1000] {
        let error = router.connect(connection(gpus[0], node, 0), &[1.0], &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), format!("node {node} is no GPU"));
    }
}

#[test]
fn a_cable_with_one_direction_is_refused() {
    let (plan, ..) = dual_plane(true);
    let graph = plan.without(1).graph(); // from PCIe back to the first GPU
    let error = Topology::new(graph.clone()).err().expect("an error");
    assert_eq!(error.to_string(), "link 0 from node 2 to node 3 has no link back");
}
