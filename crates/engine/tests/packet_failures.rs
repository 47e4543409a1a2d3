//! What happens to transfers when parts of the network fail.

mod trees;

use eastwest_engine::graph::{Graph, NodeKind};
use eastwest_engine::packet::{Becomes, Change, NetworkSettings, PacketOutcome, Watchdog};
use eastwest_transport::mrc::MrcSettings;
use eastwest_transport::roce::Repeat;
use eastwest_transport::sprayed::SprayedSettings;
use trees::*;

const PLANES: usize = 8;
const HOSTS: usize = 4;

/// Hosts whose NICs have a port of an eighth of 400 Gb/s on each of eight planes, a switch each.
fn eight_planes() -> Graph {
    let mut kind = vec![NodeKind::Nic; HOSTS];
    kind.extend(vec![NodeKind::Switch; PLANES]);
    let cables = (0..HOSTS).flat_map(|host| (0..PLANES).map(move |plane| (host as u32, (HOSTS + plane) as u32)));
    let (src, dst): (Vec<u32>, Vec<u32>) = cables.flat_map(|(a, b)| [(a, b), (b, a)]).unzip();
    let links = src.len();
    let rates = vec![RATE / PLANES as f64; links];
    Graph::new(kind, vec![0; HOSTS + PLANES], src, dst, rates, vec![US; links], vec![false; links]).unwrap()
}

/// Both directions of every cable that a switch has go down, or come back.
fn switch(graph: &Graph, node: u32, at: u64, becomes: Becomes, routes_after: Option<u64>) -> Vec<Change> {
    links_of(graph, node).map(|link| Change { at, link, becomes, routes_after }).collect()
}

fn last(outcome: &PacketOutcome) -> u64 {
    outcome.flows.iter().map(|flow| flow.end.unwrap()).max().unwrap()
}

#[test]
fn mrc_rides_through_a_lost_plane_at_seven_eighths_of_its_rate() {
    let graph = eight_planes();
    let bytes = 40_000_000;
    let flows = shifted(HOSTS as u32, 1, bytes);
    // A packet takes eight times as long on a plane's link.
    let rtt = 4 * US + 2 * 8 * PACKET + 2 * 8 * 1280;
    let (transport, settings) = (mrc(rtt, true), lossy(60 * FULL, true));
    let healthy = last(&run(&graph, &flows, &transport, settings));
    let at = 200 * US;
    let lost = switch(&graph, (HOSTS + 3) as u32, at, Becomes::Down, None);
    let outcome = run_through(&graph, &flows, &lost, &transport, settings);
    let with_seven = last(&outcome);
    // What was left when the plane went takes 8/7 as long; a few windows' time goes for finding out.
    let expected = at + (healthy - at) * 8 / 7;
    assert!(with_seven >= expected - 10 * US, "{with_seven}, expected {expected}");
    assert!(with_seven < expected + 60 * US, "{with_seven}, expected {expected}");
    assert!(outcome.totals.drops > 0 && outcome.totals.retransmits >= outcome.totals.drops);

    // Brought back, it is used again: probes find out, the next of them at most as long after as the plane was down.
    let mut back = lost.clone();
    back.extend(switch(&graph, (HOSTS + 3) as u32, 400 * US, Becomes::Up, None));
    let recovered = last(&run_through(&graph, &flows, &back, &transport, settings));
    assert!(recovered < with_seven - 30 * US, "{recovered} against {with_seven}");
}

#[test]
fn mrc_probes_lost_paths_ever_more_rarely() {
    let graph = eight_planes();
    let flows = [flow(0, 1, 100_000_000, 0)];
    let rtt = 4 * US + 2 * 8 * PACKET + 2 * 8 * 1280;
    let at = 100 * US;
    let last_hop = graph.out((HOSTS + 3) as u32).iter().copied().find(|&link| graph.dst[link as usize] == 1).unwrap();
    let lost = [Change { at, link: last_hop, becomes: Becomes::Down, routes_after: None }];
    let outcome = run_through(&graph, &flows, &lost, &mrc(rtt, true), lossy(60 * FULL, true));
    let time = last(&outcome) - at;
    assert!((2000 * US..3000 * US).contains(&time), "{time}");
    // 16 of its 128 values are on the plane: one probe of each 50 us after it was lost, then, one value at a time, after
    // another 50, 100, 200, 400 and 800 us; the next is 1600 us later.
    assert_eq!(outcome.totals.urgent_drops, 16 + 5);
}

