//! Lowering says who sends what to whom: bytes in all, coefficients, weights, latencies, and what it refuses.

mod programs;
mod shapes;

use eastwest_engine::Error;
use eastwest_engine::lower::{self, ChunkGraph, End, Phase, WINDOW, kinds};
use eastwest_engine::program::Algorithm::{
    Bruck, Direct, HalvingDoubling, HierarchicalPipelined, HierarchicalStaged, Nvls, NvlsSharp, NvlsTree, Pxn,
    RailRing, Ring, Sharp, Tree,
};
use eastwest_engine::program::Kind::{AllGather, AllReduce, AllToAll, Broadcast, Reduce, ReduceScatter};
use eastwest_engine::program::{Carriage, Collective, Overheads, QpUse};
use eastwest_engine::routing::{Balancing, Router, Topology};
use programs::collective;
use proptest::prelude::*;
use shapes::{CABLE_PS, LeafSpine, NVLINK_PS, Network, PCIE_PS, leaf_spine};

fn network(servers: u32, gpus: u32) -> Network {
    leaf_spine(LeafSpine {
        leaves: 1,
        servers_per_leaf: servers,
        gpus_per_server: gpus,
        spines: 1,
        links_per_pair: 1,
        rate: 50e9,
    })
}

fn lowered(network: &Network, collective: &Collective, group: &[u32]) -> eastwest_engine::Result<Vec<Phase>> {
    let topology = Topology::new(network.graph.clone())?;
    lower::demands(&Router::new(&topology, Balancing::Ecmp, true, 3), &network.gpus, collective, group)
}

fn cause(result: eastwest_engine::Result<Vec<Phase>>) -> String {
    match result {
        Err(Error::Program(cause)) => cause,
        other => panic!("expected a program error, got {other:?}"),
    }
}

/// Coefficient of a demand on the link from one node to another.
fn on_link(network: &Network, phase: &Phase, demand: usize, from: u32, to: u32) -> f64 {
    let link = (0..network.graph.links()).find(|&at| network.graph.src[at] == from && network.graph.dst[at] == to);
    let (resources, coefficients) = phase.demands.row(demand);
    // With ECMP every link is a resource of its own, in link order.
    resources.iter().position(|&r| r as usize == link.unwrap()).map_or(0.0, |at| coefficients[at])
}

/// The leaf of a one-leaf network.
fn leaf(network: &Network) -> u32 {
    network.leaves[0]
}

proptest! {
    #[test]
    fn no_algorithm_moves_more_than_every_rank_lacks(
        servers in 1u32..5, g in 1u32..5, channels in 1u32..4, bytes in 1e3f64..1e9,
        kind in prop::sample::select(vec![AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, AllToAll]),
        algorithm in prop::sample::select(vec![
            Ring, RailRing, Direct, HierarchicalStaged, HierarchicalPipelined, Tree, HalvingDoubling, Bruck,
        ]),
    ) {
        prop_assume!(kinds(algorithm).contains(&kind));
        // Bruck's all-to-all moves a block once for each bit of its way.
        prop_assume!((kind, algorithm) != (AllToAll, Bruck));
        let n = servers * g;
        let group: Vec<u32> = (0..n).collect();
        let network = network(servers, g);
        let what = collective(kind, algorithm, bytes, channels);
        let moved: f64 = lowered(&network, &what, &group).unwrap().iter().map(|phase| phase.bytes).sum();
        // All ranks but one part of each buffer must get it, and for an all-reduce also give it.
        let expected = f64::from(n - 1) * bytes * if kind == AllReduce { 2.0 } else { 1.0 };
        prop_assert!((moved - expected).abs() <= 1e-9 * expected, "moved {moved}, expected {expected}");

        let topology = Topology::new(network.graph.clone()).unwrap();
        let router = Router::new(&topology, Balancing::Ecmp, true, 3);
        let chunks = lower::chunks(&router, &network.gpus, &what, &group, 5).unwrap();
        let in_chunks: f64 = chunks.bytes.iter().sum();
        prop_assert!((in_chunks - expected).abs() <= 1e-9 * expected, "chunks move {in_chunks}, expected {expected}");
    }
}

