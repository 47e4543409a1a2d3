//! Forwarding tables of switches by themselves: which links lead a packet on towards its receiver.

use super::candidates::Candidates;
use super::paths::{Paths, UNREACHED};
use super::pinned::{self, Pinned};
use super::ranking::Ranking;
use super::{NONE, Route, endpoint, weights};
use crate::graph::{Graph, NodeKind};
use crate::{Error, Result};

/// Where a NIC is plugged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plug {
    /// Its switch, by attachment number.
    pub attachment: u32,
    /// What switches look up for it: its own number where tables have rows for the NIC alone, else its switch's.
    pub towards: u32,
    /// Link from the NIC.
    pub up: u32,
    /// Link to the NIC.
    pub down: u32,
}

/// Shortest paths over a graph, or those that tables lay down, as its switches' tables.
pub struct Forwarding {
    paths: Paths,
    links: Vec<u32>,
}

impl Forwarding {
    /// Finds the shortest paths of a graph.
    pub fn new(graph: &Graph) -> Self {
        Self::of(Paths::new(graph))
    }

    /// Takes the paths from tables in place of the shortest ones; of several links of a row any is as good.
    ///
    /// # Errors
    /// [`Error::Graph`] with the nodes at fault where tables loop or lead nowhere.
    pub fn with_routes(graph: &Graph, routes: &[Route]) -> Result<Self> {
        Paths::from_tables(graph, routes).map(Self::of)
    }

    fn of(paths: Paths) -> Self {
        let links = paths.candidates.hops.iter().map(|hop| hop.link).collect();
        Self { paths, links }
    }

    /// Finds the shortest paths that avoid links between switches that are down; NICs stay where they are plugged in.
    pub fn around(graph: &Graph, is_down: &[bool]) -> Self {
        let is_switch = |node: u32| graph.kind[node as usize] == NodeKind::Switch;
        let keep = |&link: &u32| {
            let at = link as usize;
            !(is_down[at] && is_switch(graph.src[at]) && is_switch(graph.dst[at]))
        };
        let kept: Vec<u32> = (0..graph.links() as u32).filter(keep).collect();
        let of = |values: &[u32]| kept.iter().map(|&link| values[link as usize]).collect();
        let left = Graph::new(
            graph.kind.clone(),
            graph.address.clone(),
            of(&graph.src),
            of(&graph.dst),
            kept.iter().map(|&link| graph.rate[link as usize]).collect(),
            kept.iter().map(|&link| graph.latency[link as usize]).collect(),
            kept.iter().map(|&link| graph.is_fabric[link as usize]).collect(),
        );
        // A part of a sound graph is sound; were it not, the old paths are better than none.
        let Ok(left) = left else { return Self::new(graph) };
        let mut around = Self::new(&left);
        around.links.iter_mut().for_each(|link| *link = kept[*link as usize]);
        around.paths.candidates.hops.iter_mut().for_each(|hop| hop.link = kept[hop.link as usize]);
        around
    }

    /// Number of switches; they are numbered in node order.
    pub fn switches(&self) -> usize {
        self.paths.switches.len()
    }

    /// Number of switches that NICs plug into.
    pub fn attachments(&self) -> usize {
        self.paths.attachments.len()
    }

    /// Number of a switch node.
    pub fn switch(&self, node: u32) -> Option<u32> {
        self.paths.switch(node)
    }

    /// The attachment number of a switch; none where no NIC plugs in.
    pub fn attachment(&self, switch: u32) -> Option<u32> {
        Some(self.paths.attachment_of[switch as usize]).filter(|&attachment| attachment != NONE)
    }

    /// Where a NIC is plugged in: one entry a port, in link order.
    ///
    /// # Errors
    /// [`Error::Graph`] where the node is no NIC, or a link to a switch has none back.
    pub fn plugs(&self, graph: &Graph, nic: u32) -> Result<Vec<Plug>> {
        if graph.kind.get(nic as usize) != Some(&NodeKind::Nic) {
            return Err(Error::Graph(format!("node {nic} is no NIC")));
        }
        let of = |up: u32| {
            let node = graph.dst[up as usize];
            let back = endpoint::links_to(graph, node, NodeKind::Nic).find(|&link| graph.dst[link as usize] == nic);
            let down = back.ok_or_else(|| Error::Graph(format!("link {up} from node {nic} has no link back")))?;
            let switch = self.paths.switch_of[node as usize];
            let attachment = self.paths.attachment_of[switch as usize];
            Ok(Plug { attachment, towards: self.paths.attachment(nic, switch), up, down })
        };
        endpoint::links_to(graph, nic, NodeKind::Switch).map(of).collect()
    }

    /// For each plug, the turns by which switches choose for it where routes are static (D-mod-k): those of the first tier
    /// and those above.
    pub fn turns(&self, graph: &Graph, plugs: &[Plug]) -> Vec<[u32; 2]> {
        let pinned = Pinned::new(graph, &self.paths);
        let of = |plug: &Plug| {
            let leaf = graph.src[plug.down as usize];
            let place = endpoint::links_to(graph, leaf, NodeKind::Nic).position(|link| link == plug.down);
            pinned.turns(plug.attachment, place.unwrap_or(0) as u32)
        };
        plugs.iter().map(of).collect()
    }

    /// Which of the two turns of a plug at an attachment a switch goes by.
    pub fn turn(&self, switch: u32, attachment: u32) -> usize {
        usize::from(!pinned::is_first_tier(&self.paths, switch, attachment))
    }

    /// Links of a switch that lead on to an attachment.
    #[inline]
    pub fn next(&self, switch: u32, attachment: u32) -> &[u32] {
        &self.links[self.paths.candidates.towards(switch, attachment)]
    }

    /// The switch of an attachment.
    pub fn home(&self, attachment: u32) -> u32 {
        self.paths.attachments[attachment as usize]
    }

    /// What the links of each switch are worth by the capacity that leads on from there; links are those of `graph`.
    pub fn worth(&self, graph: &Graph) -> Worth {
        Worth { uneven: weights::by_capacity(graph, &self.paths) }
    }

    /// The shortest paths, counted.
    pub fn paths(&self) -> Ranking<'_> {
        Ranking::new(&self.paths)
    }

    /// Whether a path leads from one attachment to another.
    pub fn joins(&self, from: u32, to: u32) -> bool {
        self.paths.hops(self.paths.attachments[from as usize], to) != UNREACHED
    }

    /// Switches that a packet crosses from one attachment to another, both counted.
    pub fn hops(&self, from: u32, to: u32) -> u16 {
        self.paths.hops(self.paths.attachments[from as usize], to) + 1
    }
}

/// What a switch's links to an attachment are worth relative to each other, as weighted ECMP has it.
pub struct Worth {
    /// None where all are worth the same everywhere.
    uneven: Option<Candidates>,
}

impl Worth {
    /// In the order of [`Forwarding::next`]; none where all are worth the same.
    pub fn of(&self, switch: u32, attachment: u32) -> Option<&[u64]> {
        self.uneven.as_ref()?.choice(switch, attachment).weights
    }
}
