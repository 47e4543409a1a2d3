//! A collective's two lowerings agree: its chunks, moved one by one, take the time that its demands do.

mod programs;
mod shapes;

use eastwest_engine::lower::{self, ChunkGraph, WINDOW};
use eastwest_engine::program::{Algorithm, Carriage, Collective, Kind, Overheads, QpUse};
use eastwest_engine::routing::{Balancing, Router, Topology};
use eastwest_engine::schedule::{run, run_chunks};
use programs::{options, over, program};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use shapes::{LeafSpine, leaf_spine, rail_optimized};

/// A random case: a network, and collectives that start together on it.
#[derive(Clone, Debug)]
struct Case {
    is_rail_optimized: bool,
    size: LeafSpine,
    /// Factors for the rates of cables, taken in turn.
    speeds: Vec<f64>,
    balancing: Balancing,
    jobs: Vec<(Vec<u32>, Collective)>,
    seed: u64,
}

const KINDS: [Kind; 6] =
    [Kind::AllReduce, Kind::AllGather, Kind::ReduceScatter, Kind::AllToAll, Kind::Broadcast, Kind::Reduce];
const ALGORITHMS: [Algorithm; 13] = [
    Algorithm::Ring,
    Algorithm::RailRing,
    Algorithm::Direct,
    Algorithm::Pxn,
    Algorithm::HierarchicalStaged,
    Algorithm::HierarchicalPipelined,
    Algorithm::Tree,
    Algorithm::HalvingDoubling,
    Algorithm::Bruck,
    Algorithm::Nvls,
    Algorithm::NvlsTree,
    Algorithm::Sharp,
    Algorithm::NvlsSharp,
];

/// A two-tier network of at most 16 GPUs.
fn network() -> impl Strategy<Value = (bool, LeafSpine)> {
    (any::<bool>(), 1u32..3, prop::sample::select(vec![1u32, 2, 4]), 1u32..4).prop_map(
        |(is_rail, units, gpus, spines)| {
            let leaves = if is_rail { units * gpus } else { units };
            let servers_per_leaf = (16 / (units * gpus)).min(4);
            (
                is_rail,
                LeafSpine { leaves, servers_per_leaf, gpus_per_server: gpus, spines, links_per_pair: 1, rate: 50e9 },
            )
        },
    )
}

/// A collective over some of the ranks in any order; over all of them where servers must be full.
fn job(ranks: u32) -> impl Strategy<Value = (Vec<u32>, Collective)> {
    let what = prop::sample::select(KINDS.to_vec()).prop_flat_map(|kind| {
        let fits = |algorithm: &Algorithm| lower::kinds(*algorithm).contains(&kind);
        (Just(kind), prop::sample::select(ALGORITHMS.into_iter().filter(fits).collect::<Vec<_>>()))
    });
    let carriage = (1u32..4, any::<bool>());
    let order = Just((0..ranks).collect::<Vec<_>>()).prop_shuffle();
    (what, carriage, 1u32..4, 1e8f64..1e9, order, 2..=ranks as usize).prop_map(
        |((kind, algorithm), (qps, in_turns), channels, bytes, order, size)| {
            let is_full = matches!(
                algorithm,
                Algorithm::HierarchicalStaged
                    | Algorithm::HierarchicalPipelined
                    | Algorithm::Nvls
                    | Algorithm::NvlsTree
                    | Algorithm::Sharp
                    | Algorithm::NvlsSharp
            );
            let group = order[..if is_full { order.len() } else { size }].to_vec();
            let qp_use = if in_turns { QpUse::RoundRobin } else { QpUse::Split };
            let carriage = Carriage { qps, qp_use, message_bytes: 4e6 };
            (
                group,
                Collective {
                    kind,
                    algorithm,
                    bytes,
                    matrix: None,
                    channels,
                    carriage,
                    overheads: Overheads::NONE,
                    nvlink_sharp: 1.0,
                },
            )
        },
    )
}

