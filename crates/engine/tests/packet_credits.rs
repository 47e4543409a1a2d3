//! Credit that receivers grant (RCCC): an incast without queues, and nobody left waiting for credit that was lost.

mod trees;

use std::sync::atomic::AtomicBool;

use eastwest_engine::packet::{Flow, NetworkSettings, PacketOutcome, Scene, Simulation};
use eastwest_engine::routing::Forwarding;
use eastwest_transport::uet::{Control, UetSettings};
use proptest::prelude::*;
use trees::*;

const RTT: u64 = 4 * US + 2 * PACKET + 2 * 1280;
/// Bytes of a round trip: room before each port.
const PRODUCT: u64 = 212_992;
const SENDERS: u32 = 32;
const PACKETS: u64 = 500;

fn under(control: Control, rtt: u64) -> UetSettings {
    UetSettings { control, ..uet(rtt, true) }
}

fn incast() -> Vec<Flow> {
    (1..=SENDERS).map(|from| flow(from, 0, PACKETS * 4032, 0)).collect()
}

fn until(control: Control, time: u64) -> PacketOutcome {
    let graph = star(SENDERS as usize + 1);
    let (forwarding, flows, transport) = (Forwarding::new(&graph), incast(), under(control, RTT));
    let scene = Scene { graph: &graph, forwarding: &forwarding, flows: &flows, triggers: &[], changes: &[] };
    Simulation::new(scene, &transport, lossy(PRODUCT, true)).unwrap().run(time, &AtomicBool::new(false)).unwrap()
}

#[test]
fn an_incast_under_credit_is_trimmed_in_its_first_window_alone() {
    for control in [Control::Receiver, Control::Both] {
        // What 32 senders may send before they hear of their receiver stands before its port for at most as long as it
        // takes the port to send a round trip's bytes; all that is sent later, credit has called for.
        let (early, all) = (until(control, 4 * RTT).totals, until(control, u64::MAX).totals);
        assert!(early.trims > 0 && all.trims - early.trims < early.trims / 50, "{control:?}: {early:?}, {all:?}");
        assert!(all.retransmits < u64::from(SENDERS) * 2 * PRODUCT / FULL);
    }
}

#[test]
fn the_last_flow_of_an_incast_under_credit_ends_when_the_port_has_sent_all() {
    let bound = u64::from(SENDERS) * PACKETS * PACKET;
    for control in [Control::Receiver, Control::Both] {
        let times = times(&until(control, u64::MAX));
        // 1 % is granted to nobody; the first window's trimmed headers and the way there and back come on top
        let last = times[SENDERS as usize - 1];
        assert!(last > bound && last < bound * 104 / 100 + 3 * RTT, "{control:?}: {last} of {bound}");
        // credit is granted in turn: all end together
        assert!(times[0] > bound * 95 / 100, "{control:?}: {} of {bound}", times[0]);
    }
}

#[test]
fn a_permutation_loses_nothing_by_credit() {
    let (tree, flows) = (leaf_spine(8, 8, 8), shifted(64, 8, 2_000_000));
    let rtt = 8 * US + 4 * PACKET + 4 * 1280;
    let median = |control| times(&run(&tree, &flows, &under(control, rtt), lossy(100 * FULL, true)))[32] as f64;
    let (both, window) = (median(Control::Both), median(Control::Sender));
    assert!((both / window - 1.0).abs() < 0.03, "{both} with credit too, {window} with windows alone");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn flows_end_though_data_credits_and_requests_are_lost(
        pairs in prop::collection::vec((0u32..8, 0u32..8, 1u64..300_000, 0..50 * US), 1..40),
        loss in prop_oneof![Just(0u32), 1_000u32..50_000_000],
        trims: bool,
        are_shared: bool,
        seed: u64,
    ) {
        let flows: Vec<Flow> =
            pairs.iter().filter(|p| p.0 != p.1).map(|&(from, to, bytes, at)| flow(from, to, bytes, at)).collect();
        let settings = NetworkSettings { loss, seed, shares_contexts: are_shared, ..lossy(20 * FULL, trims) };
        let tree = leaf_spine(2, 4, 3);
        for control in [Control::Receiver, Control::Both] {
            let first = run(&tree, &flows, &under(control, 8 * US + 4 * PACKET), settings);
            times(&first); // every flow has ended
            let again = run(&tree, &flows, &under(control, 8 * US + 4 * PACKET), settings);
            prop_assert_eq!(first.totals, again.totals);
        }
    }
}
