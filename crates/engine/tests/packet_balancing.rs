//! How switches choose among ports: what each rule does to load, order and delay.

mod trees;

use std::sync::atomic::AtomicBool;

use eastwest_engine::graph::{Graph, NodeKind};
use eastwest_engine::packet::{
    Becomes, Change, Choice, Flow, NetworkSettings, PacketOutcome, Scene, Simulation, Transport,
};
use eastwest_engine::routing::Forwarding;
use eastwest_transport::Kind;
use eastwest_transport::roce::{Repeat, RoceSettings};
use trees::*;

/// Packets of data that left by each link between switches, and the run.
fn loads<T: Transport>(
    graph: &Graph,
    flows: &[Flow],
    changes: &[Change],
    transport: &T,
    settings: NetworkSettings,
) -> (Vec<usize>, PacketOutcome) {
    let forwarding = Forwarding::new(graph);
    let scene = Scene { graph, forwarding: &forwarding, flows, triggers: &[], changes };
    let links: Vec<u32> = (0..graph.links() as u32).collect();
    let simulation = Simulation::new(scene, transport, settings).unwrap().capturing(&links, usize::MAX).unwrap();
    let outcome = simulation.run(u64::MAX, &AtomicBool::new(false)).unwrap();
    let mut loads = vec![0; graph.links()];
    let is_switch = |node: u32| graph.kind[node as usize] == NodeKind::Switch;
    for record in &outcome.capture.as_ref().unwrap().records {
        let link = record.link as usize;
        if record.packet.kind == Kind::Data && is_switch(graph.src[link]) && is_switch(graph.dst[link]) {
            loads[link] += 1;
        }
    }
    (loads, outcome)
}

/// Load of each port of a node that carried any, in link order.
fn of(graph: &Graph, loads: &[usize], node: u32) -> Vec<usize> {
    graph.out(node).iter().map(|&link| loads[link as usize]).filter(|&load| load > 0).collect()
}

fn with(choice: Choice, settings: NetworkSettings) -> NetworkSettings {
    NetworkSettings { choice, ..settings }
}

/// Two hosts a leaf, two leaves, two spines; each leaf has three cables to each spine, but the second leaf has one alone
/// to the second spine: what is left of a bundle of three. Nodes: hosts 0 to 3, leaves 4 and 5, spines 6 and 7.
fn broken_bundle() -> Graph {
    let hosts = (0..4).map(|host| (host, 4 + host / 2));
    let whole = [(4, 6), (4, 7), (5, 6)].into_iter().flat_map(|pair| [pair; 3]);
    graph(4, 4, &hosts.chain(whole).chain([(5, 7)]).collect::<Vec<_>>())
}

#[test]
fn weighted_choice_sends_by_what_leads_on() {
    let graph = broken_bundle();
    let flows: Vec<Flow> = (0..4000).map(|turn| flow(turn % 2, 2 + turn % 2, 4096, u64::from(turn) * US)).collect();
    // Three of four packets by the spine with three cables on; by plain hash every other.
    for (choice, share) in [(Choice::Weighted, 0.75), (Choice::Hash, 0.5)] {
        let (loads, _) = loads(&graph, &flows, &[], &roce(Repeat::GoBackN), with(choice, lossless()));
        let by_first: usize = of(&graph, &loads, 6).iter().sum();
        let spread = 4.0 * f64::sqrt(4000.0 * share * (1.0 - share));
        assert!((by_first as f64 - 4000.0 * share).abs() < spread, "{choice:?}: {by_first}");
        // whatever goes to a spine is spread over the cables that lead there
        let up = of(&graph, &loads, 4);
        assert!(up[..3].iter().all(|&load| (load as f64 - 4000.0 * share / 3.0).abs() < spread), "{up:?}");
    }
}