#[test]
fn a_ring_channel_is_one_demand_over_all_its_edges() {
    let network = network(4, 1);
    let phases = lowered(&network, &collective(AllReduce, Ring, 8e6, 2), &[0, 2, 1, 3]).unwrap();
    assert_eq!(phases.len(), 1);
    assert_eq!(phases[0].demands.len(), 2);
    assert_eq!(phases[0].demands.work, [6e6, 6e6], "2 (n-1)/n of the channel's 4 MB");
    for nic in &network.nics {
        assert_eq!(on_link(&network, &phases[0], 1, *nic, leaf(&network)), 1.0);
        assert_eq!(on_link(&network, &phases[0], 1, leaf(&network), *nic), 1.0);
    }
}

#[test]
fn a_rail_ring_sends_over_each_nic_for_its_part_of_the_channels() {
    let network = network(3, 2);
    let phases = lowered(&network, &collective(AllGather, RailRing, 8e6, 4), &[0, 1, 2, 3, 4, 5]).unwrap();
    for nic in &network.nics {
        let sent: f64 = (0..4).map(|channel| on_link(&network, &phases[0], channel, *nic, leaf(&network))).sum();
        let received: f64 = (0..4).map(|channel| on_link(&network, &phases[0], channel, leaf(&network), *nic)).sum();
        assert_eq!((sent, received), (2.0, 2.0));
    }
}

#[test]
fn weight_counts_queue_pairs_in_use() {
    let network = network(2, 1);
    let in_turns = Carriage { qps: 8, qp_use: QpUse::RoundRobin, message_bytes: 1e6 };
    let ring = |carriage, bytes| Collective { carriage, ..collective(AllGather, Ring, bytes, 2) };
    let weight = |what| lowered(&network, &what, &[0, 1]).unwrap()[0].demands.weight.clone();
    assert_eq!(weight(ring(Carriage { qp_use: QpUse::Split, ..in_turns }, 4e6)), [8.0, 8.0]);
    // An edge has 1/2 of a channel's 6 MB: three messages.
    assert_eq!(weight(ring(in_turns, 12e6)), [3.0, 3.0]);
    let direct = Collective { carriage: in_turns, ..collective(AllGather, Direct, 12e6, 2) };
    assert_eq!(weight(direct), [6.0, 6.0], "three messages in each of a pair's two channels");
}

#[test]
fn a_ring_has_the_latency_of_its_steps() {
    // GPU, PCIe, NIC, leaf, NIC, PCIe, GPU: four PCIe links and two cables.
    let across = 4 * PCIE_PS + 2 * CABLE_PS;
    let alone = network(3, 1);
    let latency = |network, what, group: &[u32]| lowered(network, &what, group).unwrap()[0].demands.latency[0];
    assert_eq!(latency(&alone, collective(AllReduce, Ring, 1e6, 1), &[0, 1, 2]), 4 * across);
    assert_eq!(latency(&alone, collective(AllGather, Ring, 1e6, 1), &[0, 1, 2]), 2 * across);
    assert_eq!(latency(&alone, collective(Broadcast, Ring, 1e6, 1), &[0, 1, 2]), 2 * across);
    assert_eq!(latency(&alone, collective(AllToAll, Direct, 1e6, 1), &[0, 1, 2]), across);
    // Two servers of two GPUs: two edges of each sort, their mean for each of three steps.
    let paired = network(2, 2);
    let mean = (2 * NVLINK_PS + across) / 2;
    assert_eq!(latency(&paired, collective(AllGather, Ring, 1e6, 1), &[0, 1, 2, 3]), 3 * mean);
}

/// What each hop of a collective costs beyond its path.
const COSTS: Overheads = Overheads { base_s: 1e-3, intra_s: 1e-6, inter_s: 1e-5, ..Overheads::NONE };

