//! Flows that are added as a run goes on: the same packets as those of a run that knows them from the start.

mod trees;

use std::sync::atomic::AtomicBool;

use eastwest_engine::packet::{Live, Message, News, Simulation};
use eastwest_engine::routing::Forwarding;
use eastwest_transport::roce::Repeat;
use trees::*;

/// Sends messages that all begin at once, and gives the times at which they arrived.
fn live(graph: &eastwest_engine::graph::Graph, messages: &[Message], hosts: u32) -> (Vec<u64>, Vec<News>) {
    let (forwarding, transport, stop) = (Forwarding::new(graph), roce(Repeat::GoBackN), AtomicBool::new(false));
    let nics: Vec<u32> = (0..hosts).collect();
    let mut network: Box<dyn Live> =
        Box::new(Simulation::open(graph, &forwarding, &nics, &[], &transport, lossless()).unwrap());
    for message in messages {
        network.send(*message).unwrap();
    }
    let (mut arrived, mut all) = (vec![0; messages.len()], vec![]);
    while arrived.contains(&0) {
        let mut news = vec![];
        let now = network.advance(u64::MAX, &stop, &mut news).unwrap();
        for each in &news {
            if let News::Received(flow) = *each {
                arrived[flow as usize] = now;
            }
        }
        all.extend(news);
    }
    let outcome = network.finish().unwrap();
    assert_eq!(outcome.totals.delivered, outcome.totals.packets);
    (arrived, all)
}

#[test]
fn flows_added_at_once_arrive_as_in_a_run_that_knows_them() {
    let graph = leaf_spine(2, 8, 1);
    let flows: Vec<_> = (8..15).map(|from| flow(from, from % 3, 50 * 4096, 0)).collect();
    let known = run(&graph, &flows, &roce(Repeat::GoBackN), lossless());
    let messages: Vec<_> =
        (0..).zip(&flows).map(|(pair, f)| Message { from: f.from, to: f.to, bytes: f.bytes, pair }).collect();
    let (arrived, _) = live(&graph, &messages, 16);
    let received: Vec<u64> = known.flows.iter().map(|flow| flow.received.unwrap()).collect();
    assert_eq!(arrived, received);
}

#[test]
fn a_message_is_told_as_sent_before_it_is_told_as_received_each_once() {
    let message = Message { from: 0, to: 1, bytes: 100 * 4096, pair: 0 };
    let (arrived, news) = live(&star(2), &[message], 2);
    assert_eq!(news, [News::Sent(0), News::Received(0)]);
    // two transmissions of each packet overlap but for the last, and two cables
    assert_eq!(arrived, [101 * PACKET + 2 * US]);
}

#[test]
fn a_run_reaches_the_time_that_is_asked_where_there_is_nothing_to_tell() {
    let (graph, transport, stop) = (star(2), roce(Repeat::GoBackN), AtomicBool::new(false));
    let forwarding = Forwarding::new(&graph);
    let mut network = Simulation::open(&graph, &forwarding, &[0, 1], &[], &transport, lossless()).unwrap();
    let mut news = vec![];
    assert_eq!(network.advance(5 * US, &stop, &mut news).unwrap(), 5 * US);
    network.send(Message { from: 0, to: 1, bytes: 4096, pair: 0 }).unwrap();
    assert_eq!(network.advance(u64::MAX, &stop, &mut news).unwrap(), 5 * US);
    assert_eq!(news, [News::Sent(0)]);
}

#[test]
fn messages_of_one_queue_pair_take_one_path() {
    let graph = leaf_spine(2, 4, 4);
    let (forwarding, transport, stop) = (Forwarding::new(&graph), roce(Repeat::GoBackN), AtomicBool::new(false));
    let nics: Vec<u32> = (0..8).collect();
    let mut network: Box<dyn Live> =
        Box::new(Simulation::open(&graph, &forwarding, &nics, &[], &transport, lossless()).unwrap());
    for _ in 0..16 {
        network.send(Message { from: 0, to: 4, bytes: 4096, pair: 7 }).unwrap();
    }
    let mut news = vec![];
    while news.iter().filter(|each| matches!(each, News::Received(_))).count() < 16 {
        network.advance(u64::MAX, &stop, &mut news).unwrap();
    }
    let full = 16 * FULL;
    let links = network.sent().into_iter().filter(|&bytes| bytes >= full).count();
    assert_eq!(links, 4, "NIC, leaf, spine, leaf");
}
