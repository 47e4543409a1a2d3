//! Shortest paths among the switches: hop distances and the candidate links at each switch.
//!
//! Destinations are attachment switches, the ones that NICs plug into, so the tables are switches x attachments and
//! a thousand NICs on 32 leaves cost 32 columns.

use std::collections::HashMap;
use std::ops::Range;

use super::NONE;
use crate::graph::{Graph, NodeKind};

/// Distance of a switch that no path joins with the destination.
pub(super) const UNREACHED: u16 = u16::MAX;

/// A link that leads a hop nearer, and the switch that it enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hop {
    pub link: u32,
    pub to: u32,
}

/// Distances and candidates; switches and attachments are numbered in node order.
pub(super) struct Paths {
    /// Node of each switch.
    pub switches: Vec<u32>,
    /// Switch number of each node, [`NONE`] for others.
    pub switch_of: Vec<u32>,
    /// Attachment number of each switch, [`NONE`] where no NIC plugs in.
    pub attachment_of: Vec<u32>,
    /// Switch number of each attachment.
    pub attachments: Vec<u32>,
    /// Hops from each switch to each attachment, row-major.
    hops: Vec<u16>,
    /// Candidate set of each switch and attachment, row-major; set 0 is empty. Most destinations share a set.
    set: Vec<u32>,
    set_start: Vec<u32>,
    /// Candidates of all sets, each set in link order.
    pub candidates: Vec<Hop>,
}

impl Paths {
    pub fn new(graph: &Graph) -> Self {
        let mut switch_of = vec![NONE; graph.nodes()];
        let mut switches = Vec::new();
        for (node, _) in graph.kind.iter().enumerate().filter(|&(_, &kind)| kind == NodeKind::Switch) {
            switch_of[node] = switches.len() as u32;
            switches.push(node as u32);
        }
        let mut attachment_of = vec![NONE; switches.len()];
        for (&src, &dst) in graph.src.iter().zip(&graph.dst) {
            if graph.kind[src as usize] == NodeKind::Nic && switch_of[dst as usize] != NONE {
                attachment_of[switch_of[dst as usize] as usize] = 0;
            }
        }
        let mut attachments = Vec::new();
        for (switch, attachment) in attachment_of.iter_mut().enumerate().filter(|(_, a)| **a != NONE) {
            *attachment = attachments.len() as u32;
            attachments.push(switch as u32);
        }
        let out = switches.iter().map(|&node| fabric_hops(graph, &switch_of, node)).collect::<Vec<_>>();
        let hops = distances(&out, &attachments);
        let mut paths = Self {
            set: Vec::with_capacity(hops.len()),
            switches,
            switch_of,
            attachment_of,
            attachments,
            hops,
            set_start: vec![0, 0],
            candidates: Vec::new(),
        };
        paths.find_candidates(&out);
        paths
    }

    /// Number of a switch node, if the node is one.
    pub fn switch(&self, node: u32) -> Option<u32> {
        self.switch_of.get(node as usize).copied().filter(|&switch| switch != NONE)
    }

    /// Whether a path leads from a switch to an attachment.
    pub fn reaches(&self, switch: u32, attachment: u32) -> bool {
        self.hops(switch, attachment) != UNREACHED
    }

    /// Hops from a switch to an attachment, or [`UNREACHED`].
    pub fn hops(&self, switch: u32, attachment: u32) -> u16 {
        self.hops[switch as usize * self.attachments.len() + attachment as usize]
    }

    /// Where the links of a switch that lead nearer to an attachment stand in `candidates`; empty on arrival and where
    /// nothing leads there.
    pub fn nearer(&self, switch: u32, attachment: u32) -> Range<usize> {
        self.members(self.set[switch as usize * self.attachments.len() + attachment as usize])
    }

    fn members(&self, set: u32) -> Range<usize> {
        self.set_start[set as usize] as usize..self.set_start[set as usize + 1] as usize
    }

    /// Every distinct candidate set, as ranges of `candidates`.
    pub fn sets(&self) -> impl Iterator<Item = Range<usize>> {
        self.set_start.windows(2).map(|ends| ends[0] as usize..ends[1] as usize)
    }

    fn find_candidates(&mut self, out: &[Vec<Hop>]) {
        let mut known: HashMap<Vec<Hop>, u32> = HashMap::new();
        let mut found = Vec::new();
        for (switch, hops_out) in out.iter().enumerate() {
            known.clear();
            let mut last = 0; // neighbours mostly share a set: comparing with it is cheaper than hashing
            for attachment in 0..self.attachments.len() as u32 {
                let here = self.hops(switch as u32, attachment);
                found.clear();
                if here != UNREACHED && here != 0 {
                    found.extend(hops_out.iter().filter(|hop| self.hops(hop.to, attachment) == here - 1));
                }
                let set = if found.is_empty() {
                    0
                } else if self.candidates[self.members(last)] == found[..] {
                    last
                } else if let Some(&set) = known.get(&found) {
                    set
                } else {
                    self.candidates.extend(&found);
                    self.set_start.push(self.candidates.len() as u32);
                    let set = self.set_start.len() as u32 - 2;
                    known.insert(found.clone(), set);
                    set
                };
                last = if set == 0 { last } else { set };
                self.set.push(set);
            }
        }
    }
}

fn fabric_hops(graph: &Graph, switch_of: &[u32], node: u32) -> Vec<Hop> {
    graph
        .out(node)
        .iter()
        .map(|&link| Hop { link, to: switch_of[graph.dst[link as usize] as usize] })
        .filter(|hop| hop.to != NONE)
        .collect()
}

/// Breadth-first search backward from every attachment.
fn distances(out: &[Vec<Hop>], attachments: &[u32]) -> Vec<u16> {
    let mut into = vec![Vec::new(); out.len()];
    for (switch, hops) in out.iter().enumerate() {
        for hop in hops {
            into[hop.to as usize].push(switch as u32);
        }
    }
    for from in &mut into {
        from.dedup(); // parallel links stand side by side
    }
    let width = attachments.len();
    let mut hops = vec![UNREACHED; out.len() * width];
    let mut queue = Vec::with_capacity(out.len());
    for (column, &attachment) in attachments.iter().enumerate() {
        hops[attachment as usize * width + column] = 0;
        queue.clear();
        queue.push(attachment);
        let mut next = 0;
        while next < queue.len() {
            let at = queue[next] as usize;
            next += 1;
            let farther = hops[at * width + column] + 1;
            for &from in &into[at] {
                let distance = &mut hops[from as usize * width + column];
                if *distance == UNREACHED {
                    *distance = farther;
                    queue.push(from);
                }
            }
        }
    }
    hops
}
