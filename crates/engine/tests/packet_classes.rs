//! Traffic classes: who is sent first, how ports are shared, what pauses hold up.

mod trees;

use std::sync::atomic::AtomicBool;

use eastwest_engine::graph::Graph;
use eastwest_engine::packet::{
    Beyond, Class, Classes, Flow, NetworkSettings, PacketOutcome, Room, Scene, Simulation, Threshold, Transport,
    Trimming,
};
use eastwest_engine::routing::Forwarding;
use eastwest_transport::roce::Repeat;
use proptest::prelude::*;
use trees::*;

/// A lossy class with so much room before each port.
fn lossy_class(room: u64, trimming: Trimming) -> Class {
    let room = Room { reserve: 0, threshold: Threshold::Bytes(room as u32), beyond: Beyond::Lose(trimming) };
    Class { priority: 0, weight: 1, room, marking: None, answers: None, notifications: None }
}

/// A lossless class that pauses a cable of which it holds 15 packets, until it holds 12; answers travel in it too.
fn lossless_class(place: u8) -> Class {
    let beyond = Beyond::Pause { below: 3 * FULL as u32, headroom: None };
    let room = Room { reserve: 0, threshold: Threshold::Bytes(15 * FULL as u32), beyond };
    Class { room, answers: Some(place), notifications: Some(place), ..lossy_class(0, Trimming::Off) }
}

fn of(class: u8, flow: Flow) -> Flow {
    Flow { class, ..flow }
}

fn classes(classes: &[Class]) -> Classes {
    Classes { classes: classes.to_vec(), memory: None, full: FULL as u16 }
}

fn run_classed<T: Transport>(
    graph: &Graph,
    flows: &[Flow],
    transport: &T,
    settings: NetworkSettings,
    classes: &Classes,
) -> PacketOutcome {
    run_until(graph, flows, transport, settings, classes, u64::MAX)
}

fn run_until<T: Transport>(
    graph: &Graph,
    flows: &[Flow],
    transport: &T,
    settings: NetworkSettings,
    classes: &Classes,
    until: u64,
) -> PacketOutcome {
    let forwarding = Forwarding::new(graph);
    let scene = Scene { graph, forwarding: &forwarding, flows, triggers: &[], changes: &[] };
    let simulation = Simulation::new(scene, transport, settings).unwrap().classed(classes).unwrap();
    simulation.run(until, &AtomicBool::new(false)).unwrap()
}

fn time(outcome: &PacketOutcome, flow: usize) -> u64 {
    outcome.flows[flow].end.unwrap() - outcome.flows[flow].start.unwrap()
}

#[test]
fn one_class_does_what_a_run_without_classes_does() {
    let tree = leaf_spine(4, 8, 3);
    // full packets alone: a cut takes the last in the queue only where it is as long as the one that came
    let flows: Vec<_> = (0..60).map(|i| flow(i % 32, (i * 7 + 3) % 32, 100 * 4032, u64::from(i) * 1000)).collect();
    for trims in [true, false] {
        let room = 20 * FULL;
        let settings = lossy(room, trims);
        let trimming = if trims { Trimming::To { bytes: 64 } } else { Trimming::Off };
        let class = Class { marking: settings.marking, ..lossy_class(room, trimming) };
        let plain = run(&tree, &flows, &uet(8 * US + 4 * PACKET, trims), settings);
        let classed = run_classed(&tree, &flows, &uet(8 * US + 4 * PACKET, trims), settings, &classes(&[class]));
        assert!(plain.totals.trims + plain.totals.drops > 0 && plain.totals.marks > 0);
        assert_eq!((plain.flows, plain.totals), (classed.flows, classed.totals));
    }
    let incast: Vec<_> = (8..15).map(|from| flow(from, 0, 500 * 4096, 0)).collect();
    let plain = run(&tree, &incast, &roce(Repeat::GoBackN), lossless());
    let classed = run_classed(&tree, &incast, &roce(Repeat::GoBackN), lossless(), &classes(&[lossless_class(0)]));
    assert!(plain.totals.pauses > 0);
    assert_eq!((plain.flows, plain.totals), (classed.flows, classed.totals));
}

