//! The network as flat arrays: nodes and directed links.
//!
//! A link is one direction of one cable (or of an NVLink or PCIe connection). Parallel links stay
//! separate here; routing decides which of them are one resource.

use crate::{Error, Picoseconds, Result};

/// What a node is; only switches forward traffic of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum NodeKind {
    /// A GPU: where ranks live.
    Gpu = 0,
    /// The NVLink switch of a scale-up domain: joins GPUs with GPUs.
    NvSwitch = 1,
    /// The PCIe hop between a GPU and its NIC.
    Pcie = 2,
    /// A NIC: joins PCIe with the scale-out fabric.
    Nic = 3,
    /// A scale-out switch of any tier.
    Switch = 4,
}

/// Nodes and directed links, with the links out of each node in index order.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Kind of each node.
    pub kind: Vec<NodeKind>,
    /// Address of each node as hashed in a 5-tuple (IPv4 as a number); 0 where a node has none.
    pub address: Vec<u32>,
    /// Node that each link leaves.
    pub src: Vec<u32>,
    /// Node that each link enters.
    pub dst: Vec<u32>,
    /// Payload bytes a second that each link carries.
    pub rate: Vec<f64>,
    /// Latency of each link and of the node that it enters, picoseconds.
    pub latency: Vec<Picoseconds>,
    /// Whether a link joins two switches; `ideal` makes these infinite.
    pub is_fabric: Vec<bool>,
    out_start: Vec<u32>,
    out_links: Vec<u32>,
}

impl Graph {
    /// Checks the arrays against each other and indexes the links by the node they leave.
    ///
    /// # Errors
    /// [`Error::Graph`] where lengths differ, an end is no node, or a rate is not finite and positive.
    pub fn new(
        kind: Vec<NodeKind>,
        address: Vec<u32>,
        src: Vec<u32>,
        dst: Vec<u32>,
        rate: Vec<f64>,
        latency: Vec<Picoseconds>,
        is_fabric: Vec<bool>,
    ) -> Result<Self> {
        let (nodes, links) = (kind.len(), src.len());
        if address.len() != nodes {
            return Err(Error::Graph(format!("{nodes} nodes but {} addresses", address.len())));
        }
        for (name, len) in
            [("dst", dst.len()), ("rate", rate.len()), ("latency", latency.len()), ("is_fabric", is_fabric.len())]
        {
            if len != links {
                return Err(Error::Graph(format!("{links} links but {len} entries of {name}")));
            }
        }
        for link in 0..links {
            if src[link] as usize >= nodes || dst[link] as usize >= nodes {
                return Err(Error::Graph(format!(
                    "link {link} joins {} and {} but there are {nodes} nodes",
                    src[link], dst[link]
                )));
            }
            if !(rate[link].is_finite() && rate[link] > 0.0) {
                return Err(Error::Graph(format!("link {link} has rate {}", rate[link])));
            }
        }
        let mut out_start = vec![0u32; nodes + 1];
        for &node in &src {
            out_start[node as usize + 1] += 1;
        }
        for node in 0..nodes {
            out_start[node + 1] += out_start[node];
        }
        let mut fill = out_start.clone();
        let mut out_links = vec![0u32; links];
        for (link, &node) in src.iter().enumerate() {
            out_links[fill[node as usize] as usize] = link as u32;
            fill[node as usize] += 1;
        }
        Ok(Self { kind, address, src, dst, rate, latency, is_fabric, out_start, out_links })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.kind.len()
    }

    /// Number of directed links.
    pub fn links(&self) -> usize {
        self.src.len()
    }

    /// Links that leave a node, in index order.
    pub fn out(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.out_links[self.out_start[node] as usize..self.out_start[node + 1] as usize]
    }
}
