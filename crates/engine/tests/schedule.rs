//! Programs run as they say: queues, dependencies, waiting for each other, overlap, and one network for all.

mod programs;
mod shapes;

use std::sync::atomic::AtomicBool;

use eastwest_engine::Error;
use eastwest_engine::program::{Algorithm, Collective, Kind, Op, Program};
use eastwest_engine::routing::{Balancing, Topology};
use eastwest_engine::schedule::{Fidelity, RunOptions, run, run_seeds};
use programs::{SPRAYED, all_reduce, collective, compute, options, outcome, over, program, ps, send};
use proptest::prelude::*;
use shapes::{CABLE_PS, LeafSpine, Network, PCIE_PS, leaf_spine};

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

fn link(network: &Network, from: u32, to: u32) -> usize {
    let graph = &network.graph;
    (0..graph.links()).find(|&at| graph.src[at] == from && graph.dst[at] == to).expect("the nodes are joined")
}

/// Within a few picoseconds of rounding.
fn assert_time(found: u64, seconds: f64) {
    assert!(found.abs_diff(ps(seconds)) <= 10, "{found} ps, expected {} ps", ps(seconds));
}

#[test]
fn a_queue_runs_in_order_and_queues_run_side_by_side() {
    let net = network(2, 2);
    let ops = vec![compute(0.010, &[]), compute(0.020, &[]), send(1, &[(0, 1)], GB, &[]), send(1, &[(0, 1)], GB, &[])];
    let out = outcome(&net.graph, &net.gpus, ops, &SPRAYED).unwrap();
    assert_time(out.op_start[1], 0.010);
    assert_time(out.op_end[1], 0.030);
    assert_time(out.op_start[2], 0.0);
    assert_time(out.op_end[2], GB_S);
    assert_time(out.op_end[3], 2.0 * GB_S);
    assert_time(out.step, 2.0 * GB_S);
}

#[test]
fn an_operation_starts_after_those_it_names() {
    let net = network(2, 2);
    let ops = vec![compute(0.010, &[]), all_reduce(1, &[0, 1], GB, &[0]), compute(0.005, &[1])];
    let out = outcome(&net.graph, &net.gpus, ops, &SPRAYED).unwrap();
    assert_time(out.op_start[1], 0.010);
    assert_time(out.op_end[1], 0.010 + GB_S);
    // Ranks outside the group have nothing to wait for.
    assert_time(out.op_start[2], 0.010);
    assert_time(out.step, 0.015 + GB_S);
}

#[test]
fn a_message_waits_for_both_ends() {
    let net = network(2, 2);
    // Rank 1 is late by the time it receives from rank 2.
    let ops = vec![send(1, &[(2, 1)], GB, &[]), send(2, &[(0, 1)], GB, &[0])];
    let out = outcome(&net.graph, &net.gpus, ops, &SPRAYED).unwrap();
    assert_time(out.op_start[1], 0.0);
    assert_time(out.op_end[1], 2.0 * GB_S);
    assert_time(out.communication[0], GB_S);
    assert_time(out.communication[1], 2.0 * GB_S);
    assert_time(out.communication[3], 0.0);
}

#[test]
fn a_rank_has_sent_when_all_its_pairs_are_done() {
    let net = network(2, 2);
    // Rank 0 feeds two: they share its NIC. Rank 3 has a message of its own at the full rate.
    let ops = vec![send(1, &[(0, 1), (0, 2), (3, 0)], GB, &[]), compute(0.001, &[0])];
    let out = outcome(&net.graph, &net.gpus, ops, &SPRAYED).unwrap();
    assert_time(out.op_end[0], 2.0 * GB_S);
    assert_time(out.op_start[1], GB_S);
    assert_time(out.step, 2.0 * GB_S + 0.001);
}

#[test]
fn two_jobs_share_a_link_and_the_longer_one_has_it_alone_in_the_end() {
    // One spine: both cross the only link from the first leaf up.
    let net = network(2, 1);
    let ops = vec![send(1, &[(0, 2)], GB, &[]), send(2, &[(1, 3)], 3.0 * GB, &[])];
    let out = outcome(&net.graph, &net.gpus, ops, &options(Balancing::Ecmp)).unwrap();
    assert_time(out.op_end[0], 2.0 * GB_S);
    assert_time(out.op_end[1], 4.0 * GB_S);
    let up = link(&net, net.leaves[0], net.spines[0]);
    assert!((out.link_bytes[up] / (4.0 * GB) - 1.0).abs() < 1e-9);
    assert!(
        out.link_limiting[up] >= 2.0 * GB_S - 1e-9,
        "alone until the first ends; then the NIC is as much of a limit"
    );
    assert_eq!(out.link_flows[up], 1.0, "each operation puts one flow there");
}

