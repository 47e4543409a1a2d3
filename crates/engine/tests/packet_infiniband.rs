//! InfiniBand packet by packet: credits, the reliable connection on them, congestion control, static routes.

mod trees;

use std::sync::atomic::AtomicBool;

use eastwest_engine::graph::Graph;
use eastwest_engine::packet::{
    Becomes, Beyond, Buffers, Change, Choice, Class, Classes, Fecn, Flow, LaneBuffer, NetworkSettings, PacketOutcome,
    Room, Scene, Simulation, Threshold, Trimming,
};
use eastwest_engine::routing::{Balancing, Forwarding, Topology};
use eastwest_transport::infiniband::{ACKNOWLEDGEMENT, HEADER, InfiniBandSettings, RETH, TIMER_UNIT, ThrottleSettings};
use eastwest_transport::roce::{Repeat, RoceSettings};
use eastwest_transport::{Flags, Framing};
use proptest::prelude::*;
use trees::*;

/// Bytes of a full packet, and the bytes of buffer that it takes: 65 credits.
const WHOLE: u64 = 4096 + HEADER as u64;
const TAKEN: u32 = 65 * 64;
/// Picoseconds of a byte at 400 Gb/s.
const BYTE: u64 = 20;
const MS: u64 = 1000 * US;

fn infiniband(repeat: Repeat) -> InfiniBandSettings {
    let framing = Framing::even(4096, HEADER, ACKNOWLEDGEMENT);
    let roce = roce(repeat);
    InfiniBandSettings { connection: RoceSettings { framing, timeout: 67 * MS, ..roce }, retries: 7, throttle: None }
}

fn credits(buffer: LaneBuffer) -> NetworkSettings {
    NetworkSettings { buffers: Buffers::Credits { buffer, fecn: None }, ..lossless() }
}

/// Buffers of the size that they have unless told otherwise.
fn ample() -> NetworkSettings {
    credits(LaneBuffer::Ample { packet: WHOLE as u16 })
}

/// Time of a lone message of full packets over so many links of 1 us and back.
fn alone(packets: u64, links: u64) -> u64 {
    (packets * WHOLE + links * u64::from(RETH)) * BYTE
        + (links - 1) * WHOLE * BYTE
        + links * (2 * US + u64::from(ACKNOWLEDGEMENT) * BYTE)
}

#[test]
fn one_packet_takes_its_bytes_and_the_cables() {
    // LRH 8, BTH 12, RETH 16, payload 4096, ICRC 4, VCRC 2; back LRH, BTH, AETH 4 and the CRCs; over two links
    let outcome = run(&star(2), &[flow(0, 1, 4096, 0)], &infiniband(Repeat::GoBackN), ample());
    assert_eq!(times(&outcome), [2 * 4138 * BYTE + 2 * US + 2 * 30 * BYTE + 2 * US]);
}

#[test]
fn a_message_flows_at_line_rate_where_buffers_cover_the_cable() {
    let outcome = run(&star(2), &[flow(0, 1, 1000 * 4096, 0)], &infiniband(Repeat::GoBackN), ample());
    assert_eq!(times(&outcome), [alone(1000, 2)]);
    assert_eq!(outcome.totals.pauses, 0, "it never waits for credits");
}

#[test]
fn a_buffer_bounds_the_rate_by_the_time_in_which_credits_come_back() {
    // Credits come back a packet's time, a cable, a flow control packet of 8 bytes and the cable again after a packet left.
    let back = WHOLE * BYTE + 2 * US + 8 * BYTE;
    for held in [2, 5, 10] {
        let settings = credits(LaneBuffer::Bytes(held as u32 * TAKEN));
        let outcome = run(&star(2), &[flow(0, 1, 1000 * 4096, 0)], &infiniband(Repeat::GoBackN), settings);
        let (rate, line) = (held * 4096 * 1_000_000 / back, 1_000_000 * 4096 / (WHOLE * BYTE));
        assert!(rate < line);
        let took = times(&outcome)[0];
        // the last of the buffers' worth leaves, its last packet crosses two links, and its answer comes back
        let expected = (1000 / held - 1) * back + (held + 1) * WHOLE * BYTE + 4 * US + 2 * (30 + 16) * BYTE;
        assert!(took.abs_diff(expected) < 1000, "{held} packets of buffer: {took}, expected {expected}");
    }
}

