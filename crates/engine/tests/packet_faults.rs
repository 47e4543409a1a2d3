//! Flapping links, rebooted switches, lost NICs, late and busy hosts: what they cost, and that packets add up throughout.

mod trees;

use std::sync::atomic::AtomicBool;

use eastwest_engine::packet::{
    Becomes, Buffers, Change, Choice, Flow, LaneBuffer, NetworkSettings, Overheads, PacketOutcome, Scene, Simulation,
    Start, Transport, Trigger, TriggerKind,
};
use eastwest_engine::routing::Forwarding;
use eastwest_transport::roce::Repeat;
use proptest::prelude::*;
use trees::*;

/// Everything is lost, as at a switch without routes.
const NO_ROUTES: u32 = 1_000_000_000;

fn change(at: u64, link: u32, becomes: Becomes) -> Change {
    Change { at, link, becomes, routes_after: None }
}

fn ends(outcome: &PacketOutcome) -> Vec<u64> {
    outcome.flows.iter().map(|flow| flow.end.unwrap()).collect()
}

#[test]
fn a_flapping_link_costs_packets_and_no_transfer() {
    let graph = leaf_spine(2, 4, 4);
    let spine = 8 + 2;
    let link = graph.out(spine)[0];
    let flaps: Vec<Change> = (0..20)
        .flat_map(|turn| [change(turn * 20 * US, link, Becomes::Down), change((turn * 20 + 5) * US, link, Becomes::Up)])
        .collect();
    let flows: Vec<Flow> =
        (0..4).flat_map(|host| [flow(host, 4 + host, 4_000_000, 0), flow(4 + host, host, 4_000_000, 0)]).collect();
    let sprayed = run_through(&graph, &flows, &flaps, &mrc(8 * US, true), lossy(100 * FULL, true));
    let hashed = run_through(&graph, &flows, &flaps, &roce(Repeat::Selective), lossless());
    for outcome in [&sprayed, &hashed] {
        ends(outcome); // all have ended
        assert!(outcome.totals.retransmits >= outcome.totals.drops && outcome.totals.drops > 0, "{:?}", outcome.totals);
    }
}

#[test]
fn over_one_path_a_transfer_waits_for_the_control_plane_and_over_many_it_does_not() {
    let graph = leaf_spine(2, 8, 4);
    let (lost, back, delay) = (50 * US, 300 * US, 5_000 * US);
    let spine = 16 + 2;
    // As a reboot is: down, up, and no routes of its own until all have new ones.
    let reboot: Vec<Change> = links_of(&graph, spine)
        .flat_map(|link| {
            let with = |change: Change| Change { routes_after: Some(delay), ..change };
            let mut made = vec![with(change(lost, link, Becomes::Down)), with(change(back, link, Becomes::Up))];
            if graph.dst[link as usize] == spine {
                made.push(change(back, link, Becomes::Erring(NO_ROUTES)));
                made.push(change(back + delay, link, Becomes::Erring(0)));
            }
            made
        })
        .collect();
    let flows: Vec<Flow> = (0..8).map(|host| flow(host, 8 + host, 4_000_000, 0)).collect();
    let hashed = run_through(&graph, &flows, &reboot, &roce(Repeat::GoBackN), lossless());
    let waited = ends(&hashed).iter().filter(|&&end| end > lost + delay).count();
    assert!((1..8).contains(&waited), "{waited} of 8 crossed the spine");
    assert_eq!(hashed.totals.bit_errors, 0, "no routes are no bit errors");

    let rtt = 8 * US;
    let source = NetworkSettings { choice: Choice::Source { values: 128 }, ..lossy(100 * FULL, true) };
    let statically: Vec<Change> = reboot.iter().map(|change| Change { routes_after: None, ..*change }).collect();
    let healthy = ends(&run(&graph, &flows, &mrc(rtt, true), source)).into_iter().max().unwrap();
    let sprayed = ends(&run_through(&graph, &flows, &statically, &mrc(rtt, true), source)).into_iter().max().unwrap();
    // Eight hosts share three spines in place of four for a while, and find out by loss; nobody waits for milliseconds.
    assert!(sprayed < healthy + 200 * US, "{sprayed}, healthy {healthy}");
}