#[test]
fn ideal_leaves_out_the_fabric() {
    let net = network(2, 1);
    let ideal = RunOptions { fidelity: Fidelity::Ideal, ..options(Balancing::Ecmp) };
    let pairs = send(1, &[(0, 2), (1, 3)], GB, &[]);
    assert_time(
        outcome(&net.graph, &net.gpus, vec![pairs.clone()], &options(Balancing::Ecmp)).unwrap().step,
        2.0 * GB_S,
    );
    assert_time(outcome(&net.graph, &net.gpus, vec![pairs], &ideal).unwrap().step, GB_S);
    let incast = send(1, &[(0, 2), (1, 2)], GB, &[]);
    assert_time(outcome(&net.graph, &net.gpus, vec![incast], &ideal).unwrap().step, 2.0 * GB_S);
}

#[test]
fn path_latency_comes_after_the_last_byte() {
    let net = leaf_spine(LeafSpine {
        leaves: 2,
        servers_per_leaf: 1,
        gpus_per_server: 1,
        spines: 1,
        links_per_pair: 1,
        rate: RATE,
    });
    let out = outcome(&net.graph, &net.gpus, vec![send(1, &[(0, 1)], GB, &[])], &SPRAYED).unwrap();
    assert_eq!(out.step, ps(GB_S) + 4 * PCIE_PS + 4 * CABLE_PS);
}

proptest! {
    #[test]
    fn overlap_stretches_compute_while_data_moves(
        slowdown in 1.0f64..3.0, work in 0.001f64..0.1, gigabytes in 0.1f64..4.0
    ) {
        let net = network(2, 2);
        let ops = vec![compute(work, &[]), send(1, &[(0, 1)], gigabytes * GB, &[])];
        let program = Program { overlap_slowdown: slowdown, ..program(&net.gpus, ops) };
        let topology = Topology::new(net.graph.clone()).unwrap();
        let out = run(&topology, &program, &SPRAYED, 0).unwrap();
        let moving = gigabytes * GB_S;
        // While data moves, 1/slowdown of a second of work is done in each second.
        let is_hidden = work * slowdown <= moving;
        let computing = if is_hidden { work * slowdown } else { work + moving * (1.0 - 1.0 / slowdown) };
        assert_time(out.compute[0], computing);
        assert_time(out.compute[2], work);
        assert_time(out.communication[0], moving);
        assert_time(out.exposed[0], (moving - computing).max(0.0));
        assert_time(out.step, computing.max(moving));
    }

    #[test]
    fn ranks_simulated_as_one_do_as_they_would_apart(
        ops in prop::collection::vec((0u32..4, 0u32..3, 0.1f64..2.0, any::<prop::sample::Index>(), any::<bool>()), 1..8)
    ) {
        let net = network(4, 2);
        let groups = [vec![vec![0, 1, 2, 3], vec![4, 5, 6, 7]], vec![vec![0, 4, 1, 5]], vec![(0..8).collect()]];
        let mut listed: Vec<Op> = Vec::new();
        for (what, groups_at, size, before, has_after) in ops {
            let after = if has_after && !listed.is_empty() { vec![before.index(listed.len()) as u32] } else { vec![] };
            let kind = [Kind::AllReduce, Kind::AllGather, Kind::ReduceScatter][groups_at as usize];
            listed.push(match what {
                0 => compute(size * GB_S, &after),
                queue => {
                    let ring = collective(kind, Algorithm::Ring, size * GB, 2);
                    over(queue, groups[groups_at as usize].clone(), ring, &after)
                }
            });
        }
        let together = outcome(&net.graph, &net.gpus, listed.clone(), &options(Balancing::Ecmp)).unwrap();
        // Messages of no bytes tell every rank from every other.
        listed.push(send(9, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7)], 0.0, &[]));
        let apart = outcome(&net.graph, &net.gpus, listed, &options(Balancing::Ecmp)).unwrap();
        prop_assert_eq!(together.step, apart.step);
        prop_assert_eq!(&together.op_end[..], &apart.op_end[..together.op_end.len()]);
        prop_assert_eq!(together.compute, apart.compute);
        prop_assert_eq!(together.communication, apart.communication);
        prop_assert_eq!(together.exposed, apart.exposed);
        prop_assert_eq!(together.link_bytes, apart.link_bytes);
    }
}

#[test]
fn nothing_to_move_ends_at_once() {
    let net = network(2, 2);
    let ops = vec![
        all_reduce(1, &[0], GB, &[]),
        all_reduce(1, &[0, 1], 0.0, &[]),
        send(1, &[(0, 1)], 0.0, &[]),
        compute(0.0, &[2]),
        compute(0.001, &[3]),
    ];
    let out = outcome(&net.graph, &net.gpus, ops, &SPRAYED).unwrap();
    assert_eq!(out.op_end[..4], [0; 4]);
    assert_time(out.step, 0.001);
    assert_eq!(out.communication, [0; 4]);
}

