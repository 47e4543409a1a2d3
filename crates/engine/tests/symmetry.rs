//! Work that is alike is computed once: the outcome is that of computing every transfer by itself.

mod programs;
mod shapes;

use std::sync::atomic::AtomicBool;

use eastwest_engine::Picoseconds;
use eastwest_engine::outcome::Outcome;
use eastwest_engine::program::{Algorithm, Collective, Kind, Mix, Op, Overheads, Program, Stream, Work};
use eastwest_engine::routing::{Balancing, Topology};
use eastwest_engine::schedule::{Fidelity, Record, RunOptions, record, run, run_in_full};
use programs::{ONE_QP, collective, options, outcome, over, program, ps, send};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng};
use shapes::{CABLE_PS, LeafSpine, Network, Plan, fat_tree, in_planes, leaf_spine, rail_optimized};

const RATE: f64 = 50e9;

/// Relative difference that rounding may make.
const SAME: f64 = 1e-9;

/// Completions are rounded up to picoseconds, one after another.
const ROUNDED_PS: Picoseconds = 100;

fn assert_same_times(what: &str, found: &[Picoseconds], expected: &[Picoseconds]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let apart = found.abs_diff(expected);
        let most = ROUNDED_PS.max((expected as f64 * SAME) as Picoseconds);
        assert!(apart <= most, "{what} {at}: {found} ps, in full {expected} ps");
    }
}

/// `least` is the size below which differences count as those of it: what cancels out leaves rounding of what was there.
fn assert_same_values(what: &str, least: f64, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let apart = (found - expected).abs();
        assert!(apart <= SAME * expected.abs().max(least), "{what} {at}: {found}, in full {expected}");
    }
}

fn assert_same(found: &Outcome, full: &Outcome) {
    assert_same_times("step", &[found.step], &[full.step]);
    assert_same_times("start of operation", &found.op_start, &full.op_start);
    assert_same_times("end of operation", &found.op_end, &full.op_end);
    assert_same_times("compute of rank", &found.compute, &full.compute);
    assert_same_times("communication of rank", &found.communication, &full.communication);
    assert_same_times("exposed of rank", &found.exposed, &full.exposed);
    assert_same_values("bytes of operation", 1e3, &found.op_bytes, &full.op_bytes);
    assert_same_values("bytes of link", 1e3, &found.link_bytes, &full.link_bytes);
    assert_same_values("flows of link", 1.0, &found.link_flows, &full.link_flows);
}

fn check(plan: &Plan, program: &Program, options: &RunOptions) {
    let topology = Topology::new(plan.graph()).expect("the network is well formed");
    match (run(&topology, program, options, 1), run_in_full(&topology, program, options, 1)) {
        (Ok(found), Ok(full)) => assert_same(&found, &full),
        // A run that ends early may never come to what cannot be carried out.
        (Err(_), Ok(_)) if !program.mix.until.is_empty() => {}
        (found, full) => assert!(found.is_err() && full.is_err(), "{:?}, in full {:?}", found.err(), full.err()),
    }
}

fn shuffle<T>(rng: &mut TestRng, items: &mut [T]) {
    (1..items.len()).rev().for_each(|last| items.swap(last, rng.random_range(0..=last)));
}

/// A fabric: one of the shapes, whole or with some cables cut, slowed or lengthened.
fn fabric(rng: &mut TestRng) -> (Plan, Vec<u32>) {
    let size = LeafSpine {
        leaves: 4,
        servers_per_leaf: rng.random_range(1..3),
        gpus_per_server: [1, 2, 4][rng.random_range(0..3)],
        spines: rng.random_range(1..4),
        links_per_pair: rng.random_range(1..3),
        rate: RATE,
    };
    let network = match rng.random_range(0..4) {
        0 => leaf_spine(size),
        1 => rail_optimized(size),
        2 => in_planes(LeafSpine { leaves: 2, ..size }, 2),
        _ => fat_tree(4, RATE),
    };
    let Network { mut plan, gpus, .. } = network;
    for _ in 0..[0, 0, 1, 3][rng.random_range(0..4)] {
        let cable = rng.random_range(0..plan.src.len()) / 2 * 2;
        for link in [cable, cable + 1] {
            match rng.random_range(0..3) {
                0 => plan.rate[link] /= 3.0,
                1 => plan.rate[link] *= 1.1,
                _ => plan.latency[link] += 77_777,
            }
        }
    }
    let joins_switches: Vec<usize> = (0..plan.src.len()).step_by(2).filter(|&link| plan.is_fabric[link]).collect();
    if rng.random_range(0..3) == 0 {
        let cut = joins_switches[rng.random_range(0..joins_switches.len())];
        plan = plan.without(cut + 1).without(cut);
    }
    (plan, gpus)
}

