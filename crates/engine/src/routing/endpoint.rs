//! How GPUs reach each other inside a server, and the switches outside it.
//!
//! GPUs, NICs and PCIe nodes carry no one else's traffic, so a way out is always GPU, PCIe, NIC, switch. A NIC has one
//! port, or several that lead to separate planes; which switches they lead to, port by port, is the NIC's [`Home`].

use std::collections::HashMap;
use std::ops::Range;

use super::paths::Paths;
use super::{Connection, NONE};
use crate::graph::{Graph, NodeKind};
use crate::{Error, Result};

/// A NIC as one GPU reaches it.
#[derive(Clone, Debug)]
pub(super) struct Card {
    pub nic: u32,
    /// Links from the GPU to PCIe and to the NIC.
    pub up: [u32; 2],
    /// Links from the NIC to PCIe and to the GPU.
    pub down: [u32; 2],
    /// Its ports, in link order.
    pub ports: Range<usize>,
    pub home: u32,
}

/// A NIC's port: the links to its switch and back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port {
    pub up: u32,
    pub down: u32,
    pub switch: u32,
    pub attachment: u32,
    /// Place among the switch's links to NICs.
    pub place: u32,
}

/// Attachment switches that the ports of a NIC lead to, in order of its ports. Few NICs differ in it.
pub(super) type Home = Box<[u32]>;

/// A link and its way back.
#[derive(Clone, Copy, Debug)]
struct Cable {
    to: u32,
    link: u32,
    back: u32,
}

#[derive(Clone, Debug)]
struct Gpu {
    domain: u32,
    local_index: u32,
    nvlink: Option<Cable>,
    pcie: Range<usize>,
    cards: Range<usize>,
    /// Place among the GPUs that share its first NIC: they start their turns on different ones.
    turn: u32,
    /// Its domain's number and its place there, added: neighbours in a server or on a rail differ by one.
    stand: u32,
}

/// Links that a connection takes: up from its sender, over the fabric between two NICs (if any), down to its receiver.
pub(super) struct Way<'t> {
    pub up: &'t [u32],
    pub between: Option<Between<'t>>,
    pub down: &'t [u32],
}

/// The two NICs of a connection that leaves its server, and the port with which its first queue pair starts.
pub(super) struct Between<'t> {
    pub from: &'t Card,
    pub to: &'t Card,
    pub turn: Turn,
}

/// Where a connection's queue pairs stand among those that take turns over a NIC's ports.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    start: usize,
    channel: usize,
}

impl Turn {
    /// The turn of a queue pair, one of `qps`.
    pub fn of(self, qp: usize, qps: usize) -> usize {
        self.start + self.channel * qps + qp
    }
}

/// The GPUs and their ways out.
pub(super) struct Endpoints {
    gpu_of: Vec<u32>,
    gpus: Vec<Gpu>,
    /// GPUs of each NVLink domain, by its node.
    domain_gpus: Vec<u32>,
    pcie: Vec<Cable>,
    cards: Vec<Card>,
    pub ports: Vec<Port>,
    /// Every distinct home.
    pub homes: Vec<Home>,
    /// Each NIC's node.
    pub nics: Vec<u32>,
    /// Each NIC's ports and home.
    pub plugged: Vec<(Range<usize>, u32)>,
}

impl Endpoints {
    pub fn new(graph: &Graph, paths: &Paths) -> Result<Self> {
        let back = Back::new(graph);
        let mut endpoints = Self {
            gpu_of: vec![NONE; graph.nodes()],
            gpus: Vec::new(),
            domain_gpus: vec![0; graph.nodes()],
            pcie: Vec::new(),
            cards: Vec::new(),
            ports: Vec::new(),
            homes: Vec::new(),
            nics: Vec::new(),
            plugged: Vec::new(),
        };
        let plugged_of = endpoints.plug_in(graph, paths, &back)?;
        let mut number = vec![NONE; graph.nodes()]; // of a domain
        let mut domains = 0;
        let mut sharers = vec![0u32; graph.nodes()]; // GPUs so far whose first NIC this is
        for node in nodes(graph, NodeKind::Gpu) {
            let nvlink = back.cables(graph, node, NodeKind::NvSwitch)?;
            if nvlink.len() > 1 {
                return Err(Error::Graph(format!(
                    "GPU node {node} has {} NVLink links; one is expected",
                    nvlink.len()
                )));
            }
            let nvlink = nvlink.first().copied();
            let domain = nvlink.map_or(node, |cable| cable.to);
            let (pcie, cards) = (endpoints.pcie.len(), endpoints.cards.len());
            endpoints.pcie.extend(back.cables(graph, node, NodeKind::Pcie)?);
            for index in pcie..endpoints.pcie.len() {
                let cable = endpoints.pcie[index];
                for nic in back.cables(graph, cable.to, NodeKind::Nic)? {
                    let (ports, home) = endpoints.plugged[plugged_of[nic.to as usize] as usize].clone();
                    if !ports.is_empty() {
                        let (up, down) = ([cable.link, nic.link], [nic.back, cable.back]);
                        endpoints.cards.push(Card { nic: nic.to, up, down, ports, home });
                    }
                }
            }
            let turn = endpoints.cards.get(cards).map_or(0, |card| take(&mut sharers, card.nic));
            if number[domain as usize] == NONE {
                number[domain as usize] = domains;
                domains += 1;
            }
            let local_index = take(&mut endpoints.domain_gpus, domain);
            endpoints.gpu_of[node as usize] = endpoints.gpus.len() as u32;
            endpoints.gpus.push(Gpu {
                domain,
                local_index,
                nvlink,
                pcie: pcie..endpoints.pcie.len(),
                cards: cards..endpoints.cards.len(),
                turn,
                stand: number[domain as usize] + local_index,
            });
        }
        Ok(endpoints)
    }

