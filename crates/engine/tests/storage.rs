//! Data between hosts and storage: who waits for it, what it shares, and what it leaves alone. Times without latency.

mod programs;
mod shapes;

use eastwest_engine::graph::{Graph, NodeKind};
use eastwest_engine::program::{Op, Program, Work};
use eastwest_engine::routing::{Balancing, Topology};
use eastwest_engine::schedule::{run, run_in_full};
use programs::{ONE_QP, SPRAYED, compute, options, outcome, program, send};
use shapes::Plan;

const RATE: f64 = 25e9;

/// Servers of one GPU and one host each, and storage hosts, on one switch or, apart, on two; cables without latency.
struct Pod {
    graph: Graph,
    gpus: Vec<u32>,
    hosts: Vec<u32>,
    storage: Vec<u32>,
}

fn pod(servers: u32, storage: u32) -> Pod {
    let mut plan = Plan::default();
    let (back, front) = (plan.node(NodeKind::Switch), plan.node(NodeKind::Switch));
    let mut on = |switch: u32, count: u32| -> Vec<u32> {
        (0..count)
            .map(|_| {
                let (gpu, nic) = plan.server(1);
                plan.cable(nic[0], switch, RATE);
                gpu[0]
            })
            .collect()
    };
    let (gpus, hosts, storage) = (on(back, servers), on(front, servers), on(front, storage));
    plan.latency.fill(0);
    Pod { graph: plan.graph(), gpus, hosts, storage }
}

impl Pod {
    /// Each rank reads so many bytes from each storage host.
    fn read(&self, bytes: f64, after: &[u32]) -> Op {
        let groups = (0..self.gpus.len() as u32).map(|rank| vec![rank]).collect();
        let from_all = |&host: &u32| self.storage.iter().map(|&from| (from, host)).collect();
        let flows = self.hosts.iter().map(from_all).collect();
        let bytes = bytes * self.storage.len() as f64;
        Op { after: after.to_vec(), queue: 1, work: Work::Storage { groups, flows, bytes, carriage: ONE_QP } }
    }
}

fn seconds(picoseconds: u64) -> f64 {
    picoseconds as f64 / 1e12
}

fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected
}

#[test]
fn many_readers_share_the_storage_hosts_port() {
    let pod = pod(4, 1);
    let found = outcome(&pod.graph, &pod.gpus, vec![pod.read(RATE, &[])], &SPRAYED).unwrap();
    assert!(is_near(seconds(found.step), 4.0), "{}", seconds(found.step));
    assert_eq!(found.op_bytes, [4.0 * RATE]);
}

#[test]
fn a_reader_of_many_is_held_by_its_own_port() {
    let pod = pod(1, 4);
    let found = outcome(&pod.graph, &pod.gpus, vec![pod.read(RATE, &[])], &SPRAYED).unwrap();
    assert!(is_near(seconds(found.step), 4.0), "{}", seconds(found.step));
}

#[test]
fn ranks_wait_for_what_they_read_and_that_is_exposed() {
    let pod = pod(2, 2);
    let found = outcome(&pod.graph, &pod.gpus, vec![pod.read(RATE / 2.0, &[]), compute(3.0, &[0])], &SPRAYED).unwrap();
    assert!(is_near(seconds(found.step), 4.0));
    assert!(is_near(seconds(found.exposed[1]), 1.0));
    assert!(is_near(seconds(found.communication[1]), 1.0));
}

#[test]
fn reading_does_not_slow_compute_as_exchanges_do() {
    let pod = pod(2, 2);
    let step = |op: Op| {
        let slowed = Program { overlap_slowdown: 1.5, ..program(&pod.gpus, vec![compute(3.0, &[]), op]) };
        seconds(run(&Topology::new(pod.graph.clone()).unwrap(), &slowed, &SPRAYED, 0).unwrap().step)
    };
    assert!(is_near(step(pod.read(RATE, &[])), 3.0));
    assert!(
        is_near(step(send(1, &[(0, 1)], 1.5 * RATE, &[])), 3.5),
        "2 of 3 s of work are done in the 1.5 s of sending"
    );
}

#[test]
fn alike_readers_computed_once_take_what_each_takes() {
    for balancing in [Balancing::Spray, Balancing::Ecmp] {
        let pod = pod(6, 3);
        let ops = vec![pod.read(RATE, &[]), compute(0.5, &[0]), pod.read(RATE / 3.0, &[1])];
        let (topology, program) = (Topology::new(pod.graph.clone()).unwrap(), program(&pod.gpus, ops));
        let found = run(&topology, &program, &options(balancing), 3).unwrap();
        let in_full = run_in_full(&topology, &program, &options(balancing), 3).unwrap();
        assert!(is_near(seconds(found.step), seconds(in_full.step)));
        let mut bytes = found.link_bytes.iter().zip(&in_full.link_bytes);
        assert!(bytes.all(|(&one, &other)| one == other || is_near(one, other)));
    }
}

type Groups = Vec<Vec<u32>>;
type Flows = Vec<Vec<(u32, u32)>>;

#[test]
fn what_cannot_be_is_told() {
    let pod = pod(2, 1);
    let refused = |change: &dyn Fn(&mut Groups, &mut Flows)| {
        let mut op = pod.read(1.0, &[]);
        if let Work::Storage { groups, flows, .. } = &mut op.work {
            change(groups, flows);
        }
        outcome(&pod.graph, &pod.gpus, vec![op], &SPRAYED).unwrap_err().to_string()
    };
    assert!(refused(&|groups, _| groups[1] = vec![0]).contains("rank 0 is named twice"));
    assert!(refused(&|_, flows| flows[0] = vec![(0, pod.hosts[0])]).contains("node 0 is no GPU"));
    assert!(refused(&|_, flows| flows[0] = vec![(pod.hosts[0], pod.hosts[0])]).contains("sends to itself"));
    assert!(refused(&|_, flows| flows.truncate(1)).contains("2 groups wait for the flows of 1"));
    assert!(refused(&|_, flows| flows[0] = vec![(pod.gpus[0], pod.hosts[0])]).contains("no path"));
}
