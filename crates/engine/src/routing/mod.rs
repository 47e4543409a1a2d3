//! From two GPUs to the resources between them: shortest paths, load balancing, and what shares a resource.
//!
//! A [`Topology`] holds what no seed changes (distances, candidate links, how GPUs reach switches) and serves any
//! number of [`Router`]s, each one draw of the hash seeds. Nothing here knows rates over time or collectives.

mod aggregation;
mod balance;
mod candidates;
mod crossing;
mod down;
mod endpoint;
mod ends;
mod field;
mod forwarding;
mod hash;
mod paths;
mod pinned;
mod ranking;
mod resources;
mod router;
mod spread;
mod tables;
mod topology;
mod weights;

pub use aggregation::AggregationTree;
pub use balance::Balancing;
pub use crossing::Crossing;
pub(crate) use down::Down;
pub(crate) use ends::{Exit, neighbourhoods};
pub use forwarding::{Forwarding, Plug, Worth};
pub use ranking::Ranking;
pub use resources::Resources;
pub use router::Router;
pub use tables::Route;
pub use topology::Topology;

/// An index that names nothing.
const NONE: u32 = u32::MAX;

/// What a connection puts on one resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leg {
    /// Index into [`Resources`].
    pub resource: u32,
    /// Share of the connection's bytes that cross the resource, summed over its links.
    pub share: f64,
}

/// One GPU sending to another over one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// GPU node that sends.
    pub from: u32,
    /// GPU node that receives.
    pub to: u32,
    /// Channel; GPUs with several NIC ports take turns over them by channel.
    pub channel: u32,
}
