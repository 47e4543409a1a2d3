//! What goes wrong, and is mended, while packets are under way: links that go down and come back, slow down, or err;
//! NICs that are lost, or hand over their messages late.
//!
//! A link that is down loses what waits for it, and what arrives by it. Until routes are recomputed, switches go on
//! sending packets its way, which are lost; a NIC knows at once that its own port is down.

use eastwest_transport::Sender;

use super::event::Event;
use super::port::End;
use super::run::Simulation;
use super::transport::Transport;
use crate::Picoseconds;
use crate::routing::Forwarding;

/// What becomes of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Becomes {
    /// Nothing passes.
    Down,
    /// All passes again.
    Up,
    /// It carries so many bytes a second.
    Rate(f64),
    /// It loses so many packets of a thousand million to bit errors; all of them where the switch that it leads to has
    /// no routes, and these count as dropped.
    Erring(u32),
    /// Down, with the NIC that it begins at: flows from and to it are given up.
    Lost,
    /// Messages of the NIC that it begins at start so much later than they are due.
    Late(Picoseconds),
}

/// A link changes, in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// When.
    pub at: Picoseconds,
    /// Which link.
    pub link: u32,
    /// Into what.
    pub becomes: Becomes,
    /// How much later all switches have new routes; none where nobody computes any (MRC's static routes).
    pub routes_after: Option<Picoseconds>,
}

impl<T: Transport> Simulation<'_, T> {
    /// Schedules all changes.
    pub(super) fn expect_changes(&mut self) {
        for (index, change) in self.changes.iter().enumerate() {
            self.wheel.add_for_all(change.at, Event::Change.word(index as u32));
            let alters_paths = matches!(change.becomes, Becomes::Down | Becomes::Up);
            if let Some(delay) = change.routes_after.filter(|_| alters_paths) {
                self.wheel.add_for_all(change.at + delay, Event::Routes.word(0));
            }
        }
    }

    pub(super) fn change(&mut self, index: u32) {
        let Change { link, becomes, .. } = self.changes[index as usize];
        match becomes {
            Becomes::Down => self.take_down(link),
            Becomes::Lost => {
                self.take_down(link);
                if let End::Host(host) = self.ports[link as usize].from {
                    self.abandon(host);
                }
            }
            Becomes::Late(time) => {
                if let End::Host(host) = self.ports[link as usize].from {
                    if let Some(host) = self.hosts.get_mut(host as usize) {
                        host.late = time;
                    }
                }
            }
            Becomes::Up => {
                self.end_pause(link);
                let port = &mut self.ports[link as usize];
                (port.is_down, port.is_paused, port.is_pausing) = (false, false, false);
                if let Some(table) = &mut self.classes {
                    self.totals.paused += table.reopen(link, self.now);
                }
                self.wake_port(link);
            }
            Becomes::Rate(rate) => self.ports[link as usize].set_rate(rate),
            Becomes::Erring(loss) => self.ports[link as usize].loss = loss.max(self.settings.loss),
        }
    }

    fn take_down(&mut self, link: u32) {
        self.ports[link as usize].is_down = true;
        self.empty(link);
    }

    /// Gives up all flows from and to a host that have not ended.
    fn abandon(&mut self, host: u32) {
        for flow in 0..self.routes.len() {
            let route = &mut self.routes[flow];
            let is_over = self.fates[flow].start.is_some() && self.senders[flow].is_none();
            if !route.hosts.contains(&host) || route.is_lost || is_over {
                continue;
            }
            route.is_lost = true;
            self.totals.lost_flows += 1;
            self.left -= 1;
            if let Some(sender) = self.senders[flow].take() {
                self.fates[flow].retransmits = sender.retransmits();
                self.totals.retransmits += sender.retransmits();
                self.contexts.leave(self.routes[flow].context, self.now);
                let region = self.region_of(self.routes[flow].hosts[1]);
                self.wheel.send(region, self.now + self.linger, Event::Forget.word(flow as u32));
            }
        }
    }

    /// Gives all switches routes around the links that are down now.
    pub(super) fn reroute(&mut self) {
        let is_down: Vec<bool> = self.ports.iter().map(|port| port.is_down).collect();
        self.detour = is_down.contains(&true).then(|| Box::new(Forwarding::around(self.graph, &is_down)));
        self.prepare_steering();
    }

    /// Loses all that waits before a port.
    pub(super) fn empty(&mut self, index: u32) {
        self.empty_classes(index);
        let port = &mut self.ports[index as usize];
        (port.data_bytes, port.urgent_bytes) = (0, 0);
        let urgent = std::mem::take(&mut port.urgent);
        let data = std::mem::take(&mut port.data);
        for waiting in data {
            self.release(index, waiting.size);
            self.lose(index, waiting.place);
        }
        urgent.into_iter().for_each(|waiting| self.lose(index, waiting.place));
    }

    /// Sees to it that a port sends what waits, now or when it is free.
    pub(super) fn wake_port(&mut self, index: u32) {
        let port = &mut self.ports[index as usize];
        if !port.is_armed {
            port.is_armed = true;
            self.wheel.send(port.regions[0], port.free_at.max(self.now), Event::Free.word(index));
        }
    }

    /// Whether a port leaves a NIC.
    pub(super) fn is_nic(&self, index: u32) -> bool {
        matches!(self.ports[index as usize].from, End::Host(_))
    }
}
