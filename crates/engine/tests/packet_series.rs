//! A run over time: it adds up, changes nothing, and stays within its bounds.

mod trees;

use std::sync::atomic::AtomicBool;

use eastwest_engine::packet::{
    Becomes, Change, Flow, NetworkSettings, PacketOutcome, Sampling, Scene, Series, Simulation, Transport,
};
use eastwest_engine::routing::Forwarding;
use eastwest_transport::roce::{Repeat, RoceSettings};
use proptest::prelude::*;
use trees::*;

const EVERY: Sampling =
    Sampling { every: US, most_samples: 1 << 20, most_entries: 1 << 20, payload: 4096, most_flows: 64 };

fn sampled<T: Transport>(
    graph: &eastwest_engine::graph::Graph,
    flows: &[Flow],
    changes: &[Change],
    transport: &T,
    settings: NetworkSettings,
    sampling: Sampling,
) -> PacketOutcome {
    let forwarding = Forwarding::new(graph);
    let scene = Scene { graph, forwarding: &forwarding, flows, triggers: &[], changes };
    let simulation = Simulation::new(scene, transport, settings).unwrap().sampling(sampling);
    simulation.run(u64::MAX, &AtomicBool::new(false)).unwrap()
}

fn series(outcome: &PacketOutcome) -> &Series {
    outcome.series.as_ref().unwrap()
}

/// Link from the switch of a star to host 0.
const INTO_HOST_0: u32 = 1;

/// `senders` hosts send to host 0 of a star at once, nothing is lost, paused or answered on the way there.
fn incast(senders: u32, packets: u64, sampling: Sampling) -> PacketOutcome {
    let graph = star(senders as usize + 1);
    let flows: Vec<_> = (1..=senders).map(|from| flow(from, 0, packets * 4096, 0)).collect();
    let endless = NetworkSettings { marking: None, ..lossy(1 << 30, false) };
    sampled(&graph, &flows, &[], &roce(Repeat::GoBackN), endless, sampling)
}

#[test]
fn the_queue_before_a_shared_port_fills_at_the_rates_difference() {
    // Three ports at full rate into one: the queue grows by two packets in the time of one.
    let outcome = incast(3, 100, Sampling { every: PACKET, ..EVERY });
    let depths: Vec<u32> =
        series(&outcome).ports.iter().filter(|entry| entry.port == INTO_HOST_0).map(|entry| entry.waiting).collect();
    // The first three packets are in after a packet's time and a microsecond, rounded up to whole intervals.
    let rising = &depths[..99];
    let steps: Vec<i64> = rising.windows(2).map(|two| i64::from(two[1]) - i64::from(two[0])).collect();
    assert!(steps.iter().all(|&step| step == 2 * FULL as i64), "{steps:?}");
    assert_eq!(u64::from(outcome.ports[INTO_HOST_0 as usize].deepest), 200 * FULL);
}

#[test]
fn a_full_port_sends_at_its_rate_in_every_interval() {
    let outcome = incast(3, 1000, Sampling { every: 10 * US, ..EVERY });
    let bytes: Vec<u64> =
        series(&outcome).ports.iter().filter(|entry| entry.port == INTO_HOST_0).map(|entry| entry.bytes).collect();
    // 400 Gb/s are 500,000 bytes in 10 us, shared packets counted by their parts.
    assert!(bytes[1..bytes.len() - 1].iter().all(|&bytes| bytes.abs_diff(500_000) <= 1), "{bytes:?}");
    assert_eq!(bytes.iter().sum::<u64>(), 3000 * FULL);
}

#[test]
fn a_flow_s_bytes_add_up_to_it() {
    let outcome = incast(3, 100, EVERY);
    for flow in 0..3 {
        let delivered: u64 = series(&outcome).flows.chunks(3).map(|flows| flows[flow].delivered).sum();
        assert_eq!(delivered, 100 * 4096);
    }
}

#[test]
fn the_first_packet_of_a_flow_shows_its_way() {
    let outcome = incast(2, 10, EVERY);
    assert_eq!(series(&outcome).ways, [[0, 2], [1, 4], [0, INTO_HOST_0], [1, INTO_HOST_0]]);
}

