//! What is learnt outlasts a message: windows, rates and paths belong to the peer or the queue pair.

mod trees;

use std::sync::atomic::AtomicBool;

use eastwest_engine::packet::{Live, Marking, Message, NetworkSettings, News, PacketOutcome, Simulation, Transport};
use eastwest_engine::routing::Forwarding;
use eastwest_transport::dcqcn::DcqcnSettings;
use eastwest_transport::roce::{Repeat, RoceSettings};
use proptest::prelude::*;
use trees::*;

/// A message that begins once another has been received, if any.
#[derive(Clone, Copy, Debug)]
struct Step {
    message: Message,
    after: Option<usize>,
}

/// Sends messages in their order of dependence, and gives their times from start to arrival, and the outcome.
fn live<T: Transport>(
    graph: &eastwest_engine::graph::Graph,
    hosts: u32,
    steps: &[Step],
    transport: &T,
    settings: NetworkSettings,
) -> (Vec<u64>, PacketOutcome) {
    let (forwarding, stop) = (Forwarding::new(graph), AtomicBool::new(false));
    let nics: Vec<u32> = (0..hosts).collect();
    let mut network: Box<dyn Live> =
        Box::new(Simulation::open(graph, &forwarding, &nics, &[], transport, settings).unwrap());
    let mut step_of = vec![];
    let mut took = vec![0; steps.len()];
    let mut begun = vec![0; steps.len()];
    let mut now = 0;
    let start = |after: Option<usize>,
                 now: u64,
                 network: &mut Box<dyn Live>,
                 step_of: &mut Vec<usize>,
                 begun: &mut Vec<u64>| {
        for (index, step) in steps.iter().enumerate().filter(|(_, step)| step.after == after) {
            network.send(step.message).unwrap();
            step_of.push(index);
            begun[index] = now;
        }
    };
    start(None, 0, &mut network, &mut step_of, &mut begun);
    let mut left = steps.len();
    while left > 0 {
        let mut news = vec![];
        now = network.advance(u64::MAX, &stop, &mut news).unwrap().max(now);
        for each in news {
            if let News::Received(flow) = each {
                let index = step_of[flow as usize];
                took[index] = now - begun[index];
                left -= 1;
                start(Some(index), now, &mut network, &mut step_of, &mut begun);
            }
        }
    }
    (took, network.finish().unwrap())
}

fn message(from: u32, to: u32, packets: u64, pair: u32) -> Message {
    Message { from, to, bytes: packets * 4032, pair }
}

fn shared(shares_contexts: bool, settings: NetworkSettings) -> NetworkSettings {
    NetworkSettings { shares_contexts, ..settings }
}

const RTT: u64 = 4 * US + 2 * PACKET + 2 * 1280;

/// Trims of each of two rounds of an incast of sixteen, the second after a pause.
fn trims_of_two_rounds(shares_contexts: bool, keeps: u64, pause: u64) -> [u64; 2] {
    let (graph, stop) = (star(17), AtomicBool::new(false));
    let mut transport = uet(RTT, true);
    transport.sprayed.keeps = keeps;
    let settings = shared(shares_contexts, lossy(50 * FULL, true));
    let forwarding = Forwarding::new(&graph);
    let after = |rounds: u64| {
        let mut network: Box<dyn Live> = Box::new(
            Simulation::open(&graph, &forwarding, &(0..17).collect::<Vec<u32>>(), &[], &transport, settings).unwrap(),
        );
        let mut now = 0;
        for _ in 0..rounds {
            for from in 1..17 {
                network.send(message(from, 0, 400, from)).unwrap();
            }
            // the last of 6,400 packets leaves the port within their time and some
            now = network_idle(&mut network, now + 7000 * PACKET, &stop) + pause;
            network_idle(&mut network, now, &stop);
        }
        network.finish().unwrap().totals.trims
    };
    let first = after(1);
    [first, after(2) - first]
}

/// Runs until a time, whatever there is to tell.
fn network_idle(network: &mut Box<dyn Live + '_>, until: u64, stop: &AtomicBool) -> u64 {
    let mut now = 0;
    while now < until {
        now = network.advance(until, stop, &mut vec![]).unwrap();
    }
    now
}

#[test]
fn a_second_round_of_an_incast_begins_with_what_the_first_has_learnt() {
    // With fresh windows the second round overruns the port's room as the first did; with those that the first has left
    // each sender sends a part of what the port takes.
    let [first, anew] = trims_of_two_rounds(false, 0, 0);
    let [same, warm] = trims_of_two_rounds(true, 1_000_000 * US, 0);
    assert_eq!(first, same, "one message a peer makes no difference");
    assert!(anew > first / 2, "fresh windows: {first}, then {anew} trims");
    assert!(warm < anew / 4, "{warm} trims with what was learnt, {anew} without");
}