/// Latency of a collective over all ranks of `servers` servers of `gpus`, beyond its paths, microseconds.
fn added(servers: u32, gpus: u32, what: &Collective) -> u64 {
    let network = network(servers, gpus);
    let group: Vec<u32> = (0..servers * gpus).collect();
    let latency = |overheads| {
        let phases = lowered(&network, &Collective { overheads, ..what.clone() }, &group).unwrap();
        phases.iter().map(|phase| phase.demands.latency.iter().copied().max().unwrap()).sum::<u64>()
    };
    (latency(COSTS) - latency(Overheads::NONE)) / 1_000_000
}

#[test]
fn a_ring_has_the_overheads_of_its_steps() {
    // NCCL's tuning.cc: of 2 (n-1) steps 2 (m-1) are between servers, the others inside.
    let all_reduce = |servers, gpus| added(servers, gpus, &collective(AllReduce, RailRing, 1e6, 2));
    assert_eq!(all_reduce(4, 2), 1000 + 2 * 3 * 10 + 2 * 4);
    assert_eq!(all_reduce(1, 4), 1000 + 6);
    assert_eq!(all_reduce(4, 1), 1000 + 6 * 10);
    assert_eq!(added(4, 2, &collective(AllGather, RailRing, 1e6, 2)), 1000 + 3 * 10 + 4);
}

#[test]
fn a_tree_has_the_overheads_of_its_depth_twice() {
    // NCCL's tuning.cc: 2 ((g-1) inside + log2(m) between); there the chain hangs below the deepest server.
    let tree = |kind, servers, gpus| added(servers, gpus, &collective(kind, Tree, 1e6, 2));
    assert_eq!(tree(AllReduce, 8, 4), 1000 + 2 * (3 + 3 * 10));
    assert_eq!(tree(AllReduce, 1, 4), 1000 + 2 * 3);
    assert_eq!(tree(Broadcast, 1, 4), 1000 + 3);
}

#[test]
fn a_hop_may_take_less_than_its_path_but_not_less_than_nothing() {
    let network = network(1, 4);
    let latency = |algorithm, intra_s| {
        let overheads = Overheads { base_s: 1e-3, intra_s, ..Overheads::NONE };
        let what = Collective { overheads, ..collective(AllReduce, algorithm, 1e6, 1) };
        lowered(&network, &what, &[0, 1, 2, 3]).unwrap()[0].demands.latency[0]
    };
    // A path of two NVLink hops; a third of it is left, six times in a row.
    let path_s = (2 * NVLINK_PS) as f64 * 1e-12;
    for algorithm in [Ring, Tree] {
        let left = latency(algorithm, -path_s * 2.0 / 3.0) - 1_000_000_000;
        assert!(left.abs_diff(6 * 2 * NVLINK_PS / 3) <= 6, "{left}");
        assert_eq!(latency(algorithm, -path_s * 2.0), 1_000_000_000);
    }
}

#[test]
fn overheads_count_each_phase_but_the_base_once() {
    let added = |algorithm| added(3, 2, &collective(AllReduce, algorithm, 1e6, 1));
    assert_eq!(added(HierarchicalStaged), 1000 + 1 + 4 * 10 + 1, "gather inside, a ring of three, share inside");
    assert_eq!(added(HierarchicalPipelined), 1000 + 1 + 4 * 10 + 1);
    assert_eq!(added(Direct), 1000 + 2 * 10, "both phases wait for a hop between servers");
}

#[test]
fn a_protocol_puts_more_on_the_wire_and_holds_channels_back() {
    let network = network(2, 1);
    let overheads = Overheads { wire: 2.0, channel_rate: 3e9, ..Overheads::NONE };
    let phases = |kind, algorithm| {
        lowered(&network, &Collective { overheads, ..collective(kind, algorithm, 8e6, 2) }, &[0, 1]).unwrap()
    };
    let ring = phases(AllReduce, Ring);
    assert_eq!(on_link(&network, &ring[0], 0, network.nics[0], leaf(&network)), 2.0);
    assert_eq!((ring[0].bytes, &ring[0].demands.cap), (16e6, &vec![3e9; 2]));
    assert_eq!(phases(AllToAll, Direct)[0].demands.cap, [6e9; 2], "a pair has both channels");
    assert_eq!(phases(AllReduce, Tree)[0].demands.cap, [1.5e9; 4], "either tree has half of a channel");
}