#[test]
fn half_the_buffer_halves_the_rate_of_a_long_cable() {
    // 10 km of fibre: 50 us each way, of which the credits of 1,216 packets would be needed
    let mut far = star(2);
    far.latency.iter_mut().for_each(|latency| *latency = 50 * US);
    let needed = (WHOLE * BYTE + 100 * US + 8 * BYTE).div_ceil(WHOLE * BYTE) as u32;
    let time = |packets: u32| {
        let settings = credits(LaneBuffer::Bytes(packets * TAKEN));
        let outcome = run(&far, &[flow(0, 1, 20_000 * 4096, 0)], &infiniband(Repeat::GoBackN), settings);
        (times(&outcome)[0] - 200 * US) as f64 // without the way there and back
    };
    let (whole, half) = (time(needed), time(needed / 2));
    assert!((whole / (20_000 * WHOLE * BYTE) as f64 - 1.0).abs() < 0.001, "{whole}");
    assert!((half / whole - 2.0).abs() < 0.05, "{half} against {whole}");
}

#[test]
fn a_buffer_of_no_given_size_has_the_credits_that_a_port_can_tell_or_two_round_trips() {
    let backlog = |latency: u64| {
        let mut slow = star(2);
        slow.latency.iter_mut().for_each(|each| *each = latency);
        let last = (0..slow.links()).find(|&link| slow.dst[link] == 1).unwrap();
        slow.rate[last] /= 1000.0; // what comes before it fills the buffer while the first packet leaves
        let outcome = run(&slow, &[flow(0, 1, 700 * 4096, 0)], &infiniband(Repeat::GoBackN), ample());
        assert_eq!((outcome.totals.drops, outcome.totals.retransmits), (0, 0));
        outcome.ports.iter().map(|port| u64::from(port.deepest)).max().unwrap()
    };
    assert_eq!(backlog(US / 10), 2048 / 65 * WHOLE, "a cable of 20 m: 65 credits a packet");
    // 2 km: the way there and back, a packet and 8 bytes take the time of 243.6 packets
    assert_eq!((20 * US + (WHOLE + 8) * BYTE).div_ceil(WHOLE * BYTE), 244);
    assert_eq!(backlog(10 * US), 2 * 244 * WHOLE);
}

#[test]
fn an_all_to_all_over_one_switch_takes_its_bytes_where_buffers_have_room_for_queues() {
    // each host sends to all others at once, so that packets of one cable wait for several ports
    let mut near = star(16);
    near.latency.iter_mut().for_each(|each| *each = US / 2);
    let flows: Vec<_> = (1..16).flat_map(|shift| shifted(16, shift, 100 * 4096)).collect();
    let last = |buffer| {
        let outcome = run(&near, &flows, &infiniband(Repeat::GoBackN), credits(buffer));
        *times(&outcome).iter().max().unwrap() as f64 / (1500 * WHOLE * BYTE) as f64
    };
    let (least, ample) = (last(LaneBuffer::Bytes(14 * TAKEN)), last(LaneBuffer::Ample { packet: WHOLE as u16 }));
    assert!(ample < 1.03, "{ample}");
    assert!(least > 1.05, "what only keeps a cable busy, {least}");
}

#[test]
fn waits_for_credits_travel_upstream_and_nothing_is_dropped() {
    let flows: Vec<_> = (8..15).map(|from| flow(from, 0, 500 * 4096, 0)).collect();
    let outcome = run(&leaf_spine(2, 8, 1), &flows, &infiniband(Repeat::GoBackN), ample());
    assert_eq!((outcome.totals.drops, outcome.totals.retransmits), (0, 0));
    assert!(outcome.totals.paused > 0);
    let last = *times(&outcome).last().unwrap();
    let ideal = 3500 * WHOLE * BYTE;
    assert!(last >= ideal && last < ideal + 20 * US, "{last}");
}

#[test]
fn what_bit_errors_take_is_sent_again_and_its_credits_come_back() {
    let settings = NetworkSettings { loss: 1_000_000, ..ample() }; // one packet of a thousand on each link
    let transport = infiniband(Repeat::GoBackN);
    let connection = RoceSettings { timeout: 100 * US, ..transport.connection };
    let outcome =
        run(&star(2), &[flow(0, 1, 4000 * 4096, 0)], &InfiniBandSettings { connection, ..transport }, settings);
    assert!(outcome.totals.bit_errors > 0 && outcome.totals.retransmits > 0);
    times(&outcome);
}

