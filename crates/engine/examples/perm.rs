//! Temporary: peers' cases.
use eastwest_engine::graph::{Graph, NodeKind};
use eastwest_engine::packet::*;
use eastwest_engine::routing::Forwarding;
use eastwest_transport::Framing;
use eastwest_transport::roce::*;
use eastwest_transport::uet::*;
use std::sync::atomic::AtomicBool;

fn fat(
    nodes: usize,
    down0: usize,
    pod: usize,
    up0: usize,
    down1: usize,
    up1: usize,
    down2: usize,
    tiers: usize,
) -> Graph {
    let tors = nodes / down0;
    let (aggs, cores) = if tiers == 3 { (nodes / pod * up0, (nodes / pod) * up0 * up1 / down2) } else { (up0, 0) };
    let mut kind = vec![NodeKind::Nic; nodes];
    kind.extend(vec![NodeKind::Switch; tors + aggs + cores]);
    let (mut src, mut dst) = (vec![], vec![]);
    let mut link = |a: usize, b: usize| {
        src.extend([a as u32, b as u32]);
        dst.extend([b as u32, a as u32]);
    };
    for h in 0..nodes {
        link(h, nodes + h / down0);
    }
    let tpp = if tiers == 3 { pod / down0 } else { tors };
    for t in 0..tors {
        for u in 0..up0 {
            let p = if tiers == 3 { t / tpp } else { 0 };
            link(nodes + t, nodes + tors + p * up0 + u);
        }
    }
    if tiers == 3 {
        for p in 0..nodes / pod {
            for a in 0..up0 {
                for u in 0..up1 {
                    link(nodes + tors + p * up0 + a, nodes + tors + aggs + (a * up1 + u) % cores);
                }
            }
        }
    }
    let n = src.len();
    let _ = down1;
    Graph::new(
        kind.clone(),
        (0..kind.len() as u32).collect(),
        src,
        dst,
        vec![50e9; n],
        vec![1_000_000; n],
        vec![false; n],
    )
    .unwrap()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[2]).unwrap();
    let (graph, tiers) = match args[1].as_str() {
        "ft128" => (fat(128, 4, 16, 4, 4, 4, 8, 3), 3),
        "ft1024" => (fat(1024, 8, 64, 8, 8, 8, 16, 3), 3),
        "ls1024" => (fat(1024, 32, 1024, 32, 32, 0, 0, 2), 2),
        "ft8192" => (fat(8192, 16, 256, 16, 16, 16, 32, 3), 3),
        _ => panic!(),
    };
    let size: u64 = args.get(4).map_or(0, |s| s.parse().unwrap());
    let mut flows: Vec<Flow> = text
        .lines()
        .filter(|l| l.contains("->"))
        .map(|l| {
            let w: Vec<&str> = l.split_whitespace().collect();
            let (a, b) = w[0].split_once("->").unwrap();
            Flow {
                from: a.parse().unwrap(),
                to: b.parse().unwrap(),
                bytes: w[6].parse().unwrap(),
                start: Start::At(0),
                when_sent: None,
                when_received: None,
            }
        })
        .collect();
    if size > 0 {
        flows.iter_mut().for_each(|f| f.bytes = size);
    }
    let forwarding = Forwarding::new(&graph);
    let rtt = 2 * 1_000_000 * (tiers * 2) as u64 + (tiers as u64 * 2) * 81_920 + (tiers as u64 * 2) * 1280;
    let begin = std::time::Instant::now();
    let stop = AtomicBool::new(false);
    let out = if args[3] == "uet" {
        let framing = Framing { payload: 4032, header: 64, control: 64 };
        let nscc = NsccSettings::new(4096, 4032, rtt, 50e9, true);
        let bdp = (nscc.bdp().div_ceil(4096) * 4096) as u32;
        let uet = UetSettings {
            framing,
            nscc,
            entropies: 64,
            ack_every: 16384,
            timeout: 15_000_000 + u64::from(bdp) * 6 * 20,
        };
        let net = NetworkSettings {
            buffers: Buffers::Lossy { room: bdp, trimming: Trimming::To { bytes: 64 } },
            marking: Some(Marking { from: bdp / 5, to: bdp * 4 / 5 }),
            choice: Choice::Hash,
            seed: 1,
        };
        Simulation::new(&graph, &forwarding, &flows, &[], &uet, net).unwrap().run(u64::MAX, &stop).unwrap()
    } else {
        let framing = Framing { payload: 4096, header: 0, control: 64 };
        let r =
            RoceSettings { framing, repeat: Repeat::GoBackN, window: u32::MAX, ack_every: 1, timeout: 100_000_000_000 };
        let net = NetworkSettings {
            buffers: Buffers::Lossless { pause: Pause { above: 15 * 4096, at: 12 * 4096 } },
            marking: None,
            choice: Choice::Hash,
            seed: args.get(5).map_or(1, |s| s.parse().unwrap()),
        };
        Simulation::new(&graph, &forwarding, &flows, &[], &r, net).unwrap().run(u64::MAX, &stop).unwrap()
    };
    let wall = begin.elapsed().as_secs_f64();
    let mut fct: Vec<f64> = out.flows.iter().filter_map(|f| f.end).map(|t| t as f64 / 1e6).collect();
    fct.sort_by(f64::total_cmp);
    println!(
        "{} {} done {}: min {:.1} med {:.1} p99 {:.1} max {:.1} us; wall {:.3} s, {:.2} M hops/s, {:.2} M events/s; {:?}",
        args[1],
        args[3],
        fct.len(),
        fct[0],
        fct[fct.len() / 2],
        fct[fct.len() * 99 / 100],
        fct[fct.len() - 1],
        wall,
        out.totals.link_hops as f64 / wall / 1e6,
        out.events as f64 / wall / 1e6,
        out.totals
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", status.lines().find(|l| l.starts_with("VmHWM")).unwrap());
}