#[test]
fn a_collective_that_stands_for_several_waits_as_often_as_they_do() {
    let network = network(4, 2);
    let group: Vec<u32> = (0..8).collect();
    let lower = |kind, algorithm, bytes, repeats| {
        let overheads = Overheads { repeats, ..COSTS };
        lowered(&network, &Collective { overheads, ..collective(kind, algorithm, bytes, 2) }, &group).unwrap()
    };
    for (kind, algorithm) in
        [(AllReduce, RailRing), (AllReduce, Tree), (AllReduce, HierarchicalStaged), (AllToAll, Direct), (AllToAll, Pxn)]
    {
        let (one, five) = (lower(kind, algorithm, 1e6, 1), lower(kind, algorithm, 5e6, 5));
        for (one, five) in one.iter().zip(&five) {
            assert_eq!(five.bytes, 5.0 * one.bytes);
            let latencies = one.demands.latency.iter().zip(&five.demands.latency);
            latencies.for_each(|(&one, &five)| assert!(five.abs_diff(5 * one) <= 5, "{algorithm:?}"));
        }
    }
}

#[test]
fn overheads_that_make_no_sense_are_refused() {
    let network = network(2, 1);
    let refused =
        |overheads| cause(lowered(&network, &Collective { overheads, ..collective(AllReduce, Ring, 1e6, 1) }, &[0, 1]));
    assert!(refused(Overheads { inter_s: f64::NAN, ..COSTS }).contains("hop between servers takes NaN seconds"));
    assert!(refused(Overheads { base_s: -1.0, ..COSTS }).contains("base takes -1 seconds"));
    assert!(refused(Overheads { base_s: f64::NAN, ..COSTS }).contains("base takes NaN seconds"));
    assert!(refused(Overheads { wire: 0.5, ..COSTS }).contains("0.5 bytes on the wire"));
    let what = Collective { nvlink_sharp: 0.0, ..collective(AllReduce, Ring, 1e6, 1) };
    assert!(cause(lowered(&network, &what, &[0, 1])).contains("NVLink SHARP reaches 0"));
    assert!(refused(Overheads { repeats: 0, ..COSTS }).contains("repeats 0 times"));
    assert!(refused(Overheads { channel_rate: 0.0, ..COSTS }).contains("0 bytes a second"));
}

/// Sum of coefficients times work on the link from one node to another, bytes.
fn carried(network: &Network, phases: &[Phase], from: u32, to: u32) -> f64 {
    let of = |phase: &Phase| {
        (0..phase.demands.len())
            .map(|demand| on_link(network, phase, demand, from, to) * phase.demands.work[demand])
            .sum::<f64>()
    };
    phases.iter().map(of).sum()
}

#[test]
fn nvlink_sharp_loads_each_direction_of_nvlink_with_what_passes_there() {
    let network = network(1, 4);
    let switch = network.graph.dst[network.graph.out(network.gpus[0])[0] as usize];
    let loads = |kind, part| {
        let what = Collective { nvlink_sharp: part, ..collective(kind, Nvls, 8e6, 2) };
        let phases = lowered(&network, &what, &[0, 1, 2, 3]).unwrap();
        network
            .gpus
            .iter()
            .map(|&gpu| (carried(&network, &phases, gpu, switch), carried(&network, &phases, switch, gpu)))
            .collect::<Vec<_>>()
    };
    assert_eq!(loads(ReduceScatter, 1.0), [(8e6, 2e6); 4], "all of it to the switch, a part of the sum back");
    assert_eq!(loads(AllGather, 1.0), [(2e6, 8e6); 4]);
    assert_eq!(loads(AllReduce, 1.0), [(10e6, 10e6); 4]);
    assert_eq!(loads(AllReduce, 0.5), [(20e6, 20e6); 4], "a link at half its rate is as one with twice the bytes");
}

