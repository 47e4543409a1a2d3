//! The event loop: packets from host to host.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};

use eastwest_transport::{Flags, Kind, Random, Sender};

use super::capture::Capture;
use super::changes::{Becomes, Change};
use super::choice::Choice;
use super::classes::Table;
use super::contexts::Contexts;
use super::credits::Credits;
use super::cut_through::CutThrough;
use super::draws::{Draws, Purpose};
use super::granting::Granter;
use super::live::News;
use super::outcome::{FlowOutcome, PacketOutcome, Totals};
use super::pool::{Place, Pool};
use super::port::{End, Port, SLOWEST, Waiting};
use super::ports::Pauses;
use super::regions::{Onward, PORTS, Wheels};
use super::series::Recorder;
use super::settings::{Buffers, NetworkSettings};
use super::steering::Steering;
use super::transport::Transport;
use super::triggers::{Flow, Start, Trigger, Triggers};
use crate::graph::Graph;
use crate::routing::{Forwarding, Plug};
use crate::{Error, Picoseconds, Result};

/// Number of a host that no flow begins or ends at.
const NO_FLOWS: u32 = u32::MAX;

/// What losses are parts of.
const LOSS_WHOLE: u64 = 1_000_000_000;

/// How many events pass between looks at whether to stop.
const LISTEN_EVERY: u64 = 1 << 16;

/// What an event is about, in the upper bits of its word; the lower ones name the port, flow or host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Event {
    Arrive = 0,
    Free = 1,
    Pause = 2,
    Resume = 3,
    Start = 4,
    Deadline = 5,
    Change = 6,
    Routes = 7,
    Watchdog = 8,
    Forget = 9,
    Completion = 10,
    Grant = 12,
    Enter = 13,
}

/// Bits that name the port, flow or host of an event.
pub(super) const NAME_BITS: u32 = 28;

impl Event {
    pub fn word(self, name: u32) -> u32 {
        (self as u32) << NAME_BITS | name
    }

    fn of(word: u32) -> (Self, u32) {
        let event = match word >> NAME_BITS {
            0 => Self::Arrive,
            1 => Self::Free,
            2 => Self::Pause,
            3 => Self::Resume,
            4 => Self::Start,
            5 => Self::Deadline,
            6 => Self::Change,
            7 => Self::Routes,
            8 => Self::Watchdog,
            10 => Self::Completion,
            12 => Self::Grant,
            13 => Self::Enter,
            _ => Self::Forget,
        };
        (event, word & ((1 << NAME_BITS) - 1))
    }
}

/// Why no more events are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// The time has come, no flow is left, or there is something to tell.
    Due,
    /// Nothing more can happen, or nothing new has come anywhere for too long.
    Quiet,
}

/// A flow's two ends in the network, and whether its sender stands in its NIC's queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    /// Sending and receiving host.
    pub hosts: [u32; 2],
    /// Queue pair: flows of one are hashed alike.
    pub pair: u32,
    /// Traffic class.
    pub class: u8,
    pub is_ready: bool,
    /// Whether it has been told that all of it was sent.
    pub is_told: bool,
    /// Whether it has been put off, as its host was late.
    pub is_late: bool,
    /// Whether it was given up.
    pub is_lost: bool,
    /// Whether it stands among those that found no room in their context.
    pub is_refused: bool,
    /// Place of its context, once it has started.
    pub context: u32,
}

impl Route {
    /// Between two hosts, by a queue pair, in a traffic class.
    pub fn new(hosts: [u32; 2], pair: u32, class: u8) -> Self {
        Self {
            hosts,
            pair,
            class,
            is_ready: false,
            is_told: false,
            is_late: false,
            is_lost: false,
            is_refused: false,
            context: u32::MAX,
        }
    }
}

/// A NIC: its ports, one a plane, and the flows that may have something to send, in turn.
#[derive(Debug)]
pub(super) struct Host {
    pub ups: Box<[u32]>,
    pub ready: VecDeque<u32>,
    /// By how much it starts what is due later.
    pub late: Picoseconds,
    /// Until when its software is busy with messages.
    pub busy_until: Picoseconds,
}

