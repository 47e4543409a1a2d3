//! A network may be worked on region by region: what comes of it does not depend on how it is parted.

mod trees;

use std::sync::atomic::AtomicBool;

use eastwest_engine::graph::Graph;
use eastwest_engine::packet::{
    Becomes, Change, Choice, Flow, NetworkSettings, PacketOutcome, Scene, Simulation, Transport, Watchdog,
};
use eastwest_engine::routing::Forwarding;
use eastwest_transport::roce::Repeat;
use proptest::prelude::*;
use trees::*;

/// Six leaves of four hosts and three spines; 66 ports in all.
const LEAVES: usize = 6;
const DOWN: usize = 4;
const SPINES: usize = 3;
const HOSTS: u32 = (LEAVES * DOWN) as u32;

fn run_parted<T: Transport>(
    graph: &Graph,
    flows: &[Flow],
    changes: &[Change],
    transport: &T,
    settings: NetworkSettings,
    region: usize,
    until: u64,
) -> PacketOutcome {
    let forwarding = Forwarding::new(graph);
    let scene = Scene { graph, forwarding: &forwarding, flows, triggers: &[], changes };
    let simulation = Simulation::new(scene, transport, settings).unwrap().with_regions_of(region);
    simulation.run(until, &AtomicBool::new(false)).unwrap()
}

/// Runs with one region, with one for each switch, and with some of several switches.
fn check<T: Transport>(flows: &[Flow], changes: &[Change], transport: &T, settings: NetworkSettings, until: u64) {
    let graph = leaf_spine(LEAVES, DOWN, SPINES);
    let [whole, finest, some] =
        [1000, 1, 20].map(|region| run_parted(&graph, flows, changes, transport, settings, region, until));
    for parted in [finest, some] {
        assert_eq!(parted.flows, whole.flows);
        assert_eq!(parted.totals, whole.totals);
        assert_eq!(parted.end, whole.end);
    }
}

fn some_flows() -> impl Strategy<Value = Vec<Flow>> {
    let one = (0..HOSTS, 1..HOSTS, 1..300_000u64, 0..40 * US);
    let flow = one.prop_map(|(from, shift, bytes, start)| flow(from, (from + shift) % HOSTS, bytes, start));
    proptest::collection::vec(flow, 1..40)
}

fn some_changes() -> impl Strategy<Value = Vec<Change>> {
    let becomes = prop_oneof![
        Just(Becomes::Down),
        Just(Becomes::Up),
        Just(Becomes::Rate(RATE / 4.0)),
        Just(Becomes::Erring(100_000_000)),
    ];
    // both directions of each cable between two switches
    let links = 2 * HOSTS..2 * (HOSTS + (LEAVES * SPINES) as u32);
    let one = (0..80 * US, links, becomes, proptest::option::of(0..20 * US));
    let change = one.prop_map(|(at, link, becomes, routes_after)| Change { at, link, becomes, routes_after });
    proptest::collection::vec(change, 0..6)
}

fn some_choice() -> impl Strategy<Value = Choice> {
    prop_oneof![Just(Choice::Hash), Just(Choice::Random), Just(Choice::ShortestQueue)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn sprayed_and_trimmed(flows in some_flows(), choice in some_choice(), seed: u64) {
        check(&flows, &[], &uet(8 * US, true), NetworkSettings { choice, seed, ..lossy(6 * FULL, true) }, u64::MAX);
    }

    #[test]
    fn through_failures(flows in some_flows(), changes in some_changes(), choice in some_choice(), seed: u64) {
        // a link may stay down for good without routes around it: then the time limit ends the run
        let settings = NetworkSettings { choice, seed, loss: 1_000_000, ..lossy(20 * FULL, false) };
        check(&flows, &changes, &mrc(8 * US, false), settings, 2_000 * US);
    }

    #[test]
    fn under_pauses(flows in some_flows(), choice in some_choice(), seed: u64) {
        let watchdog = Some(Watchdog { detect: 15 * US, restore: 5 * US });
        let settings = NetworkSettings { choice, seed, watchdog, ..lossless() };
        check(&flows, &[], &roce(Repeat::Selective), settings, 5_000 * US);
    }
}
