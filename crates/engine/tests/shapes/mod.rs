//! Networks for the engine's tests, built link by link: servers with GPUs, PCIe, NICs and an NVLink switch under
//! Clos fabrics. Not a catalogue of real shapes; those come from Python.
#![allow(dead_code, reason = "each test file uses its own part")]

use eastwest_engine::Picoseconds;
use eastwest_engine::graph::{Graph, NodeKind};
use eastwest_engine::routing::Balancing;

/// Every way of balancing.
pub const BALANCINGS: [Balancing; 8] = [
    Balancing::Ecmp,
    Balancing::Wcmp,
    Balancing::Flowlet { flowlets: 3 },
    Balancing::Spray,
    Balancing::Adaptive,
    Balancing::Pinned,
    Balancing::Source { paths: None },
    Balancing::Source { paths: Some(5) },
];

/// NVLink rate of a GPU, bytes a second (H100: 450 GB/s a direction).
pub const NVLINK: f64 = 450e9;
/// PCIe rate of a GPU and of a NIC, bytes a second; above every NIC rate in the tests.
pub const PCIE: f64 = 200e9;
/// Latency of an NVLink link.
pub const NVLINK_PS: Picoseconds = 300_000;
/// Latency of a PCIe link.
pub const PCIE_PS: Picoseconds = 400_000;
/// Latency of a cable, whether to a NIC or between switches, with the node it enters.
pub const CABLE_PS: Picoseconds = 1_000_000;

/// A graph under construction.
#[derive(Clone, Default)]
pub struct Plan {
    pub kind: Vec<NodeKind>,
    pub address: Vec<u32>,
    pub src: Vec<u32>,
    pub dst: Vec<u32>,
    pub rate: Vec<f64>,
    pub latency: Vec<Picoseconds>,
    pub is_fabric: Vec<bool>,
}

impl Plan {
    /// Adds a node; NICs get addresses 10.0.0.0 upward.
    pub fn node(&mut self, kind: NodeKind) -> u32 {
        let id = self.kind.len() as u32;
        let nics = self.kind.iter().filter(|&&k| k == NodeKind::Nic).count() as u32;
        self.address.push(if kind == NodeKind::Nic { 0x0a00_0000 + nics } else { 0 });
        self.kind.push(kind);
        id
    }

    /// Adds `count` nodes of a kind.
    pub fn nodes(&mut self, kind: NodeKind, count: u32) -> Vec<u32> {
        (0..count).map(|_| self.node(kind)).collect()
    }

    /// Adds one directed link and gives its index.
    pub fn link(&mut self, src: u32, dst: u32, rate: f64) -> u32 {
        let kinds = [self.kind[src as usize], self.kind[dst as usize]];
        self.src.push(src);
        self.dst.push(dst);
        self.rate.push(rate);
        self.latency.push(if kinds.contains(&NodeKind::NvSwitch) {
            NVLINK_PS
        } else if kinds.contains(&NodeKind::Pcie) {
            PCIE_PS
        } else {
            CABLE_PS
        });
        self.is_fabric.push(kinds == [NodeKind::Switch; 2]);
        self.src.len() as u32 - 1
    }

    /// Adds both directions of a cable.
    pub fn cable(&mut self, a: u32, b: u32, rate: f64) {
        self.link(a, b, rate);
        self.link(b, a, rate);
    }

    /// Adds a server whose GPUs have a PCIe node and a NIC each and, where there are several, share an NVLink switch.
    /// Gives the GPUs and their NICs.
    pub fn server(&mut self, gpus: u32) -> (Vec<u32>, Vec<u32>) {
        let gpu = self.nodes(NodeKind::Gpu, gpus);
        if gpus > 1 {
            let nvswitch = self.node(NodeKind::NvSwitch);
            for &gpu in &gpu {
                self.cable(gpu, nvswitch, NVLINK);
            }
        }
        let nic = gpu
            .iter()
            .map(|&gpu| {
                let pcie = self.node(NodeKind::Pcie);
                let nic = self.node(NodeKind::Nic);
                self.cable(gpu, pcie, PCIE);
                self.cable(pcie, nic, PCIE);
                nic
            })
            .collect();
        (gpu, nic)
    }

    /// The same plan without one directed link.
    pub fn without(&self, link: usize) -> Self {
        let mut plan = self.clone();
        plan.src.remove(link);
        plan.dst.remove(link);
        plan.rate.remove(link);
        plan.latency.remove(link);
        plan.is_fabric.remove(link);
        plan
    }

    /// The finished graph.
    pub fn graph(&self) -> Graph {
        Graph::new(
            self.kind.clone(),
            self.address.clone(),
            self.src.clone(),
            self.dst.clone(),
            self.rate.clone(),
            self.latency.clone(),
            self.is_fabric.clone(),
        )
        .expect("the test's graph is well formed")
    }
}

/// A finished network and where its parts are. GPUs and NICs stand in server order, then by GPU of the server.
pub struct Network {
    pub plan: Plan,
    pub graph: Graph,
    pub gpus: Vec<u32>,
    pub nics: Vec<u32>,
    pub leaves: Vec<u32>,
    pub spines: Vec<u32>,
    pub cores: Vec<u32>,
}