#[test]
fn switches_pass_on_one_stream_whatever_the_number_of_servers_below() {
    let network = leaf_spine(LeafSpine {
        leaves: 2,
        servers_per_leaf: 5,
        gpus_per_server: 2,
        spines: 1,
        links_per_pair: 1,
        rate: 50e9,
    });
    let group: Vec<u32> = (0..20).collect();
    for algorithm in [Sharp, NvlsSharp] {
        let phases = lowered(&network, &collective(AllReduce, algorithm, 8e6, 2), &group).unwrap();
        for (&leaf, &spine) in network.leaves.iter().zip([network.spines[0]; 2].iter()) {
            assert_eq!((carried(&network, &phases, leaf, spine), carried(&network, &phases, spine, leaf)), (8e6, 8e6));
        }
        for (nic, &card) in network.nics.iter().enumerate() {
            let leaf = network.leaves[nic / 10];
            assert_eq!((carried(&network, &phases, card, leaf), carried(&network, &phases, leaf, card)), (4e6, 4e6));
        }
    }
}

#[test]
fn a_broadcast_by_sharp_goes_up_from_its_root_and_down_to_the_others() {
    let network = network(4, 1);
    let phases = lowered(&network, &collective(Broadcast, Sharp, 8e6, 1), &[2, 0, 1, 3]).unwrap();
    let leaf = leaf(&network);
    let sent =
        network.nics.iter().map(|&nic| (carried(&network, &phases, nic, leaf), carried(&network, &phases, leaf, nic)));
    assert_eq!(sent.collect::<Vec<_>>(), [(0.0, 8e6), (0.0, 8e6), (8e6, 0.0), (0.0, 8e6)]);
}

#[test]
fn what_passes_a_switch_that_adds_up_is_one_hop() {
    let all_reduce = |algorithm| added(4, 2, &collective(AllReduce, algorithm, 1e6, 1));
    assert_eq!(all_reduce(NvlsSharp), 1000 + 1 + 10 + 1, "load and store inside, up and down between");
    assert_eq!(all_reduce(Sharp), 1000 + 1 + 10 + 1);
    assert_eq!(all_reduce(Nvls), 1000 + 1 + 6 * 10 + 1);
    assert_eq!(all_reduce(NvlsTree), 1000 + 1 + 2 * 2 * 10 + 1);
}

#[test]
fn a_tree_of_switches_goes_no_faster_than_a_port_of_its_nics() {
    let size =
        LeafSpine { leaves: 2, servers_per_leaf: 2, gpus_per_server: 1, spines: 1, links_per_pair: 1, rate: 50e9 };
    let network = shapes::in_planes(size, 4);
    let topology = Topology::new(network.graph.clone()).unwrap();
    let router = Router::new(&topology, Balancing::Spray, true, 3);
    let what =
        |wire| Collective { overheads: Overheads { wire, ..Overheads::NONE }, ..collective(AllReduce, Sharp, 1e6, 1) };
    let cap = |wire| lower::demands(&router, &network.gpus, &what(wire), &[0, 1, 2, 3]).unwrap()[0].demands.cap[0];
    assert_eq!((cap(1.0), cap(2.0)), (50e9, 25e9));
}

#[test]
fn steps_are_the_logarithm_of_the_ranks() {
    let phases = |kind, algorithm, n: u32| {
        lowered(&network(n, 1), &collective(kind, algorithm, 1e6, 1), &(0..n).collect::<Vec<_>>()).unwrap().len()
    };
    assert_eq!([8, 9].map(|n| phases(AllReduce, HalvingDoubling, n)), [6, 8], "a fold at either end");
    assert_eq!([8, 9].map(|n| phases(ReduceScatter, HalvingDoubling, n)), [3, 5]);
    assert_eq!([8, 9].map(|n| phases(AllToAll, Bruck, n)), [3, 4]);
}

