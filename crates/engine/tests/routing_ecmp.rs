//! ECMP's luck: how hashed flows spread over links, and how switches that hash alike spoil it.

mod shapes;

use eastwest_engine::routing::{Balancing, Connection, Leg, Router, Topology};
use shapes::{LeafSpine, Network};

/// Flows on each link when each GPU has one connection of one queue pair, as `pairs` says by index.
fn flows(network: &Network, router: &Router, pairs: &[(usize, usize)]) -> Vec<f64> {
    let mut legs = Vec::new();
    for &(from, to) in pairs {
        let connection = Connection { from: network.gpus[from], to: network.gpus[to], channel: 0 };
        router.connect(connection, &[1.0], &mut legs).expect("a path");
    }
    let mut flows = vec![0.0; network.graph.links()];
    for leg in legs {
        flows[router.resources().links(leg.resource)[0] as usize] += leg.share;
    }
    flows
}

fn two_tiers() -> Network {
    shapes::leaf_spine(LeafSpine {
        leaves: 32,
        servers_per_leaf: 32,
        gpus_per_server: 1,
        spines: 16,
        links_per_pair: 1,
        rate: 50e9,
    })
}

/// A permutation in which every flow leaves its leaf.
fn shift(hosts: usize, by: usize) -> Vec<(usize, usize)> {
    (0..hosts).map(|host| (host, (host + by) % hosts)).collect()
}

#[test]
fn flows_on_an_uplink_follow_balls_into_bins() {
    // 32 flows of a leaf fall on 16 uplinks at random: an uplink's number is Binomial(32, 1/16). One uplink of each leaf is
    // looked at in each draw, so that the samples are independent. Chi-square, 8 classes (0 to 6, and 7 or more): 7
    // degrees of freedom, 24.3 is the 99.9 % quantile.
    const CLASSES: usize = 8;
    let network = two_tiers();
    let topology = Topology::new(network.graph.clone()).unwrap();
    let pairs = shift(1024, 32 * 5);
    let mut seen = [0.0; CLASSES];
    let mut samples = 0.0;
    for seed in 0..200 {
        let flows = flows(&network, &Router::new(&topology, Balancing::Ecmp, true, seed), &pairs);
        for &leaf in &network.leaves {
            let spine = network.spines[seed as usize % 16];
            let uplink =
                *network.graph.out(leaf).iter().find(|&&link| network.graph.dst[link as usize] == spine).unwrap();
            seen[(flows[uplink as usize] as usize).min(CLASSES - 1)] += 1.0;
            samples += 1.0;
        }
    }
    let mut expected = [0.0; CLASSES];
    let (n, p): (i32, f64) = (32, 1.0 / 16.0);
    let mut ways = 1.0; // n choose k
    for k in 0..=n {
        expected[(k as usize).min(CLASSES - 1)] += samples * ways * p.powi(k) * (1.0 - p).powi(n - k);
        ways *= f64::from(n - k) / f64::from(k + 1);
    }
    let chi_square: f64 = seen.iter().zip(expected).map(|(seen, expected)| (seen - expected).powi(2) / expected).sum();
    assert!(chi_square < 24.3, "chi-square {chi_square}: {seen:?} against {expected:?}");
}

/// Share of the links from spines to cores that at least one flow crosses.
fn core_links_used(balancing: Balancing, per_switch_seeds: bool, seed: u64) -> f64 {
    let network = shapes::fat_tree(16, 50e9); // 8 uplinks at each leaf and each spine, 64 flows leave each pod
    let topology = Topology::new(network.graph.clone()).unwrap();
    let router = Router::new(&topology, balancing, per_switch_seeds, seed);
    let flows = flows(&network, &router, &shift(1024, 64));
    let climbs = |link: &usize| {
        network.spines.contains(&network.graph.src[*link]) && network.cores.contains(&network.graph.dst[*link])
    };
    let (mut links, mut used) = (0.0, 0.0);
    for link in (0..network.graph.links()).filter(climbs) {
        links += 1.0;
        used += f64::from(flows[link] > 0.0);
    }
    used / links
}