#[test]
fn a_queue_pair_gives_up_after_its_retries() {
    let graph = star(2);
    let changes: Vec<_> = (0..graph.links() as u32)
        .map(|link| Change { at: 10 * US, link, becomes: Becomes::Down, routes_after: None })
        .collect();
    let patient = NetworkSettings { patience: 1000 * MS, ..ample() };
    let outcome = run_through(&graph, &[flow(0, 1, 1 << 30, 0)], &changes, &infiniband(Repeat::GoBackN), patient);
    assert_eq!(outcome.totals.failed, 1);
    assert_eq!(outcome.flows[0].end, None);
    // a local ACK timeout for the first try and for each of seven more, counted from the last acknowledgement
    assert!(outcome.end.abs_diff(8 * 67 * MS) < 20 * US, "{}", outcome.end);
}

#[test]
fn cut_through_saves_a_packet_s_time_at_each_switch_and_needs_no_more_buffer() {
    let graph = star(2);
    let forwarding = Forwarding::new(&graph);
    let flows = [flow(0, 1, 1000 * 4096, 0)];
    let scene = Scene { graph: &graph, forwarding: &forwarding, flows: &flows, triggers: &[], changes: &[] };
    let transport = infiniband(Repeat::GoBackN);
    let outcome = Simulation::new(scene, &transport, ample()).unwrap().cutting_through(64);
    let outcome = outcome.run(u64::MAX, &AtomicBool::new(false)).unwrap();
    // the first packet is sent on after 64 of its 4,138 bytes; of an answer all 30 are in
    assert_eq!(times(&outcome), [alone(1000, 2) - (WHOLE + u64::from(RETH) - 64) * BYTE]);
    assert_eq!(outcome.totals.pauses, 0);
}

/// A hot receiver, host 8 on leaf 1, to which seven hosts beside it and host 1 of leaf 0 send; and a victim, host 0 of leaf
/// 0, that sends to host 9 and shares the only way to leaf 1 with host 1.
fn tree_of_congestion(cc: bool) -> (Graph, Vec<Flow>, InfiniBandSettings, NetworkSettings) {
    let hot = |from| flow(from, 8, 20_000 * 4096, 0);
    let mut flows = vec![flow(0, 9, 4000 * 4096, 2 * MS)];
    flows.extend([1].into_iter().chain(9..16).map(hot));
    let throttle = ThrottleSettings {
        packet_time: WHOLE * BYTE,
        packet: WHOLE as u16,
        increase: 1,
        timer: 150 * TIMER_UNIT,
        least: 0,
    };
    let fecn = Fecn { threshold: 15, between: 10, least: 512 };
    let buffer = LaneBuffer::Ample { packet: WHOLE as u16 };
    let settings = NetworkSettings { buffers: Buffers::Credits { buffer, fecn: cc.then_some(fecn) }, ..lossless() };
    let transport = InfiniBandSettings { throttle: cc.then_some(throttle), ..infiniband(Repeat::GoBackN) };
    (leaf_spine(2, 8, 1), flows, transport, settings)
}

fn victim(outcome: &PacketOutcome) -> f64 {
    let fate = outcome.flows[0];
    (fate.end.unwrap() - fate.start.unwrap()) as f64 / alone(4000, 4) as f64
}

#[test]
fn congestion_spreads_to_a_victim_and_congestion_control_frees_it() {
    let outcome = |cc| {
        let (graph, flows, transport, settings) = tree_of_congestion(cc);
        run(&graph, &flows, &transport, settings)
    };
    let (without, with) = (outcome(false), outcome(true));
    // Its packets stand in the spine's buffer behind those of host 1, which get an eighth of host 8's link.
    assert!((victim(&without) / 8.0 - 1.0).abs() < 0.1, "{}", victim(&without));
    assert!(with.totals.marks > 0 && with.totals.drops == 0);
    assert!(victim(&with) < 3.0, "{}", victim(&with));
}

