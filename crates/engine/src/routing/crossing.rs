//! The NICs by which a connection leaves one server and enters another: for engines that move packets between NICs.

use super::{Connection, Topology};
use crate::{Picoseconds, Result};

/// A connection between servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// NIC nodes that send and receive.
    pub nics: [u32; 2],
    /// Links inside both servers, from the sending GPU to its NIC and from the receiving NIC to its GPU.
    pub inside: [u32; 4],
    /// Latency of those.
    pub latency: Picoseconds,
}

impl Topology {
    /// How a connection crosses from NIC to NIC; none where it needs no network.
    ///
    /// # Errors
    /// [`Error::Unreachable`](crate::Error::Unreachable) where no path joins the GPUs, [`Error::Graph`](crate::Error::Graph)
    /// where a node is no GPU.
    pub fn crossing(&self, connection: Connection) -> Result<Option<Crossing>> {
        let way = self.endpoints.way(&self.paths, connection)?;
        let (Some(between), &[a, b], &[c, d]) = (way.between, way.up, way.down) else { return Ok(None) };
        let inside = [a, b, c, d];
        let latency = inside.iter().map(|&link| self.graph.latency[link as usize]).sum();
        Ok(Some(Crossing { nics: [between.from.nic, between.to.nic], inside, latency }))
    }
}
