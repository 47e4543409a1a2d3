//! Several jobs on one network: compute of some ranks, runs that end before all is done, background traffic, records.

mod programs;
mod shapes;

use std::sync::atomic::AtomicBool;

use eastwest_engine::outcome::{Outcome, Timeline};
use eastwest_engine::program::{Carriage, Mix, Op, Program, Stream, Work};
use eastwest_engine::routing::Topology;
use eastwest_engine::schedule::{Record, record, run};
use programs::{ONE_QP, SPRAYED, all_reduce, compute, program, ps, send};
use shapes::{LeafSpine, Network, leaf_spine};

/// NIC and link rate: 1 GB takes 20 ms.
const RATE: f64 = 50e9;
const GB: f64 = 1e9;
const GB_S: f64 = GB / RATE;

/// Servers of one GPU on two leaves; no latency.
fn network(servers_per_leaf: u32, spines: u32) -> Network {
    let size = LeafSpine { leaves: 2, servers_per_leaf, gpus_per_server: 1, spines, links_per_pair: 1, rate: RATE };
    let network = leaf_spine(size);
    let mut plan = network.plan;
    plan.latency.fill(0);
    Network { graph: plan.graph(), plan, ..network }
}

fn topology(net: &Network) -> Topology {
    Topology::new(net.graph.clone()).unwrap()
}

fn mixed(net: &Network, ops: Vec<Op>, mix: Mix) -> Program {
    Program { mix, ..program(&net.gpus, ops) }
}

fn outcome(net: &Network, ops: Vec<Op>, mix: Mix) -> Outcome {
    run(&topology(net), &mixed(net, ops, mix), &SPRAYED, 7).unwrap()
}

/// Traffic between ranks' GPUs.
fn stream(net: &Network, from: usize, to: &[usize], rate: f64) -> Stream {
    Stream { from: net.gpus[from], to: to.iter().map(|&rank| net.gpus[rank]).collect(), rate, carriage: ONE_QP }
}

fn beside(background: Vec<Stream>) -> Mix {
    Mix { background, ..Mix::default() }
}

fn compute_on(seconds: f64, ranks: &[u32], after: &[u32]) -> Op {
    Op { work: Work::Compute { seconds, ranks: Some(ranks.to_vec()) }, ..compute(seconds, after) }
}

fn assert_time(found: u64, seconds: f64) {
    assert!(found.abs_diff(ps(seconds)) <= 10, "{found} ps, expected {} ps", ps(seconds));
}

fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-6 * expected.abs(), "{found}, expected {expected}");
}

/// The link that leaves a rank's NIC for its leaf.
fn port(net: &Network, rank: usize) -> usize {
    let graph = &net.graph;
    let leaf = net.leaves[rank / (net.gpus.len() / 2)];
    let pcie = (0..graph.links()).find(|&at| graph.src[at] == net.gpus[rank]).map(|at| graph.dst[at]).unwrap();
    let nic =
        (0..graph.links()).filter(|&at| graph.src[at] == pcie).map(|at| graph.dst[at]).find(|&at| at != net.gpus[rank]);
    (0..graph.links()).find(|&at| Some(graph.src[at]) == nic && graph.dst[at] == leaf).expect("a NIC has a leaf")
}

#[test]
fn only_the_ranks_named_compute() {
    let net = network(2, 2);
    let ops = vec![compute_on(0.010, &[1, 2], &[]), compute_on(0.030, &[3], &[]), compute(0.001, &[0, 1])];
    let out = outcome(&net, ops, Mix::default());
    let times: Vec<u64> = [0.001, 0.011, 0.011, 0.031].map(ps).into();
    assert_eq!(out.compute, times);
    assert_time(out.step, 0.031);
}

#[test]
fn each_rank_is_slowed_by_its_own_factor() {
    let net = network(2, 2);
    // Both messages outlast the compute beside them.
    let ops = vec![compute(0.004, &[]), send(1, &[(0, 1), (2, 3)], GB, &[])];
    let out = outcome(&net, ops, Mix { slowdown: vec![1.0, 1.5, 2.0, 1.0], ..Mix::default() });
    assert_eq!(out.compute, [0.004, 0.006, 0.008, 0.004].map(ps));
}

