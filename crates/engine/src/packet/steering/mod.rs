//! Choices of a port for which a switch keeps, or is told, more than what stands before its own ports.
//!
//! A run has at most one of them, with its state apart from the ports: runs that choose by hash or queue read none of it.

mod flowlets;
mod source;
mod telemetry;

use eastwest_transport::Random;

use super::choice::{self, Choice};
use super::pool::Place;
use super::run::Simulation;
use super::transport::Transport;
use crate::routing::Worth;

use flowlets::Flowlets;
use source::SourceRoutes;
use telemetry::Telemetry;

/// What the switches of a run know.
pub(super) enum Steering<'a> {
    /// Nothing more.
    Plain,
    /// For each of `plugs`, the turns by which static tables choose, on the first tier and above.
    Pinned(Vec<[u32; 2]>),
    /// What ports are worth.
    Weighted(Worth),
    /// Where flows went last.
    Flowlets(Flowlets),
    /// What others told.
    Telemetry(Telemetry),
    /// Whole paths.
    Source(SourceRoutes<'a>),
}

impl<'a, T: Transport> Simulation<'a, T> {
    /// Prepares what the rule of choice needs; again whenever there are new routes, where it depends on them.
    pub(super) fn prepare_steering(&mut self) {
        if matches!(self.steering, Steering::Flowlets(_) | Steering::Source(_) | Steering::Pinned(_)) {
            return;
        }
        let tables = self.detour.as_deref().unwrap_or(self.forwarding);
        self.steering = match self.settings.choice {
            Choice::Hash | Choice::Random | Choice::ShortestQueue | Choice::ShorterOfTwo => Steering::Plain,
            Choice::Pinned => Steering::Pinned(self.forwarding.turns(self.graph, &self.plugs)),
            Choice::Weighted => Steering::Weighted(tables.worth(self.graph)),
            Choice::Flowlet { gap } => Steering::Flowlets(Flowlets::new(gap)),
            Choice::LeastCongested { every } => Steering::Telemetry(Telemetry::new(every, tables, &self.ports)),
            Choice::Source { values } => Steering::Source(SourceRoutes::new(self.forwarding, values)),
        };
    }

    /// The port by which a switch that knows more sends a packet on, of those that lead to its receiver.
    #[inline(never)]
    pub(super) fn steer(&mut self, switch: u32, place: Place, random: &mut Random) -> Option<u32> {
        let packet = &self.pool[place];
        let route = &self.routes[packet.flow as usize];
        let is_forward = usize::from(packet.kind.is_forward());
        let plane = self.plane(packet.entropy);
        let [from, at] = [1 - is_forward, is_forward].map(|end| (route.hosts[end] * self.planes) as usize + plane);
        let [from, to] = [from, at].map(|at| self.plugs[at].attachment);
        if let Steering::Source(routes) = &self.steering {
            return routes.port(switch, [from, to], route.pair, packet, self.planes);
        }
        let (tables, to) = match self.detour.as_deref() {
            Some(detour) => (detour, to),
            None => (self.forwarding, self.plugs[at].towards),
        };
        let (ports, seed) = (tables.next(switch, to), self.switch_seeds[switch as usize]);
        Some(match &mut self.steering {
            Steering::Pinned(turns) => ports[turns[at][tables.turn(switch, to)] as usize % ports.len()],
            Steering::Weighted(worth) => match worth.of(switch, to) {
                Some(worth) => choice::hashed_by_worth(ports, worth, route.pair, packet, seed),
                None => choice::hashed(ports, route.pair, packet, seed),
            },
            Steering::Flowlets(flowlets) => {
                let way = (switch, route.pair << 1 | is_forward as u32);
                flowlets.port(self.now, way, ports, random)
            }
            Steering::Telemetry(telemetry) => telemetry.port(self.now, to, ports, tables, &self.ports, random),
            Steering::Plain | Steering::Source(_) => return None,
        })
    }
}
