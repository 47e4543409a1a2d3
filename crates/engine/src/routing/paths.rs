//! Shortest paths among the switches: hop distances and the candidate links at each switch.
//!
//! Destinations are attachment switches, the ones that NICs plug into, so the tables are switches x attachments and
//! a thousand NICs on 32 leaves cost 32 columns.

use std::collections::HashMap;

use super::NONE;
use super::candidates::{Candidates, Filling, Hop};
use crate::graph::{Graph, NodeKind};

/// Distance of a switch that no path joins with the destination.
pub(super) const UNREACHED: u16 = u16::MAX;

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
    /// Links that lead on: those a hop nearer, all alike, unless tables say otherwise.
    pub candidates: Candidates,
    /// Attachment number, by node and switch, of NICs for which tables have rows of their own.
    pub own: HashMap<(u32, u32), u32>,
}

impl Paths {
    /// Shortest paths.
    pub fn new(graph: &Graph) -> Self {
        let mut paths = Self::without_links(graph);
        let out = paths.switches.iter().map(|&node| fabric_hops(graph, &paths.switch_of, node)).collect::<Vec<_>>();
        let hops = distances(&out, &paths.attachments);
        let candidates = candidates(&out, paths.attachments.len(), &hops);
        paths.set_routes(hops, candidates);
        paths
    }

    /// Switches and attachments, and no way between them yet.
    pub fn without_links(graph: &Graph) -> Self {
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
        let candidates = Candidates::new(switches.len(), attachments.len());
        Self { switches, switch_of, attachment_of, attachments, hops: Vec::new(), candidates, own: HashMap::new() }
    }

    /// Takes the hops left from each switch to each attachment, row-major, and the links that lead there.
    pub fn set_routes(&mut self, hops: Vec<u16>, candidates: Candidates) {
        (self.hops, self.candidates) = (hops, candidates);
    }

    /// Attachment number of a NIC's port at a switch.
    pub fn attachment(&self, nic: u32, switch: u32) -> u32 {
        self.own.get(&(nic, switch)).copied().unwrap_or(self.attachment_of[switch as usize])
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

    /// Switches from which a path leads to an attachment, in the order of their hops.
    pub fn nearest_first(&self, attachment: u32, order: &mut Vec<u32>) {
        order.clear();
        order.extend((0..self.switches.len() as u32).filter(|&switch| self.reaches(switch, attachment)));
        order.sort_by_key(|&switch| self.hops(switch, attachment));
    }
}

/// The links of every switch that lead a hop nearer to each of `width` attachments.
fn candidates(out: &[Vec<Hop>], width: usize, hops: &[u16]) -> Candidates {
    let mut filling = Filling::new(out.len(), width);
    let mut found = Vec::new();
    let widest = out.iter().map(Vec::len).max().unwrap_or(0);
    let alike = vec![1; widest];
    for (switch, hops_out) in out.iter().enumerate() {
        filling.next_switch();
        for attachment in 0..width {
            let here = hops[switch * width + attachment];
            found.clear();
            if here != UNREACHED && here != 0 {
                let nearer = |hop: &&Hop| hops[hop.to as usize * width + attachment] == here - 1;
                found.extend(hops_out.iter().filter(nearer));
            }
            filling.set(switch as u32, attachment as u32, &found, &alike[..found.len()]);
        }
    }
    filling.finish()
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