#[test]
fn a_run_ends_with_the_operations_it_waits_for() {
    let net = network(2, 2);
    let ops = vec![send(1, &[(0, 1)], GB, &[]), send(2, &[(2, 3)], 4.0 * GB, &[]), compute_on(9.0, &[2], &[])];
    let out = outcome(&net, ops, Mix { until: vec![0], ..Mix::default() });
    assert_time(out.step, GB_S);
    assert_eq!(out.op_end[1], 0, "it has not ended");
    // What was cut short has carried its part, and its ranks worked until the end.
    assert_near(out.link_bytes[port(&net, 2)], GB);
    assert_eq!([out.compute[2], out.communication[2], out.communication[3]], [out.step; 3]);
}

#[test]
fn background_traffic_takes_what_it_offers_and_no_more_than_its_fair_share() {
    let net = network(2, 2);
    for (offered, left) in [(0.1, 0.9), (0.4, 0.6), (0.8, 0.5)] {
        let out = outcome(&net, vec![send(1, &[(0, 2)], GB, &[])], beside(vec![stream(&net, 0, &[3], offered * RATE)]));
        assert_time(out.step, GB_S / left);
        assert_near(out.link_bytes[port(&net, 0)], GB + (1.0 - left) * RATE * GB_S / left);
    }
}

#[test]
fn background_traffic_to_many_is_shared_evenly_and_comes_from_gpus_without_ranks_too() {
    let net = network(2, 2);
    // Rank 0 sends; the GPU of the fourth server, which has no rank, sends to all others, a third to each.
    let ops = vec![send(1, &[(0, 2)], GB, &[])];
    let mix = beside(vec![stream(&net, 3, &[0, 1, 2], 0.6 * RATE)]);
    let three = Program { gpu: net.gpus[..3].to_vec(), ..mixed(&net, ops, mix) };
    let out = run(&topology(&net), &three, &SPRAYED, 7).unwrap();
    assert_time(out.step, GB_S / 0.8);
    assert_near(out.link_bytes[port(&net, 3)], 0.6 * RATE * GB_S / 0.8);
}

#[test]
fn background_traffic_outlives_no_program_and_is_no_bottleneck_by_itself() {
    let net = network(2, 2);
    let mix = beside(vec![stream(&net, 1, &[3], RATE), stream(&net, 0, &[2], 0.25 * RATE)]);
    let out = outcome(&net, vec![compute(0.005, &[]), send(1, &[(0, 2)], GB, &[0])], mix);
    assert_time(out.step, 0.005 + GB_S / 0.75);
    // Only the message counts, on its own way.
    assert_near(out.link_limiting.iter().sum(), GB_S / 0.75);
    assert_eq!(out.link_limiting[port(&net, 1)], 0.0);
    assert_eq!(outcome(&net, vec![compute(0.005, &[])], beside(vec![stream(&net, 1, &[3], RATE)])).step, ps(0.005));
}

#[test]
fn jobs_that_share_nothing_do_not_touch() {
    let net = network(2, 2);
    let first = |ranks: &[u32], queue| all_reduce(queue, ranks, GB, &[]);
    let alone = outcome(&net, vec![first(&[0, 1], 1)], Mix::default());
    let both = outcome(&net, vec![first(&[0, 1], 1), first(&[2, 3], 2)], Mix::default());
    assert_eq!(both.op_end[0], alone.op_end[0]);
}