#[test]
fn an_all_gather_doubles_from_the_neighbour_and_a_reduce_scatter_halves_towards_it() {
    let network = network(4, 1);
    let work = |kind, algorithm| {
        let phases = lowered(&network, &collective(kind, algorithm, 4e6, 1), &[0, 1, 2, 3]).unwrap();
        phases.iter().map(|phase| phase.demands.work[0]).collect::<Vec<_>>()
    };
    assert_eq!(work(AllGather, HalvingDoubling), [1e6, 2e6]);
    assert_eq!(work(ReduceScatter, HalvingDoubling), [2e6, 1e6]);
    assert_eq!(work(AllReduce, HalvingDoubling), [2e6, 1e6, 1e6, 2e6]);
    assert_eq!(work(AllGather, Bruck), [1e6, 2e6]);
    assert_eq!(work(AllToAll, Bruck), [2e6, 2e6], "half of the blocks have each bit");
}

#[test]
fn a_tree_loads_every_nic_of_two_servers_alike() {
    let network = network(2, 2);
    let phases = lowered(&network, &collective(AllReduce, Tree, 8e6, 2), &[0, 1, 2, 3]).unwrap();
    assert_eq!(phases[0].demands.work, [2e6; 4], "channels x trees, half of a channel's bytes each");
    for nic in &network.nics {
        let sent: f64 = (0..4).map(|demand| on_link(&network, &phases[0], demand, *nic, leaf(&network))).sum();
        assert_eq!(sent, 2.0, "on one tree up to the root, on the other down from it");
    }
}

#[test]
fn a_staged_hierarchy_is_three_phases_and_a_pipelined_one_is_one() {
    let network = network(2, 2);
    let staged = lowered(&network, &collective(AllReduce, HierarchicalStaged, 8e6, 2), &[0, 1, 2, 3]).unwrap();
    let demands: Vec<usize> = staged.iter().map(|phase| phase.demands.len()).collect();
    assert_eq!(demands, [4, 4, 4], "pairs inside; rails x channels; pairs inside");
    let pipelined = lowered(&network, &collective(AllReduce, HierarchicalPipelined, 8e6, 2), &[0, 1, 2, 3]).unwrap();
    assert_eq!(pipelined.len(), 1);
    assert_eq!(pipelined[0].demands.len(), 4, "rails x channels");
}

#[test]
fn nothing_to_send_is_no_phase() {
    let network = network(2, 2);
    for algorithm in [Ring, RailRing, Direct, HierarchicalStaged, HierarchicalPipelined, Tree] {
        assert!(lowered(&network, &collective(AllReduce, algorithm, 0.0, 2), &[0, 1, 2, 3]).unwrap().is_empty());
        assert!(lowered(&network, &collective(AllReduce, algorithm, 1e6, 2), &[3]).unwrap().is_empty());
    }
}

#[test]
fn entries_of_zero_bytes_in_a_matrix_are_no_demands() {
    let matrix = Some(vec![5.0, 1e6, 0.0, 0.0, 0.0, 2e6, 0.0, 0.0, 0.0]);
    let uneven = Collective { matrix, ..collective(AllToAll, Direct, 0.0, 1) };
    let phases = lowered(&network(3, 1), &uneven, &[0, 1, 2]).unwrap();
    assert_eq!(phases[0].demands.work, [1e6, 2e6]);
}

#[test]
fn a_hierarchy_needs_servers_of_equal_size() {
    let cause = cause(lowered(&network(2, 2), &collective(AllReduce, HierarchicalStaged, 1e6, 1), &[0, 1, 2]));
    assert!(cause.contains("the server of rank 0 has 2 and that of rank 2 has 1"), "{cause}");
}