#[test]
fn pauses_are_those_of_the_ports_that_were_paused() {
    let graph = star(4);
    let flows: Vec<_> = (1..4).map(|from| flow(from, 0, 400 * 4096, 0)).collect();
    let outcome = sampled(&graph, &flows, &[], &roce(Repeat::GoBackN), lossless(), EVERY);
    let total: u64 = series(&outcome).ports.iter().map(|entry| entry.paused).sum();
    assert!(outcome.totals.paused > 0);
    assert_eq!(total, outcome.totals.paused);
    assert_eq!(outcome.ports.iter().map(|port| port.paused).sum::<u64>(), outcome.totals.paused);
    assert_eq!(outcome.ports.iter().map(|port| port.pauses).sum::<u64>(), outcome.totals.pauses);
    // Only senders' own links are paused, each for two thirds of the time that the shared port takes for all.
    for from in 1..4 {
        let paused = outcome.ports[2 * from].paused as f64;
        let shared = (3 * 400 * PACKET) as f64;
        assert!((paused / (shared * 2.0 / 3.0) - 1.0).abs() < 0.1, "{paused} of {shared}");
    }
    assert_eq!(outcome.ports[INTO_HOST_0 as usize].paused, 0);
}

#[test]
fn a_lost_switch_shows_as_retired_values_and_as_drops_where_they_happened() {
    let graph = leaf_spine(2, 4, 4);
    let rtt = 8 * US;
    let flows: Vec<_> = (0..4).map(|host| flow(host, host + 4, 4_000_000, 0)).collect();
    let is_of_spine = |link: &u32| graph.src[*link as usize] == 10 || graph.dst[*link as usize] == 10;
    let down = |link| Change { at: 20 * US, link, becomes: Becomes::Down, routes_after: None };
    let changes: Vec<_> = (0..graph.links() as u32).filter(is_of_spine).map(down).collect();
    let outcome = sampled(&graph, &flows, &changes, &mrc(rtt, true), lossy(60 * FULL, true), EVERY);
    let found = series(&outcome);
    assert!(found.network[..20].iter().all(|sample| sample.paths.retired == 0));
    // A quarter of the paths leads over that spine.
    let most = found.network.iter().map(|sample| sample.paths.retired).max().unwrap();
    assert!((4 * 128 / 8..=4 * 128 / 2).contains(&most), "{most}");
    let elsewhere = found.ports.iter().filter(|entry| entry.drops > 0 && !is_of_spine(&entry.port)).count();
    assert_eq!(elsewhere, 0);
    let drops: u64 = found.totals.iter().map(|port| port.drops).sum();
    assert_eq!(drops, outcome.totals.drops + outcome.totals.urgent_drops);
}

#[test]
fn sampling_changes_nothing() {
    let graph = leaf_spine(4, 4, 2);
    let flows = shifted(16, 5, 400_000);
    let transport = uet(8 * US, true);
    let without = run(&graph, &flows, &transport, lossy(60 * FULL, true));
    let with = sampled(&graph, &flows, &[], &transport, lossy(60 * FULL, true), EVERY);
    assert!(without.series.is_none());
    assert_eq!((with.flows, with.ports), (without.flows, without.ports));
    assert_eq!((with.totals, with.events), (without.totals, without.events));
}

#[test]
fn the_series_is_the_same_however_the_network_is_parted() {
    let graph = leaf_spine(4, 4, 2);
    let flows = shifted(16, 5, 400_000);
    let forwarding = Forwarding::new(&graph);
    let scene = Scene { graph: &graph, forwarding: &forwarding, flows: &flows, triggers: &[], changes: &[] };
    let transport = uet(8 * US, true);
    let in_regions_of = |ports| {
        let simulation = Simulation::new(scene, &transport, lossy(60 * FULL, true)).unwrap();
        let outcome = simulation.sampling(EVERY).with_regions_of(ports).run(u64::MAX, &AtomicBool::new(false));
        let mut found = outcome.unwrap().series.unwrap();
        found.ways.sort_unstable(); // regions take turns, each for a microsecond
        found
    };
    assert_eq!(in_regions_of(8), in_regions_of(usize::MAX));
}

