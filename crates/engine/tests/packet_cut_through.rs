//! Switches that send packets on while they come in.

mod trees;

use std::sync::atomic::AtomicBool;

use eastwest_engine::graph::{Graph, NodeKind};
use eastwest_engine::packet::{Flow, NetworkSettings, PacketOutcome, Scene, Simulation, Transport, round_trip};
use eastwest_engine::routing::Forwarding;
use eastwest_transport::roce::Repeat;
use proptest::prelude::*;
use trees::*;

/// Bytes of a header, and their time at 400 Gb/s.
const HEADER: u16 = 64;
const HEADER_TIME: u64 = 1280;

fn run_cut<T: Transport>(graph: &Graph, flows: &[Flow], transport: &T, settings: NetworkSettings) -> PacketOutcome {
    let forwarding = Forwarding::new(graph);
    let scene = Scene { graph, forwarding: &forwarding, flows, triggers: &[], changes: &[] };
    let simulation = Simulation::new(scene, transport, settings).unwrap().cutting_through(HEADER);
    simulation.run(u64::MAX, &AtomicBool::new(false)).unwrap()
}

/// Host 0, switches, and host 1 in a row; cables of 1 us and these rates, in hundreds of gigabits a second.
fn row(rates: &[u32]) -> Graph {
    let switches = rates.len() as u32 - 1;
    let mut kind = vec![NodeKind::Nic; 2];
    kind.extend(vec![NodeKind::Switch; switches as usize]);
    let node = |place: u32| {
        if place == 0 {
            0
        } else if place > switches {
            1
        } else {
            1 + place
        }
    };
    let ends = (0..=switches).map(|place| [node(place), node(place + 1)]);
    let (src, dst): (Vec<u32>, Vec<u32>) = ends.flat_map(|[a, b]| [(a, b), (b, a)]).unzip();
    let rate: Vec<f64> = rates.iter().flat_map(|&rate| [f64::from(rate) * 12.5e9; 2]).collect();
    let (nodes, links) = (kind.len(), src.len());
    Graph::new(kind, vec![0; nodes], src, dst, rate, vec![US; links], vec![false; links]).unwrap()
}

fn alone(rates: &[u32]) -> u64 {
    let outcome = run_cut(&row(rates), &[flow(0, 1, 4096, 0)], &roce(Repeat::GoBackN), lossless());
    outcome.flows[0].received.unwrap()
}

#[test]
fn a_packet_crosses_k_switches_in_its_time_once_and_a_header_s_at_each() {
    for switches in 1..6 {
        let rates = vec![4; switches as usize + 1];
        assert_eq!(alone(&rates), PACKET + switches * HEADER_TIME + (switches + 1) * US);
        let stored = run(&row(&rates), &[flow(0, 1, 4096, 0)], &roce(Repeat::GoBackN), lossless());
        assert_eq!(stored.flows[0].received, Some((switches + 1) * (PACKET + US)));
    }
}

#[test]
fn a_faster_way_out_waits_until_it_cannot_run_dry() {
    // Its last bit leaves as it comes in: the packet's time on the slow cable, and the cables.
    assert_eq!(alone(&[2, 4]), 2 * PACKET + 2 * US);
    // A slower way out begins at once.
    assert_eq!(alone(&[4, 2]), HEADER_TIME + 2 * PACKET + 2 * US);
    // In, slowly; out and on, fast.
    assert_eq!(alone(&[2, 4, 4]), 2 * PACKET + HEADER_TIME + 3 * US);
}

#[test]
fn a_port_that_is_taken_is_waited_for() {
    // Two hosts send a packet each to a third at once: the second leaves when the first has.
    let outcome = run_cut(&star(3), &[flow(0, 2, 4096, 0), flow(1, 2, 4096, 0)], &roce(Repeat::GoBackN), lossless());
    let mut times: Vec<u64> = outcome.flows.iter().map(|flow| flow.received.unwrap()).collect();
    times.sort_unstable();
    assert_eq!(times, [PACKET + HEADER_TIME + 2 * US, 2 * PACKET + HEADER_TIME + 2 * US]);
}

#[test]
fn a_stream_takes_its_packets_and_the_way() {
    let outcome = run_cut(&star(2), &[flow(0, 1, 100 * 4096, 0)], &roce(Repeat::GoBackN), lossless());
    assert_eq!(outcome.flows[0].received, Some(100 * PACKET + HEADER_TIME + 2 * US));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn one_packet_takes_what_the_empty_network_s_round_trip_says(rates in prop::collection::vec(1u32..9, 2..6)) {
        let graph = row(&rates);
        let outcome = run_cut(&graph, &[flow(0, 1, 4096, 0)], &roce(Repeat::GoBackN), lossless());
        let expected = round_trip(&graph, &Forwarding::new(&graph), 0, 1, 4096, 64, Some(HEADER)).unwrap();
        prop_assert!(outcome.flows[0].end.unwrap().abs_diff(expected) <= 64, "{:?}, not {expected}", outcome.flows[0]);
    }

    #[test]
    fn packets_add_up(
        pairs in prop::collection::vec((0u32..32, 0u32..32, 1u64..200_000, 0..20 * US), 1..60),
        loss in prop_oneof![Just(0u32), 1_000u32..3_000_000],
        trims: bool,
        seed: u64,
    ) {
        let flows: Vec<_> =
            pairs.iter().filter(|p| p.0 != p.1).map(|&(from, to, bytes, at)| flow(from, to, bytes, at)).collect();
        let settings = NetworkSettings { loss, seed, ..lossy(20 * FULL, trims) };
        times(&run_cut(&leaf_spine(4, 8, 3), &flows, &uet(8 * US + 4 * PACKET, trims), settings));
        times(&run_cut(&leaf_spine(4, 8, 3), &flows, &roce(Repeat::GoBackN), NetworkSettings { loss, ..lossless() }));
    }
}
