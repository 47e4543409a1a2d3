//! How GPUs reach each other inside a server, and the switches outside it.
//!
//! GPUs, NICs and PCIe nodes carry no one else's traffic, so a way out is always GPU, PCIe, NIC, switch: a [`Port`].

use std::ops::Range;

use super::paths::Paths;
use super::{Connection, NONE};
use crate::graph::{Graph, NodeKind};
use crate::{Error, Result};

/// A NIC port as one GPU reaches it.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub nic: u32,
    /// Links from the GPU to PCIe, the NIC and the switch.
    up: [u32; 3],
    /// Links from the switch to the NIC, PCIe and the GPU.
    down: [u32; 3],
    pub switch: u32,
    pub attachment: u32,
    /// Place among the switch's links to NICs.
    pub place: u32,
}

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
    ports: Range<usize>,
    /// Place among the GPUs that share its first NIC: they start their turns on different ports.
    turn: u32,
}

/// Links that a connection takes: up from its sender, over the fabric between two ports (if any), down to its receiver.
pub(super) struct Way<'t> {
    pub up: &'t [u32],
    pub between: Option<(&'t Port, &'t Port)>,
    pub down: &'t [u32],
}

/// The GPUs and their ways out.
pub(super) struct Endpoints {
    gpu_of: Vec<u32>,
    gpus: Vec<Gpu>,
    pcie: Vec<Cable>,
    ports: Vec<Port>,
}

impl Endpoints {
    pub fn new(graph: &Graph, paths: &Paths) -> Result<Self> {
        let mut endpoints =
            Self { gpu_of: vec![NONE; graph.nodes()], gpus: Vec::new(), pcie: Vec::new(), ports: Vec::new() };
        let mut members = vec![0u32; graph.nodes()]; // of a domain, by its NVLink switch
        let mut sharers = vec![0u32; graph.nodes()]; // GPUs so far whose first NIC this is
        for node in (0..graph.nodes() as u32).filter(|&node| graph.kind[node as usize] == NodeKind::Gpu) {
            let nvlink = cables(graph, node, NodeKind::NvSwitch)?;
            if nvlink.len() > 1 {
                return Err(Error::Graph(format!(
                    "GPU node {node} has {} NVLink links; one is expected",
                    nvlink.len()
                )));
            }
            let nvlink = nvlink.first().copied();
            let domain = nvlink.map_or(node, |cable| cable.to);
            let (pcie, ports) = (endpoints.pcie.len(), endpoints.ports.len());
            endpoints.pcie.extend(cables(graph, node, NodeKind::Pcie)?);
            for index in pcie..endpoints.pcie.len() {
                let cable = endpoints.pcie[index];
                endpoints.add_ports(graph, paths, cable)?;
            }
            let turn = endpoints.ports.get(ports).map_or(0, |port| take(&mut sharers, port.nic));
            endpoints.gpu_of[node as usize] = endpoints.gpus.len() as u32;
            endpoints.gpus.push(Gpu {
                domain,
                local_index: take(&mut members, domain),
                nvlink,
                pcie: pcie..endpoints.pcie.len(),
                ports: ports..endpoints.ports.len(),
                turn,
            });
        }
        Ok(endpoints)
    }

    fn add_ports(&mut self, graph: &Graph, paths: &Paths, pcie: Cable) -> Result<()> {
        for nic in cables(graph, pcie.to, NodeKind::Nic)? {
            for plug in cables(graph, nic.to, NodeKind::Switch)? {
                let switch = paths.switch_of[plug.to as usize];
                self.ports.push(Port {
                    nic: nic.to,
                    up: [pcie.link, nic.link, plug.link],
                    down: [plug.back, nic.back, pcie.back],
                    switch,
                    attachment: paths.attachment_of[switch as usize],
                    place: links_to(graph, plug.to, NodeKind::Nic).take_while(|&link| link != plug.back).count() as u32,
                });
            }
        }
        Ok(())
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

    /// The way of a connection between two different GPUs: over NVLink inside a domain, else over a PCIe node that both
    /// reach, else over NICs. The ports are the channel's turn on either side (with as many ports on both sides that
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
        let (sources, destinations) = (&self.ports[from.ports.clone()], &self.ports[to.ports.clone()]);
        let turn = connection.channel as usize + from.turn as usize;
        for source in (0..sources.len()).map(|next| &sources[(turn + next) % sources.len()]) {
            for destination in (0..destinations.len()).map(|next| &destinations[(turn + next) % destinations.len()]) {
                if source.nic == destination.nic {
                    return Ok(Way { up: &source.up[..2], between: None, down: &destination.down[1..] });
                }
                if paths.reaches(source.switch, destination.attachment) {
                    return Ok(Way { up: &source.up, between: Some((source, destination)), down: &destination.down });
                }
            }
        }
        Err(Error::Unreachable { from: connection.from, to: connection.to })
    }
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

/// Links from a node to nodes of a kind, in index order.
pub(super) fn links_to(graph: &Graph, node: u32, kind: NodeKind) -> impl Iterator<Item = u32> {
    graph.out(node).iter().copied().filter(move |&link| graph.kind[graph.dst[link as usize] as usize] == kind)
}

/// Cables from a node to nodes of a kind: of parallel links, the k-th goes with the k-th back.
fn cables(graph: &Graph, node: u32, kind: NodeKind) -> Result<Vec<Cable>> {
    links_to(graph, node, kind)
        .map(|link| {
            let to = graph.dst[link as usize];
            let joins = |other: &u32| graph.dst[*other as usize] == to;
            let earlier =
                graph.out(node).iter().take_while(|&&other| other != link).filter(|other| joins(other)).count();
            let mut back = graph.out(to).iter().filter(|&&back| graph.dst[back as usize] == node);
            match back.nth(earlier) {
                Some(&back) => Ok(Cable { to, link, back }),
                None => Err(Error::Graph(format!("link {link} from node {node} to node {to} has no link back"))),
            }
        })
        .collect()
}
