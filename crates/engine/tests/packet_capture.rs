//! What leaves by a link, recorded.

mod trees;

use std::sync::atomic::AtomicBool;

use eastwest_engine::packet::{Capture, NetworkSettings, PacketOutcome, Scene, Simulation};
use eastwest_engine::routing::Forwarding;
use eastwest_transport::dcqcn::DcqcnSettings;
use eastwest_transport::roce::{Repeat, RoceSettings};
use eastwest_transport::{Flags, Kind};
use trees::*;

/// Three hosts send to host 0 of a star; some links are captured.
fn captured(transport: &RoceSettings, settings: NetworkSettings, links: &[u32], most: usize) -> PacketOutcome {
    let graph = star(4);
    let forwarding = Forwarding::new(&graph);
    let flows: Vec<_> = (1..4).map(|from| flow(from, 0, 100 * 4096, 0)).collect();
    let scene = Scene { graph: &graph, forwarding: &forwarding, flows: &flows, triggers: &[], changes: &[] };
    let simulation = Simulation::new(scene, transport, settings).unwrap().capturing(links, most).unwrap();
    simulation.run(u64::MAX, &AtomicBool::new(false)).unwrap()
}

/// Links of a star: host to switch is twice the host, back is the next.
const INTO_HOST_0: u32 = 1;
const OUT_OF_HOST_0: u32 = 0;

fn capture(outcome: &PacketOutcome) -> &Capture {
    outcome.capture.as_ref().unwrap()
}

#[test]
fn every_packet_that_leaves_by_a_link_is_there_with_its_time() {
    let outcome = captured(&roce(Repeat::GoBackN), lossless(), &[INTO_HOST_0], usize::MAX);
    let records = &capture(&outcome).records;
    assert_eq!(records.len(), 300);
    assert!(records.iter().all(|record| record.link == INTO_HOST_0 && record.packet.kind == Kind::Data));
    // the first leaves the switch once it is in; the next follow each other on a link that is always full
    let times: Vec<u64> = records.iter().map(|record| record.time).collect();
    assert_eq!(times, (0..300).map(|turn| PACKET + US + turn * PACKET).collect::<Vec<_>>());
}

#[test]
fn answers_leave_by_the_other_direction() {
    let outcome = captured(&roce(Repeat::GoBackN), lossless(), &[OUT_OF_HOST_0], usize::MAX);
    let records = &capture(&outcome).records;
    assert_eq!(records.len(), 300);
    assert!(records.iter().all(|record| record.packet.kind == Kind::Ack));
}

#[test]
fn marks_that_the_port_itself_sets_are_seen_and_so_are_notifications() {
    let transport = RoceSettings { dcqcn: Some(DcqcnSettings::paper(RATE)), ..roce(Repeat::GoBackN) };
    let settings = NetworkSettings { marking: lossy(20 * FULL, false).marking, ..lossless() };
    let outcome = captured(&transport, settings, &[INTO_HOST_0, OUT_OF_HOST_0], usize::MAX);
    let count = |wanted: &dyn Fn(Kind, bool) -> bool| {
        let records = capture(&outcome).records.iter();
        records.filter(|record| wanted(record.packet.kind, record.packet.flags.has(Flags::CE))).count() as u64
    };
    assert!(outcome.totals.marks > 0 && outcome.totals.cnps > 0);
    assert_eq!(count(&|kind, is_marked| kind == Kind::Data && is_marked), outcome.totals.marks);
    assert_eq!(count(&|kind, _| kind == Kind::Cnp), outcome.totals.cnps);
}

#[test]
fn memory_is_bounded_and_what_was_missed_is_counted() {
    let outcome = captured(&roce(Repeat::GoBackN), lossless(), &[INTO_HOST_0], 10);
    assert_eq!((capture(&outcome).records.len(), capture(&outcome).missed), (10, 290));
}

#[test]
fn a_capture_changes_nothing() {
    let graph = star(4);
    let flows: Vec<_> = (1..4).map(|from| flow(from, 0, 100 * 4096, 0)).collect();
    let without = run(&graph, &flows, &roce(Repeat::GoBackN), lossless());
    let with = captured(&roce(Repeat::GoBackN), lossless(), &[INTO_HOST_0], usize::MAX);
    assert!(without.capture.is_none());
    assert_eq!((with.flows, with.totals, with.events), (without.flows, without.totals, without.events));
}

#[test]
fn a_link_that_there_is_not_is_refused() {
    let graph = star(2);
    let forwarding = Forwarding::new(&graph);
    let flows = [flow(0, 1, 4096, 0)];
    let scene = Scene { graph: &graph, forwarding: &forwarding, flows: &flows, triggers: &[], changes: &[] };
    let transport = roce(Repeat::GoBackN);
    let refused = Simulation::new(scene, &transport, lossless()).unwrap().capturing(&[4], 1).err().unwrap();
    assert!(refused.to_string().contains("there is no link 4 to capture"), "{refused}");
}