/// A network with flows, as it runs.
pub struct Simulation<'a, T: Transport> {
    pub(super) transport: &'a T,
    pub(super) settings: NetworkSettings,
    pub(super) graph: &'a Graph,
    pub(super) forwarding: &'a Forwarding,
    /// Routes around what is down, once there are any.
    pub(super) detour: Option<Box<Forwarding>>,
    pub(super) changes: &'a [Change],
    pub(super) ports: Vec<Port>,
    pub(super) pool: Pool,
    pub(super) attachment_of: Vec<u32>,
    pub(super) switch_seeds: Vec<u64>,
    /// What switches know beyond their own queues.
    pub(super) steering: Steering<'a>,
    pub(super) hosts: Vec<Host>,
    /// Ports of every NIC.
    pub(super) planes: u32,
    /// Where each host is plugged in: one entry a plane.
    pub(super) plugs: Vec<Plug>,
    pub(super) flows: Cow<'a, [Flow]>,
    pub(super) routes: Vec<Route>,
    pub(super) senders: Vec<Option<Box<T::Sender>>>,
    pub(super) receivers: Vec<Option<Box<T::Receiver>>>,
    pub(super) contexts: Contexts<T>,
    /// Of each host, where receivers grant credit.
    pub(super) granters: Vec<Granter>,
    pub(super) fates: Vec<FlowOutcome>,
    pub(super) timers: Vec<Picoseconds>,
    /// When each flow is asked again that its rate held back.
    pub(super) paced: Vec<Picoseconds>,
    /// When each host may tell of congestion again.
    pub(super) notifies_at: Vec<Picoseconds>,
    /// Since when ports are paused.
    pub(super) paused_since: HashMap<u32, Picoseconds>,
    /// Of ports that were ever asked to pause.
    pub(super) pauses: HashMap<u32, Pauses>,
    /// Ports that hear no pause until a time, after a storm.
    pub(super) deaf_until: HashMap<u32, Picoseconds>,
    pub(super) triggers: Triggers,
    /// Flows that have not ended, and one more as long as others may be added.
    pub(super) left: usize,
    /// Whether flows may be added, and what becomes of them is told.
    pub(super) is_open: bool,
    pub(super) news: Vec<News>,
    /// Then: bytes that each port has sent, headers and answers included.
    pub(super) sent: Vec<u64>,
    /// Host of each NIC node.
    pub(super) host_of: Vec<u32>,
    /// Flows that are yet to start at a time of their own.
    pub(super) to_start: usize,
    /// When something new last came to a receiver, or a flow started.
    pub(super) progress: Picoseconds,
    pub(super) wheel: Wheels,
    /// Ports of a region, in about.
    region: usize,
    pub(super) now: Picoseconds,
    /// The latest time of an event, as regions take turns.
    latest: Picoseconds,
    /// How long after its sender a receiver ends: the longest latency of a cable, so that no region hears of it too late.
    pub(super) linger: Picoseconds,
    pub(super) draws: Draws,
    pub(super) totals: Totals,
    pub(super) events: u64,
    /// Credits of every cable, where a run has them.
    pub(super) credits: Option<Box<Credits>>,
    /// Whether anybody looks at each packet that leaves: a capture, a series, or who asks what ports have sent.
    pub(super) is_observed: bool,
    /// What leaves by chosen links, where that is wanted.
    pub(super) capture: Option<Box<Capture>>,
    /// The run over time, where that is wanted.
    pub(super) recorder: Option<Box<Recorder>>,
    /// Traffic classes, where there are any: then they hold the queues of data.
    pub(super) classes: Option<Box<Table>>,
    /// Whether switches send packets on while they come in.
    pub(super) cut_through: Option<Box<CutThrough>>,
}

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
    /// change names no link, or a link is slower than 1 Mb/s; [`Error::Unreachable`] where no path joins a flow's ends on any plane.
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

    /// Works on regions of about so many ports in turn: results are the same, whatever their number.
    pub fn with_regions_of(mut self, ports: usize) -> Self {
        self.region = ports;
        self
    }

    /// Runs until every flow has ended, nothing more can happen, or a time.
    ///
    /// # Errors
    /// [`Error::Interrupted`] once `stop` is set; [`Error::Internal`] where packets do not add up.
    pub fn run(mut self, until: Picoseconds, stop: &AtomicBool) -> Result<PacketOutcome> {
        self.part();
        for (flow, given) in self.flows.iter().enumerate() {
            if let Start::At(time) = given.start {
                self.to_start += 1;
                let region = self.region_of(self.routes[flow].hosts[0]);
                self.wheel.send(region, time, Event::Start.word(flow as u32));
            }
        }
        self.expect_changes();
        self.handle(until, stop)?;
        self.finish()
    }

    /// Parts the network into regions, unless what happens in one may be heard of in another at once.
    fn part(&mut self) {
        let acts_at_once = |flow: &Flow| flow.when_sent.is_some() || flow.when_received.is_some();
        let tells_at_once = matches!(self.settings.choice, Choice::LeastCongested { .. });
        if self.capture.is_none() && self.credits.is_none() && !tells_at_once && !self.flows.iter().any(acts_at_once) {
            self.wheel = Wheels::parted(&mut self.ports, self.switch_seeds.len(), self.hosts.len(), self.region);
        }
    }

    /// The region of a host.
    pub(super) fn region_of(&self, host: u32) -> u16 {
        self.ports[self.hosts[host as usize].ups[0] as usize].regions[0]
    }

    /// Handles events until a time, until no flow is left, or until there is something to tell.
    ///
    /// # Errors
    /// [`Error::Interrupted`] once `stop` is set.
    pub(super) fn handle(&mut self, until: Picoseconds, stop: &AtomicBool) -> Result<Halt> {
        self.wheel.close(until.min(self.sample_due()));
        loop {
            if (self.left == 0 && self.pool.is_empty()) || !self.news.is_empty() {
                return Ok(Halt::Due);
            }
            let (time, word, place) = match self.wheel.next() {
                Some(due) => (due.time(), due.event(), due.place()),
                None => {
                    self.latest = self.latest.max(self.now);
                    match self.wheel.onward(until.min(self.sample_due())) {
                        Onward::Region => continue,
                        Onward::All(time, word) => (time, word, 0),
                        Onward::Later(time) if time > until => return Ok(Halt::Due),
                        Onward::Later(time) => {
                            self.sample_before(time);
                            continue;
                        }
                        Onward::Nothing => return Ok(Halt::Quiet),
                    }
                }
            };
            self.now = time;
            self.events += 1;
            if self.events % LISTEN_EVERY == 0 && stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            match Event::of(word) {
                (Event::Arrive, port) => self.arrive(port, place),
                (Event::Free, port) => self.free(port),
                (Event::Pause, port) => self.pause(port),
                (Event::Resume, port) => self.resume(port),
                (Event::Start, flow) => self.start(flow),
                (Event::Deadline, _) if self.is_stuck() => return Ok(Halt::Quiet),
                (Event::Deadline, flow) => self.deadline(flow),
                (Event::Change, index) => self.change(index),
                (Event::Routes, _) => self.reroute(),
                (Event::Watchdog, port) => self.watch(port),
                (Event::Forget, flow) => self.forget(flow),
                (Event::Grant, host) => self.grant(host),
                (Event::Completion, flow) => self.news.push(News::Received(flow)),
                (Event::Enter, port) => self.enter(port),
            }
        }
    }

    /// Checks that packets add up, and gives what became of them.
    ///
    /// # Errors
    /// [`Error::Internal`] where they do not.
    pub(super) fn finish(mut self) -> Result<PacketOutcome> {
        let end = self.end();
        let series = self.end_series(end);
        // Those under way when time was up.
        for (sender, fate) in self.senders.iter().zip(&mut self.fates) {
            if let Some(sender) = sender {
                fate.retransmits = sender.retransmits();
                self.totals.retransmits += fate.retransmits;
            }
        }
        // Ports that nobody let go.
        self.totals.paused += self.paused_since.values().map(|&since| end.saturating_sub(since)).sum::<Picoseconds>();
        let ports = self.port_outcomes(end);
        self.totals.deepest = ports.iter().map(|port| port.deepest).max().unwrap_or(0).into();
        let (mut classes, paused) = self.classes.as_mut().map(|table| table.close(end)).unwrap_or_default();
        self.count_waits(&mut classes, end);
        self.totals.paused += paused;
        self.totals.paused += self.credits.as_ref().map_or(0, |credits| credits.waiting(end));
        self.close()?;
        self.close_credits()?;
        let capture = self.capture.map(|capture| *capture);
        let (flows, totals) = (self.fates, self.totals);
        Ok(PacketOutcome { flows, ports, totals, end, events: self.events, series, capture, classes })
    }

    /// When the last flow ended; where some have not, the time of the last event.
    fn end(&self) -> Picoseconds {
        let ended = self.fates.iter().map(|fate| fate.end).max().flatten().filter(|_| self.left == 0);
        ended.unwrap_or(self.latest.max(self.now))
    }

    /// Whether nothing new has come anywhere for too long.
    fn is_stuck(&self) -> bool {
        self.to_start == 0 && self.now.saturating_sub(self.progress) > self.settings.patience
    }

    /// A packet is gone, that a port had or that came by it.
    pub(super) fn lose(&mut self, index: u32, place: Place) {
        if let Some(recorder) = &mut self.recorder {
            recorder.lost(index);
        }
        let packet = self.pool.take(place);
        let is_whole = packet.kind == Kind::Data && !packet.flags.has(Flags::TRIMMED);
        *(if is_whole { &mut self.totals.drops } else { &mut self.totals.urgent_drops }) += 1;
        if let Some(table) = &mut self.classes {
            let class = usize::from(self.routes[packet.flow as usize].class);
            table.outcome.totals[class].drops += u64::from(is_whole);
        }
    }

    /// A packet is gone on a cable: it was down or led to a switch without routes, or bits were wrong.
    #[cold]
    fn lose_on_cable(&mut self, index: u32, place: Place) {
        let port = &self.ports[index as usize];
        if port.is_down || u64::from(port.loss) == LOSS_WHOLE {
            self.lose_arriving(index, index, place);
            return;
        }
        let packet = self.pool[place];
        self.give_back(index, self.lane_of(&packet), packet.size, 0);
        let is_whole = Waiting::of(place, &self.pool.take(place)).is_whole;
        *(if is_whole { &mut self.totals.bit_errors } else { &mut self.totals.urgent_bit_errors }) += 1;
    }

    /// Packets on cables, each with its link.
    pub(super) fn landing(&self) -> impl Iterator<Item = (u32, Place)> {
        self.wheel.iter().filter_map(|due| match Event::of(due.event()) {
            (Event::Arrive, link) => Some((link, due.place())),
            _ => None,
        })
    }

    /// Checks that packets add up: each that was sent has arrived, lost its payload, was dropped, or is still somewhere.
    fn close(&mut self) -> Result<()> {
        let is_managed = self.credits.is_none(); // credits are counted by cable
        if is_managed && self.classes.as_ref().is_some_and(|table| !table.adds_up(&self.ports)) {
            return Err(Error::Internal("packets and the memory that they take in switches do not add up".into()));
        }
        let is_whole = |place: &Place| Waiting::of(*place, &self.pool[*place]).is_whole;
        let waiting = self.ports.iter().flat_map(|port| &port.data).map(|waiting| waiting.place);
        let landing = self.landing().map(|(_, place)| place);
        self.totals.unfinished = waiting.chain(landing).filter(is_whole).count() as u64;
        let by_class = self.classes.iter().flat_map(|table| table.waiting());
        self.totals.unfinished += by_class.filter(|waiting| waiting.is_whole).count() as u64;
        let early = self.cut_through.iter().flat_map(|cut| cut.waiting());
        self.totals.unfinished += early.filter(is_whole).count() as u64;
        let Totals { packets, delivered, drops, bit_errors, trims, unfinished, .. } = self.totals;
        if packets == delivered + drops + bit_errors + trims + unfinished {
            return Ok(());
        }
        Err(Error::Internal(format!(
            "of {packets} packets {delivered} arrived, {drops} were dropped, {bit_errors} corrupted, {trims} trimmed \
             and {unfinished} left over"
        )))
    }

    /// A packet comes in by a cable.
    fn arrive(&mut self, index: u32, place: Place) {
        let port = &self.ports[index as usize];
        let (to, loss) = (port.to, u64::from(port.loss));
        if port.is_down || (loss > 0 && self.draws.at(Purpose::Loss, index, self.now).chance(loss, LOSS_WHOLE)) {
            self.lose_on_cable(index, place);
            return;
        }
        match to {
            End::Host(_) => {
                let packet = self.pool.take(place);
                if self.credits.is_some() {
                    self.give_back(index, self.lane_of(&packet), packet.size, 0);
                }
                self.receive(&packet);
            }
            End::Switch(switch) => match self.choose(index, switch, place) {
                Some(out) if self.is_early(index, out, place) => {}
                Some(out) => self.enqueue(index, out, place),
                None => self.lose_arriving(index, index, place),
            },
        }
    }

    /// A port has become free for what waits.
    fn free(&mut self, index: u32) {
        self.ports[index as usize].is_armed = false;
        match self.ports[index as usize].from {
            End::Host(NO_FLOWS) => {}
            End::Host(host) => self.feed(host, index),
            End::Switch(_) => self.send(index),
        }
    }

    /// Sends a packet by a port that is free. Inlined into those who send: half of all that a hop takes.
    #[inline(always)]
    pub(super) fn transmit(&mut self, index: u32, place: Place, bytes: u16) {
        self.totals.link_hops += 1;
        if self.is_observed {
            self.observe(index, place);
        }
        let port = &mut self.ports[index as usize];
        let mut arrival = port.transmit(self.now, bytes);
        if let Some(cut) = &self.cut_through {
            arrival -= cut.lead(port, bytes);
        }
        self.wheel.land(port.regions[1], arrival, Event::Arrive.word(index), place);
    }

    /// Shows a packet that leaves to those who look.
    #[inline(never)]
    fn observe(&mut self, index: u32, place: Place) {
        let packet = &self.pool[place];
        if let Some(capture) = &mut self.capture {
            capture.see(self.now, index, packet);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.sent(index, packet);
        }
        if self.is_open {
            self.sent[index as usize] += u64::from(packet.size);
        }
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