#[test]
fn a_higher_priority_waits_for_one_packet_of_a_lower_one_at_most() {
    // Four hosts fill the port to host 0 for good; another's messages, a packet each, come now and then.
    let mut flows: Vec<_> = (1..5).map(|from| flow(from, 0, 40_000_000, 0)).collect();
    flows.extend((0..50).map(|turn| of(1, flow(5, 0, 4096, 20 * US + turn * 7_654_321))));
    let low = lossy_class(1 << 30, Trimming::Off);
    let high = Class { priority: 1, ..low };
    let one: Vec<_> = flows.iter().map(|flow| of(0, *flow)).collect();
    let together = run_classed(&star(6), &one, &roce(Repeat::GoBackN), lossy(1 << 30, false), &classes(&[low]));
    let first = run_classed(&star(6), &flows, &roce(Repeat::GoBackN), lossy(1 << 30, false), &classes(&[low, high]));
    let alone = 2 * PACKET + 2 * US + 2 * 1280 + 2 * US;
    for message in 4..flows.len() {
        // the answer waits for nothing: it goes the other way
        let waited = time(&first, message) - alone;
        assert!(waited <= PACKET, "message {message} waited {waited}");
    }
    assert!((4..flows.len()).all(|message| time(&together, message) > alone + 100 * PACKET));
}

#[test]
fn weights_share_a_port_three_to_one() {
    // 1,000 packets of the heavy class take 4/3 of their time; the light class has sent a third as much by then.
    let (heavy, light) = (of(0, flow(1, 0, 3000 * 4096, 0)), of(1, flow(2, 0, 3000 * 4096, 0)));
    let class = lossy_class(1 << 30, Trimming::Off);
    let weighted = classes(&[Class { weight: 3, ..class }, class]);
    let outcome = run_classed(&star(3), &[heavy, light], &roce(Repeat::GoBackN), lossy(1 << 30, false), &weighted);
    let way = (2 * US + PACKET + 2 * US + 2 * 1280) as f64;
    let first = (time(&outcome, 0) as f64 - way) / (4000.0 * PACKET as f64);
    assert!((first - 1.0).abs() < 0.02, "{first}");
    assert_eq!(time(&outcome, 1), 6000 * PACKET + way as u64);
}

#[test]
fn weights_share_a_nic_too() {
    let flows = [of(0, flow(0, 1, 3000 * 4096, 0)), of(1, flow(0, 2, 3000 * 4096, 0))];
    let class = lossy_class(1 << 30, Trimming::Off);
    let weighted = classes(&[Class { weight: 3, ..class }, class]);
    let outcome = run_classed(&star(3), &flows, &roce(Repeat::GoBackN), lossy(1 << 30, false), &weighted);
    let first = time(&outcome, 0) as f64 / (4000.0 * PACKET as f64);
    assert!((first - 1.0).abs() < 0.02, "{first}");
}

#[test]
fn a_lossless_class_loses_nothing_where_a_lossy_one_beside_it_does() {
    let flows: Vec<_> =
        (1..9).flat_map(|from| [of(0, flow(from, 0, 400_000, 0)), of(1, flow(from, 0, 400_000, 0))]).collect();
    let both = classes(&[lossless_class(0), lossy_class(20 * FULL, Trimming::Off)]);
    let outcome = run_classed(&star(9), &flows, &roce(Repeat::Selective), lossy(1, false), &both);
    times(&outcome); // all have ended
    let [lossless, lossy] = &outcome.classes.totals[..] else { panic!("two classes") };
    assert!(lossless.drops == 0 && lossless.pauses > 0 && lossless.paused > 0, "{lossless:?}");
    assert!(lossy.drops > 0 && lossy.pauses == 0 && lossy.paused == 0, "{lossy:?}");
    assert_eq!(outcome.totals.drops, lossy.drops);
    let paused: u64 = outcome.classes.paused.iter().sum();
    assert_eq!(paused, lossless.paused);
    assert!(outcome.classes.paused.iter().skip(1).step_by(2).all(|&time| time == 0), "only the first class is paused");
}

