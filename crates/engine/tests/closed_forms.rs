//! Every collective and algorithm takes the time of its closed form, where only the named rate limits.
//!
//! Formulas: nccl-tests doc/PERFORMANCE.md for rings and direct exchange; the sums of their stages for hierarchies (see
//! `eastwest_engine::lower`). Networks have no latency here, and room for all traffic between switches.

mod programs;
mod shapes;

use eastwest_engine::program::Algorithm::{
    Bruck, Direct, HalvingDoubling, HierarchicalPipelined, HierarchicalStaged, Nvls, NvlsSharp, NvlsTree, Pxn,
    RailRing, Ring, Sharp, Tree,
};
use eastwest_engine::program::Kind::{AllGather, AllReduce, AllToAll, Broadcast, Reduce, ReduceScatter};
use eastwest_engine::program::{Algorithm, Carriage, Collective, Kind, QpUse};
use programs::{SPRAYED, collective, outcome, over};
use proptest::prelude::*;
use shapes::{LeafSpine, NVLINK, Network, leaf_spine, rail_optimized};

/// Two leaves of `servers / 2` servers (rounded up) with as many links up as down.
fn roomy(servers: u32, gpus: u32, rate: f64) -> Network {
    let servers_per_leaf = servers.div_ceil(2);
    let size = LeafSpine {
        leaves: 2,
        servers_per_leaf,
        gpus_per_server: gpus,
        spines: servers_per_leaf * gpus,
        links_per_pair: 1,
        rate,
    };
    without_latency(leaf_spine(size))
}

/// Rail leaves that no spine joins.
fn rails_apart(servers: u32, rails: u32, rate: f64) -> Network {
    rail_optimized(LeafSpine {
        leaves: rails,
        servers_per_leaf: servers,
        gpus_per_server: rails,
        spines: 0,
        links_per_pair: 1,
        rate,
    })
}

fn without_latency(network: Network) -> Network {
    let mut plan = network.plan;
    plan.latency.fill(0);
    Network { graph: plan.graph(), plan, ..network }
}

/// Seconds that a collective of one group takes.
fn seconds(network: &Network, collective: Collective, group: Vec<u32>) -> f64 {
    let outcome =
        outcome(&network.graph, &network.gpus, vec![over(1, vec![group], collective, &[])], &SPRAYED).unwrap();
    outcome.step as f64 / 1e12
}

/// Bytes over the buffer that a rank sends in an all-reduce, all-gather or reduce-scatter of `n`.
fn sent(kind: Kind, n: u32) -> f64 {
    let part = f64::from(n - 1) / f64::from(n);
    if kind == AllReduce { 2.0 * part } else { part }
}

fn assert_close(found: f64, expected: f64) -> std::result::Result<(), TestCaseError> {
    prop_assert!((found / expected - 1.0).abs() < 1e-3, "{found} s, expected {expected} s");
    Ok(())
}

/// `take` of `from` ranks, in random order.
fn group(from: u32, take: u32) -> impl Strategy<Value = Vec<u32>> {
    Just((0..from).collect::<Vec<_>>()).prop_shuffle().prop_map(move |ranks| ranks[..take as usize].to_vec())
}

/// A group of at least two out of up to 12 servers of one GPU.
fn scattered() -> impl Strategy<Value = (u32, Vec<u32>)> {
    (2u32..13).prop_flat_map(|servers| (Just(servers), (2..=servers).prop_flat_map(move |n| group(servers, n))))
}

const RATES: std::ops::Range<f64> = 10e9..60e9;
const BYTES: std::ops::Range<f64> = 1e6..1e11;

fn reducing() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![AllReduce, AllGather, ReduceScatter])
}