#[test]
fn mixes_that_make_no_sense_are_refused() {
    let net = network(2, 2);
    let (nodes, leaf) = (net.graph.nodes() as u32, net.leaves[0]);
    let on = |from: u32, to: Vec<u32>, rate| beside(vec![Stream { from, to, rate, carriage: ONE_QP }]);
    let (here, there) = (net.gpus[0], net.gpus[1]);
    let cases = [
        (Mix { until: vec![1], ..Mix::default() }, "the run ends with operation 1 but there are 1 operations".into()),
        (Mix { slowdown: vec![1.0], ..Mix::default() }, "overlap slows 1 ranks but there are 4".into()),
        (Mix { slowdown: vec![0.5; 4], ..Mix::default() }, "a factor of 1 or more, not 0.5".into()),
        (on(here, vec![there], 0.0), "background traffic offers 0 bytes a second".into()),
        (on(here, vec![], 1.0), format!("background traffic from node {here} goes nowhere")),
        (on(here, vec![here], 1.0), format!("background traffic from node {here} goes nowhere")),
        (on(here, vec![nodes], 1.0), format!("background traffic on node {nodes} but there are {nodes} nodes")),
        (on(leaf, vec![here], 1.0), "background traffic: ".into()),
    ];
    for (mix, cause) in cases {
        let refusal = run(&topology(&net), &mixed(&net, vec![compute(1.0, &[])], mix), &SPRAYED, 7).unwrap_err();
        assert!(refusal.to_string().contains(&cause), "{refusal}, expected {cause}");
    }
    let many = Carriage { qps: 40_000_000, ..ONE_QP };
    let mix = beside(vec![Stream { from: here, to: vec![there], rate: 1.0, carriage: many }]);
    let refusal = run(&topology(&net), &mixed(&net, vec![], mix), &SPRAYED, 7).unwrap_err().to_string();
    assert!(refusal.contains("about 80 million hops") && refusal.contains("as a permutation"), "{refusal}");
    let twice = run(&topology(&net), &program(&net.gpus, vec![compute_on(1.0, &[2, 2], &[])]), &SPRAYED, 7);
    assert!(twice.unwrap_err().to_string().contains("operation 0: rank 2 is named twice"));
}

fn recorded(net: &Network, ops: Vec<Op>, every: f64, tiers: &[u32]) -> (Outcome, Timeline) {
    let (program, stop) = (program(&net.gpus, ops), AtomicBool::new(false));
    record(&topology(net), &program, &SPRAYED, 7, Record { every: ps(every), tiers }, &stop).unwrap()
}

#[test]
fn a_record_says_when_each_class_arrived_and_when_data_moved() {
    let net = network(2, 2);
    let ops = vec![compute_on(0.010, &[0], &[]), send(1, &[(0, 2)], GB, &[0])];
    let (out, timeline) = recorded(&net, ops.clone(), 0.001, &vec![0; net.graph.links()]);
    let unrecorded = outcome(&net, ops, Mix::default());
    assert_eq!((out.step, &out.op_end, &out.link_bytes), (unrecorded.step, &unrecorded.op_end, &unrecorded.link_bytes));
    let class = |rank: usize| timeline.class_of[rank];
    let found: Vec<_> = timeline.turns.iter().map(|turn| (turn.op, turn.class, turn.start, turn.end)).collect();
    let (busy, done) = (ps(0.010), out.step);
    assert_eq!(found, [(0, class(0), 0, busy), (1, class(0), busy, done), (1, class(2), 0, done)]);
    let [transfer] = timeline.transfers[..] else { panic!("one message is one transfer") };
    assert_eq!((transfer.op, transfer.part, transfer.start, transfer.end), (1, 0, busy, done));
    assert_near(transfer.bytes, GB);
}

#[test]
fn recorded_loads_are_means_over_each_span_and_add_up_to_what_was_carried() {
    let net = network(2, 2);
    let ports = [port(&net, 0), port(&net, 1)];
    let tiers: Vec<u32> = (0..net.graph.links()).map(|link| u32::from(ports.contains(&link))).collect();
    // 25 ms: idle for 5, then 20 at full rate; spans of 4 ms, the last of 1.
    let (out, timeline) = recorded(&net, vec![compute(0.005, &[]), send(1, &[(0, 2)], GB, &[0])], 0.004, &tiers);
    assert_time(out.step, 0.025);
    assert_eq!((timeline.tiers, timeline.spans()), (2, 7));
    let of_ports = |table: &[f64]| table.chunks(2).map(|row| row[1]).collect::<Vec<f64>>();
    for (found, expected) in of_ports(&timeline.most).iter().zip([0.0, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0]) {
        assert!((found - expected).abs() < 1e-6, "{found}, expected {expected}");
    }
    for (mean, most) in of_ports(&timeline.mean).iter().zip(of_ports(&timeline.most)) {
        assert!((mean - most / 2.0).abs() < 1e-9, "one of two ports sends");
    }
}