#[test]
fn an_algorithm_that_does_not_fit_the_collective_is_refused() {
    let refused = |kind, algorithm| cause(lowered(&network(2, 2), &collective(kind, algorithm, 1e6, 1), &[0, 1, 2, 3]));
    for algorithm in [Ring, RailRing, HierarchicalStaged, HierarchicalPipelined, Tree] {
        assert!(refused(AllToAll, algorithm).contains("not AllToAll"));
    }
    for kind in [AllReduce, AllGather, ReduceScatter, Broadcast, Reduce] {
        assert!(refused(kind, Pxn).contains("Pxn carries out [AllToAll]"));
    }
    assert!(refused(AllGather, Tree).contains("Tree carries out [AllReduce, Broadcast, Reduce], not AllGather"));
}

#[test]
fn pxn_leaves_by_the_nic_of_the_receivers_rail() {
    let network = network(2, 2);
    let one = |from: usize, to: usize| (0..16).map(|at| if at == from * 4 + to { 1e6 } else { 0.0 }).collect();
    let sent_by = |matrix, group: &[u32]| {
        let what = Collective { matrix: Some(matrix), ..collective(AllToAll, Pxn, 0.0, 1) };
        let phases = lowered(&network, &what, group).unwrap();
        assert_eq!(phases[0].demands.len(), 1);
        network.nics.iter().map(|&nic| on_link(&network, &phases[0], 0, nic, leaf(&network))).collect::<Vec<_>>()
    };
    assert_eq!(sent_by(one(0, 3), &[0, 1, 2, 3]), [0.0, 1.0, 0.0, 0.0], "rank 1 sends for rank 0");
    assert_eq!(sent_by(one(0, 2), &[0, 1, 2, 3]), [1.0, 0.0, 0.0, 0.0], "one rail needs no relay");
    assert_eq!(sent_by(one(0, 1), &[0, 1, 2, 3]), [0.0; 4], "a server's own ranks have NVLink");
    assert_eq!(
        sent_by(vec![0.0, 1e6, 0.0, 0.0], &[0, 3]),
        [1.0, 0.0, 0.0, 0.0],
        "no rank of the group is there to relay"
    );
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let network = network(2, 1);
    let refused = |what: Collective| cause(lowered(&network, &what, &[0, 1]));
    let plain = collective(AllToAll, Direct, 1e6, 1);
    assert!(refused(Collective { bytes: -1.0, ..plain.clone() }).contains("-1 bytes"));
    assert!(refused(Collective { bytes: f64::NAN, ..plain.clone() }).contains("NaN bytes"));
    assert!(refused(Collective { channels: 0, ..plain.clone() }).contains("no channels"));
    assert!(refused(Collective { matrix: Some(vec![1.0; 3]), ..plain.clone() }).contains("needs 4"));
    assert!(refused(Collective { matrix: Some(vec![-1.0; 4]), ..plain.clone() }).contains("-1 bytes"));
    assert!(refused(Collective { matrix: Some(vec![1.0; 4]), kind: AllGather, ..plain.clone() }).contains("AllGather"));
    let by_bruck = Collective { matrix: Some(vec![1.0; 4]), algorithm: Bruck, ..plain.clone() };
    assert!(refused(by_bruck).contains("Direct or Pxn, not by Bruck"));
    let carriage = Carriage { qps: 0, qp_use: QpUse::Split, message_bytes: 1.0 };
    assert!(refused(Collective { carriage, ..plain.clone() }).contains("no queue pairs"));
    let carriage = Carriage { qps: 1, qp_use: QpUse::RoundRobin, message_bytes: 0.0 };
    assert!(refused(Collective { carriage, ..plain }).contains("0 bytes"));
}