#[test]
fn mrc_repeats_what_was_trimmed_alone_where_one_plane_is_slow() {
    // One plane runs at half of its rate: a queue of two round trips and more stands before it, while the other planes' are
    // short. Packets that wait there are overtaken by those of other planes, and none is lost.
    let graph = eight_planes();
    let slow: Vec<Change> = (0..graph.links() as u32)
        .filter(|&link| graph.src[link as usize] == (HOSTS + 3) as u32)
        .map(|link| Change { at: 0, link, becomes: Becomes::Rate(RATE / 16.0), routes_after: None })
        .collect();
    let rtt = 4 * US + 2 * 8 * PACKET + 2 * 8 * 1280;
    let transport = MrcSettings { sprayed: SprayedSettings { planes: 8, ..mrc(rtt, true).sprayed }, ..mrc(rtt, true) };
    let flows = shifted(HOSTS as u32, 1, 10_000_000);
    // a plane's port sends 10 packets in a round trip
    let totals = run_through(&graph, &flows, &slow, &transport, lossy(10 * FULL, true)).totals;
    assert!(totals.deepest > 8 * FULL, "{} bytes wait", totals.deepest);
    assert_eq!((totals.drops, totals.retransmits), (0, totals.trims));
}

#[test]
fn a_nic_with_a_port_down_sends_by_the_others_without_loss() {
    let graph = eight_planes();
    let flows = [flow(0, 1, 8_000_000, US)];
    let own_port = graph.out(0)[3];
    let down = [Change { at: 0, link: own_port, becomes: Becomes::Down, routes_after: None }];
    let rtt = 4 * US + 2 * 8 * PACKET + 2 * 8 * 1280;
    let outcome = run_through(&graph, &flows, &down, &mrc(rtt, true), lossy(60 * FULL, true));
    assert_eq!((outcome.totals.drops, outcome.totals.retransmits), (0, 0));
    let ideal = 1985 * PACKET * 8 / 7; // 4,032 B a packet over seven ports of eight
    assert!(last(&outcome) > ideal && last(&outcome) < ideal + 25 * US, "{} of {ideal}", last(&outcome));
}

#[test]
fn over_one_hashed_path_a_transfer_waits_for_new_routes() {
    let graph = leaf_spine(2, 8, 4);
    let flows: Vec<_> = (0..8).map(|host| flow(host, 8 + host, 4_000_000, 0)).collect();
    let settings = NetworkSettings { marking: None, ..lossy(1 << 24, false) };
    let transport = roce(Repeat::GoBackN);
    let healthy = run(&graph, &flows, &transport, settings);
    let (at, delay) = (50 * US, 5_000 * US);
    let spine = 16 + 2; // the first of four, behind 16 hosts and two leaves
    let lost = switch(&graph, spine, at, Becomes::Down, Some(delay));
    let outcome = run_through(&graph, &flows, &lost, &transport, settings);
    let ends = |outcome: &PacketOutcome| outcome.flows.iter().map(|flow| flow.end.unwrap()).collect::<Vec<_>>();
    let waited = ends(&outcome).iter().filter(|&&end| end > at + delay).count();
    assert!((1..8).contains(&waited), "{waited} of 8 crossed the spine");
    let untouched =
        ends(&outcome).iter().zip(ends(&healthy)).filter(|&(&end, before)| end <= before + 1000 * US).count();
    assert_eq!(waited + untouched, 8, "{:?}", ends(&outcome));
}

#[test]
fn the_watchdog_breaks_a_deadlock_of_pauses() {
    let cables: Vec<_> =
        (0..6).flat_map(|i| [(2 * i, 12 + i), (2 * i + 1, 12 + i), (12 + i, 12 + (i + 1) % 6)]).collect();
    let flows: Vec<_> = (0..12).map(|host| flow(host, (host + 4) % 12, 2000 * 4096, 0)).collect();
    let watchdog = Some(Watchdog { detect: 200 * US, restore: 400 * US });
    let settings = NetworkSettings { watchdog, ..lossless() };
    let outcome = run(&graph(12, 6, &cables), &flows, &roce(Repeat::GoBackN), settings);
    times(&outcome); // every flow has ended
    assert!(outcome.totals.storms > 0 && outcome.totals.drops > 0);
}

#[test]
fn a_link_that_slows_down_slows_what_crosses_it() {
    let graph = star(2);
    let slow = [Change { at: 100 * US, link: 0, becomes: Becomes::Rate(RATE / 4.0), routes_after: None }];
    let bytes = 4000 * 4096; // 328 us at full rate
    let outcome = run_through(&graph, &[flow(0, 1, bytes, 0)], &slow, &roce(Repeat::GoBackN), lossless());
    let sent_before = 100 * US / PACKET + 1;
    let expected = 100 * US + (4000 - sent_before) * 4 * PACKET;
    assert!(last(&outcome).abs_diff(expected) < 10 * US, "{} expected {expected}", last(&outcome));
}

#[test]
fn bit_errors_on_one_link_are_repaired() {
    let graph = star(3);
    let erring = [Change { at: 0, link: 0, becomes: Becomes::Erring(10_000_000), routes_after: None }];
    let flows = [flow(0, 1, 10_000_000, 0), flow(2, 1, 10_000_000, 0)];
    let outcome = run_through(&graph, &flows, &erring, &roce(Repeat::Selective), lossless());
    times(&outcome);
    let expected = 0.01 * 2442.0; // one packet in a hundred of the first flow
    assert!((outcome.totals.bit_errors as f64 - expected).abs() < 5.0 * f64::sqrt(expected), "{:?}", outcome.totals);
}
