//! Shared memory of switches: dynamic thresholds, pauses at them, headroom, marks before pauses.

mod trees;

use std::sync::atomic::AtomicBool;

use eastwest_engine::graph::Graph;
use eastwest_engine::packet::{
    Beyond, Class, Classes, Flow, Marking, PacketOutcome, Room, Scene, Simulation, Threshold, Trimming, headroom,
};
use eastwest_engine::routing::Forwarding;
use eastwest_transport::dcqcn::DcqcnSettings;
use eastwest_transport::roce::{Repeat, RoceSettings};
use trees::*;

fn class(alpha: f64, beyond: Beyond) -> Class {
    let room = Room { reserve: 0, threshold: Threshold::Alpha(alpha), beyond };
    Class { priority: 0, weight: 1, room, marking: None, answers: None, notifications: None }
}

fn lossless_class(alpha: f64, headroom: Option<u32>) -> Class {
    class(alpha, Beyond::Pause { below: 2 * FULL as u32, headroom })
}

/// One class, in switches of so many bytes.
fn run_in(graph: &Graph, flows: &[Flow], transport: &RoceSettings, class: Class, memory: u64) -> PacketOutcome {
    run_until(u64::MAX, graph, flows, transport, class, memory)
}

/// The same, until a time.
fn run_until(
    until: u64,
    graph: &Graph,
    flows: &[Flow],
    transport: &RoceSettings,
    class: Class,
    memory: u64,
) -> PacketOutcome {
    let classes = Classes { classes: vec![class], memory: Some(memory), full: FULL as u16 };
    let forwarding = Forwarding::new(graph);
    let scene = Scene { graph, forwarding: &forwarding, flows, triggers: &[], changes: &[] };
    let simulation = Simulation::new(scene, transport, lossless()).unwrap().classed(&classes).unwrap();
    simulation.run(until, &AtomicBool::new(false)).unwrap()
}

/// `count` pairs of hosts send to a host each.
fn incasts(count: u32, bytes: u64) -> (Graph, Vec<Flow>) {
    let flows = (0..count).flat_map(|to| [flow(count + 2 * to, to, bytes, 0), flow(count + 2 * to + 1, to, bytes, 0)]);
    (star(3 * count as usize), flows.collect())
}

#[test]
fn full_queues_of_a_lossy_class_hold_what_choudhury_and_hahne_say() {
    // Each of N ports gets twice what it can send, until its queue is at its threshold: alpha B / (1 + N alpha). A queue of
    // 1 MB fills in 20 us, and senders have new packets for 80. When each other
    // queue lacks a packet, one may hold alpha / (1 + alpha) of those more.
    for (count, alpha) in [(1, 1.0), (4, 1.0), (4, 0.25), (8, 2.0)] {
        let (star, flows) = incasts(count, 4_000_000);
        let memory = 2_000_000;
        let transport = roce(Repeat::Selective);
        let class = class(alpha, Beyond::Lose(Trimming::Off));
        let outcome = run_until(70 * US, &star, &flows, &transport, class, memory);
        let expected = alpha * memory as f64 / (1.0 + f64::from(count) * alpha);
        let found = outcome.classes.totals[0].most_shared as f64;
        assert!(outcome.totals.drops > 0);
        let slack = (2.0 + alpha / (1.0 + alpha) * f64::from(count - 1)) * FULL as f64;
        assert!((found - expected).abs() <= slack, "{count} ports, alpha {alpha}: {found}, not {expected}");
    }
}

#[test]
fn a_lossless_class_pauses_at_the_fill_that_its_threshold_comes_to() {
    // N cables whose bytes cannot get out fast enough pause at alpha B / (1 + N alpha), B without the headroom of all
    // ports; a packet may cross the threshold. That is so for the first pauses, to which all fill alike: half of what comes
    // stays, and a pause shows two cables later. Afterwards one holds more while others hold less.
    for (pairs, alpha) in [(1, 1.0), (2, 0.125), (4, 0.5)] {
        let (star, flows) = incasts(pairs, 40_000_000);
        let (shared, ports) = (1_500_000, 3 * u64::from(pairs));
        let needed = u64::from(headroom(RATE, US, FULL as u16));
        let class = lossless_class(alpha, None);
        let groups = 2.0 * f64::from(pairs);
        let expected = alpha * shared as f64 / (1.0 + groups * alpha);
        let until = (2.0 * expected / RATE * 1e12) as u64 + 3 * US;
        let outcome = run_until(until, &star, &flows, &roce(Repeat::GoBackN), class, shared + ports * needed);
        let found = outcome.classes.totals[0];
        assert!(found.pauses > 0 && found.drops == 0);
        let fill = found.most_shared as f64;
        assert!((fill - expected).abs() <= 2.0 * FULL as f64, "{pairs} pairs, alpha {alpha}: {fill}, not {expected}");
    }
}