#[test]
fn flows_of_a_lost_nic_are_given_up_and_others_go_on() {
    let graph = star(4);
    let up = graph.out(3)[0];
    let mut changes: Vec<Change> = links_of(&graph, 3).map(|link| change(20 * US, link, Becomes::Down)).collect();
    changes.push(change(20 * US, up, Becomes::Lost));
    let late = flow(3, 1, 4096, 50 * US); // not even begun
    let flows = [flow(0, 1, 4_000_000, 0), flow(3, 2, 4_000_000, 0), flow(0, 3, 4_000_000, 0), late];
    for transport in [roce(Repeat::GoBackN), roce(Repeat::Selective)] {
        let outcome = run_through(&graph, &flows, &changes, &transport, lossless());
        assert_eq!(outcome.totals.lost_flows, 3);
        assert!(outcome.flows[0].end.is_some() && outcome.flows[1..].iter().all(|flow| flow.end.is_none()));
        assert!(outcome.end < 500 * US, "the run ends with what can end");
    }
}

#[test]
fn a_link_too_slow_to_count_is_refused() {
    let graph = star(2);
    let forwarding = Forwarding::new(&graph);
    let open = |changes: &[Change]| {
        let scene = Scene { graph: &graph, forwarding: &forwarding, flows: &[], triggers: &[], changes };
        Simulation::new(scene, &roce(Repeat::GoBackN), lossless()).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(open(&[change(0, 0, Becomes::Rate(125_000.0))]), Ok(()));
    let refusal = open(&[change(0, 0, Becomes::Rate(124_999.0))]).unwrap_err();
    assert_eq!(refusal, "a link of 124999 B/s is slower than the 125000 B/s of packets");
}

#[test]
fn a_late_host_keeps_a_barrier_waiting() {
    // Three hosts send to the fourth; once all have arrived, it sends to the first.
    let graph = star(4);
    let to_barrier = |host| Flow { when_received: Some(0), ..flow(host, 3, 409_600, 0) };
    let after = Flow { start: Start::On(0), ..flow(3, 0, 4096, 0) };
    let flows = [to_barrier(0), to_barrier(1), to_barrier(2), after];
    let forwarding = Forwarding::new(&graph);
    let start_of_last = |changes: &[Change]| {
        let triggers = [Trigger { kind: TriggerKind::Barrier(3) }];
        let scene = Scene { graph: &graph, forwarding: &forwarding, flows: &flows, triggers: &triggers, changes };
        let transport = roce(Repeat::GoBackN);
        let simulation = Simulation::new(scene, &transport, lossless()).unwrap();
        simulation.run(u64::MAX, &AtomicBool::new(false)).unwrap().flows[3].start.unwrap()
    };
    let by = 200 * US;
    let straggler = change(0, graph.out(1)[0], Becomes::Late(by));
    // Its 100 packets then cross an idle network: two cables of 1 us, one packet stored on the way.
    assert_eq!(start_of_last(&[straggler]), by + 101 * PACKET + 2 * US);
    assert_eq!(start_of_last(&[]), 301 * PACKET + 2 * US);
    // who is late no longer is on time
    let mended = change(0, graph.out(1)[0], Becomes::Late(0));
    assert_eq!(start_of_last(&[straggler, mended]), start_of_last(&[]));
}

#[test]
fn what_a_message_costs_its_host_adds_to_its_time() {
    let graph = star(2);
    let overheads = Overheads { post: 3 * US, complete: 2 * US };
    let time = |flows: &[Flow], overheads| {
        let settings = NetworkSettings { overheads, ..lossless() };
        run(&graph, flows, &roce(Repeat::GoBackN), settings)
    };
    let one = [flow(0, 1, 409_600, 0)];
    let (plain, costly) = (time(&one, Overheads::default()), time(&one, overheads));
    assert_eq!(ends(&costly)[0], ends(&plain)[0] + 5 * US);
    assert_eq!(costly.flows[0].received.unwrap(), plain.flows[0].received.unwrap() + 5 * US);
    // A host hands over one message after the other: of ten small ones the last leaves after ten times the overhead.
    let ten: Vec<Flow> = (0..10).map(|_| flow(0, 1, 4096, 0)).collect();
    let last = time(&ten, overheads).flows.iter().map(|flow| flow.received.unwrap()).max().unwrap();
    assert_eq!(last, 10 * 3 * US + 2 * PACKET + 2 * US + 2 * US);
}

#[test]
fn bit_errors_are_counted_apart_from_drops() {
    let graph = star(2);
    let settings = NetworkSettings { loss: 10_000_000, ..lossless() };
    let outcome = run(&graph, &[flow(0, 1, 4096 * 10_000, 0)], &roce(Repeat::Selective), settings);
    let expected = 0.02 * outcome.totals.packets as f64; // one in a hundred on each of two links
    assert_eq!(outcome.totals.drops, 0);
    assert!((outcome.totals.bit_errors as f64 - expected).abs() < 5.0 * f64::sqrt(expected), "{:?}", outcome.totals);
    assert!(outcome.totals.urgent_bit_errors > 0, "answers err as well");
}

/// A change of any kind at any time; what goes down may stay down.
fn any_change(links: u32) -> impl Strategy<Value = Change> {
    let becomes = prop_oneof![
        Just(Becomes::Down),
        Just(Becomes::Up),
        (1e9..60e9).prop_map(Becomes::Rate),
        (0u32..=NO_ROUTES).prop_map(Becomes::Erring),
        Just(Becomes::Lost),
        (0..50 * US).prop_map(Becomes::Late),
    ];
    (0..200 * US, 0..links, becomes, proptest::option::of(0..50 * US))
        .prop_map(|(at, link, becomes, routes_after)| Change { at, link, becomes, routes_after })
}

/// Runs flows through changes on regions of a size; that packets add up is checked within, and else an error.
fn outcome<T: Transport>(
    changes: &[Change],
    transport: &T,
    settings: NetworkSettings,
    region: usize,
) -> Result<PacketOutcome, eastwest_engine::Error> {
    let graph = leaf_spine(2, 3, 3);
    let forwarding = Forwarding::new(&graph);
    let flows: Vec<Flow> = (0..6).map(|host| flow(host, (host + 2) % 6, 200_000, u64::from(host) * US)).collect();
    let scene = Scene { graph: &graph, forwarding: &forwarding, flows: &flows, triggers: &[], changes };
    let settings = NetworkSettings { patience: 2_000 * US, ..settings };
    let simulation = Simulation::new(scene, transport, settings).unwrap().with_regions_of(region);
    simulation.run(50_000 * US, &AtomicBool::new(false))
}

/// Packets add up, and the result is the same whether the network is worked on as one region or as several.
fn holds<T: Transport>(changes: &[Change], transport: &T, settings: NetworkSettings) {
    let [whole, parted] = [usize::MAX, 4].map(|region| outcome(changes, transport, settings, region).unwrap());
    assert!(whole.flows.iter().filter(|flow| flow.end.is_none()).count() as u64 >= whole.totals.lost_flows);
    if whole.flows.iter().all(|flow| flow.end.is_some()) {
        assert_eq!(whole.flows, parted.flows);
        assert_eq!(whole.totals.bit_errors, parted.totals.bit_errors);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn packets_add_up_whatever_goes_wrong(
        changes in proptest::collection::vec(any_change(24), 0..20),
        choice in prop_oneof![
            Just(Choice::Hash), Just(Choice::Random), Just(Choice::ShortestQueue), Just(Choice::ShorterOfTwo),
            Just(Choice::LeastCongested { every: US }), Just(Choice::Weighted), Just(Choice::Flowlet { gap: US }),
            Just(Choice::Source { values: 64 }),
        ],
        overheads in (0..3 * US, 0..3 * US),
        seed in 0u64..1000,
    ) {
        let with = |settings: NetworkSettings| NetworkSettings {
            choice, seed, overheads: Overheads { post: overheads.0, complete: overheads.1 }, ..settings
        };
        holds(&changes, &uet(8 * US, true), with(lossy(40 * FULL, true)));
        holds(&changes, &mrc(8 * US, true), with(lossy(40 * FULL, false)));
        holds(&changes, &roce(Repeat::GoBackN), with(lossless()));
        holds(&changes, &roce(Repeat::Selective), with(lossy(40 * FULL, false)));
        let credits = Buffers::Credits { buffer: LaneBuffer::Ample { packet: 4122 }, fecn: None };
        holds(&changes, &roce(Repeat::GoBackN), with(NetworkSettings { buffers: credits, ..lossless() }));
    }
}
