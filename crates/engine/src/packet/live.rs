//! Flows that come as a run goes on: the door for whoever moves data by packets and decides meanwhile what is sent next.
//!
//! The events are handled by the same loop as those of [`Simulation::run`]; it pauses where there is something to tell.

use std::sync::atomic::AtomicBool;

use super::changes::Change;
use super::outcome::{FlowOutcome, PacketOutcome};
use super::placing::{Scene, are_joined};
use super::run::{Halt, Route, Simulation};
use super::settings::NetworkSettings;
use super::transport::Transport;
use super::triggers::{Flow, Start};
use crate::graph::Graph;
use crate::routing::Forwarding;
use crate::{Error, Picoseconds, Result};

/// What becomes of a flow, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// Each of its packets has left its sender at least once: the next of its queue pair may begin.
    Sent(u32),
    /// All of it has arrived.
    Received(u32),
}

/// A message that is to be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// NIC node that sends.
    pub from: u32,
    /// NIC node that receives.
    pub to: u32,
    /// Bytes.
    pub bytes: u64,
    /// Queue pair that carries it, by a number of the caller's: messages of one share its hash.
    pub pair: u32,
}

/// A network of queues under way, whatever its transport.
pub trait Live {
    /// Begins to send a message at the present time, and gives the number of its flow: they count from 0.
    ///
    /// # Errors
    /// [`Error::Graph`] where an end is no host; [`Error::Unreachable`] where no path joins the ends.
    fn send(&mut self, message: Message) -> Result<u32>;

    /// Goes on until a time, or until there are news, which are appended; gives the time that was reached.
    ///
    /// # Errors
    /// [`Error::Program`] where flows are under way and nothing new arrives any more; [`Error::Interrupted`] once `stop`
    /// is set.
    fn advance(&mut self, until: Picoseconds, stop: &AtomicBool, news: &mut Vec<News>) -> Result<Picoseconds>;

    /// Bytes that each link has carried, headers and answers included.
    fn sent(&self) -> Vec<u64>;

    /// Ends the run: the fates of all flows, and counts.
    ///
    /// # Errors
    /// [`Error::Internal`] where packets do not add up.
    fn finish(self: Box<Self>) -> Result<PacketOutcome>;
}

impl<'a, T: Transport> Simulation<'a, T> {
    /// A network without flows yet, between these NICs, and what is to become of its links.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn open(
        graph: &'a Graph,
        forwarding: &'a Forwarding,
        nics: &[u32],
        changes: &'a [Change],
        transport: &'a T,
        settings: NetworkSettings,
    ) -> Result<Self> {
        let scene = Scene { graph, forwarding, flows: &[], triggers: &[], changes };
        let mut simulation = Self::with_hosts(scene, nics, transport, settings)?;
        (simulation.is_open, simulation.is_observed, simulation.left) = (true, true, 1);
        simulation.sent = vec![0; graph.links()];
        simulation.expect_changes();
        Ok(simulation)
    }

    /// Tells, once, that all packets of a flow have been sent.
    pub(super) fn tell_if_sent(&mut self, flow: u32) {
        use eastwest_transport::Sender;
        let Some(sender) = &self.senders[flow as usize] else { return };
        let route = &mut self.routes[flow as usize];
        if !route.is_told && sender.has_sent_all() {
            route.is_told = true;
            self.news.push(News::Sent(flow));
        }
    }
}

impl<T: Transport> Live for Simulation<'_, T> {
    fn send(&mut self, message: Message) -> Result<u32> {
        let Message { from, to, bytes, pair } = message;
        let host = |node: u32| {
            let known = self.host_of.get(node as usize).copied().filter(|&host| host != u32::MAX);
            known.ok_or_else(|| Error::Graph(format!("node {node} is no host")))
        };
        let hosts = [host(from)?, host(to)?];
        if !are_joined(self.forwarding, &self.plugs, self.planes as usize, hosts) {
            return Err(Error::Unreachable { from, to });
        }
        let flow = self.flows.len() as u32;
        let start = Start::At(self.now);
        self.flows.to_mut().push(Flow { from, to, bytes, class: 0, start, when_sent: None, when_received: None });
        self.routes.push(Route::new(hosts, pair, 0));
        self.senders.push(None);
        self.receivers.push(None);
        self.fates.push(FlowOutcome::default());
        self.timers.push(Picoseconds::MAX);
        self.paced.push(0);
        self.left += 1;
        self.to_start += 1;
        self.start(flow);
        Ok(flow)
    }

    fn advance(&mut self, until: Picoseconds, stop: &AtomicBool, news: &mut Vec<News>) -> Result<Picoseconds> {
        let halt = self.handle(until, stop)?;
        if self.totals.failed > 0 {
            return Err(Error::Program(
                "a queue pair has given up: what it sent was not acknowledged however often it was sent again"
                    .to_owned(),
            ));
        }
        if self.news.is_empty() {
            if halt == Halt::Quiet && self.fates.iter().any(|fate| fate.received.is_none()) {
                return Err(Error::Program(format!(
                    "packets are stuck: nothing new has arrived anywhere since {} us, as in a deadlock of pauses or \
                     where no routes lead around what is down",
                    self.progress / 1_000_000
                )));
            }
            self.now = until;
        }
        news.append(&mut self.news);
        Ok(self.now)
    }

    fn sent(&self) -> Vec<u64> {
        self.sent.clone()
    }

    fn finish(self: Box<Self>) -> Result<PacketOutcome> {
        Simulation::finish(*self)
    }
}