#[test]
fn what_was_learnt_is_forgotten_after_a_pause() {
    // longer than a round: the sender that ends first is idle until the next one
    let [first, soon] = trims_of_two_rounds(true, 1000 * US, 100 * US);
    let [_, late] = trims_of_two_rounds(true, 1000 * US, 2000 * US);
    assert!(soon < first / 4 && late > first / 2, "{first} trims, {soon} soon after, {late} later");
}

#[test]
fn messages_at_once_to_one_peer_share_one_window() {
    // Eight messages at once between two hosts: with a window each, eight windows of one and a half products would stand
    // before the receiver's port; with one for all, half a product at most.
    let steps: Vec<Step> = (0..8).map(|pair| Step { message: message(1, 0, 500, pair), after: None }).collect();
    let deepest = |shares_contexts, hosts: u32, steps: &[Step]| {
        let settings = NetworkSettings { marking: None, ..shared(shares_contexts, lossy(1 << 30, false)) };
        live(&leaf_spine(2, 8, 1), hosts, steps, &uet(8 * US + 4 * PACKET, false), settings).1.totals.deepest
    };
    // the senders' own NIC holds back what it cannot send: look at two senders, whose port is shared below the leaf
    let two: Vec<Step> =
        (0..16).map(|index| Step { message: message(1 + index % 2, 0, 250, index / 2), after: None }).collect();
    assert!(deepest(true, 16, &steps) <= FULL * 3);
    let bdp = ((8 * US + 4 * PACKET) as f64 * RATE * 1e-12) as u64;
    let shared = deepest(true, 16, &two);
    assert!(shared < 3 * bdp, "{shared} of {bdp}");
    assert!(deepest(false, 16, &two) > shared * 2);
}

#[test]
fn a_queue_pair_goes_on_at_the_rate_that_dcqcn_has_left_it() {
    // Four senders to one for long enough that DCQCN cuts their rates; then one of them sends again, alone, at once.
    let dcqcn = Some(DcqcnSettings::paper(RATE));
    let marking = Some(Marking { from: 50_000, to: 2_000_000, most: 100 });
    let settings = NetworkSettings { marking, ..lossy(1 << 28, false) };
    let transport = RoceSettings { dcqcn, ack_every: 8, ..roce(Repeat::GoBackN) };
    let message = |from: u32, packets: u64| Message { from, to: 0, bytes: packets * 4096, pair: from };
    let mut steps: Vec<Step> = (1..5).map(|from| Step { message: message(from, 5000), after: None }).collect();
    steps.push(Step { message: message(1, 100), after: Some(0) });
    let last = |shares_contexts| live(&star(5), 5, &steps, &transport, shared(shares_contexts, settings)).0[4];
    let (warm, anew) = (last(true), last(false));
    assert!(warm > anew + 50 * PACKET, "{warm} with its rate, {anew} at line rate");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn flows_that_share_contexts_all_end_and_a_seed_fixes_everything(
        pairs in prop::collection::vec((0u32..8, 0u32..8, 1u64..200, 0u32..4, any::<bool>()), 1..50),
        loss in prop_oneof![Just(0u32), 1_000u32..30_000_000],
        trims: bool,
        keeps in prop_oneof![Just(0u64), Just(20 * US), Just(10_000 * US)],
        seed: u64,
    ) {
        let steps: Vec<Step> = pairs.iter().filter(|each| each.0 != each.1).enumerate()
            .map(|(index, &(from, to, packets, pair, waits))| Step {
                message: message(from, to, packets, pair),
                after: (waits && index > 0).then(|| index - 1),
            }).collect();
        let tree = leaf_spine(2, 4, 3);
        let settings = NetworkSettings { loss, seed, ..shared(true, lossy(20 * FULL, trims)) };
        let rtt = 8 * US + 4 * PACKET;
        let mut uet = uet(rtt, trims);
        uet.sprayed.keeps = keeps;
        let first = live(&tree, 8, &steps, &uet, settings);
        let again = live(&tree, 8, &steps, &uet, settings);
        prop_assert_eq!(first.0, again.0);
        prop_assert_eq!(first.1.totals, again.1.totals);
        live(&tree, 8, &steps, &mrc(rtt, trims), settings);
        let dcqcn = Some(DcqcnSettings::paper(RATE));
        live(&tree, 8, &steps, &RoceSettings { dcqcn, ..roce(Repeat::Selective) }, settings);
    }
}