    /// Finds every NIC's ports and home; gives the place in `plugged` of each NIC node.
    fn plug_in(&mut self, graph: &Graph, paths: &Paths, back: &Back) -> Result<Vec<u32>> {
        let mut place = vec![0u32; graph.links()]; // of each link from a switch among those to NICs
        for &switch in &paths.switches {
            for (index, link) in links_to(graph, switch, NodeKind::Nic).enumerate() {
                place[link as usize] = index as u32;
            }
        }
        let mut known: HashMap<Home, u32> = HashMap::new();
        let mut plugged_of = vec![NONE; graph.nodes()];
        for nic in nodes(graph, NodeKind::Nic) {
            let first = self.ports.len();
            for plug in back.cables(graph, nic, NodeKind::Switch)? {
                let switch = paths.switch_of[plug.to as usize];
                self.ports.push(Port {
                    up: plug.link,
                    down: plug.back,
                    switch,
                    attachment: paths.attachment(nic, switch),
                    place: place[plug.back as usize],
                });
            }
            let home: Home = self.ports[first..].iter().map(|port| port.attachment).collect();
            let next = self.homes.len() as u32;
            let home = *known.entry(home).or_insert_with_key(|home| {
                self.homes.push(home.clone());
                next
            });
            plugged_of[nic as usize] = self.plugged.len() as u32;
            self.nics.push(nic);
            self.plugged.push((first..self.ports.len(), home));
        }
        Ok(plugged_of)
    }

    fn gpu(&self, node: u32) -> Result<&Gpu> {
        match self.gpu_of.get(node as usize) {
            Some(&gpu) if gpu != NONE => Ok(&self.gpus[gpu as usize]),
            _ => Err(Error::Graph(format!("node {node} is no GPU"))),
        }
    }

    /// The NVLink domain of a GPU and its place there.
    pub fn domain(&self, node: u32) -> Result<(u32, u32)> {
        self.gpu(node).map(|gpu| (gpu.domain, gpu.local_index))
    }

    /// A GPU's NICs.
    pub fn cards(&self, node: u32) -> Result<&[Card]> {
        self.gpu(node).map(|gpu| &self.cards[gpu.cards.clone()])
    }

    /// The links of a GPU to its NVLink switch and back, where it has one.
    pub fn nvlink(&self, node: u32) -> Result<Option<[u32; 2]>> {
        self.gpu(node).map(|gpu| gpu.nvlink.map(|cable| [cable.link, cable.back]))
    }

    /// The NIC of a GPU whose turn a channel is.
    pub fn card(&self, node: u32, channel: u32) -> Result<&Card> {
        let gpu = self.gpu(node)?;
        let cards = &self.cards[gpu.cards.clone()];
        if cards.is_empty() {
            return Err(Error::Graph(format!("GPU node {node} has no NIC")));
        }
        Ok(&cards[(channel as usize + gpu.turn as usize) % cards.len()])
    }

