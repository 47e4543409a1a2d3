//! A scene placed on a network: which NIC is which host, where it is plugged in, and everything as it is at the start.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use eastwest_transport::Random;

use super::changes::{Becomes, Change};
use super::contexts::Contexts;
use super::credits::Credits;
use super::draws::Draws;
use super::granting::Granter;
use super::outcome::{FlowOutcome, Totals};
use super::pool::Pool;
use super::port::{End, Port, SLOWEST};
use super::regions::{PORTS, Wheels};
use super::run::{Host, Route, Simulation};
use super::settings::{Buffers, NetworkSettings};
use super::steering::Steering;
use super::transport::Transport;
use super::triggers::{Flow, Trigger, Triggers};
use crate::graph::Graph;
use crate::routing::{Forwarding, Plug};
use crate::{Error, Picoseconds, Result};

/// Number of a host that no flow begins or ends at.
pub(super) const NO_FLOWS: u32 = u32::MAX;

/// What is to be run: a network, and what happens on it.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// NICs, switches and cables; rates on the wire.
    pub graph: &'a Graph,
    /// Its switches' tables.
    pub forwarding: &'a Forwarding,
    /// Who sends what to whom.
    pub flows: &'a [Flow],
    /// What starts flows when others end.
    pub triggers: &'a [Trigger],
    /// What becomes of links.
    pub changes: &'a [Change],
}

impl<'a, T: Transport> Simulation<'a, T> {
    /// Places flows on a network.
    ///
    /// # Errors
    /// [`Error::Graph`] where a flow's end is no NIC or has no switch, where NICs have different numbers of ports, a
    /// change names no link, or a link is slower than 1 Mb/s; [`Error::Unreachable`] where no path joins a flow's ends on
    /// any plane.
    pub fn new(scene: Scene<'a>, transport: &'a T, settings: NetworkSettings) -> Result<Self> {
        Self::with_hosts(scene, &[], transport, settings)
    }