#[test]
fn a_lone_flow_on_links_of_one_rate_is_never_marked() {
    // a sixteenth of the least buffer is less than the one packet that a switch stores
    let (_, _, transport, settings) = tree_of_congestion(true);
    let Buffers::Credits { fecn, .. } = settings.buffers else { unreachable!() };
    let settings =
        NetworkSettings { buffers: Buffers::Credits { buffer: LaneBuffer::Bytes(32_768), fecn }, ..settings };
    let flows = [flow(0, 1, 2000 * 4096, 0)];
    let controlled = run(&star(2), &flows, &transport, settings);
    let freely = run(&star(2), &flows, &infiniband(Repeat::GoBackN), credits(LaneBuffer::Bytes(32_768)));
    assert_eq!(controlled.totals.marks, 0);
    assert_eq!(times(&controlled), times(&freely));
}

#[test]
fn only_the_root_of_congestion_marks() {
    let (graph, flows, transport, settings) = tree_of_congestion(true);
    // leaf 0 (node 16) has no credits towards the spine (18); leaf 1 (17) has more than host 8 can take
    let link = |from, to| (0..graph.links()).find(|&at| graph.src[at] == from && graph.dst[at] == to).unwrap() as u32;
    let (victim, root) = (link(16, 18), link(17, 8));
    let forwarding = Forwarding::new(&graph);
    let scene = Scene { graph: &graph, forwarding: &forwarding, flows: &flows, triggers: &[], changes: &[] };
    let simulation = Simulation::new(scene, &transport, settings).unwrap().capturing(&[victim, root], 1 << 20).unwrap();
    let records = simulation.run(u64::MAX, &AtomicBool::new(false)).unwrap().capture.unwrap().records;
    let marked = |by| records.iter().filter(|record| record.link == by && record.packet.flags.has(Flags::CE)).count();
    assert!(marked(root) > 50, "{}", marked(root));
    assert!(marked(victim) * 20 < marked(root), "{} against {}", marked(victim), marked(root));
}

#[test]
fn a_cycle_of_buffers_on_one_lane_deadlocks() {
    let cables: Vec<_> =
        (0..6).flat_map(|i| [(2 * i, 12 + i), (2 * i + 1, 12 + i), (12 + i, 12 + (i + 1) % 6)]).collect();
    let flows: Vec<_> = (0..12).map(|host| flow(host, (host + 4) % 12, 2000 * 4096, 0)).collect();
    let outcome = run(&graph(12, 6, &cables), &flows, &infiniband(Repeat::GoBackN), ample());
    assert!(outcome.flows.iter().all(|flow| flow.end.is_none()), "no flow can end");
    assert_eq!(outcome.totals.drops, 0);
}

#[test]
fn static_routes_carry_a_shift_without_conflict() {
    // D-mod-k (Zahavi, CCIT 776): every shift of a non-blocking tree has every link to itself.
    let tree = leaf_spine(4, 4, 4);
    let settings = NetworkSettings { choice: Choice::Pinned, ..ample() };
    for shift in [4, 5, 7, 10] {
        let outcome = run(&tree, &shifted(16, shift, 500 * 4096), &infiniband(Repeat::GoBackN), settings);
        // answers of the other direction take turns with data: one packet more at each of four links
        let (times, ideal) = (times(&outcome), alone(500, 4) + 500 * 30 * BYTE);
        assert!(times[15] < ideal + 4 * WHOLE * BYTE, "shift {shift}: {} of {ideal}", times[15]);
    }
}

#[test]
fn static_routes_are_those_of_the_tables_that_fluid_runs_write() {
    let tree = leaf_spine(4, 4, 3);
    let tables = Topology::new(tree.clone()).unwrap().routes(Balancing::Pinned).unwrap();
    let forwarding = Forwarding::with_routes(&tree, &tables).unwrap();
    let flows = shifted(16, 5, 100 * 4096);
    let scene = Scene { graph: &tree, forwarding: &forwarding, flows: &flows, triggers: &[], changes: &[] };
    let transport = infiniband(Repeat::GoBackN);
    let by_tables =
        Simulation::new(scene, &transport, ample()).unwrap().run(u64::MAX, &AtomicBool::new(false)).unwrap();
    let pinned = run(&tree, &flows, &transport, NetworkSettings { choice: Choice::Pinned, ..ample() });
    assert_eq!(by_tables.flows, pinned.flows);
    let hashed = run(&tree, &flows, &transport, ample());
    assert_ne!(hashed.flows, pinned.flows);
}