#[test]
fn a_chunk_waits_for_what_it_passes_on() {
    let network = network(3, 1);
    let topology = Topology::new(network.graph.clone()).unwrap();
    let router = Router::new(&topology, Balancing::Ecmp, true, 3);
    let ring = collective(AllGather, Ring, 6e6, 1);
    // One slice: edge e makes step 0 as transfer 2e and step 1 as 2e + 1.
    let chunks = lower::chunks(&router, &network.gpus, &ring, &[0, 1, 2], 1).unwrap();
    assert_eq!(chunks.bytes, [2e6; 6]);
    for edge in 0..3 {
        assert!(chunks.after(2 * edge).is_empty());
        let from_upstream = 2 * ((edge + 2) % 3) as u32;
        assert!(chunks.after(2 * edge + 1).contains(&from_upstream));
        assert!(chunks.after(2 * edge + 1).contains(&(2 * edge as u32)));
    }
}

/// Chunks of a collective on four servers of two GPUs.
fn chunked(what: &Collective, group: &[u32], slices: u32) -> ChunkGraph {
    let network = network(4, 2);
    let topology = Topology::new(network.graph.clone()).unwrap();
    let router = Router::new(&topology, Balancing::Ecmp, true, 3);
    lower::chunks(&router, &network.gpus, what, group, slices).unwrap()
}

#[test]
fn a_chain_passes_slices_on_and_does_not_run_ahead_of_the_window() {
    let chunks = chunked(&collective(Broadcast, Ring, 6e6, 1), &[0, 2, 4], 6);
    assert_eq!(chunks.len(), 12, "two edges of six slices");
    for slice in 0..6 {
        assert!(chunks.after(6 + slice).contains(&(slice as u32)), "the second edge sends what the first has brought");
    }
    assert_eq!(WINDOW, 4);
    assert_eq!(chunks.after(3), [2]);
    assert_eq!(chunks.after(4), [3, 6], "four slices later the first must have been passed on");
}

#[test]
fn a_reduce_is_its_broadcast_backwards() {
    for algorithm in [Ring, RailRing, Direct, HierarchicalStaged, HierarchicalPipelined, Tree, Sharp] {
        let edges = |kind| {
            let chunks = chunked(&collective(kind, algorithm, 6e6, 1), &[1, 0, 2, 3, 4, 5], 1);
            chunks.lanes.iter().map(|lane| (lane.from, lane.to, lane.bytes)).collect::<Vec<_>>()
        };
        let back: Vec<_> = edges(Broadcast).into_iter().rev().map(|(from, to, bytes)| (to, from, bytes)).collect();
        assert_eq!(edges(Reduce), back, "{algorithm:?}");
    }
    let chain = chunked(&collective(Reduce, Ring, 6e6, 1), &[0, 2, 4], 1);
    assert_eq!(
        (chain.lanes[1].from, chain.lanes[1].to),
        (End::Rank(2), End::Rank(0)),
        "what the chain has summed ends at the first rank"
    );
    assert_eq!(chain.after(1), [0]);
}

#[test]
fn a_pipelined_hierarchy_reduces_a_slice_before_it_takes_the_rail() {
    let chunks = chunked(&collective(ReduceScatter, HierarchicalPipelined, 8e6, 1), &[0, 1, 2, 3], 1);
    // Each rail: two edges inside the servers, then a ring of two.
    assert_eq!(chunks.len(), 8);
    for rail in [0, 4] {
        let rail_ranks: Vec<End> = (rail..rail + 2).map(|at| chunks.lanes[at].to).collect();
        for (server, &rank) in rail_ranks.iter().enumerate() {
            assert_eq!(chunks.lanes[rail + 2 + server].from, rank);
            assert_eq!(chunks.after(rail + 2 + server), [(rail + server) as u32]);
        }
    }
}

#[test]
fn a_phase_waits_for_all_of_the_one_before() {
    let chunks = chunked(&collective(AllReduce, Direct, 4e6, 1), &[0, 2], 1);
    // Two transfers, a join, two transfers.
    assert_eq!(chunks.lane, [Some(0), Some(1), None, Some(2), Some(3)]);
    assert_eq!(chunks.after(2), [0, 1]);
    assert_eq!((chunks.after(3), chunks.after(4)), (&[2][..], &[2][..]));
}