#[test]
fn a_paused_class_holds_up_no_other_as_a_paused_cable_does() {
    // Hosts of leaf 1 send to host 0 of leaf 0, which pauses the one spine, and that leaf 1; one of them also sends to host
    // 1, whose port is idle.
    let tree = leaf_spine(2, 8, 1);
    let incast = (8..16).map(|from| flow(from, 0, 2_000 * 4096, 0));
    let victim = flow(8, 1, 200 * 4096, 200 * US);
    let apart: Vec<_> = incast.chain([of(1, victim)]).collect();
    let together: Vec<_> = apart.iter().map(|flow| of(0, *flow)).collect();
    let two = classes(&[lossless_class(0), lossy_class(1 << 30, Trimming::Off)]);
    let run = |flows: &[Flow]| run_classed(&tree, flows, &roce(Repeat::GoBackN), lossless(), &two);
    let (apart, together) = (run(&apart), run(&together));
    let alone = 200 * PACKET + 3 * PACKET + 8 * US + 4 * 1280;
    let (held_up, free) = (time(&together, 8), time(&apart, 8));
    assert!(apart.classes.totals[0].pauses > 0);
    // Classes share the cable between leaf and spine by halves, and the class before it has a packet under way.
    assert!(free < 2 * alone, "{free} of {alone}");
    // Held up, it has a packet sent for each of its host's other flow, and that gets an eighth of the port to host 0.
    assert!(held_up > 200 * 8 * PACKET * 3 / 4, "{held_up} of {alone}");
}

#[test]
fn answers_travel_in_the_class_that_is_said() {
    // Host 0 sends to host 1, whose answers share a port with a flood from host 2 to host 0.
    let flows = [flow(0, 1, 4096, 20 * US), of(1, flow(2, 0, 4_000_000, 0)), of(1, flow(3, 0, 4_000_000, 0))];
    let class = lossy_class(1 << 30, Trimming::Off);
    let answered = |answers| {
        let set = classes(&[Class { answers, ..class }, class]);
        time(&run_classed(&star(4), &flows, &roce(Repeat::GoBackN), lossy(1, false), &set), 0)
    };
    let alone = 2 * PACKET + 4 * US + 2 * 1280;
    assert!(answered(None) <= alone + PACKET);
    assert!(answered(Some(1)) > alone + 2 * PACKET, "they wait in the queue of the flood");
}

#[test]
fn the_watchdog_breaks_a_storm_of_one_class_and_leaves_others_alone() {
    // The ring of six switches in which pauses deadlock, in class 0; class 1 crosses the same links, lossy.
    let cables: Vec<_> =
        (0..6).flat_map(|i| [(2 * i, 12 + i), (2 * i + 1, 12 + i), (12 + i, 12 + (i + 1) % 6)]).collect();
    let ring = graph(12, 6, &cables);
    let mut flows: Vec<_> = (0..12).map(|host| flow(host, (host + 4) % 12, 2000 * 4096, 0)).collect();
    flows.extend((0..12).map(|host| of(1, flow(host, (host + 4) % 12, 100 * 4096, 3_000 * US))));
    let two = classes(&[lossless_class(0), lossy_class(1 << 30, Trimming::Off)]);
    let settings = NetworkSettings { watchdog: None, ..lossless() };
    let stuck = run_classed(&ring, &flows, &roce(Repeat::GoBackN), settings, &two);
    assert!(stuck.flows[..12].iter().all(|flow| flow.end.is_none()), "the lossless class deadlocks");
    assert!(stuck.flows[12..].iter().all(|flow| flow.end.is_some()), "the other goes through");
    assert_eq!(stuck.classes.totals[0].drops, 0);
    let watchdog = Some(eastwest_engine::packet::Watchdog { detect: 500 * US, restore: 500 * US });
    let broken = run_classed(&ring, &flows, &roce(Repeat::GoBackN), NetworkSettings { watchdog, ..settings }, &two);
    times(&broken); // all have ended
    let [lossless, lossy] = &broken.classes.totals[..] else { panic!("two classes") };
    assert!(lossless.storms > 0 && lossless.drops > 0 && lossy.storms == 0 && lossy.drops == 0);
    assert_eq!(broken.totals.storms, lossless.storms);
}

