//! What of a program's traffic is lost while links are down and routes are as before. Not here: what then happens, which
//! is the transport's business.

use super::demands::places;
use super::queue_pairs;
use super::strand::{Edge, describe};
use crate::Result;
use crate::program::{Carriage, Collective, Program, Work};
use crate::routing::{Connection, Down, Router};

/// Connections that leave their server, and of these what crosses a link that is down.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Losses {
    /// Connections between servers, one an edge of a collective's channel and one a message.
    pub connections: f64,
    /// Of them, those that lose anything.
    pub hit: f64,
    /// Bytes of all connections between servers.
    pub bytes: f64,
    /// Of them, those that are lost.
    pub lost: f64,
    /// For each rank, whether it takes part in something that a connection loses from.
    pub waits: Vec<bool>,
}

/// Adds up what a program loses where `down` says of each link whether it is down.
///
/// # Errors
/// [`crate::Error::Program`] and [`crate::Error::Unreachable`] as lowering has them.
pub fn losses(router: &Router, program: &Program, down: &[bool]) -> Result<Losses> {
    let mut audit = Audit {
        router,
        gpu: &program.gpu,
        down: Down::new(down),
        shares: Vec::new(),
        found: Losses { waits: vec![false; program.gpu.len()], ..Losses::default() },
    };
    for op in &program.ops {
        match &op.work {
            Work::Compute { .. } => {}
            Work::Collective { groups, collective } => {
                groups.iter().try_for_each(|group| audit.collective(collective, group))?;
            }
            Work::SendRecv { pairs, bytes, carriage, .. } => {
                pairs.iter().try_for_each(|&(from, to)| audit.message(from, to, *bytes, carriage))?;
            }
            Work::Storage { groups, flows, bytes, carriage } => {
                let mut each = groups.iter().zip(flows);
                each.try_for_each(|(group, flows)| audit.flows(group, flows, *bytes, carriage))?;
            }
        }
    }
    Ok(audit.found)
}

struct Audit<'a> {
    router: &'a Router<'a>,
    gpu: &'a [u32],
    down: Down<'a>,
    shares: Vec<f64>,
    found: Losses,
}

impl Audit<'_> {
    fn collective(&mut self, collective: &Collective, group: &[u32]) -> Result<()> {
        let before = self.found.hit;
        let place = places(self.router, self.gpu);
        describe(collective, group, &place, &mut |_, strand| {
            let edges = strand.edges.iter();
            edges.copied().try_for_each(|edge| self.edge(edge, strand.channel, strand.spread, &collective.carriage))
        })?;
        if self.found.hit > before {
            group.iter().for_each(|&rank| self.found.waits[rank as usize] = true);
        }
        Ok(())
    }

    fn message(&mut self, from: u32, to: u32, bytes: f64, carriage: &Carriage) -> Result<()> {
        let before = self.found.hit;
        self.edge(Edge::ranks(from, to, bytes), 0, 1, carriage)?;
        if self.found.hit > before {
            [from, to].iter().for_each(|&rank| self.found.waits[rank as usize] = true);
        }
        Ok(())
    }

    fn flows(&mut self, group: &[u32], flows: &[(u32, u32)], bytes: f64, carriage: &Carriage) -> Result<()> {
        let before = self.found.hit;
        for &(from, to) in flows {
            let part = bytes / flows.len() as f64;
            self.connection(Connection { from, to, channel: 0 }, part, 1, carriage)?;
        }
        if self.found.hit > before {
            group.iter().for_each(|&rank| self.found.waits[rank as usize] = true);
        }
        Ok(())
    }

    fn edge(&mut self, edge: Edge, channel: u32, spread: u32, carriage: &Carriage) -> Result<()> {
        let (Some(from), Some(to)) = (edge.from.rank(), edge.to.rank()) else { return Ok(()) };
        let ends = Connection { from: self.gpu[from as usize], to: self.gpu[to as usize], channel };
        self.connection(ends, edge.bytes, spread, carriage)
    }

    fn connection(&mut self, ends: Connection, bytes: f64, spread: u32, carriage: &Carriage) -> Result<()> {
        if bytes == 0.0 {
            return Ok(());
        }
        queue_pairs::fill(carriage, bytes, spread, &mut self.shares);
        if let Some(lost) = self.router.lost(ends, &self.shares, &mut self.down)? {
            self.found.connections += 1.0;
            self.found.hit += f64::from(lost > ROUNDING);
            self.found.bytes += bytes;
            self.found.lost += lost * bytes;
        }
        Ok(())
    }
}

/// What sums of shares may be off by.
const ROUNDING: f64 = 1e-9;
