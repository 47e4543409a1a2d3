//! Whole runs, from a program to its outcome: lowering, routing, rates and completions; and rates alone.
//!
//! 1,024 GPUs in 128 servers of 8, 400 Gb/s each, rail-optimised in units of 32 servers: 32 leaves, 16 spines, two links
//! from each leaf to each spine. Distances are found beforehand, as a study finds them once for many draws.

#[path = "../../engine/tests/shapes/mod.rs"]
mod shapes;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use eastwest_engine::fluid::max_min;
use eastwest_engine::lower;
use eastwest_engine::program::{Algorithm, Carriage, Collective, Kind, Mix, Op, Overheads, Program, QpUse, Work};
use eastwest_engine::routing::{Balancing, Router, Topology};
use eastwest_engine::schedule::{Fidelity, RunOptions, run, run_in_full};
use shapes::{LeafSpine, rail_optimized};

const RANKS: u32 = 1024;
const GROUP: u32 = 64;
const SIZE: LeafSpine =
    LeafSpine { leaves: 32, servers_per_leaf: 32, gpus_per_server: 8, spines: 16, links_per_pair: 2, rate: 50e9 };

/// A fixed stream of numbers: Knuth's linear congruential generator for MMIX.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as usize % bound
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// A collective whose messages of 512 KiB take turns over the queue pairs, as NCCL's do.
fn collective(kind: Kind, algorithm: Algorithm, bytes: f64, channels: u32, qps: u32) -> Collective {
    let carriage = Carriage { qps, qp_use: QpUse::RoundRobin, message_bytes: 524_288.0 };
    Collective {
        kind,
        algorithm,
        bytes,
        matrix: None,
        channels,
        carriage,
        overheads: Overheads::NONE,
        nvlink_sharp: 1.0,
    }
}

fn program(gpu: &[u32], groups: &[Vec<u32>], collective: Collective) -> Program {
    let work = Work::Collective { groups: groups.to_vec(), collective };
    Program {
        gpu: gpu.to_vec(),
        ops: vec![Op { after: vec![], queue: 1, work }],
        overlap_slowdown: 1.0,
        mix: Mix::default(),
    }
}

fn benches(criterion: &mut Criterion) {
    let network = rail_optimized(SIZE);
    let topology = Topology::new(network.graph).expect("the network is well formed");
    let packed = network.gpus;
    let mut servers: Vec<&[u32]> = packed.chunks(SIZE.gpus_per_server as usize).collect();
    Draws(1).shuffle(&mut servers);
    let shuffled = servers.concat();
    let all = [(0..RANKS).collect::<Vec<_>>()];
    let groups: Vec<Vec<u32>> =
        (0..RANKS / GROUP).map(|group| (group * GROUP..(group + 1) * GROUP).collect()).collect();

    let mut draws = Draws(2);
    let all_to_all = |bytes, qps| collective(Kind::AllToAll, Algorithm::Direct, bytes, 1, qps);
    let matrix = (0..GROUP * GROUP).map(|_| 2e8 + draws.below(400) as f64 * 1e6).collect();
    let uneven = Collective { matrix: Some(matrix), ..all_to_all(25e9, 4) };
    let ring = collective(Kind::AllReduce, Algorithm::Ring, 25e9, 16, 4);
    let ecmp = Balancing::Ecmp;
    let cases = [
        ("ring all-reduce, 16 channels, 4 QPs, ECMP", program(&packed, &all, ring), ecmp, 0.0),
        ("16 all-to-alls of 64, 4 QPs, ECMP, packed", program(&packed, &groups, all_to_all(25e9, 4)), ecmp, 0.01),
        ("16 all-to-alls of 64, 4 QPs, ECMP, shuffled", program(&shuffled, &groups, all_to_all(25e9, 4)), ecmp, 0.01),
        ("16 uneven all-to-alls of 64, 4 QPs, ECMP, batched to 1 %", program(&shuffled, &groups, uneven), ecmp, 0.01),
        ("all-to-all, sprayed", program(&packed, &all, all_to_all(1e9, 1)), Balancing::Spray, 0.0),
        ("all-to-all, ECMP, batched to 1 %", program(&packed, &all, all_to_all(1e9, 1)), ecmp, 0.01),
        ("all-to-all, ECMP, exact", program(&packed, &all, all_to_all(1e9, 1)), ecmp, 0.0),
    ];
    let mut group = criterion.benchmark_group("run");
    group.sample_size(10).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
    for (name, program, balancing, tolerance) in cases {
        let options = RunOptions { fidelity: Fidelity::Fluid, balancing, per_switch_seeds: true, tolerance };
        group.bench_function(name, |b| b.iter(|| run(&topology, black_box(&program), &options, 3)));
    }
    let program = program(&packed, &all, all_to_all(1e9, 1));
    let options =
        RunOptions { fidelity: Fidelity::Fluid, balancing: Balancing::Spray, per_switch_seeds: true, tolerance: 0.0 };
    group.bench_function("all-to-all, sprayed, each pair by itself", |b| {
        b.iter(|| run_in_full(&topology, black_box(&program), &options, 3))
    });
    group.finish();

    let router = Router::new(&topology, Balancing::Ecmp, true, 3);
    let capacity = &router.resources().capacity;
    let mut group = criterion.benchmark_group("max_min");
    group.sample_size(10).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
    for (name, bytes, ranks) in [("all-to-all of 64", 25e9, &groups[0]), ("all-to-all of 1,024", 1e9, &all[0])] {
        let phases = lower::demands(&router, &packed, &all_to_all(bytes, 1), ranks).expect("all ranks have paths");
        group.bench_function(name, |b| b.iter(|| max_min(black_box(&phases[0].demands), capacity)));
    }
    group.finish();
}

criterion_group!(runs, benches);
criterion_main!(runs);