#[test]
fn an_empty_program_takes_no_time() {
    let net = network(2, 2);
    let out = outcome(&net.graph, &net.gpus, vec![], &SPRAYED).unwrap();
    assert_eq!(out.step, 0);
    assert_eq!(out.compute, [0; 4]);
}

#[test]
fn groups_run_side_by_side_and_the_operation_ends_with_the_last() {
    let net = network(4, 4);
    let groups = vec![vec![0, 1], vec![2, 3, 4, 5]];
    let op = over(1, groups, collective(Kind::AllReduce, Algorithm::Ring, GB, 1), &[]);
    let out = outcome(&net.graph, &net.gpus, vec![op], &SPRAYED).unwrap();
    assert_time(out.communication[0], GB_S);
    assert_time(out.communication[2], 1.5 * GB_S);
    assert_time(out.step, 1.5 * GB_S);
    assert!((out.op_bytes[0] / (2.0 * GB + 6.0 * GB) - 1.0).abs() < 1e-12, "2 (n-1) buffers in each group");
}

#[test]
fn link_bytes_are_those_of_the_program() {
    let net = network(2, 2);
    let op = over(1, vec![vec![0, 1, 2, 3]], collective(Kind::AllToAll, Algorithm::Direct, 4.0 * GB, 1), &[]);
    for balancing in shapes::BALANCINGS {
        let out = outcome(&net.graph, &net.gpus, vec![op.clone()], &options(balancing)).unwrap();
        for (nic, host) in net.nics.iter().enumerate() {
            let up = link(&net, *host, net.leaves[nic / 2]);
            assert!((out.link_bytes[up] / (3.0 * GB) - 1.0).abs() < 1e-9);
        }
        let across: f64 = net.spines.iter().map(|&spine| out.link_bytes[link(&net, net.leaves[0], spine)]).sum();
        assert!((across / (4.0 * GB) - 1.0).abs() < 1e-9, "two ranks send 1 GB to each of two others");
    }
}

#[test]
fn flows_on_links_are_those_of_the_connections_that_cross() {
    let net = network(4, 4);
    let mut all_to_all = collective(Kind::AllToAll, Algorithm::Direct, GB, 2);
    all_to_all.carriage.qps = 4;
    let op = over(1, vec![(0..8).collect()], all_to_all, &[]);
    // Twice the same: the same connections again.
    let out = outcome(&net.graph, &net.gpus, vec![op.clone(), op], &options(Balancing::Ecmp)).unwrap();
    let up: Vec<f64> = net.spines.iter().map(|&spine| out.link_flows[link(&net, net.leaves[0], spine)]).collect();
    assert!((up.iter().sum::<f64>() - 4.0 * 4.0 * 8.0).abs() < 1e-9, "16 pairs x 2 channels x 4 queue pairs");
    assert!(up.iter().all(|flows| (flows - flows.round()).abs() < 1e-9));
}

#[test]
fn phases_of_a_collective_follow_one_another() {
    let net = network(2, 2);
    let op = over(1, vec![vec![0, 1, 2, 3]], collective(Kind::AllReduce, Algorithm::Direct, GB, 1), &[]);
    let out = outcome(&net.graph, &net.gpus, vec![op], &SPRAYED).unwrap();
    assert_time(out.step, 2.0 * 0.75 * GB_S);
}

/// A program with ECMP collisions, so that seeds differ.
fn colliding(net: &Network) -> Program {
    let scattered = vec![0, 4, 1, 5, 2, 6, 3, 7];
    let ops = vec![
        compute(0.01, &[]),
        over(1, vec![scattered], collective(Kind::AllReduce, Algorithm::Ring, GB, 4), &[0]),
        over(2, vec![(0..8).collect()], collective(Kind::AllToAll, Algorithm::Direct, GB, 1), &[]),
    ];
    program(&net.gpus, ops)
}

#[test]
fn outcomes_do_not_depend_on_the_number_of_threads() {
    let net = network(4, 4);
    let (topology, program) = (Topology::new(net.graph.clone()).unwrap(), colliding(&net));
    let seeds: Vec<u64> = (0..16).collect();
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let stop = AtomicBool::new(false);
        pool.install(|| run_seeds(&topology, &program, &options(Balancing::Ecmp), &seeds, &stop)).unwrap()
    };
    let (one, two) = (with(1), with(2));
    assert_eq!(format!("{one:?}"), format!("{two:?}"));
    let alone = run(&topology, &program, &options(Balancing::Ecmp), 5).unwrap();
    assert_eq!(format!("{alone:?}"), format!("{:?}", one[5]), "outcomes are in the order of the seeds");
    assert!(one.iter().any(|outcome| outcome.step != one[0].step), "seeds make a difference");
}

