//! The event loop: packets from host to host.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};

use super::capture::Capture;
use super::changes::Change;
use super::choice::Choice;
use super::classes::Table;
use super::contexts::Contexts;
use super::credits::Credits;
use super::cut_through::CutThrough;
use super::draws::{Draws, Purpose};
use super::event::Event;
use super::granting::Granter;
use super::live::News;
use super::outcome::{FlowOutcome, PacketOutcome, Totals};
use super::placing::NO_FLOWS;
use super::pool::{Place, Pool};
use super::port::{End, LOSS_WHOLE, Port};
use super::ports::Pauses;
use super::regions::{Onward, Wheels};
use super::series::Recorder;
use super::settings::NetworkSettings;
use super::steering::Steering;
use super::transport::Transport;
use super::triggers::{Flow, Start, Triggers};
use crate::graph::Graph;
use crate::routing::{Forwarding, Plug};
use crate::{Error, Picoseconds, Result};

/// How many events pass between looks at whether to stop.
const LISTEN_EVERY: u64 = 1 << 16;

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
    pub(super) region: usize,
    pub(super) now: Picoseconds,
    /// The latest time of an event, as regions take turns.
    pub(super) latest: Picoseconds,
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

impl<'a, T: Transport> Simulation<'a, T> {
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

    /// Whether nothing new has come anywhere for too long.
    fn is_stuck(&self) -> bool {
        self.to_start == 0 && self.now.saturating_sub(self.progress) > self.settings.patience
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