impl Network {
    fn new(plan: Plan, hosts: (Vec<u32>, Vec<u32>), tiers: [Vec<u32>; 3]) -> Self {
        let graph = plan.graph();
        let [leaves, spines, cores] = tiers;
        Self { plan, graph, gpus: hosts.0, nics: hosts.1, leaves, spines, cores }
    }
}

fn servers(plan: &mut Plan, servers: u32, gpus: u32) -> (Vec<u32>, Vec<u32>) {
    let mut hosts = (Vec::new(), Vec::new());
    for _ in 0..servers {
        let (gpu, nic) = plan.server(gpus);
        hosts.0.extend(gpu);
        hosts.1.extend(nic);
    }
    hosts
}

/// Sizes of a two-tier fabric.
#[derive(Clone, Copy, Debug)]
pub struct LeafSpine {
    pub leaves: u32,
    pub servers_per_leaf: u32,
    pub gpus_per_server: u32,
    pub spines: u32,
    /// Parallel links between each leaf and each spine.
    pub links_per_pair: u32,
    /// Rate of every NIC and every fabric link, bytes a second.
    pub rate: f64,
}

/// Two tiers; all NICs of a server on one leaf.
pub fn leaf_spine(size: LeafSpine) -> Network {
    let mut plan = Plan::default();
    let hosts = servers(&mut plan, size.leaves * size.servers_per_leaf, size.gpus_per_server);
    let leaves = plan.nodes(NodeKind::Switch, size.leaves);
    let spines = plan.nodes(NodeKind::Switch, size.spines);
    let per_leaf = (size.servers_per_leaf * size.gpus_per_server) as usize;
    for (index, &nic) in hosts.1.iter().enumerate() {
        plan.cable(nic, leaves[index / per_leaf], size.rate);
    }
    join(&mut plan, &leaves, &spines, size);
    Network::new(plan, hosts, [leaves, spines, Vec::new()])
}

/// Two tiers, rail-optimised: units of `servers_per_leaf` servers with one leaf for each GPU of a server, so that
/// `leaves` must be a multiple of `gpus_per_server`. Leaves stand unit by unit, then by rail.
pub fn rail_optimized(size: LeafSpine) -> Network {
    let rails = size.gpus_per_server;
    assert_eq!(size.leaves % rails, 0, "one leaf for each rail of a unit");
    let mut plan = Plan::default();
    let hosts = servers(&mut plan, size.leaves / rails * size.servers_per_leaf, rails);
    let leaves = plan.nodes(NodeKind::Switch, size.leaves);
    let spines = plan.nodes(NodeKind::Switch, size.spines);
    for (index, &nic) in hosts.1.iter().enumerate() {
        let (server, rail) = (index as u32 / rails, index as u32 % rails);
        plan.cable(nic, leaves[(server / size.servers_per_leaf * rails + rail) as usize], size.rate);
    }
    join(&mut plan, &leaves, &spines, size);
    Network::new(plan, hosts, [leaves, spines, Vec::new()])
}

fn join(plan: &mut Plan, leaves: &[u32], spines: &[u32], size: LeafSpine) {
    for &leaf in leaves {
        for &spine in spines {
            for _ in 0..size.links_per_pair {
                plan.cable(leaf, spine, size.rate);
            }
        }
    }
}

/// Two tiers as often as there are planes, each NIC with one port on every plane, at the rate of one. Leaves and spines
/// stand plane by plane.
pub fn in_planes(size: LeafSpine, planes: u32) -> Network {
    let mut plan = Plan::default();
    let hosts = servers(&mut plan, size.leaves * size.servers_per_leaf, size.gpus_per_server);
    let per_leaf = (size.servers_per_leaf * size.gpus_per_server) as usize;
    let (mut leaves, mut spines) = (Vec::new(), Vec::new());
    for _ in 0..planes {
        let (low, high) = (plan.nodes(NodeKind::Switch, size.leaves), plan.nodes(NodeKind::Switch, size.spines));
        for (index, &nic) in hosts.1.iter().enumerate() {
            plan.cable(nic, low[index / per_leaf], size.rate);
        }
        join(&mut plan, &low, &high, size);
        leaves.extend(low);
        spines.extend(high);
    }
    Network::new(plan, hosts, [leaves, spines, Vec::new()])
}

/// Three tiers, the k-ary fat tree of Al-Fares et al. (SIGCOMM 2008): k pods of k/2 leaves and k/2 spines, (k/2)^2
/// cores, k/2 one-GPU servers on each leaf.
pub fn fat_tree(k: u32, rate: f64) -> Network {
    let half = k / 2;
    let mut plan = Plan::default();
    let hosts = servers(&mut plan, k * half * half, 1);
    let leaves = plan.nodes(NodeKind::Switch, k * half);
    let spines = plan.nodes(NodeKind::Switch, k * half);
    let cores = plan.nodes(NodeKind::Switch, half * half);
    for (index, &nic) in hosts.1.iter().enumerate() {
        plan.cable(nic, leaves[index / half as usize], rate);
    }
    for pod in 0..k {
        for i in 0..half {
            let spine = spines[(pod * half + i) as usize];
            for j in 0..half {
                plan.cable(leaves[(pod * half + j) as usize], spine, rate);
                plan.cable(spine, cores[(i * half + j) as usize], rate);
            }
        }
    }
    Network::new(plan, hosts, [leaves, spines, cores])
}