#[test]
fn adaptive_routing_carries_a_permutation_on_which_static_routes_conflict() {
    // Hosts of leaf l send to host l of every leaf: receivers with one place on their leaves share a spine.
    let tree = leaf_spine(8, 8, 8);
    let flows: Vec<_> = (0..64).map(|host| flow(host, host % 8 * 8 + host / 8, 500 * 4096, 0)).collect();
    let last = |choice, repeat| {
        let settings = NetworkSettings { choice, ..ample() };
        *times(&run(&tree, &flows, &infiniband(repeat), settings)).last().unwrap()
    };
    let (pinned, adaptive) = (last(Choice::Pinned, Repeat::GoBackN), last(Choice::ShortestQueue, Repeat::AnyOrder));
    // seven flows leave each leaf for others by one spine
    assert!((pinned as f64 / alone(7 * 500, 4) as f64 - 1.0).abs() < 0.02, "{pinned}");
    assert!((adaptive as f64) < 1.2 * alone(500, 4) as f64, "{adaptive}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever buffers, flows and choices: nothing is dropped, everything arrives, and the run's own check finds every
    /// credit again.
    #[test]
    fn credits_lose_nothing_and_are_not_lost(
        packets in 1u32..12,
        sizes in prop::collection::vec((0u32..16, 0u32..16, 1u64..200_000, 0u64..20), 1..40),
        choice in prop::sample::select(vec![Choice::Hash, Choice::Random, Choice::ShortestQueue, Choice::Pinned]),
        seed in 0u64..1000,
    ) {
        let flows: Vec<_> = sizes
            .iter()
            .filter(|(from, to, ..)| from != to)
            .map(|&(from, to, bytes, start)| flow(from, to, bytes, start * US))
            .collect();
        let settings = NetworkSettings { choice, seed, ..credits(LaneBuffer::Bytes(packets * TAKEN)) };
        let outcome = run(&leaf_spine(4, 4, 2), &flows, &infiniband(Repeat::AnyOrder), settings);
        prop_assert_eq!((outcome.totals.drops, outcome.totals.urgent_drops, outcome.totals.retransmits), (0, 0, 0));
        prop_assert!(outcome.flows.iter().all(|flow| flow.end.is_some()));
    }
}

/// Lanes with these priorities and weights.
fn lanes(shares: &[(u8, u32)]) -> Classes {
    let room = Room { reserve: 0, threshold: Threshold::Bytes(0), beyond: Beyond::Lose(Trimming::Off) };
    let lane =
        |&(priority, weight)| Class { priority, weight, room, marking: None, answers: None, notifications: None };
    Classes { classes: shares.iter().map(lane).collect(), memory: None, full: WHOLE as u16 }
}

fn run_on_lanes(graph: &Graph, flows: &[Flow], lanes: &Classes, settings: NetworkSettings) -> PacketOutcome {
    let forwarding = Forwarding::new(graph);
    let scene = Scene { graph, forwarding: &forwarding, flows, triggers: &[], changes: &[] };
    let transport = infiniband(Repeat::AnyOrder);
    let simulation = Simulation::new(scene, &transport, settings).unwrap().classed(lanes).unwrap();
    simulation.run(u64::MAX, &AtomicBool::new(false)).unwrap()
}

#[test]
fn one_lane_does_what_no_lanes_do() {
    let flows: Vec<_> = (8..15).map(|from| flow(from, 0, 100 * 4096, 0)).collect();
    let plain = run(&leaf_spine(2, 8, 1), &flows, &infiniband(Repeat::AnyOrder), ample());
    let one = run_on_lanes(&leaf_spine(2, 8, 1), &flows, &lanes(&[(0, 1)]), ample());
    let last = |outcome: &PacketOutcome| *times(outcome).last().unwrap();
    assert!(last(&one).abs_diff(last(&plain)) < 2 * WHOLE * BYTE, "{} against {}", last(&one), last(&plain));
}

#[test]
fn a_second_lane_breaks_the_cycle_in_which_one_deadlocks() {
    // Whoever crosses the cable from switch 5 to switch 0 takes lane 1 all the way: no lane's buffers wait in a circle
    // (Dally and Seitz, IEEE TC 36, 1987; by paths, as DFSSSP routing assigns service levels).
    let cables: Vec<_> =
        (0..6).flat_map(|i| [(2 * i, 12 + i), (2 * i + 1, 12 + i), (12 + i, 12 + (i + 1) % 6)]).collect();
    let crosses = |host: u32| u8::from(host / 2 + 2 >= 6);
    let flows: Vec<_> =
        (0..12).map(|host| Flow { class: crosses(host), ..flow(host, (host + 4) % 12, 2000 * 4096, 0) }).collect();
    let ring = graph(12, 6, &cables);
    let two = run_on_lanes(&ring, &flows, &lanes(&[(0, 1), (0, 1)]), ample());
    assert!(two.flows.iter().all(|flow| flow.end.is_some()), "{:?}", two.totals);
    let on_one: Vec<_> = flows.iter().map(|flow| Flow { class: 0, ..*flow }).collect();
    let one = run_on_lanes(&ring, &on_one, &lanes(&[(0, 1), (0, 1)]), ample());
    assert!(one.flows.iter().all(|flow| flow.end.is_none()));
}

#[test]
fn arbitration_shares_a_port_by_weight_and_serves_high_priority_first() {
    let shares = |lanes: &Classes| {
        let hot = |(from, class)| Flow { class, ..flow(from, 0, 4000 * 4096, 0) };
        let flows: Vec<_> = [(1, 0), (2, 1)].map(hot).to_vec();
        let outcome = run_on_lanes(&star(3), &flows, lanes, ample());
        outcome.flows.iter().map(|flow| flow.end.unwrap() as f64).collect::<Vec<_>>()
    };
    // by the time that 3 of 4 packets have been lane 1's and it is through, lane 0 has a third of its own to go
    let weighted = shares(&lanes(&[(0, 1), (0, 3)]));
    assert!((weighted[0] / weighted[1] - 1.5).abs() < 0.02, "{weighted:?}");
    let strict = shares(&lanes(&[(0, 1), (1, 1)]));
    assert!((strict[0] / strict[1] - 2.0).abs() < 0.02, "{strict:?}");
}

#[test]
fn a_lane_without_credits_holds_up_no_other() {
    // as in the tree of congestion, but the victim has a lane of its own
    let (graph, flows, ..) = tree_of_congestion(false);
    let apart: Vec<_> = flows.iter().map(|flow| Flow { class: u8::from(flow.to == 9), ..*flow }).collect();
    let outcome = run_on_lanes(&graph, &apart, &lanes(&[(0, 1), (0, 1)]), ample());
    // what host 1 takes of their common way, an eighth of a link, is left to it in turn
    assert!(victim(&outcome) < 8.0 / 7.0 * 1.03, "{}", victim(&outcome));
    let [hot, free] = outcome.classes.totals.as_slice() else { panic!("two lanes") };
    assert!(hot.paused > 100 * free.paused, "{} against {}", hot.paused, free.paused);
    assert_eq!(hot.paused + free.paused, outcome.totals.paused);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// With lanes as without.
    #[test]
    fn lanes_lose_nothing_and_no_credits(
        packets in 1u32..12,
        shares in prop::collection::vec((0u8..3, 1u32..9), 1..5),
        sizes in prop::collection::vec((0u32..16, 0u32..16, 1u64..200_000, 0u64..20, 0u8..4), 1..40),
        seed in 0u64..1000,
    ) {
        let count = shares.len() as u8;
        let flows: Vec<_> = sizes
            .iter()
            .filter(|(from, to, ..)| from != to)
            .map(|&(from, to, bytes, start, class)| Flow { class: class % count, ..flow(from, to, bytes, start * US) })
            .collect();
        let settings = NetworkSettings { choice: Choice::Random, seed, ..credits(LaneBuffer::Bytes(packets * TAKEN)) };
        let outcome = run_on_lanes(&leaf_spine(4, 4, 2), &flows, &lanes(&shares), settings);
        prop_assert_eq!((outcome.totals.drops, outcome.totals.urgent_drops, outcome.totals.retransmits), (0, 0, 0));
        prop_assert!(outcome.flows.iter().all(|flow| flow.end.is_some()));
    }
}
