//! Weights of candidate links by what lies behind them, seen from each destination backwards.

use std::collections::HashMap;

use super::candidates::{Candidates, Hop, whole};
use super::paths::Paths;
use crate::graph::Graph;

/// Weights in proportion to the capacity that leads on, as weighted ECMP has them (Zhou et al., "WCMP: weighted cost
/// multipathing for improved fairness in data centers", EuroSys 2014).
///
/// Links to one next switch count together. They are worth their rate, or their part of what leads on from there if that
/// is less: all links that lead to the destination by way of that switch share it in proportion to their rates, as if all
/// who feed it sent alike. What leads on from a switch is the sum of what its links are worth; at the destination it has
/// no bound.
pub(super) fn by_capacity(graph: &Graph, paths: &Paths) -> Option<Candidates> {
    let rate = |hop: &Hop| graph.rate[hop.link as usize];
    let mut inflow = vec![0.0; paths.switches.len()];
    let feed = |destination: u32, order: &[u32], inflow: &mut Vec<f64>| {
        inflow.fill(0.0);
        for &switch in order {
            let hops = paths.candidates.choice(switch, destination).hops;
            hops.iter().for_each(|hop| inflow[hop.to as usize] += rate(hop));
        }
    };
    let mut fed = u32::MAX;
    weighed(graph, paths, f64::INFINITY, |destination, order, hops, onward, weights| {
        if fed != destination {
            feed(destination, order, &mut inflow);
            fed = destination;
        }
        weights.extend(hops.iter().map(|hop| rate(hop) * (onward[hop.to as usize] / inflow[hop.to as usize]).min(1.0)));
    })
}

/// Weights in proportion to the number of shortest paths, so that all paths carry alike: what a sender that chooses
/// whole paths evenly makes of them.
pub(super) fn by_paths(graph: &Graph, paths: &Paths) -> Option<Candidates> {
    weighed(graph, paths, 1.0, |_, _, hops, onward, weights| {
        weights.extend(hops.iter().map(|hop| onward[hop.to as usize]));
    })
}

/// What a switch finds out for a destination; the same for all switches with links of the same rates to the same others.
#[derive(Clone)]
struct Found {
    destination: u32,
    /// Sum of the weights.
    onward: f64,
    /// The weights; none where all are alike.
    weights: Option<Vec<u64>>,
}

/// The paths' candidates with weights, or none where all are alike: `weigh` is given a destination, the switches that it
/// is reached from, the nearest first, the hops of one of them, and the sums of weights of the switches nearer by; that
/// of the destination itself is `arrived`.
fn weighed(
    graph: &Graph,
    paths: &Paths,
    arrived: f64,
    mut weigh: impl FnMut(u32, &[u32], &[Hop], &[f64], &mut Vec<f64>),
) -> Option<Candidates> {
    let kinds = kinds(graph, &paths.candidates);
    let nothing = Found { destination: u32::MAX, onward: 0.0, weights: None };
    let mut found = vec![nothing; kinds.len()];
    let mut onward = vec![0.0; paths.switches.len()];
    let (mut order, mut weights) = (Vec::new(), Vec::new());
    let mut uneven: HashMap<(u32, Vec<u64>), u32> = HashMap::new();
    let mut reweighed: Option<Candidates> = None;
    for destination in 0..paths.attachments.len() as u32 {
        paths.nearest_first(destination, &mut order);
        for &switch in &order {
            let set = paths.candidates.set_of(switch, destination);
            let hops = &paths.candidates.hops[paths.candidates.members(set)];
            if hops.is_empty() {
                onward[switch as usize] = arrived;
                continue;
            }
            let found = &mut found[kinds[set as usize] as usize];
            if found.destination != destination {
                weights.clear();
                weigh(destination, &order, hops, &onward, &mut weights);
                let parts = whole(&weights);
                let is_even = parts.iter().all(|&part| part == parts[0]);
                *found = Found { destination, onward: weights.iter().sum(), weights: (!is_even).then_some(parts) };
            }
            onward[switch as usize] = found.onward;
            if let Some(weights) = &found.weights {
                let reweighed = reweighed.get_or_insert_with(|| paths.candidates.clone());
                let set = uneven.entry((set, weights.clone())).or_insert_with(|| reweighed.push(hops, weights));
                reweighed.replace(switch, destination, *set);
            }
        }
    }
    reweighed
}

/// For each set, the number of the first with links of the same rates to the same switches.
fn kinds(graph: &Graph, candidates: &Candidates) -> Vec<u32> {
    let mut known: HashMap<Vec<(u32, u64)>, u32> = HashMap::new();
    let alike = |hop: &Hop| (hop.to, graph.rate[hop.link as usize].to_bits());
    let sets = candidates.sets().enumerate();
    sets.map(|(set, members)| {
        let hops = candidates.hops[members].iter().map(alike).collect();
        *known.entry(hops).or_insert(set as u32)
    })
    .collect()
}