/// Ranks dealt to groups: neighbours, strides, in any order, or uneven.
fn groups(rng: &mut TestRng, ranks: u32) -> Vec<Vec<u32>> {
    let divisors: Vec<u32> = (1..=ranks).filter(|&size| ranks % size == 0).collect();
    let size = divisors[rng.random_range(0..divisors.len())] as usize;
    let mut order: Vec<u32> = (0..ranks).collect();
    match rng.random_range(0..4) {
        0 => order.chunks(size).map(<[_]>::to_vec).collect(),
        1 => {
            let stride = ranks as usize / size;
            (0..stride).map(|first| order.iter().copied().skip(first).step_by(stride).collect()).collect()
        }
        2 => {
            shuffle(rng, &mut order);
            order.chunks(size).map(<[_]>::to_vec).collect()
        }
        _ => order.chunks(3).map(<[_]>::to_vec).collect(),
    }
}

fn any_collective(rng: &mut TestRng, groups: &[Vec<u32>]) -> Collective {
    use Algorithm::{
        Bruck, Direct, HalvingDoubling, HierarchicalPipelined, HierarchicalStaged, Nvls, NvlsSharp, NvlsTree, Pxn,
        RailRing, Ring, Sharp, Tree,
    };
    use Kind::{AllGather, AllReduce, AllToAll, Broadcast, Reduce, ReduceScatter};
    let bytes = [1e6, 3e6, 1e7][rng.random_range(0..3)];
    if rng.random_range(0..2) == 0 {
        let mut exchange = collective(AllToAll, [Direct, Pxn][rng.random_range(0..2)], bytes, rng.random_range(1..3));
        let n = groups[0].len();
        if rng.random_range(0..4) == 0 && groups.iter().all(|group| group.len() == n) {
            exchange.matrix = Some((0..n * n).map(|_| f64::from(rng.random_range(0..3)) * 1e5).collect());
        }
        return exchange;
    }
    let kind = [AllReduce, AllGather, ReduceScatter, Broadcast, Reduce][rng.random_range(0..5)];
    let algorithms = [
        Ring,
        RailRing,
        Direct,
        HierarchicalStaged,
        HierarchicalPipelined,
        Tree,
        HalvingDoubling,
        Nvls,
        NvlsTree,
        Sharp,
        NvlsSharp,
        Bruck,
    ];
    let algorithm = algorithms[rng.random_range(0..algorithms.len())];
    let mut found = collective(kind, algorithm, bytes, rng.random_range(1..4));
    if rng.random_range(0..3) == 0 {
        found.overheads =
            Overheads { base_s: 7e-6, intra_s: 1e-6, inter_s: 3e-6, wire: 2.0, channel_rate: 11e9, repeats: 3 };
    }
    found
}

/// Operations in a few queues, some after others.
fn operations(rng: &mut TestRng, gpus: &[u32]) -> Vec<Op> {
    let ranks = gpus.len() as u32;
    let count = rng.random_range(1..5u32);
    let mut ops: Vec<Op> = Vec::new();
    for index in 0..count {
        let after: Vec<u32> = (0..index).filter(|_| rng.random_range(0..3) == 0).collect();
        let queue = rng.random_range(1..4);
        ops.push(match rng.random_range(0..7) {
            0 => {
                let some: Vec<u32> = (0..ranks).filter(|_| rng.random_range(0..3) > 0).collect();
                let ranks = [None, Some(some)][rng.random_range(0..2)].clone();
                Op { after, queue: 0, work: Work::Compute { seconds: [1e-4, 3e-4][rng.random_range(0..2)], ranks } }
            }
            1 if ranks > 1 => {
                let by = rng.random_range(1..ranks);
                let count = rng.random_range(1..=ranks);
                let pairs: Vec<_> = (0..count).map(|rank| (rank, (rank + by) % ranks)).collect();
                send(queue, &pairs, 1e6, &after)
            }
            2 if index > 0 => {
                let again = ops[rng.random_range(0..index as usize)].clone();
                Op { after, ..again }
            }
            3 if ranks > 1 => {
                let groups = groups(rng, ranks);
                let by = rng.random_range(1..gpus.len());
                let flow = |&rank: &u32| (gpus[rank as usize], gpus[(rank as usize + by) % gpus.len()]);
                let flows = groups.iter().map(|group| group.iter().map(flow).collect()).collect();
                Op { after, queue, work: Work::Storage { groups, flows, bytes: 1e6, carriage: ONE_QP } }
            }
            _ => {
                let groups = groups(rng, ranks);
                let collective = any_collective(rng, &groups);
                over(queue, groups, collective, &after)
            }
        });
    }
    ops
}