#[test]
fn classes_that_contradict_themselves_are_refused() {
    let (tree, flows, transport) = (star(3), [of(1, flow(0, 1, 1, 0))], roce(Repeat::GoBackN));
    let forwarding = Forwarding::new(&tree);
    let refusal = |classes: Classes| {
        let scene = Scene { graph: &tree, forwarding: &forwarding, flows: &flows, triggers: &[], changes: &[] };
        let refused = Simulation::new(scene, &transport, lossless()).unwrap().classed(&classes);
        refused.err().expect("it is refused").to_string()
    };
    let class = lossy_class(1, Trimming::Off);
    let shared = Class { room: Room { threshold: Threshold::Alpha(1.0), ..class.room }, ..class };
    for (wrong, said) in [
        (classes(&[class]), "flow 0 is of class 1"),
        (classes(&[class; 9]), "1 to 8 classes, not 9"),
        (classes(&[class, Class { weight: 0, ..class }]), "class 1 has no weight"),
        (classes(&[class, shared]), "class 1 shares a memory of which no size is given"),
        (classes(&[class, Class { answers: Some(2), ..class }]), "class 1 is answered in class 2"),
    ] {
        let found = refusal(wrong);
        assert!(found.contains(said), "{found}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn packets_of_all_classes_add_up_and_a_seed_fixes_everything(
        pairs in prop::collection::vec((0u32..32, 0u32..32, 1u64..200_000, 0..20 * US, 0u8..8), 1..60),
        kinds in prop::collection::vec((0u8..3, 1u32..100, 0u8..4, 0u8..9), 8),
        reserve in 0u32..20_000,
        memory in 12_000_000u64..40_000_000,
        loss in prop_oneof![Just(0u32), 1_000u32..3_000_000],
        seed: u64,
    ) {
        let flows: Vec<_> = pairs
            .iter()
            .filter(|p| p.0 != p.1)
            .map(|&(from, to, bytes, at, class)| of(class, flow(from, to, bytes, at)))
            .collect();
        let some: Vec<_> = kinds
            .iter()
            .map(|&(priority, weight, kind, answers)| {
                let beyond = match kind {
                    0 => Beyond::Lose(Trimming::Off),
                    1 => Beyond::Lose(Trimming::To { bytes: 64 }),
                    2 => Beyond::Pause { below: 8192, headroom: None },
                    _ => Beyond::Pause { below: 0, headroom: Some(20_000) },
                };
                let threshold =
                    if weight % 2 == 0 { Threshold::Bytes(81_920) } else { Threshold::Alpha(f64::from(weight) / 16.0) };
                let answers = (answers < 8).then_some(answers);
                let room = Room { reserve, threshold, beyond };
                Class { priority, weight, room, marking: None, answers, notifications: answers }
            })
            .collect();
        let set = Classes { classes: some, memory: Some(memory), full: FULL as u16 };
        let settings = NetworkSettings { loss, seed, ..lossy(1, true) };
        let (tree, rtt) = (leaf_spine(4, 8, 3), 8 * US + 4 * PACKET);
        // run() itself fails where packets or memory do not add up
        let first = run_classed(&tree, &flows, &uet(rtt, true), settings, &set);
        times(&first); // every flow has ended
        let again = run_classed(&tree, &flows, &uet(rtt, true), settings, &set);
        prop_assert_eq!(first.flows, again.flows);
        prop_assert_eq!(first.totals, again.totals);
        prop_assert_eq!(first.classes, again.classes);
        for repeat in [Repeat::GoBackN, Repeat::Selective] {
            times(&run_classed(&tree, &flows, &roce(repeat), settings, &set));
        }
    }
}