#[test]
fn headroom_for_the_cable_loses_nothing_and_less_does() {
    // Seven hosts send to one: each cable is paused while it is full of packets.
    let flows: Vec<_> = (1..8).map(|from| flow(from, 0, 8_000_000, 0)).collect();
    let needed = headroom(RATE, US, FULL as u16);
    let memory = 10_000_000;
    let with = |headroom| {
        let class = lossless_class(0.0625, headroom);
        let outcome = run_in(&star(8), &flows, &roce(Repeat::GoBackN), class, memory);
        times(&outcome); // all have ended
        outcome.classes.totals[0]
    };
    let (computed, stated, small) = (with(None), with(Some(needed)), with(Some(needed * 3 / 4)));
    assert_eq!(computed, stated);
    assert!(computed.pauses > 0 && computed.drops == 0, "{computed:?}");
    // It is not wasted either: at most the two packets that happen to be under way at both ends are spared.
    assert!(computed.most_headroom + 2 * FULL >= u64::from(needed), "{computed:?} of {needed}");
    assert!(small.headroom_drops > 0 && small.drops == small.headroom_drops, "{small:?}");
}

#[test]
fn a_buffer_that_cannot_hold_its_headroom_is_refused() {
    let (star, flows) = incasts(1, 4096);
    let forwarding = Forwarding::new(&star);
    let scene = Scene { graph: &star, forwarding: &forwarding, flows: &flows, triggers: &[], changes: &[] };
    let transport = roce(Repeat::GoBackN);
    let classes =
        |memory| Classes { classes: vec![lossless_class(1.0, None)], memory: Some(memory), full: FULL as u16 };
    let needed = 3 * u64::from(headroom(RATE, US, FULL as u16));
    let refused = Simulation::new(scene, &transport, lossless()).unwrap().classed(&classes(needed)).err().unwrap();
    assert!(refused.to_string().contains("reserves and headroom of its ports take"), "{refused}");
    assert!(Simulation::new(scene, &transport, lossless()).unwrap().classed(&classes(needed + 1)).is_ok());
}

#[test]
fn a_reserve_is_there_when_others_have_taken_all_else() {
    // Class 0 may take all that is free and does; class 1 comes late, and has its reserve of a packet a port alone.
    let flows: Vec<_> = (1..4).map(|from| flow(from, 0, 8_000_000, 0)).collect();
    let late = Flow { class: 1, ..flow(4, 5, 8 * 4096, 100 * US) };
    let lossy = Beyond::Lose(Trimming::Off);
    let sent = |reserve| {
        let greedy = class(1000.0, lossy);
        let modest = Class { room: Room { reserve, ..class(0.001, lossy).room }, ..greedy };
        let classes = Classes { classes: vec![greedy, modest], memory: Some(1_000_000), full: FULL as u16 };
        let flows: Vec<_> = flows.iter().copied().chain([late]).collect();
        let star = star(6);
        let forwarding = Forwarding::new(&star);
        let scene = Scene { graph: &star, forwarding: &forwarding, flows: &flows, triggers: &[], changes: &[] };
        let transport = RoceSettings { timeout: 10_000 * US, ..roce(Repeat::Selective) };
        let simulation = Simulation::new(scene, &transport, lossless()).unwrap().classed(&classes).unwrap();
        simulation.run(u64::MAX, &AtomicBool::new(false)).unwrap().classes.totals[1].drops
    };
    assert_eq!(sent(FULL as u32), 0);
    assert!(sent(0) > 0);
}

#[test]
fn marks_that_begin_below_the_fill_of_a_pause_keep_pauses_away() {
    // DCQCN slows senders down by marks: where those begin far below the pause's fill they do all the work, where they
    // begin above it pauses do.
    let flows: Vec<_> = (1..5).map(|from| flow(from, 0, 40_000_000, 0)).collect();
    let transport = RoceSettings { dcqcn: Some(DcqcnSettings::paper(RATE)), ..roce(Repeat::GoBackN) };
    let memory = 24_000_000;
    let pauses = |from: u32, to: u32| {
        let marking = Some(Marking { from, to, most: 1000 });
        let outcome = run_in(&star(5), &flows, &transport, Class { marking, ..lossless_class(0.125, None) }, memory);
        assert_eq!(outcome.totals.drops, 0);
        outcome.totals.paused
    };
    // Four groups pause at 24 MB / 8 / (1 + 4/8) = 2 MB each, less headroom, 8 MB in the queue that they share.
    let (before, after) = (pauses(100_000, 400_000), pauses(12_000_000, 12_000_001));
    assert!(before < after / 2, "paused for {before} ps with early marks, {after} with late ones");
}