    /// The way of a connection between two different GPUs: over NVLink inside a domain, else over a PCIe node that both
    /// reach, else over NICs. The NICs are the channel's turn on either side (with as many NICs on both sides that
    /// keeps to one rail), or the next pair that a path joins.
    pub fn way(&self, paths: &Paths, connection: Connection) -> Result<Way<'_>> {
        let (from, to) = (self.gpu(connection.from)?, self.gpu(connection.to)?);
        if let (Some(up), Some(down)) = (&from.nvlink, &to.nvlink)
            && from.domain == to.domain
        {
            return Ok(Way::inside(up, down));
        }
        let receiving = &self.pcie[to.pcie.clone()];
        for up in &self.pcie[from.pcie.clone()] {
            if let Some(down) = receiving.iter().find(|down| down.to == up.to) {
                return Ok(Way::inside(up, down));
            }
        }
        let (sources, destinations) = (&self.cards[from.cards.clone()], &self.cards[to.cards.clone()]);
        let turn = connection.channel as usize + from.turn as usize;
        for source in (0..sources.len()).map(|next| &sources[(turn + next) % sources.len()]) {
            for destination in (0..destinations.len()).map(|next| &destinations[(turn + next) % destinations.len()]) {
                if source.nic == destination.nic {
                    return Ok(Way { up: &source.up, between: None, down: &destination.down });
                }
                let (a, b) = (&self.homes[source.home as usize], &self.homes[destination.home as usize]);
                if joined(paths, a, b, 0).is_some() {
                    let start = from.stand as usize + to.stand as usize;
                    // Channels with turns at one NIC stand side by side, or, in a rail ring, as far apart as its domain
                    // has GPUs. Folded by that number (and no less than the ports), both kinds visit all ports alike.
                    let fold = source.ports.len().max(self.domain_gpus[from.domain as usize] as usize);
                    let round = connection.channel as usize / sources.len();
                    let turn = Turn { start, channel: round % fold + round / fold };
                    return Ok(Way {
                        up: &source.up,
                        between: Some(Between { from: source, to: destination, turn }),
                        down: &destination.down,
                    });
                }
            }
        }
        Err(Error::Unreachable { from: connection.from, to: connection.to })
    }

    /// The ports that a queue pair whose turn it is takes between two NICs that a path joins.
    pub fn ports(&self, paths: &Paths, from: &Card, to: &Card, turn: usize) -> (&Port, &Port) {
        let (a, b) = (&self.homes[from.home as usize], &self.homes[to.home as usize]);
        let (a, b) = joined(paths, a, b, turn).unwrap_or((0, 0));
        (&self.ports[from.ports.start + a], &self.ports[to.ports.start + b])
    }
}

/// Which port of one home and which of another a turn takes: the turn's own on either side (with as many ports on both
/// sides that keeps to one plane), or the next two that a path joins.
pub(super) fn joined(paths: &Paths, from: &[u32], to: &[u32], turn: usize) -> Option<(usize, usize)> {
    (0..from.len()).find_map(|next| {
        let a = (turn + next) % from.len();
        let source = paths.attachments[from[a] as usize];
        let b = (0..to.len()).map(|after| (turn + next + after) % to.len());
        b.into_iter().find(|&b| paths.reaches(source, to[b])).map(|b| (a, b))
    })
}

impl<'t> Way<'t> {
    fn inside(up: &'t Cable, down: &'t Cable) -> Self {
        Self { up: std::slice::from_ref(&up.link), between: None, down: std::slice::from_ref(&down.back) }
    }
}

/// Counts one more and gives the count before.
fn take(counts: &mut [u32], node: u32) -> u32 {
    let count = &mut counts[node as usize];
    *count += 1;
    *count - 1
}

fn nodes(graph: &Graph, kind: NodeKind) -> impl Iterator<Item = u32> {
    (0..graph.nodes() as u32).filter(move |&node| graph.kind[node as usize] == kind)
}

/// Links from a node to nodes of a kind, in index order.
pub(super) fn links_to(graph: &Graph, node: u32, kind: NodeKind) -> impl Iterator<Item = u32> {
    graph.out(node).iter().copied().filter(move |&link| graph.kind[graph.dst[link as usize] as usize] == kind)
}

/// Links into each node, in index order: where a node has few and its neighbour many, a way back is sought here.
struct Back {
    start: Vec<u32>,
    links: Vec<u32>,
}

impl Back {
    fn new(graph: &Graph) -> Self {
        let mut start = vec![0u32; graph.nodes() + 1];
        graph.dst.iter().for_each(|&node| start[node as usize + 1] += 1);
        for node in 0..graph.nodes() {
            start[node + 1] += start[node];
        }
        let mut fill = start.clone();
        let mut links = vec![0u32; graph.links()];
        for (link, &node) in graph.dst.iter().enumerate() {
            links[fill[node as usize] as usize] = link as u32;
            fill[node as usize] += 1;
        }
        Self { start, links }
    }

    /// Cables from a node to nodes of a kind: of parallel links, the k-th goes with the k-th back.
    fn cables(&self, graph: &Graph, node: u32, kind: NodeKind) -> Result<Vec<Cable>> {
        let into = &self.links[self.start[node as usize] as usize..self.start[node as usize + 1] as usize];
        links_to(graph, node, kind)
            .map(|link| {
                let to = graph.dst[link as usize];
                let joins = |other: &u32| graph.dst[*other as usize] == to;
                let earlier =
                    graph.out(node).iter().take_while(|&&other| other != link).filter(|other| joins(other)).count();
                let mut back = into.iter().filter(|&&back| graph.src[back as usize] == to);
                match back.nth(earlier) {
                    Some(&back) => Ok(Cable { to, link, back }),
                    None => Err(Error::Graph(format!("link {link} from node {node} to node {to} has no link back"))),
                }
            })
            .collect()
    }
}
