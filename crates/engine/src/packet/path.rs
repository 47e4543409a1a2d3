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
        let next = forwarding.next(switch, into.attachment).first().copied();
        time += next.map_or(0, crossing);
        at = next.and_then(|link| forwarding.switch(graph.dst[link as usize]));
    }
    Err(Error::Unreachable { from, to })
}