fn rooted() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![Broadcast, Reduce])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ring_over_nics(
        (servers, group) in scattered(), kind in reducing(), rate in RATES, bytes in BYTES, channels in 1u32..9
    ) {
        let n = group.len() as u32;
        let found = seconds(&roomy(servers, 1, rate), collective(kind, Ring, bytes, channels), group);
        assert_close(found, sent(kind, n) * bytes / rate)?;
    }

    #[test]
    fn ring_from_or_to_a_root_over_nics(
        (servers, group) in scattered(), kind in rooted(), rate in RATES, bytes in BYTES, channels in 1u32..9
    ) {
        let found = seconds(&roomy(servers, 1, rate), collective(kind, Ring, bytes, channels), group);
        assert_close(found, bytes / rate)?;
    }

    #[test]
    fn rings_inside_a_server_run_at_nvlink_rate(
        group in (2u32..9).prop_flat_map(|n| group(8, n)), kind in reducing(), is_rail in any::<bool>(),
        bytes in BYTES, channels in 1u32..9
    ) {
        let n = group.len() as u32;
        let algorithm = if is_rail { RailRing } else { Ring };
        let found = seconds(&roomy(1, 8, 50e9), collective(kind, algorithm, bytes, channels), group);
        assert_close(found, sent(kind, n) * bytes / NVLINK)?;
    }

    #[test]
    fn rail_ring_uses_every_nic(
        servers in 2u32..9, g in 1u32..5, turns in 1u32..4, kind in reducing(), rate in RATES, bytes in BYTES
    ) {
        // Of the channels through a GPU one in g leaves by its NIC; the others go on over NVLink.
        let (n, rails) = (servers * g, f64::from(g));
        let found = seconds(&roomy(servers, g, rate), collective(kind, RailRing, bytes, g * turns), (0..n).collect());
        let slowest = (rails * rate).min(if g > 1 { rails / (rails - 1.0) * NVLINK } else { f64::INFINITY });
        assert_close(found, sent(kind, n) * bytes / slowest)?;
    }

    #[test]
    fn rail_ring_from_or_to_a_root_uses_every_nic(
        kind in rooted(), servers in 2u32..9, g in 1u32..5, turns in 1u32..4, rate in RATES, bytes in BYTES
    ) {
        let group = (0..servers * g).collect();
        let found = seconds(&roomy(servers, g, rate), collective(kind, RailRing, bytes, g * turns), group);
        assert_close(found, bytes / (f64::from(g) * rate))?;
    }

    #[test]
    fn direct_over_nics(
        (servers, group) in scattered(), kind in prop_oneof![reducing(), Just(AllToAll)], rate in RATES,
        bytes in BYTES, channels in 1u32..9
    ) {
        let n = group.len() as u32;
        let found = seconds(&roomy(servers, 1, rate), collective(kind, Direct, bytes, channels), group);
        assert_close(found, sent(kind, n) * bytes / rate)?;
    }

    #[test]
    fn direct_exchange_with_a_root_carries_all_over_its_nic(
        (servers, group) in scattered(), kind in rooted(), rate in RATES, bytes in BYTES
    ) {
        let others = group.len() as f64 - 1.0;
        let found = seconds(&roomy(servers, 1, rate), collective(kind, Direct, bytes, 1), group);
        assert_close(found, others * bytes / rate)?;
    }

    #[test]
    fn all_to_all_leaves_the_server_for_other_servers_only(
        servers in 2u32..5, g in 2u32..5, rate in RATES, bytes in BYTES
    ) {
        let (group, n) = ((0..servers * g).collect(), f64::from(servers * g));
        let found = seconds(&roomy(servers, g, rate), collective(AllToAll, Direct, bytes, 1), group);
        let (inside, outside) = (f64::from(g - 1) / n, (n - f64::from(g)) / n);
        assert_close(found, (outside * bytes / rate).max(inside * bytes / NVLINK))?;
    }

    #[test]
    fn pxn_fills_each_nic_with_its_rails_part_or_nvlink_with_the_detours(
        units in 1u32..3, servers_per_leaf in 1u32..4, g in 2u32..5, rate in 10e9..190e9, bytes in BYTES
    ) {
        let servers = units * servers_per_leaf;
        let (group, n) = ((0..servers * g).collect(), f64::from(servers * g));
        let network = without_latency(rail_optimized(LeafSpine {
            leaves: units * g,
            servers_per_leaf,
            gpus_per_server: g,
            spines: servers_per_leaf * g,
            links_per_pair: 1,
            rate,
        }));
        let found = seconds(&network, collective(AllToAll, Pxn, bytes, 1), group);
        let (inside, outside) = (f64::from(g - 1) / f64::from(g), (n - f64::from(g)) / n);
        assert_close(found, (outside * bytes / rate).max(inside * bytes / NVLINK))?;
    }

    #[test]
    fn pxn_needs_no_spine_between_rails(
        servers in 2u32..6, g in 2u32..5, rate in 10e9..190e9, matrix in prop::collection::vec(1e6f64..1e9, 400)
    ) {
        // Rails that never meet: one sender whose server relays to every rail at once.
        let n = (servers * g) as usize;
        let network = without_latency(rails_apart(servers, g, rate));
        let all: Vec<u32> = (0..n as u32).collect();
        let one_sender: Vec<f64> =
            (0..n * n).map(|at| if at < n && at >= g as usize { matrix[at] } else { 0.0 }).collect();
        let what = |algorithm| Collective { matrix: Some(one_sender.clone()), ..collective(AllToAll, algorithm, 0.0, 1) };
        let straight = over(1, vec![all.clone()], what(Direct), &[]);
        prop_assert!(outcome(&network.graph, &network.gpus, vec![straight], &SPRAYED).is_err());
        let to_rail = |rail: usize| (g as usize + rail..n).step_by(g as usize).map(|to| matrix[to]).sum::<f64>();
        let detours: f64 = (1..g as usize).map(to_rail).sum();
        let busiest = (0..g as usize).map(to_rail).fold(0.0, f64::max) / rate;
        let found = seconds(&network, what(Pxn), all);
        // Where all rails together outrun the sender's NVLink, it may hold back some and then others; else nothing else does.
        let least = busiest.max(detours / NVLINK);
        prop_assert!(found >= least * 0.999, "found {found} s, at least {least} s");
        if f64::from(g - 1) * rate <= NVLINK {
            assert_close(found, least)?;
        }
    }

    #[test]
    fn uneven_all_to_all_waits_for_its_busiest_nic(
        matrix in prop::collection::vec(prop_oneof![Just(0.0), 1e6f64..1e9], 25), rate in RATES
    ) {
        let sums = (0..5).flat_map(|at| {
            let sent = (0..5).filter(|&to| to != at).map(|to| matrix[at * 5 + to]).sum::<f64>();
            let received = (0..5).filter(|&from| from != at).map(|from| matrix[from * 5 + at]).sum::<f64>();
            [sent, received]
        });
        let busiest = sums.fold(0.0, f64::max);
        let all_to_all = Collective { matrix: Some(matrix.clone()), ..collective(AllToAll, Direct, 0.0, 1) };
        let found = seconds(&roomy(5, 1, rate), all_to_all, (0..5).collect());
        // The pair that ends last always has its sender's or its receiver's NIC full, so twice the busiest is enough.
        prop_assert!(found >= busiest / rate * 0.999 && found <= 2.0 * busiest / rate * 1.001);
    }

    #[test]
    fn hierarchies_add_their_stages_or_take_the_slowest(
        servers in 2u32..6, g in 1u32..6, channels in 1u32..4, rate in 10e9..190e9, bytes in BYTES,
        kind in prop_oneof![reducing(), rooted()], is_optimized in any::<bool>()
    ) {
        let n = servers * g;
        let between = if matches!(kind, Broadcast | Reduce) { 1.0 } else { sent(kind, servers) } * bytes / f64::from(g) / rate;
        let turns = if matches!(kind, AllReduce | Broadcast | Reduce) { 2.0 } else { 1.0 };
        let inside = turns * f64::from(g - 1) / f64::from(g) * bytes / NVLINK;
        let network = if is_optimized {
            without_latency(rail_optimized(LeafSpine {
                leaves: g,
                servers_per_leaf: servers,
                gpus_per_server: g,
                spines: 1,
                links_per_pair: 1,
                rate,
            }))
        } else {
            roomy(servers, g, rate)
        };
        let time = |algorithm: Algorithm| {
            seconds(&network, collective(kind, algorithm, bytes, channels), (0..n).collect())
        };
        assert_close(time(HierarchicalStaged), inside + between)?;
        assert_close(time(HierarchicalPipelined), inside.max(between))?;
    }

    #[test]
    fn a_double_tree_uses_every_nic_both_ways(
        servers in 1u32..20, g in 1u32..5, turns in 1u32..3, rate in RATES, bytes in BYTES
    ) {
        // A NIC carries half a channel for each neighbour that its server has in either tree.
        prop_assume!(servers * g > 1);
        let group = (0..servers * g).collect();
        let found = seconds(&roomy(servers, g, rate), collective(AllReduce, Tree, bytes, g * turns), group);
        let neighbours = match servers { 1 => 0.0, 2 => 2.0, 3 => 3.0, _ => 4.0 };
        let (over_nics, rails) = (neighbours / 2.0 * bytes / rate, f64::from(g));
        assert_close(found, (over_nics / rails).max(2.0 * (rails - 1.0) / rails * bytes / NVLINK))?;
    }

    #[test]
    fn two_trees_from_or_to_a_root_use_every_nic(
        kind in rooted(), servers in 1u32..20, g in 1u32..5, turns in 1u32..3, root in 0u32..4, rate in RATES,
        bytes in BYTES
    ) {
        // The root has all of it to hand on over NVLink.
        prop_assume!(servers * g > 1);
        let mut group: Vec<u32> = (0..servers * g).collect();
        group.swap(0, (root % g) as usize);
        let found = seconds(&roomy(servers, g, rate), collective(kind, Tree, bytes, g * turns), group);
        let over_nics = if servers > 1 { bytes / (f64::from(g) * rate) } else { 0.0 };
        assert_close(found, over_nics.max(if g > 1 { bytes / NVLINK } else { 0.0 }))?;
    }

    #[test]
    fn halving_and_doubling_send_what_a_ring_does_and_fold_first_where_ranks_are_no_power_of_two(
        (servers, group) in scattered(), kind in reducing(), rate in RATES, bytes in BYTES, channels in 1u32..4
    ) {
        let n = group.len();
        let core = if n.is_power_of_two() { n } else { n.next_power_of_two() / 2 };
        let folded = n - core;
        // Blocks of B/n: an all-gather's step sends what its partners stand for, at most two ranks each.
        let sent = if kind == AllReduce {
            2.0 * (core as f64 - 1.0) / core as f64 + if folded > 0 { 2.0 } else { 0.0 }
        } else {
            let steps = (0..core.ilog2()).map(|step| (1usize << step) + folded.min(1 << step)).sum::<usize>();
            (steps + if folded > 0 { 1 + n - 1 } else { 0 }) as f64 / n as f64
        };
        let found = seconds(&roomy(servers, 1, rate), collective(kind, HalvingDoubling, bytes, channels), group);
        assert_close(found, sent * bytes / rate)?;
    }

    #[test]
    fn bruck_gathers_each_block_once_and_exchanges_it_once_for_each_bit_of_its_way(
        (servers, group) in scattered(), rate in RATES, bytes in BYTES, channels in 1u32..4
    ) {
        let n = group.len() as u32;
        let time = |kind| seconds(&roomy(servers, 1, rate), collective(kind, Bruck, bytes, channels), group.clone());
        assert_close(time(AllGather), sent(AllGather, n) * bytes / rate)?;
        let hops: u32 = (0..n).map(u32::count_ones).sum();
        assert_close(time(AllToAll), f64::from(hops) / f64::from(n) * bytes / rate)?;
    }

    #[test]
    fn nvlink_sharp_takes_the_slower_of_the_switch_and_the_rails(
        servers in 1u32..6, g in 2u32..6, channels in 1u32..4, rate in 10e9..190e9, bytes in BYTES, kind in reducing(),
        part in 0.5f64..1.0
    ) {
        // A load that adds up takes all B from every GPU and gives each its 1/g; a store that copies does the reverse.
        let (n, rails) = (servers * g, f64::from(g));
        let both_halves = if kind == AllReduce { (rails + 1.0) / rails } else { 1.0 };
        let inside = both_halves * bytes / (NVLINK * part);
        let network = roomy(servers, g, rate);
        let time = |algorithm| {
            let what = Collective { nvlink_sharp: part, ..collective(kind, algorithm, bytes, channels) };
            seconds(&network, what, (0..n).collect())
        };
        assert_close(time(Nvls), inside.max(sent(kind, servers) * bytes / rails / rate))?;
        if kind == AllReduce {
            let neighbours = match servers { 1 => 0.0, 2 => 2.0, 3 => 3.0, _ => 4.0 };
            assert_close(time(NvlsTree), inside.max(neighbours / 2.0 * bytes / rails / rate))?;
            let once = if servers > 1 { bytes / rails / rate } else { 0.0 };
            assert_close(time(NvlsSharp), inside.max(once))?;
        }
    }

    #[test]
    fn sharp_sends_each_byte_over_a_nic_once(
        servers in 2u32..9, g in 1u32..6, channels in 1u32..4, rate in 10e9..190e9, bytes in BYTES,
        kind in prop_oneof![Just(AllReduce), rooted()], is_optimized in any::<bool>()
    ) {
        let rails = f64::from(g);
        let inside = 2.0 * (rails - 1.0) / rails * bytes / NVLINK;
        let network = if is_optimized { without_latency(rails_apart(servers, g, rate)) } else { roomy(servers, g, rate) };
        let found = seconds(&network, collective(kind, Sharp, bytes, channels), (0..servers * g).collect());
        assert_close(found, inside.max(bytes / rails / rate))?;
    }

    #[test]
    fn queue_pairs_change_nothing_without_contention(
        (servers, group) in scattered(), kind in reducing(), rate in RATES, bytes in BYTES, qps in 1u32..9,
        in_turns in any::<bool>()
    ) {
        let n = group.len() as u32;
        let qp_use = if in_turns { QpUse::RoundRobin } else { QpUse::Split };
        let carriage = Carriage { qps, qp_use, message_bytes: 1e6 };
        let ring = Collective { carriage, ..collective(kind, Ring, bytes, 2) };
        assert_close(seconds(&roomy(servers, 1, rate), ring, group), sent(kind, n) * bytes / rate)?;
    }
}
