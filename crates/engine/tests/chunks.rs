//! A collective's two lowerings agree: its chunks, moved one by one, take the time that its demands do.

mod shapes;

use eastwest_engine::lower::{self, WINDOW};
use eastwest_engine::program::{Algorithm, Carriage, Collective, Kind, Op, Program, QpUse, Work};
use eastwest_engine::routing::{Balancing, Router, Topology};
use eastwest_engine::schedule::{Fidelity, RunOptions, run, run_chunks};
use proptest::prelude::*;
use shapes::{LeafSpine, leaf_spine, rail_optimized};

/// A random case: network, ranks and collective.
#[derive(Clone, Debug)]
struct Case {
    is_rail_optimized: bool,
    leaves: u32,
    gpus: u32,
    spines: u32,
    /// Factor for the rate of each cable, taken in turn.
    speeds: Vec<f64>,
    balancing: Balancing,
    group: Vec<u32>,
    collective: Collective,
    seed: u64,
}

const KINDS: [Kind; 5] = [Kind::AllReduce, Kind::AllGather, Kind::ReduceScatter, Kind::AllToAll, Kind::Broadcast];
const ALGORITHMS: [Algorithm; 5] = [
    Algorithm::Ring,
    Algorithm::RailRing,
    Algorithm::Direct,
    Algorithm::HierarchicalStaged,
    Algorithm::HierarchicalPipelined,
];

fn case() -> impl Strategy<Value = Case> {
    let network = (any::<bool>(), 1u32..3, prop::sample::select(vec![1u32, 2, 4]), 1u32..4);
    let speeds = prop::collection::vec(0.4f64..2.0, 1..20);
    let balancing =
        prop::sample::select(vec![Balancing::Ecmp, Balancing::Spray, Balancing::Adaptive, Balancing::Pinned]);
    let what = (prop::sample::select(KINDS.to_vec()), prop::sample::select(ALGORITHMS.to_vec()));
    let how = (1u32..4, 1u32..4, any::<bool>(), 1e3f64..1e6);
    (
        network,
        speeds,
        balancing,
        what,
        how,
        any::<u64>(),
        any::<prop::sample::Index>(),
        Just((0..16u32).collect::<Vec<_>>()).prop_shuffle(),
    )
        .prop_map(|(network, speeds, balancing, (kind, algorithm), how, seed, size, order)| {
            let (is_rail_optimized, leaves, gpus, spines) = network;
            let (channels, qps, in_turns, bytes) = how;
            let leaves = if is_rail_optimized { leaves * gpus } else { leaves };
            let ranks = ranks_of(is_rail_optimized, leaves, gpus);
            let algorithm = if kind == Kind::AllToAll { Algorithm::Direct } else { algorithm };
            let hierarchical = matches!(algorithm, Algorithm::HierarchicalStaged | Algorithm::HierarchicalPipelined);
            let size = if hierarchical { ranks as usize } else { 2 + size.index(ranks as usize - 1) };
            let group = order.into_iter().filter(|&rank| rank < ranks).take(size).collect();
            let qp_use = if in_turns { QpUse::RoundRobin } else { QpUse::Split };
            let carriage = Carriage { qps, qp_use, message_bytes: 4096.0 };
            let collective = Collective { kind, algorithm, bytes: bytes * 1e3, matrix: None, channels, carriage };
            Case { is_rail_optimized, leaves, gpus, spines, speeds, balancing, group, collective, seed }
        })
}

/// Up to four servers on a leaf, and at most 16 GPUs in all.
fn size(is_rail_optimized: bool, leaves: u32, gpus: u32, spines: u32) -> LeafSpine {
    let units = if is_rail_optimized { leaves / gpus } else { leaves };
    let servers_per_leaf = (16 / (units * gpus)).min(4);
    LeafSpine { leaves, servers_per_leaf, gpus_per_server: gpus, spines, links_per_pair: 1, rate: 50e9 }
}

fn ranks_of(is_rail_optimized: bool, leaves: u32, gpus: u32) -> u32 {
    let units = if is_rail_optimized { leaves / gpus } else { leaves };
    units * size(is_rail_optimized, leaves, gpus, 1).servers_per_leaf * gpus
}

/// Times of the demands and of the chunks.
fn both(case: &Case) -> (f64, f64) {
    let size = size(case.is_rail_optimized, case.leaves, case.gpus, case.spines);
    let network = if case.is_rail_optimized { rail_optimized(size) } else { leaf_spine(size) };
    let mut plan = network.plan;
    plan.latency.fill(0);
    for (cable, speed) in (0..plan.rate.len() / 2).zip(case.speeds.iter().cycle()) {
        plan.rate[2 * cable] *= speed;
        plan.rate[2 * cable + 1] *= speed;
    }
    let graph = plan.graph();
    let topology = Topology::new(&graph).unwrap();
    let options =
        RunOptions { fidelity: Fidelity::Fluid, balancing: case.balancing, per_switch_seeds: true, tolerance: 0.0 };
    let work = Work::Collective { groups: vec![case.group.clone()], collective: case.collective.clone() };
    let program =
        Program { gpu: network.gpus.clone(), ops: vec![Op { after: vec![], queue: 1, work }], overlap_slowdown: 1.0 };
    let demands = run(&topology, &program, &options, case.seed).unwrap().step;
    let router = Router::new(&topology, case.balancing, true, case.seed);
    let slices = slices(&case.collective, case.group.len());
    let chunks = lower::chunks(&router, &network.gpus, &case.collective, &case.group, slices).unwrap();
    let moved = run_chunks(&topology, &network.gpus, &chunks, &options, case.seed).unwrap();
    (demands as f64, moved as f64)
}

/// Slices that keep the filling of pipelines, which demands leave out, below 1 %: a chain of `n` ranks takes `n - 2` slices
/// until its last rank has the first one, a pipelined hierarchy about three windows from stage to stage.
fn slices(collective: &Collective, ranks: usize) -> u32 {
    match (collective.kind, collective.algorithm) {
        (Kind::Broadcast, _) => 200 * ranks as u32,
        (_, Algorithm::HierarchicalPipelined) => 80 * WINDOW,
        _ => 20 * WINDOW,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn chunks_take_as_long_as_demands(case in case()) {
        let (demands, chunks) = both(&case);
        let gap = chunks / demands - 1.0;
        prop_assert!(gap.abs() < 0.01, "demands {demands} ps, chunks {chunks} ps");
    }
}
