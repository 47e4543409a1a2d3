//! The rate solver alone, on demands shaped like those of 1,024 GPUs in 128 servers of 8: 400 Gb/s a GPU, rail-optimised
//! in units of 32 servers, 32 leaves and 16 spines, two links from each leaf to each spine.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use eastwest_engine::demand::Demands;
use eastwest_engine::fluid::{Fluid, max_min};

const GPUS: u32 = 1024;
const LEAVES: u32 = 32;
const UPLINKS: u32 = 32;
const NIC: f64 = 50e9;
const PCIE: f64 = 55e9;
const NVLINK: f64 = 450e9;

/// Resources by kind: six of each GPU out, six in, then up- and downlinks of each leaf, then their bundles.
mod resource {
    use super::{GPUS, LEAVES, UPLINKS};

    pub const OUT: [u32; 4] = [0, GPUS, 2 * GPUS, 3 * GPUS];
    pub const IN: [u32; 4] = [4 * GPUS, 5 * GPUS, 6 * GPUS, 7 * GPUS];
    const UP: u32 = 8 * GPUS;
    const DOWN: u32 = UP + LEAVES * UPLINKS;
    const UP_BUNDLE: u32 = DOWN + LEAVES * UPLINKS;
    const DOWN_BUNDLE: u32 = UP_BUNDLE + LEAVES;
    pub const COUNT: u32 = DOWN_BUNDLE + LEAVES;

    pub fn up(leaf: u32, link: u32) -> u32 {
        UP + leaf * UPLINKS + link
    }
    pub fn down(leaf: u32, link: u32) -> u32 {
        DOWN + leaf * UPLINKS + link
    }
    pub fn up_bundle(leaf: u32) -> u32 {
        UP_BUNDLE + leaf
    }
    pub fn down_bundle(leaf: u32) -> u32 {
        DOWN_BUNDLE + leaf
    }
}

fn capacity() -> Vec<f64> {
    let of_gpu = |rate: f64| std::iter::repeat_n(rate, GPUS as usize);
    let hops = [PCIE, PCIE, NIC, NVLINK];
    let mut capacity: Vec<f64> = hops.iter().chain(&hops).flat_map(|&rate| of_gpu(rate)).collect();
    capacity.extend(std::iter::repeat_n(NIC, 2 * (LEAVES * UPLINKS) as usize));
    capacity.extend(std::iter::repeat_n(NIC * f64::from(UPLINKS), 2 * LEAVES as usize));
    assert_eq!(capacity.len(), resource::COUNT as usize);
    capacity
}

/// Units of 32 servers with a leaf for each of 8 rails.
fn leaf(gpu: u32) -> u32 {
    gpu / 256 * 8 + gpu % 8
}

/// A fixed stream of hash values.
struct Hash(u64);

impl Hash {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as u32
    }
}

#[derive(Clone, Copy)]
enum Balancing {
    Spray,
    Ecmp,
}

/// Entries of one connection between servers, `share` of the demand's bytes, on each of its flows' paths.
fn connect(
    from: u32,
    to: u32,
    share: f64,
    flows: u32,
    balancing: Balancing,
    hash: &mut Hash,
    entries: &mut Vec<(u32, f64)>,
) {
    entries.extend(resource::OUT[..3].iter().map(|first| (first + from, share)));
    if leaf(from) != leaf(to) {
        match balancing {
            Balancing::Spray => {
                entries.push((resource::up_bundle(leaf(from)), share));
                entries.push((resource::down_bundle(leaf(to)), share));
            }
            Balancing::Ecmp => {
                for _ in 0..flows {
                    let (up, spine_port) = (hash.next() % UPLINKS, hash.next() % 2);
                    entries.push((resource::up(leaf(from), up), share / f64::from(flows)));
                    entries.push((resource::down(leaf(to), up / 2 * 2 + spine_port), share / f64::from(flows)));
                }
            }
        }
    }
    entries.extend(resource::IN[..3].iter().map(|first| (first + to, share)));
}

/// Sums the entries that name one resource twice.
fn merge(entries: &mut Vec<(u32, f64)>) {
    entries.sort_unstable_by_key(|entry| entry.0);
    entries.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0.0 };
        same
    });
}

