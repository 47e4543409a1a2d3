//! Forwarding tables given from outside: exactly these routes are used, and no others.
//!
//! A destination is a switch that NICs plug into, which stands for all of these, or a single NIC, whose rows at a switch
//! take the place of its switch's. NICs of one switch that are treated alike share a column of the tables.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::NONE;
use super::candidates::{Candidates, Filling, Hop, whole};
use super::paths::{Paths, UNREACHED};
use crate::graph::{Graph, NodeKind};
use crate::{Error, Result};

/// A row of a switch's forwarding table: one of the links over which it sends what is for a destination.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Route {
    /// Node of the switch.
    pub switch: u32,
    /// Node that the traffic is for: a NIC, or a switch that NICs plug into.
    pub destination: u32,
    /// Link out of the switch, to another one.
    pub link: u32,
    /// What goes over it, relative to the other links of the switch for this destination.
    pub weight: f64,
}

/// The rows for one destination, by switch.
type Rows = BTreeMap<u32, Vec<(Hop, f64)>>;

/// The same as a key: what is compared are the bits.
type Print = (u32, Vec<(u32, u32, u64)>);

impl Paths {
    /// The paths that tables lay down.
    ///
    /// # Errors
    /// [`Error::Graph`] with the nodes at fault: a row of what is no switch, no link of it to another, or no such
    /// destination; a weight that is not positive and finite; a loop; a switch that is sent what it has no row for.
    pub fn from_tables(graph: &Graph, routes: &[Route]) -> Result<Self> {
        let mut paths = Self::without_links(graph);
        let mut of: HashMap<u32, Rows> = HashMap::new();
        for route in routes {
            let (switch, hop) = paths.row(graph, route)?;
            of.entry(route.destination).or_default().entry(switch).or_default().push((hop, route.weight));
        }
        of.values_mut().flat_map(BTreeMap::values_mut).for_each(|row| row.sort_by_key(|(hop, _)| hop.link));
        let mut columns: Vec<Rows> = paths
            .attachments
            .iter()
            .map(|&at| of.get(&paths.switches[at as usize]).cloned().unwrap_or_default())
            .collect();
        let mut names: Vec<u32> = paths.attachments.iter().map(|&at| paths.switches[at as usize]).collect();
        let mut known: HashMap<Print, u32> = HashMap::new();
        for nic in (0..graph.nodes() as u32).filter(|node| graph.kind[*node as usize] == NodeKind::Nic) {
            let Some(own) = of.get(&nic) else { continue };
            let leaves = graph.out(nic).iter().filter_map(|&link| paths.switch(graph.dst[link as usize]));
            let leaves: Vec<u32> = leaves.collect();
            for &leaf in &leaves {
                let base = paths.attachment_of[leaf as usize];
                let mut rows = columns[base as usize].clone();
                rows.extend(own.iter().map(|(switch, row)| (*switch, row.clone())));
                rows.remove(&leaf);
                // What leads to the NIC's other ports alone is for these.
                let here = leading_to(&rows, &[leaf]);
                let elsewhere = leading_to(&rows, &leaves);
                rows.retain(|switch, _| here.contains(switch) || !elsewhere.contains(switch));
                let next = columns.len() as u32;
                let column = *known.entry(print(leaf, &rows)).or_insert(next);
                if column == next {
                    columns.push(rows);
                    names.push(nic);
                    paths.attachments.push(leaf);
                }
                paths.own.insert((nic, leaf), column);
            }
        }
        paths.fill(&columns, &names)?;
        Ok(paths)
    }

    /// A row's switch and hop.
    fn row(&self, graph: &Graph, route: &Route) -> Result<(u32, Hop)> {
        let wrong = |cause: String| Err(Error::Graph(cause));
        let Route { switch, destination, link, weight } = *route;
        let Some(at) = self.switch(switch) else {
            return wrong(format!("node {switch} is no switch and has no routes"));
        };
        let is_nic = graph.kind.get(destination as usize) == Some(&NodeKind::Nic);
        let is_attachment = self.switch(destination).is_some_and(|to| self.attachment_of[to as usize] != NONE);
        if !is_nic && !is_attachment {
            return wrong(format!(
                "node {destination} is no NIC and no switch that NICs plug into: no routes lead there"
            ));
        }
        if switch == destination {
            return wrong(format!("node {switch} has a route to itself"));
        }
        let leads = graph.src.get(link as usize) == Some(&switch);
        let Some(to) = graph.dst.get(link as usize).and_then(|&next| self.switch(next)).filter(|_| leads) else {
            return wrong(format!("a route of node {switch} to node {destination} names no link to another switch"));
        };
        if !(weight.is_finite() && weight > 0.0) {
            return wrong(format!(
                "a route of node {switch} to node {destination} has weight {weight}, which is not above 0"
            ));
        }
        Ok((at, Hop { link, to }))
    }