#[test]
fn a_run_stops_when_asked() {
    let net = network(4, 4);
    let topology = Topology::new(net.graph.clone()).unwrap();
    let stopped = run_seeds(&topology, &colliding(&net), &SPRAYED, &[1, 2], &AtomicBool::new(true));
    assert_eq!(stopped.unwrap_err(), Error::Interrupted);
}

#[test]
fn batched_completions_stay_within_the_error_they_report() {
    let net = network(4, 4);
    let matrix = Some((0..64).map(|at| f64::from(at % 13 + 7) * 1e7).collect());
    let uneven = Collective { matrix, ..collective(Kind::AllToAll, Algorithm::Direct, 0.0, 1) };
    let ops = vec![over(1, vec![(0..8).collect()], uneven, &[])];
    let exact = outcome(&net.graph, &net.gpus, ops.clone(), &options(Balancing::Ecmp)).unwrap();
    let batched = RunOptions { tolerance: 0.01, ..options(Balancing::Ecmp) };
    let batched = outcome(&net.graph, &net.gpus, ops, &batched).unwrap();
    assert_eq!(exact.batching_error, 0.0);
    let error = (batched.step as f64 / exact.step as f64 - 1.0).abs();
    assert!(error <= batched.batching_error + 1e-9, "{error} but {} reported", batched.batching_error);
}

/// The cause for which a program is refused.
fn refusal(net: &Network, program: &Program) -> String {
    match run(&Topology::new(net.graph.clone()).unwrap(), program, &SPRAYED, 0) {
        Err(Error::Program(cause)) => cause,
        other => panic!("expected a program error, got {other:?}"),
    }
}

#[test]
fn programs_that_cannot_run_are_refused_by_operation_and_cause() {
    let net = network(2, 2);
    let ring = |groups: Vec<Vec<u32>>| over(1, groups, collective(Kind::AllReduce, Algorithm::Ring, GB, 1), &[]);
    let cases = [
        (compute(1.0, &[1]), "operation 1: it comes after itself"),
        (compute(1.0, &[2]), "operation 1: it comes after operation 2, which is not before it"),
        (compute(-1.0, &[]), "operation 1: it computes for -1 seconds"),
        (compute(f64::NAN, &[]), "operation 1: it computes for NaN seconds"),
        (Op { queue: 3, ..compute(1.0, &[]) }, "operation 1: queue 0 is for compute, and only for compute"),
        (send(0, &[(0, 1)], GB, &[]), "operation 1: queue 0 is for compute, and only for compute"),
        (ring(vec![vec![0, 4]]), "operation 1: it names rank 4 but there are 4 ranks"),
        (ring(vec![vec![0, 1], vec![]]), "operation 1: group 1: it has no ranks"),
        (ring(vec![vec![0, 1, 0]]), "operation 1: rank 0 is twice in group 0"),
        (ring(vec![vec![0, 1], vec![2, 1]]), "operation 1: rank 1 is in another group and in group 1"),
        (send(1, &[(0, 9)], GB, &[]), "operation 1: it names rank 9 but there are 4 ranks"),
        (send(1, &[(2, 2)], GB, &[]), "operation 1: rank 2 sends to itself"),
        (send(1, &[(0, 1)], f64::INFINITY, &[]), "operation 1: its messages have inf bytes"),
    ];
    for (op, cause) in cases {
        assert_eq!(refusal(&net, &program(&net.gpus, vec![compute(1.0, &[]), op])), cause);
    }
}

#[test]
fn a_transfer_beyond_what_the_clock_counts_is_refused_by_its_operation() {
    let mut plan = network(2, 2).plan;
    plan.rate.fill(10.0); // bytes a second: 1 GB takes 10^8 s, and 2^64 ps are 1.8 * 10^7 s
    let net = Network { graph: plan.graph(), plan, ..network(2, 2) };
    let cause = refusal(&net, &program(&net.gpus, vec![compute(1.0, &[]), send(1, &[(0, 1)], GB, &[0])]));
    assert_eq!(cause, "operation 1: its links are so slow that it takes over 1.8e7 seconds");
}

#[test]
fn ranks_that_cannot_be_are_refused() {
    let net = network(2, 2);
    let on = |gpu: Vec<u32>| Program { gpu, ..program(&net.gpus, vec![]) };
    let (first, nodes) = (net.gpus[0], net.graph.nodes() as u32);
    assert_eq!(refusal(&net, &on(vec![first, first])), format!("ranks 0 and 1 are both on node {first}"));
    assert!(refusal(&net, &on(vec![nodes])).starts_with(&format!("rank 0 is on node {nodes}")));
    assert!(refusal(&net, &on(vec![net.leaves[0]])).starts_with("rank 0: "));
    let faster = Program { overlap_slowdown: 0.5, ..program(&net.gpus, vec![]) };
    assert!(refusal(&net, &faster).contains("not 0.5"));
}