#[test]
fn weights_follow_new_routes() {
    let graph = leaf_spine(2, 4, 4);
    // Nothing is uneven until the cables of the first spine are gone: then three are alike.
    let spine = 8 + 2;
    let down: Vec<Change> = links_of(&graph, spine)
        .map(|link| Change { at: 0, link, becomes: Becomes::Down, routes_after: Some(0) })
        .collect();
    let flows: Vec<Flow> =
        (0..400).map(|turn| flow(turn % 4, 4 + turn % 4, 4096, (1 + u64::from(turn)) * US)).collect();
    let (loads, outcome) = loads(&graph, &flows, &down, &roce(Repeat::GoBackN), with(Choice::Weighted, lossless()));
    assert_eq!(outcome.totals.drops, 0);
    assert_eq!(of(&graph, &loads, 8).len(), 3);
}

#[test]
fn source_routes_use_every_path_alike() {
    let graph = leaf_spine(2, 1, 16);
    let transport = mrc(8 * US, true); // 128 entropy values: eight of each path
    let choice = Choice::Source { values: 128 };
    let (loads, outcome) =
        loads(&graph, &[flow(0, 1, 4032 * 1280, 0)], &[], &transport, with(choice, lossy(100 * FULL, true)));
    assert_eq!(of(&graph, &loads, 2), [80; 16]);
    assert_eq!(outcome.totals.retransmits, 0);
}

#[test]
fn fewer_source_routes_than_paths_lie_in_equal_parts_of_them() {
    let graph = leaf_spine(2, 1, 16);
    let (parts, rounds) = (4, 20);
    let transport = eastwest_transport::mrc::MrcSettings { entropies: parts, ..mrc(8 * US, true) };
    let choice = Choice::Source { values: parts };
    let bytes = 4032 * u64::from(parts) * rounds;
    let (loads, _) = loads(&graph, &[flow(0, 1, bytes, 0)], &[], &transport, with(choice, lossy(100 * FULL, true)));
    for quarter in graph.out(2)[1..].chunks(4) {
        let used: Vec<usize> = quarter.iter().map(|&link| loads[link as usize]).filter(|&load| load > 0).collect();
        assert_eq!(used, [rounds as usize]);
    }
}

#[test]
fn new_routes_do_not_mend_source_routes() {
    let graph = leaf_spine(2, 1, 4);
    let spine = 2 + 2;
    let lost: Vec<Change> = links_of(&graph, spine)
        .map(|link| Change { at: 20 * US, link, becomes: Becomes::Down, routes_after: Some(US) })
        .collect();
    let flows = [flow(0, 1, 8_000_000, 0)];
    let drops = |choice| {
        let settings = with(choice, lossy(100 * FULL, true));
        run_through(&graph, &flows, &lost, &mrc(8 * US, true), settings).totals.drops
    };
    // By hash a quarter of what is sent is lost in the microsecond before the new routes, and what is on the spine's two
    // cables then: 3.05 packets a microsecond. The sender of source routes finds out by loss, a round trip and more later,
    // which of its values do not get through.
    let (hashed, routed) = (drops(Choice::Hash), drops(Choice::Source { values: 128 }));
    assert!(hashed > 0 && hashed <= 13, "{hashed}");
    assert!(routed > 2 * hashed && routed < 128, "{routed}");
}

#[test]
fn answers_come_back_by_the_path_of_what_they_answer_so_that_half_of_two_paths_gets_through() {
    let graph = leaf_spine(2, 8, 2);
    let spine = 16 + 2;
    let lost: Vec<Change> = links_of(&graph, spine)
        .map(|link| Change { at: 20 * US, link, becomes: Becomes::Down, routes_after: None })
        .collect();
    let flows: Vec<Flow> = (0..8).map(|host| flow(host, 8 + host, 1_000_000, 0)).collect();
    let settings = with(Choice::Source { values: 128 }, lossy(100 * FULL, true));
    let outcome = run_through(&graph, &flows, &lost, &mrc(8 * US, true), settings);
    // eight flows over the one path that is left take 8 x 20 us; repeats and round trips besides
    assert!(times(&outcome).into_iter().all(|time| time < 1000 * US), "{:?}", times(&outcome));
}

/// Two leaves of eight hosts and four spines; the second leaf's cable from the last spine runs at a tenth.
fn lame_spine() -> (Graph, Change) {
    let graph = leaf_spine(2, 8, 8);
    let spine = 16 + 2 + 7;
    let link = graph.out(spine).iter().copied().find(|&link| graph.dst[link as usize] == 17).unwrap();
    (graph, Change { at: 0, link, becomes: Becomes::Rate(RATE / 10.0), routes_after: None })
}