fn case(jobs: usize) -> impl Strategy<Value = Case> {
    let speeds = prop::collection::vec(0.4f64..2.0, 1..20);
    let balancing = prop::sample::select(shapes::BALANCINGS.to_vec());
    (network(), speeds, balancing, any::<u64>()).prop_flat_map(
        move |((is_rail_optimized, size), speeds, balancing, seed)| {
            let leaves_per_unit = if is_rail_optimized { size.gpus_per_server } else { 1 };
            let ranks = size.leaves / leaves_per_unit * size.servers_per_leaf * size.gpus_per_server;
            prop::collection::vec(job(ranks), jobs).prop_map(move |jobs| {
                let speeds = speeds.clone();
                Case { is_rail_optimized, size, speeds, balancing, jobs, seed }
            })
        },
    )
}

/// End of each collective, run as demands and as chunks.
fn both(case: &Case) -> Vec<(f64, f64)> {
    let network = if case.is_rail_optimized { rail_optimized(case.size) } else { leaf_spine(case.size) };
    let mut plan = network.plan;
    plan.latency.fill(0);
    for (cable, speed) in (0..plan.rate.len() / 2).zip(case.speeds.iter().cycle()) {
        plan.rate[2 * cable] *= speed;
        plan.rate[2 * cable + 1] *= speed;
    }
    let (graph, gpus) = (plan.graph(), &network.gpus);
    let topology = Topology::new(graph.clone()).unwrap();
    let options = options(case.balancing);
    let queues = case.jobs.iter().zip(1..);
    let ops = queues.map(|((group, collective), queue)| over(queue, vec![group.clone()], collective.clone(), &[]));
    let demands = run(&topology, &program(gpus, ops.collect()), &options, case.seed).unwrap().op_end;
    let router = Router::new(&topology, case.balancing, options.per_switch_seeds, case.seed);
    let chunks: Vec<ChunkGraph> = (case.jobs.iter())
        .map(|(group, what)| lower::chunks(&router, gpus, what, group, slices(what, group.len())).unwrap())
        .collect();
    let chunks = run_chunks(&topology, gpus, &chunks, &options, case.seed).unwrap();
    demands.iter().zip(chunks).map(|(&demands, chunks)| (demands as f64, chunks as f64)).collect()
}

/// Slices that keep the filling of pipelines, which demands leave out, below 1 %: a chain of `n` ranks takes `n - 2`
/// slices until its last edge starts, a pipelined hierarchy about three windows from stage to stage.
fn slices(collective: &Collective, ranks: usize) -> u32 {
    match (collective.kind, collective.algorithm) {
        (Kind::Broadcast | Kind::Reduce, _) | (_, Algorithm::Tree | Algorithm::NvlsTree) => 200 * ranks as u32,
        (_, Algorithm::HierarchicalPipelined | Algorithm::Pxn | Algorithm::Nvls | Algorithm::Sharp) => 80 * WINDOW,
        (_, Algorithm::NvlsSharp) => 240 * WINDOW,
        _ => 20 * WINDOW,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn chunks_take_as_long_as_demands(case in case(1)) {
        for (demands, chunks) in both(&case) {
            prop_assert!((chunks / demands - 1.0).abs() < 0.01, "demands {demands} ps, chunks {chunks} ps");
        }
    }
}

/// Collectives that compete agree too, but for bursts (see `eastwest_engine::lower::chunks`).
#[test]
fn competing_collectives_nearly_always_end_at_the_same_times() {
    let mut runner = TestRunner::deterministic();
    let (mut close, mut all) = (0, 0);
    for _ in 0..100 {
        let case = case(2).new_tree(&mut runner).unwrap().current();
        for (demands, chunks) in both(&case) {
            all += 1;
            close += u32::from((chunks / demands - 1.0).abs() < 0.01);
        }
    }
    assert!(f64::from(close) >= 0.95 * f64::from(all), "only {close} of {all} ends agree within 1 %");
}