const HASHED: [Balancing; 3] = [Balancing::Ecmp, Balancing::Wcmp, Balancing::Flowlet { flowlets: 8 }];

#[test]
fn switches_that_hash_alike_polarise_however_they_hash() {
    // All flows that reach a spine had the same outcome of the same hash at their leaves: they all take one of 8 links.
    for balancing in HASHED {
        for seed in 0..5 {
            assert!(core_links_used(balancing, false, seed) <= 1.0 / 8.0, "{balancing:?}");
        }
    }
}

#[test]
fn seeds_per_switch_keep_the_tiers_independent() {
    // 64 flows fall on 64 links: (1 - 1/64)^64 = 0.365 of them stay empty, of 8 times the flows 0.0003. 1,024 links a
    // draw: 0.05 is over 4 sigma.
    for (balancing, expected) in HASHED.into_iter().zip([0.635, 0.635, 1.0]) {
        for seed in 0..5 {
            let used = core_links_used(balancing, true, seed);
            assert!((used - expected).abs() < 0.05, "{balancing:?}: used {used}");
        }
    }
}

#[test]
fn more_queue_pairs_even_out_the_uplinks() {
    // The load of an uplink has variance in proportion to 1 / flows: 16 times the flows, a quarter of the deviation.
    let network = two_tiers();
    let topology = Topology::new(network.graph.clone()).unwrap();
    let deviation = |qps: usize| {
        let router = Router::new(&topology, Balancing::Ecmp, true, 1);
        let mut load = vec![0.0; network.graph.links()];
        let mut legs = Vec::new();
        for (from, to) in shift(1024, 96) {
            let connection = Connection { from: network.gpus[from], to: network.gpus[to], channel: 0 };
            router.connect(connection, &vec![1.0 / qps as f64; qps], &mut legs).unwrap();
        }
        legs.iter().for_each(|leg| load[leg.resource as usize] += leg.share);
        let uplinks = network.leaves.iter().flat_map(|&leaf| network.graph.out(leaf));
        let uplinks = uplinks.filter(|&&link| network.graph.is_fabric[link as usize]);
        let squares: f64 = uplinks.map(|&link| (load[link as usize] - 2.0).powi(2)).sum();
        (squares / 512.0).sqrt()
    };
    let ratio = deviation(1) / deviation(16);
    assert!((ratio - 4.0).abs() < 0.6, "ratio {ratio}");
}

#[test]
fn shares_of_queue_pairs_that_meet_are_added() {
    let network = two_tiers();
    let topology = Topology::new(network.graph.clone()).unwrap();
    let router = Router::new(&topology, Balancing::Ecmp, true, 5);
    let shares = [0.1; 10];
    let mut legs: Vec<Leg> = Vec::new();
    let connection = Connection { from: network.gpus[0], to: network.gpus[40], channel: 0 };
    router.connect(connection, &shares, &mut legs).unwrap();
    let mut resources: Vec<u32> = legs.iter().map(|leg| leg.resource).collect();
    resources.sort_unstable();
    resources.dedup();
    assert_eq!(resources.len(), legs.len(), "each resource once");
    let up: f64 = legs
        .iter()
        .filter(|leg| network.graph.src[leg.resource as usize] == network.leaves[0])
        .map(|leg| leg.share)
        .sum();
    assert!((up - 1.0).abs() < 1e-12);
}

#[test]
fn a_seed_gives_the_same_paths_each_time_and_another_seed_others() {
    let network = two_tiers();
    let topology = Topology::new(network.graph.clone()).unwrap();
    let draw = |seed| flows(&network, &Router::new(&topology, Balancing::Ecmp, true, seed), &shift(1024, 32));
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}