/// One demand a pair.
fn all_to_all(bytes: f64, balancing: Balancing) -> Demands {
    let (mut demands, mut hash, mut entries) = (Demands::default(), Hash(1), Vec::new());
    for from in 0..GPUS {
        for to in (0..GPUS).filter(|&to| to != from) {
            entries.clear();
            if from / 8 == to / 8 {
                entries.extend([(resource::OUT[3] + from, 1.0), (resource::IN[3] + to, 1.0)]);
            } else {
                connect(from, to, 1.0, 1, balancing, &mut hash, &mut entries);
            }
            demands.push(&entries, 1.0, f64::INFINITY, bytes, 2_000_000);
        }
    }
    demands
}

/// One demand a channel of 16: through each server's NVLink and out over the channel's rail, 4 flows a hop.
fn ring(bytes: f64) -> Demands {
    let (mut demands, mut hash, mut entries) = (Demands::default(), Hash(1), Vec::new());
    for channel in 0..16 {
        entries.clear();
        for gpu in 0..GPUS {
            if gpu % 8 == channel % 8 {
                connect(gpu, (gpu + 8) % GPUS, 1.0, 4, Balancing::Ecmp, &mut hash, &mut entries);
            } else {
                entries.extend([(resource::OUT[3] + gpu, 1.0), (resource::IN[3] + (gpu / 8 * 8 + (gpu + 1) % 8), 1.0)]);
            }
        }
        merge(&mut entries);
        demands.push(&entries, 4.0, f64::INFINITY, bytes, 0);
    }
    demands
}

/// Each GPU sends to one other, over one hashed path.
fn permutation() -> Demands {
    let (mut demands, mut hash, mut entries) = (Demands::default(), Hash(1), Vec::new());
    let mut to: Vec<u32> = (0..GPUS).collect();
    for last in (1..GPUS).rev() {
        to.swap(last as usize, (hash.next() % (last + 1)) as usize);
    }
    for (from, to) in (0..GPUS).zip(to) {
        entries.clear();
        connect(from, to, 1.0, 1, Balancing::Ecmp, &mut hash, &mut entries);
        demands.push(&entries, 1.0, f64::INFINITY, 1e9, 0);
    }
    demands
}

/// Runs demands that all start at once to their end, and gives when that is.
fn run(demands: &Demands, capacity: &[f64], tolerance: f64) -> (u64, u64) {
    let mut fluid = Fluid::new(capacity.to_vec(), tolerance);
    fluid.add(demands.clone(), 0);
    let mut done = Vec::new();
    while let Some(time) = fluid.next() {
        fluid.advance(time, &mut done);
    }
    assert_eq!(done.len(), demands.len());
    if std::env::var_os("FLUID_TRACE").is_some() {
        eprintln!(
            "{} rounds, end {} us, batching error {}",
            fluid.rounds(),
            fluid.now() / 1_000_000,
            fluid.batching_error()
        );
    }
    (fluid.now(), fluid.rounds())
}

fn benches(criterion: &mut Criterion) {
    let capacity = capacity();
    let demands = permutation();
    criterion
        .bench_function("max_min: permutation of 1,024, ECMP", |b| b.iter(|| max_min(black_box(&demands), &capacity)));
    let demands = ring(1e9);
    criterion.bench_function("fluid: ring of 1,024, 16 channels, 4 flows, ECMP", |b| {
        b.iter(|| run(black_box(&demands), &capacity, 0.0));
    });

    let mut group = criterion.benchmark_group("all-to-all of 1,024");
    group.sample_size(10);
    for (name, balancing, tolerance) in
        [("sprayed, exact", Balancing::Spray, 0.0), ("ECMP, batched to 1 %", Balancing::Ecmp, 0.01)]
    {
        let demands = all_to_all(1e6, balancing);
        group.bench_function(format!("max_min: {name}"), |b| {
            b.iter_batched(|| (), |()| max_min(black_box(&demands), &capacity), BatchSize::PerIteration);
        });
        group.bench_function(format!("fluid: {name}"), |b| {
            b.iter_batched(|| (), |()| run(black_box(&demands), &capacity, tolerance), BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(fluid, benches);
criterion_main!(fluid);