#[test]
fn what_is_joined_is_what_longer_intervals_show() {
    // 1024 intervals of 100 ns at first, joined as often as there are more than 8.
    let short = Sampling { every: 100_000, most_samples: 8, ..EVERY };
    let joined = incast(3, 100, short);
    let every = series(&joined).every;
    assert!(series(&joined).network.len() <= 8);
    assert_eq!(every % 100_000, 0);
    let direct = incast(3, 100, Sampling { every, ..EVERY });
    let (joined, direct) = (series(&joined), series(&direct));
    assert_eq!((&joined.network, &joined.flows), (&direct.network, &direct.flows));
    assert_eq!((&joined.ports, &joined.totals), (&direct.ports, &direct.totals));
}

#[test]
fn a_long_silence_costs_no_more_than_the_bound() {
    let graph = star(2);
    let flows = [flow(0, 1, 4096, 0), flow(0, 1, 4096, 1_000_000 * US)];
    let sampling = Sampling { every: 1000, most_samples: 64, ..EVERY };
    let outcome = sampled(&graph, &flows, &[], &roce(Repeat::GoBackN), lossless(), sampling);
    assert!(series(&outcome).network.len() <= 64);
    assert_eq!(series(&outcome).totals[INTO_HOST_0 as usize + 2].packets, 2);
}

#[test]
fn entries_of_ports_are_bounded_as_well() {
    let outcome = incast(7, 300, Sampling { every: 100_000, most_entries: 200, ..EVERY });
    // As many as ports may come between two looks, twice.
    assert!(series(&outcome).ports.len() < 200 + 2 * 16, "{}", series(&outcome).ports.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn bytes_over_time_are_bytes_by_port_and_by_packet(
        shift in 1u32..15, bytes in 1u64..300_000, every in 50_000u64..5_000_000, most in 2u32..40, is_lossless: bool,
    ) {
        let graph = leaf_spine(4, 4, 2);
        let flows = shifted(16, shift, bytes);
        let sampling = Sampling { every, most_samples: most * 2, ..EVERY };
        let outcome = if is_lossless {
            let transport = RoceSettings { ack_every: 4, ..roce(Repeat::GoBackN) };
            sampled(&graph, &flows, &[], &transport, lossless(), sampling)
        } else {
            sampled(&graph, &flows, &[], &uet(8 * US, true), lossy(20 * FULL, true), sampling)
        };
        let found = series(&outcome);
        let mut by_port = vec![[0; 4]; graph.links()];
        for entry in &found.ports {
            let sums = &mut by_port[entry.port as usize];
            let [marks, drops, trims] = [entry.marks, entry.drops, entry.trims].map(u64::from);
            for (sum, each) in sums.iter_mut().zip([entry.bytes, marks, drops, trims]) {
                *sum += each;
            }
            // no port is faster than its rate
            prop_assert!(entry.bytes as f64 <= found.every as f64 * RATE / 1e12 + FULL as f64);
        }
        for (sums, total) in by_port.iter().zip(&found.totals) {
            prop_assert_eq!(*sums, [total.bytes, total.marks, total.drops, total.trims]);
        }
        let totals = outcome.totals;
        prop_assert_eq!(found.totals.iter().map(|port| port.packets).sum::<u64>(), totals.link_hops);
        prop_assert_eq!(found.totals.iter().map(|port| port.marks).sum::<u64>(), totals.marks);
        prop_assert_eq!(found.totals.iter().map(|port| port.trims).sum::<u64>(), totals.trims);
        prop_assert_eq!(found.network.iter().map(|sample| sample.delivered).sum::<u64>(), totals.delivered);
        prop_assert_eq!(found.network.iter().map(|sample| sample.retransmits).sum::<u64>(), totals.retransmits);
        prop_assert_eq!(outcome.flows.iter().map(|flow| flow.retransmits).sum::<u64>(), totals.retransmits);
        prop_assert!(found.ports.is_sorted_by_key(|entry| (entry.sample, entry.port)));
    }
}
