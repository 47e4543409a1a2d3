//! Networks of bare hosts for the packet engine, and flows on them.

#![allow(dead_code, reason = "each test file uses a part")]

use std::sync::atomic::AtomicBool;

use eastwest_engine::graph::{Graph, NodeKind};
use eastwest_engine::packet::{
    Buffers, Change, Choice, Flow, Marking, NetworkSettings, Overheads, PacketOutcome, Pause, Scene, Simulation, Start,
    Transport, Trimming,
};
use eastwest_engine::routing::Forwarding;
use eastwest_transport::Framing;
use eastwest_transport::mrc::MrcSettings;
use eastwest_transport::roce::{Repeat, RoceSettings};
use eastwest_transport::sprayed::{Delivery, NsccSettings, SprayedSettings};
use eastwest_transport::uet::{Control, UetSettings};

pub const US: u64 = 1_000_000;
/// 400 Gb/s in bytes a second.
pub const RATE: f64 = 50e9;
pub const FULL: u64 = 4096;
/// Time of a full packet on a link, picoseconds.
pub const PACKET: u64 = 81_920;

/// Hosts and switches joined by cables of 400 Gb/s and 1 us.
pub fn graph(hosts: usize, switches: usize, cables: &[(usize, usize)]) -> Graph {
    let mut kind = vec![NodeKind::Nic; hosts];
    kind.extend(vec![NodeKind::Switch; switches]);
    let src: Vec<u32> = cables.iter().flat_map(|&(a, b)| [a as u32, b as u32]).collect();
    let dst: Vec<u32> = cables.iter().flat_map(|&(a, b)| [b as u32, a as u32]).collect();
    let links = src.len();
    Graph::new(kind, vec![0; hosts + switches], src, dst, vec![RATE; links], vec![US; links], vec![false; links])
        .unwrap()
}

/// Hosts on one switch.
pub fn star(hosts: usize) -> Graph {
    graph(hosts, 1, &(0..hosts).map(|host| (host, hosts)).collect::<Vec<_>>())
}

/// Leaves of `down` hosts, each joined to every spine.
pub fn leaf_spine(leaves: usize, down: usize, spines: usize) -> Graph {
    let hosts = leaves * down;
    let mut cables: Vec<_> = (0..hosts).map(|host| (host, hosts + host / down)).collect();
    cables.extend((0..leaves * spines).map(|turn| (hosts + turn / spines, hosts + leaves + turn % spines)));
    graph(hosts, leaves + spines, &cables)
}

/// All links of a node, both ways.
pub fn links_of(graph: &Graph, node: u32) -> impl Iterator<Item = u32> {
    (0..graph.links() as u32).filter(move |&link| [graph.src[link as usize], graph.dst[link as usize]].contains(&node))
}

pub fn flow(from: u32, to: u32, bytes: u64, start: u64) -> Flow {
    Flow { from, to, bytes, class: 0, start: Start::At(start), when_sent: None, when_received: None }
}

/// Every host sends to the one `shift` further on.
pub fn shifted(hosts: u32, shift: u32, bytes: u64) -> Vec<Flow> {
    (0..hosts).map(|host| flow(host, (host + shift) % hosts, bytes, 0)).collect()
}

/// Ultra Ethernet with the reference simulator's framing; room in bytes before each port.
pub fn uet(base_rtt: u64, trims: bool) -> UetSettings {
    let framing = Framing::even(4032, 64, 64);
    let nscc = NsccSettings::new(4096, 4032, base_rtt, RATE, trims);
    let sprayed = SprayedSettings {
        framing,
        nscc,
        delivery: Delivery::Rud,
        ack_every: 16384,
        timeout: 100 * US,
        overtaking: None,
        planes: 1,
        loss_is_congestion: true,
        keeps: 1000 * US,
    };
    UetSettings { sprayed, entropies: 64, control: Control::Sender }
}

/// MRC, framed alike; packets may overtake each other by two round trips.
pub fn mrc(base_rtt: u64, trims: bool) -> MrcSettings {
    let sprayed =
        SprayedSettings { overtaking: Some(2 * base_rtt), loss_is_congestion: !trims, ..uet(base_rtt, trims).sprayed };
    MrcSettings { sprayed, entropies: 128, probe_every: 50 * US }
}

pub fn roce(repeat: Repeat) -> RoceSettings {
    let framing = Framing::even(4096, 0, 64);
    RoceSettings { framing, repeat, window: u32::MAX, ack_every: 1, timeout: 200 * US, dcqcn: None }
}

pub fn lossy(room: u64, trims: bool) -> NetworkSettings {
    NetworkSettings {
        buffers: Buffers::Lossy {
            room: room as u32,
            trimming: if trims { Trimming::To { bytes: 64 } } else { Trimming::Off },
        },
        marking: Some(Marking { from: (room / 5) as u32, to: (room * 4 / 5) as u32, most: 1000 }),
        loss: 0,
        watchdog: None,
        patience: 10_000 * US,
        choice: Choice::Hash,
        overheads: Overheads::default(),
        shares_contexts: false,
        seed: 1,
    }
}

pub fn lossless() -> NetworkSettings {
    let pause = Pause { above: 15 * FULL as u32, at: 12 * FULL as u32 };
    NetworkSettings {
        buffers: Buffers::Lossless { pause },
        marking: None,
        loss: 0,
        watchdog: None,
        patience: 10_000 * US,
        choice: Choice::Hash,
        overheads: Overheads::default(),
        shares_contexts: false,
        seed: 1,
    }
}

pub fn run<T: Transport>(graph: &Graph, flows: &[Flow], transport: &T, settings: NetworkSettings) -> PacketOutcome {
    run_through(graph, flows, &[], transport, settings)
}

/// Runs flows through changes of the network.
pub fn run_through<T: Transport>(
    graph: &Graph,
    flows: &[Flow],
    changes: &[Change],
    transport: &T,
    settings: NetworkSettings,
) -> PacketOutcome {
    let forwarding = Forwarding::new(graph);
    let scene = Scene { graph, forwarding: &forwarding, flows, triggers: &[], changes };
    let simulation = Simulation::new(scene, transport, settings).unwrap();
    simulation.run(u64::MAX, &AtomicBool::new(false)).unwrap()
}

/// Completion times, ascending; panics where a flow did not end.
pub fn times(outcome: &PacketOutcome) -> Vec<u64> {
    let mut times: Vec<u64> = outcome.flows.iter().map(|flow| flow.end.unwrap() - flow.start.unwrap()).collect();
    times.sort_unstable();
    times
}