    /// As [`Simulation::new`], with hosts besides those of its flows.
    pub(super) fn with_hosts(
        scene: Scene<'a>,
        nics: &[u32],
        transport: &'a T,
        settings: NetworkSettings,
    ) -> Result<Self> {
        let Scene { graph, forwarding, flows, triggers, changes } = scene;
        let mut plugging = Plugging::new(graph, forwarding);
        nics.iter().try_for_each(|&nic| plugging.host(nic).map(|_| ()))?;
        let mut routes = Vec::with_capacity(flows.len());
        for (index, flow) in (0..).zip(flows) {
            let hosts = [plugging.host(flow.from)?, plugging.host(flow.to)?];
            if !are_joined(forwarding, &plugging.plugs, plugging.planes, hosts) {
                return Err(Error::Unreachable { from: flow.from, to: flow.to });
            }
            routes.push(Route::new(hosts, index, flow.class));
        }
        let Plugging { host_of, planes, plugs, .. } = plugging;
        let host = |plugs: &[Plug]| Host {
            ups: plugs.iter().map(|plug| plug.up).collect(),
            ready: VecDeque::new(),
            late: 0,
            busy_until: 0,
        };
        let hosts: Vec<Host> = plugs.chunks(planes.max(1)).map(host).collect();
        let count = hosts.len();
        if let Some(change) = changes.iter().find(|change| change.link as usize >= graph.links()) {
            return Err(Error::Graph(format!("a change names link {}, which there is not", change.link)));
        }
        let changed = changes.iter().filter_map(|change| match change.becomes {
            Becomes::Rate(rate) => Some(rate),
            _ => None,
        });
        if let Some(rate) = graph.rate.iter().copied().chain(changed).find(|&rate| rate < SLOWEST) {
            return Err(Error::Graph(format!("a link of {rate} B/s is slower than the {SLOWEST} B/s of packets")));
        }
        let switch_seeds: Vec<u64> = (0..forwarding.switches() as u64)
            .map(|switch| Random::new(settings.seed ^ (switch << 20)).bits())
            .collect();
        let ports: Vec<Port> = (0..graph.links())
            .map(|link| {
                let [from, to] = [graph.src[link], graph.dst[link]].map(|node| match forwarding.switch(node) {
                    Some(switch) => End::Switch(switch),
                    None => End::Host(host_of[node as usize]),
                });
                let mut port = Port::new(graph.rate[link], graph.latency[link], from, to);
                port.loss = settings.loss;
                port
            })
            .collect();
        let wheel = Wheels::whole(&ports);
        let linger = ports.iter().map(Port::latency).max().unwrap_or(0);
        let credits = match settings.buffers {
            Buffers::Credits { buffer, fecn } => Some(Box::new(Credits::new(&ports, 1, buffer, fecn))),
            _ => None,
        };
        let attachments = (0..forwarding.switches() as u32).map(|switch| forwarding.attachment(switch));
        let mut simulation = Self {
            transport,
            settings,
            graph,
            forwarding,
            detour: None,
            changes,
            planes: planes as u32,
            plugs,
            attachment_of: attachments.map(|attachment| attachment.unwrap_or(u32::MAX)).collect(),
            ports,
            pool: Pool::default(),
            switch_seeds,
            steering: Steering::Plain,
            flows: Cow::Borrowed(flows),
            routes,
            senders: flows.iter().map(|_| None).collect(),
            receivers: flows.iter().map(|_| None).collect(),
            granters: Granter::each(transport.credits(), count),
            hosts,
            contexts: Contexts::new(settings.shares_contexts, transport.keeps(), linger),
            fates: vec![FlowOutcome::default(); flows.len()],
            timers: vec![Picoseconds::MAX; flows.len()],
            paced: vec![0; flows.len()],
            notifies_at: vec![0; count],
            paused_since: HashMap::new(),
            pauses: HashMap::new(),
            deaf_until: HashMap::new(),
            triggers: Triggers::new(triggers, flows)?,
            left: flows.len(),
            is_open: false,
            news: Vec::new(),
            sent: Vec::new(),
            host_of,
            to_start: 0,
            progress: 0,
            wheel,
            region: PORTS,
            now: 0,
            latest: 0,
            linger,
            draws: Draws::new(settings.seed),
            totals: Totals::default(),
            events: 0,
            credits,
            is_observed: false,
            capture: None,
            classes: None,
            recorder: None,
            cut_through: None,
        };
        simulation.prepare_steering();
        Ok(simulation)
    }
}

/// Hosts as flows name them, and where they are plugged in.
struct Plugging<'a> {
    graph: &'a Graph,
    forwarding: &'a Forwarding,
    host_of: Vec<u32>,
    planes: usize,
    plugs: Vec<Plug>,
}

impl<'a> Plugging<'a> {
    fn new(graph: &'a Graph, forwarding: &'a Forwarding) -> Self {
        Self { graph, forwarding, host_of: vec![NO_FLOWS; graph.nodes()], planes: 0, plugs: Vec::new() }
    }

    /// Number of a NIC as a host.
    fn host(&mut self, node: u32) -> Result<u32> {
        let Some(&known) = self.host_of.get(node as usize) else {
            return Err(Error::Graph(format!("there is no node {node}")));
        };
        if known != NO_FLOWS {
            return Ok(known);
        }
        let plugs = self.forwarding.plugs(self.graph, node)?;
        if plugs.is_empty() {
            return Err(Error::Graph(format!("node {node} is plugged into no switch")));
        }
        if self.plugs.is_empty() {
            self.planes = plugs.len();
        }
        if plugs.len() != self.planes {
            let (planes, other) = (plugs.len(), self.planes);
            return Err(Error::Graph(format!(
                "node {node} has {planes} ports, another NIC {other}: all must have as many"
            )));
        }
        let host = (self.plugs.len() / self.planes) as u32;
        self.host_of[node as usize] = host;
        self.plugs.extend(plugs);
        Ok(host)
    }
}

/// Whether a path joins two hosts on any plane.
pub(super) fn are_joined(forwarding: &Forwarding, plugs: &[Plug], planes: usize, hosts: [u32; 2]) -> bool {
    let [from, to] = hosts.map(|host| &plugs[host as usize * planes..][..planes]);
    from.iter().zip(to).any(|(from, to)| forwarding.joins(from.attachment, to.towards))
}
