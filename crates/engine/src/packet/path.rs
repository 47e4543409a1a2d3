//! How long a packet takes on an empty network.

use crate::graph::Graph;
use crate::routing::Forwarding;
use crate::{Error, Picoseconds, Result};

/// Time that a packet of `there` bytes takes from one NIC to another and one of `back` bytes back, each stored and
/// forwarded at every switch; by the first of the shortest paths.
///
/// # Errors
/// [`Error::Graph`] where an end is no NIC or has no switch, [`Error::Unreachable`] where no path joins them.
pub fn round_trip(
    graph: &Graph,
    forwarding: &Forwarding,
    from: u32,
    to: u32,
    there: u32,
    back: u32,
) -> Result<Picoseconds> {
    Ok(one_way(graph, forwarding, from, to, there)? + one_way(graph, forwarding, to, from, back)?)
}

/// Longest such time between hosts: from the first of them to the farthest, and from there to the farthest again, which is
/// the longest of all where the network is a fat tree. Pairs that no path joins are passed over.
///
/// # Errors
/// [`Error::Graph`] where a host is no NIC or has no switch.
pub fn longest_round_trip(
    graph: &Graph,
    forwarding: &Forwarding,
    hosts: &[u32],
    there: u32,
    back: u32,
) -> Result<Picoseconds> {
    let farthest = |from: u32| {
        let mut found = (0, from);
        for &to in hosts.iter().filter(|&&to| to != from) {
            match round_trip(graph, forwarding, from, to, there, back) {
                Ok(time) => found = found.max((time, to)),
                Err(Error::Unreachable { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    };
    let Some(&first) = hosts.first() else { return Ok(0) };
    let (time, other) = farthest(first)?;
    Ok(time.max(farthest(other)?.0))
}

fn one_way(graph: &Graph, forwarding: &Forwarding, from: u32, to: u32, bytes: u32) -> Result<Picoseconds> {
    let plug = |node: u32| {
        let first = forwarding.plugs(graph, node)?.first().copied();
        first.ok_or_else(|| Error::Graph(format!("node {node} is plugged into no switch")))
    };
    let (out, into) = (plug(from)?, plug(to)?);
    let crossing = |link: u32| {
        let link = link as usize;
        graph.latency[link] + (f64::from(bytes) / graph.rate[link] * crate::PS_PER_S).round() as Picoseconds
    };
    let mut time = crossing(out.up) + crossing(into.down);
    let mut at = forwarding.switch(graph.dst[out.up as usize]);
    while let Some(switch) = at {
        if forwarding.attachment(switch) == Some(into.attachment) {
            return Ok(time);
        }
        let next = forwarding.next(switch, into.towards).first().copied();
        time += next.map_or(0, crossing);
        at = next.and_then(|link| forwarding.switch(graph.dst[link as usize]));
    }
    Err(Error::Unreachable { from, to })
}