/// Background traffic, slowdowns of ranks' own and an early end, each now and then.
fn mix(rng: &mut TestRng, gpus: &[u32], ops: u32) -> Mix {
    let mut mix = Mix::default();
    if rng.random_range(0..3) == 0 && gpus.len() > 2 {
        let streams = 1 + rng.random_range(0..gpus.len());
        let to = |from: usize| vec![gpus[(from + 1) % gpus.len()], gpus[(from + 2) % gpus.len()]];
        mix.background =
            (0..streams).map(|from| Stream { from: gpus[from], to: to(from), rate: 20e9, carriage: ONE_QP }).collect();
    }
    if rng.random_range(0..4) == 0 {
        mix.slowdown = gpus.iter().map(|_| [1.0, 1.5][rng.random_range(0..2)]).collect();
    }
    if rng.random_range(0..4) == 0 {
        mix.until = vec![rng.random_range(0..ops)];
    }
    mix
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn alike_work_taken_together_ends_as_it_does_in_full(seed in any::<[u8; 32]>()) {
        let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let (plan, mut gpus) = fabric(&mut rng);
        match rng.random_range(0..4) {
            0 => shuffle(&mut rng, &mut gpus),
            1 => gpus.truncate(gpus.len() * 3 / 4),
            _ => {}
        }
        let ops = operations(&mut rng, &gpus);
        let fidelity = [Fidelity::Fluid, Fidelity::Ideal][rng.random_range(0..2)];
        let balancings = [Balancing::Spray, Balancing::Adaptive, Balancing::Source { paths: None }];
        let balancing = balancings[rng.random_range(0..3)];
        let mix = mix(&mut rng, &gpus, ops.len() as u32);
        let mixed = Program { overlap_slowdown: 1.25, mix, ..program(&gpus, ops) };
        check(&plan, &mixed, &RunOptions { fidelity, ..options(balancing) });
    }
}

/// 32 servers of 8 on each rail's leaf of a unit, non-blocking.
fn rails(units: u32) -> Network {
    let size = LeafSpine {
        leaves: 8 * units,
        servers_per_leaf: 32,
        gpus_per_server: 8,
        spines: 32,
        links_per_pair: 1,
        rate: RATE,
    };
    rail_optimized(size)
}

fn all_to_all(network: &Network, algorithm: Algorithm, bytes: f64) -> Outcome {
    let ranks = network.gpus.len() as u32;
    let op = over(1, vec![(0..ranks).collect()], collective(Kind::AllToAll, algorithm, bytes, 1), &[]);
    outcome(&network.graph, &network.gpus, vec![op], &options(Balancing::Spray)).unwrap()
}