    /// Takes hops and candidates from each destination's rows; `names` are the destinations' nodes.
    fn fill(&mut self, columns: &[Rows], names: &[u32]) -> Result<()> {
        let (switches, width) = (self.switches.len(), columns.len());
        let mut hops = vec![UNREACHED; switches * width];
        let mut filling = Filling::new(switches, width);
        let (mut members, mut weights) = (Vec::new(), Vec::new());
        for (column, rows) in columns.iter().enumerate() {
            let arrival = self.attachments[column];
            let mut search = Search { paths: self, rows, name: names[column], hops: vec![None; switches] };
            search.hops[arrival as usize] = Some(Progress::Done(0));
            for &switch in rows.keys() {
                search.visit(switch)?;
            }
            for (switch, progress) in search.hops.iter().enumerate() {
                if let Some(Progress::Done(left)) = progress {
                    hops[switch * width + column] = *left;
                }
            }
            for (&switch, row) in rows.iter().filter(|(switch, _)| **switch != arrival) {
                members.clear();
                members.extend(row.iter().map(|(hop, _)| *hop));
                weights.clear();
                weights.extend(row.iter().map(|(_, weight)| *weight));
                filling.set(switch, column as u32, &members, &whole(&weights));
            }
        }
        self.set_routes(hops, filling.finish());
        Ok(())
    }
}

/// How far the search has come with a switch.
#[derive(Clone, Copy)]
enum Progress {
    Open,
    /// The most hops left from there.
    Done(u16),
}

/// Follows the rows of one destination from switch to switch.
struct Search<'t> {
    paths: &'t Paths,
    rows: &'t Rows,
    name: u32,
    hops: Vec<Option<Progress>>,
}

impl Search<'_> {
    /// The most hops left from a switch.
    fn visit(&mut self, switch: u32) -> Result<u16> {
        let node = self.paths.switches[switch as usize];
        match self.hops[switch as usize] {
            Some(Progress::Done(left)) => return Ok(left),
            Some(Progress::Open) => {
                return Err(Error::Graph(format!(
                    "the routes to node {} go round in a loop by way of node {node}",
                    self.name
                )));
            }
            None => {}
        }
        let Some(row) = self.rows.get(&switch) else {
            return Err(Error::Graph(format!(
                "node {node} is sent what is for node {} and has no route there",
                self.name
            )));
        };
        self.hops[switch as usize] = Some(Progress::Open);
        let mut most = 0;
        for (hop, _) in row {
            most = most.max(self.visit(hop.to)? + 1);
        }
        self.hops[switch as usize] = Some(Progress::Done(most));
        Ok(most)
    }
}

/// Switches from which some of the rows lead to one of these.
fn leading_to(rows: &Rows, arrivals: &[u32]) -> HashSet<u32> {
    let mut into: HashMap<u32, Vec<u32>> = HashMap::new();
    for (&switch, row) in rows {
        row.iter().for_each(|(hop, _)| into.entry(hop.to).or_default().push(switch));
    }
    let mut found: HashSet<u32> = arrivals.iter().copied().collect();
    let mut next: Vec<u32> = arrivals.to_vec();
    while let Some(switch) = next.pop() {
        for &from in into.get(&switch).into_iter().flatten() {
            if found.insert(from) {
                next.push(from);
            }
        }
    }
    found
}

fn print(leaf: u32, rows: &Rows) -> Print {
    let entries = rows.iter().flat_map(|(switch, row)| row.iter().map(move |(hop, weight)| (switch, hop, weight)));
    (leaf, entries.map(|(switch, hop, weight)| (*switch, hop.link, weight.to_bits())).collect())
}

/// The rows that candidates amount to.
pub(super) fn rows(paths: &Paths, candidates: &Candidates) -> Vec<Route> {
    let mut routes = Vec::new();
    for (column, &attachment) in paths.attachments.iter().enumerate() {
        let destination = paths.switches[attachment as usize];
        for (switch, &node) in paths.switches.iter().enumerate() {
            for member in candidates.towards(switch as u32, column as u32) {
                let weight = candidates.weights[member] as f64;
                routes.push(Route { switch: node, destination, link: candidates.hops[member].link, weight });
            }
        }
    }
    routes
}
