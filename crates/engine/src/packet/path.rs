//! How long a packet takes on an empty network.

use crate::graph::Graph;
use crate::routing::Forwarding;
use crate::{Error, Picoseconds, Result};

/// Time that a packet of `there` bytes takes from one NIC to another and one of `back` bytes back, by the first of the
/// shortest paths. Each is stored and forwarded at every switch, or forwarded once `header` bytes of it have come.
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
    header: Option<u16>,
) -> Result<Picoseconds> {
    Ok(one_way(graph, forwarding, from, to, there, header)? + one_way(graph, forwarding, to, from, back, header)?)
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
    header: Option<u16>,
) -> Result<Picoseconds> {
    let farthest = |from: u32| {
        let mut found = (0, from);
        for &to in hosts.iter().filter(|&&to| to != from) {
            match round_trip(graph, forwarding, from, to, there, back, header) {
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

fn one_way(
    graph: &Graph,
    forwarding: &Forwarding,
    from: u32,
    to: u32,
    bytes: u32,
    header: Option<u16>,
) -> Result<Picoseconds> {
    let plug = |node: u32| {
        let first = forwarding.plugs(graph, node)?.first().copied();
        first.ok_or_else(|| Error::Graph(format!("node {node} is plugged into no switch")))
    };
    let (out, into) = (plug(from)?, plug(to)?);
    let needed = header.map_or(bytes, |header| bytes.min(header.into()));
    let time_of =
        |link: u32, bytes: u32| (f64::from(bytes) / graph.rate[link as usize] * crate::PS_PER_S).round() as Picoseconds;
    // When a packet can begin to leave by the next link, of one that begins to leave by a link at a time: once enough of it
    // is in, and not so early that its last bit would be due before it is in.
    let next_start = |start: Picoseconds, link: u32, next: u32| {
        let first = start + graph.latency[link as usize];
        let whole = first + time_of(link, bytes);
        (first + time_of(link, needed)).max(whole.saturating_sub(time_of(next, bytes)))
    };
    let (mut start, mut link) = (0, out.up);
    let mut at = forwarding.switch(graph.dst[link as usize]);
    while let Some(switch) = at {
        if forwarding.attachment(switch) == Some(into.attachment) {
            let start = next_start(start, link, into.down);
            return Ok(start + time_of(into.down, bytes) + graph.latency[into.down as usize]);
        }
        let Some(&next) = forwarding.next(switch, into.towards).first() else { break };
        start = next_start(start, link, next);
        link = next;
        at = forwarding.switch(graph.dst[link as usize]);
    }
    Err(Error::Unreachable { from, to })
}