#[test]
fn an_all_to_all_whose_pairs_memory_cannot_hold_takes_what_its_nics_take() {
    let network = rails(16);
    let (n, bytes) = (4096.0, 1e9);
    let topology = Topology::new(network.graph.clone()).unwrap();
    let op = over(1, vec![(0..4096).collect()], collective(Kind::AllToAll, Algorithm::Direct, bytes, 1), &[]);
    let refused = run_in_full(&topology, &program(&network.gpus, vec![op]), &options(Balancing::Spray), 0).unwrap_err();
    assert!(refused.to_string().contains("million hops"), "{refused}");
    for (algorithm, hops) in [(Algorithm::Direct, 6), (Algorithm::Pxn, 8)] {
        let found = all_to_all(&network, algorithm, bytes);
        // Each NIC sends (n-g)/n B; beyond that there is the latency of the longest way.
        let bandwidth = ps((n - 8.0) / n * bytes / RATE);
        assert!((bandwidth..bandwidth + hops * CABLE_PS).contains(&found.step), "{algorithm:?}: {}", found.step);
        let handed = match algorithm {
            Algorithm::Direct => n - 1.0,
            // Once more to a relay, but for pairs on one server or rail.
            _ => n - 1.0 + (n - 8.0) * 7.0 / 8.0,
        };
        assert!((found.op_bytes[0] / (handed * bytes) - 1.0).abs() < SAME, "{algorithm:?}");
    }
}

#[test]
fn what_is_alike_is_computed_once_however_much_there_is() {
    let rounds = |units| {
        let network = rails(units);
        let ranks = network.gpus.len() as u32;
        let servers: Vec<Vec<u32>> = (0..ranks).collect::<Vec<_>>().chunks(8).map(<[_]>::to_vec).collect();
        let on_rails = (0..8).map(|rail| (rail..ranks).step_by(8).collect()).collect();
        let ops = vec![
            over(1, servers, collective(Kind::AllReduce, Algorithm::Ring, 1e8, 2), &[]),
            over(2, on_rails, collective(Kind::AllReduce, Algorithm::Ring, 1e8, 2), &[0]),
            over(3, vec![(0..ranks).collect()], collective(Kind::AllToAll, Algorithm::Direct, 1e8, 1), &[1]),
        ];
        outcome(&network.graph, &network.gpus, ops, &options(Balancing::Spray)).unwrap().rounds
    };
    assert_eq!(rounds(1), rounds(4));
}

#[test]
fn batched_completions_are_those_of_the_full_run() {
    let Network { plan, gpus, .. } = leaf_spine(LeafSpine {
        leaves: 4,
        servers_per_leaf: 2,
        gpus_per_server: 2,
        spines: 1,
        links_per_pair: 1,
        rate: RATE,
    });
    let groups = vec![(0..12).collect(), (12..16).collect()];
    let ops = vec![over(1, groups, collective(Kind::AllToAll, Algorithm::Direct, 1e8, 1), &[])];
    check(&plan, &program(&gpus, ops), &RunOptions { tolerance: 0.05, ..options(Balancing::Spray) });
}

#[test]
fn a_timeline_tells_every_group_of_a_class() {
    let network = rails(1);
    let topology = Topology::new(network.graph.clone()).unwrap();
    let servers = (0..256).collect::<Vec<_>>().chunks(8).map(<[_]>::to_vec).collect();
    let ops = vec![over(1, servers, collective(Kind::AllGather, Algorithm::Ring, 8e6, 1), &[])];
    let tiers = vec![0; network.graph.links()];
    let asked = Record { every: ps(1e-3), tiers: &tiers };
    let program = program(&network.gpus, ops);
    let (_, timeline) =
        record(&topology, &program, &options(Balancing::Spray), 0, asked, &AtomicBool::new(false)).unwrap();
    let parts: Vec<u32> = timeline.transfers.iter().map(|transfer| transfer.part).collect();
    assert_eq!(parts, (0..32).collect::<Vec<_>>());
    // A ring's eight edges carry 7/8 of the buffer each.
    assert!(timeline.transfers.iter().all(|transfer| (transfer.bytes - 7.0 * 8e6).abs() < 1.0));
}

#[test]
fn where_all_ranks_differ_every_transfer_is_computed() {
    let network = rails(1);
    let topology = Topology::new(network.graph.clone()).unwrap();
    let op = over(1, vec![(0..256).collect()], collective(Kind::AllToAll, Algorithm::Direct, 1e8, 1), &[]);
    let slowdown = (0..256).map(|rank| 1.0 + f64::from(rank) / 256.0).collect();
    let program = Program { mix: Mix { slowdown, ..Mix::default() }, ..program(&network.gpus, vec![op]) };
    let [found, full] = [run, run_in_full].map(|run| run(&topology, &program, &options(Balancing::Spray), 0).unwrap());
    assert_same(&found, &full);
    assert_eq!(found.rounds, full.rounds);
}