#[test]
fn remote_state_avoids_congestion_that_a_switch_cannot_see_in_its_own_queues() {
    let (graph, lame) = lame_spine();
    let flows: Vec<Flow> = (0..8).map(|host| flow(host, 8 + host, 4_000_000, 0)).collect();
    let last = |choice| {
        let settings = with(choice, lossy(100 * FULL, true));
        *times(&run_through(&graph, &flows, &[lame], &uet(8 * US, true), settings)).last().unwrap()
    };
    let local = last(Choice::ShortestQueue);
    let remote = last(Choice::LeastCongested { every: US / 4 });
    // 7.1 links' worth of eight leads to the other leaf. While news is on its way the slow cable is sent too much, and
    // those who met the queue slow down.
    let bound = 8 * 993 * PACKET * 10 / 71;
    assert!(remote < bound * 13 / 10, "{remote}, bound {bound}");
    assert!(local > remote * 3 / 2, "{local} local, {remote} remote");
}

#[test]
fn adaptive_choices_pass_over_ports_that_are_down() {
    let graph = leaf_spine(2, 2, 4);
    let up = graph.out(4).iter().copied().find(|&link| graph.dst[link as usize] == 6).unwrap();
    let down = [Change { at: 0, link: up, becomes: Becomes::Down, routes_after: None }];
    let flows = [flow(0, 2, 2_000_000, US), flow(1, 3, 2_000_000, US)];
    for (choice, is_lossless) in
        [(Choice::ShortestQueue, true), (Choice::LeastCongested { every: US }, true), (Choice::Hash, false)]
    {
        let settings = with(choice, lossy(100 * FULL, true));
        let drops = run_through(&graph, &flows, &down, &uet(8 * US, true), settings).totals.drops;
        assert_eq!(drops == 0, is_lossless, "{choice:?}: {drops}");
    }
}

#[test]
fn two_choices_keep_queues_shorter_than_one() {
    // The power of two choices (Mitzenmacher 2001): the fullest of n queues has log log n, not log n, above the mean.
    let graph = leaf_spine(4, 16, 16);
    let deepest = |choice| {
        let settings = with(choice, lossy(1 << 24, false));
        let settings = NetworkSettings { marking: None, ..settings };
        // staggered, and to another leaf, one receiver each: queues grow by the choice alone
        let flows: Vec<Flow> =
            (0..64).map(|host| flow(host, (host + 16) % 64, 400 * 4096, u64::from(host) * 1009)).collect();
        run(&graph, &flows, &roce(Repeat::AnyOrder), settings).totals.deepest
    };
    let [random, two, shortest] = [Choice::Random, Choice::ShorterOfTwo, Choice::ShortestQueue].map(deepest);
    assert!(two < random, "{two} and {random}");
    assert!(shortest <= two, "{shortest} and {two}");
}

#[test]
fn flowlets_keep_order_where_the_gap_exceeds_the_skew_of_paths() {
    // A window of 4 packets a round trip of some 8 us: a burst, then a pause of 7 us. Other traffic makes the paths differ
    // by a few packets, far less than that.
    let graph = leaf_spine(2, 9, 8);
    let mut flows = vec![flow(0, 9, 400 * 4096, 0)];
    flows.extend((1..9).map(|host| flow(host, 9 + host, 400 * 4096, 0)));
    let transport = RoceSettings { window: 4, ..roce(Repeat::GoBackN) };
    let settings = NetworkSettings { marking: None, ..lossy(1 << 24, false) };
    let run = |gap| loads(&graph, &flows, &[], &transport, with(Choice::Flowlet { gap }, settings));
    let (spread, outcome) = run(4 * US);
    assert_eq!(outcome.totals.retransmits, 0);
    assert_eq!(of(&graph, &spread, 18).len(), 8, "all paths are used");
    // With no gap at all every packet goes its own way, and go-back-N repeats what was overtaken.
    assert!(run(0).1.totals.retransmits > 0);
}
