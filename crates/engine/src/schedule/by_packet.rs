//! Moves the data of collectives and messages packet by packet between servers, and as fluid inside them.
//!
//! A task is lowered to its graph of pieces, and each piece starts once those that it waits for have arrived. Pieces
//! between servers are messages from NIC to NIC, in order on each queue pair; pieces over NVLink are demands of a fluid
//! network of their own. Both go on together, from the earliest of their events to the next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::AtomicBool;

use super::pieces::{Pieces, Way};
use crate::fluid::Fluid;
use crate::lower::{self, Burden};
use crate::outcome::Outcome;
use crate::packet::{Live, Message, News, PacketOutcome};
use crate::program::{Program, Work};
use crate::routing::Router;
use crate::{Error, PS_PER_S, Picoseconds, Result};

/// What comes at a time: a task's first pieces may start, or a transfer of a task is its rank's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Begin(u32),
    Arrive(u32, u32),
}

/// A message under way: the task, the transfer of which it is a part, the lane and its queue.
#[derive(Clone, Copy)]
struct Sending {
    task: u32,
    transfer: u32,
    lane: u32,
    queue: u32,
}

/// Tasks under way on a network of packets.
pub(super) struct ByPacket<'a> {
    router: &'a Router<'a>,
    program: &'a Program,
    live: Box<dyn Live + 'a>,
    fluid: Fluid,
    tasks: Vec<Option<Pieces>>,
    /// By the number of the flow.
    sending: Vec<Sending>,
    /// By the tag of the demand.
    inside: Vec<Sending>,
    free_tags: Vec<u32>,
    due: BinaryHeap<Reverse<(Picoseconds, u64, Due)>>,
    added: u64,
    now: Picoseconds,
    ended: Vec<u32>,
    /// Bytes over each link between a GPU and its NIC.
    inside_bytes: Vec<f64>,
    under_way: usize,
}

impl<'a> ByPacket<'a> {
    /// Tasks of a program over a network of packets; `fluid` has what is inside servers.
    pub fn new(
        router: &'a Router<'a>,
        program: &'a Program,
        live: Box<dyn Live + 'a>,
        fluid: Fluid,
        tasks: usize,
    ) -> Self {
        Self {
            router,
            program,
            live,
            fluid,
            tasks: (0..tasks).map(|_| None).collect(),
            sending: vec![],
            inside: vec![],
            free_tags: vec![],
            due: BinaryHeap::new(),
            added: 0,
            now: 0,
            ended: vec![],
            inside_bytes: vec![0.0; router.topology().graph().links()],
            under_way: 0,
        }
    }

    /// Begins a task: one group or pair of an operation. Gives the bytes that its ranks hand on; where there are none
    /// the task has ended.
    ///
    /// # Errors
    /// [`Error::Program`] for what packets cannot do; [`Error::Unreachable`] where ranks that must talk have no path.
    pub fn begin(&mut self, task: u32, op: u32, part: u32) -> Result<f64> {
        let (router, gpu) = (self.router, &self.program.gpu);
        let (graph, overheads) = match &self.program.ops[op as usize].work {
            Work::Compute { .. } | Work::Storage { .. } => return Ok(0.0),
            Work::Collective { groups, collective } => {
                (lower::messages(router, gpu, collective, &groups[part as usize])?, collective.overheads)
            }
            Work::SendRecv { pairs, bytes, carriage, overheads } => {
                let (from, to) = pairs[part as usize];
                (lower::send(from, to, *bytes, carriage, overheads), *overheads)
            }
        };
        let bytes = graph.lanes.iter().map(|lane| lane.bytes).sum();
        if graph.is_empty() {
            return Ok(0.0);
        }
        let refused = |error| match error {
            Error::Program(cause) => Error::Program(format!("operation {op}: {cause}")),
            other => other,
        };
        self.tasks[task as usize] = Some(Pieces::new(router, gpu, graph, &overheads).map_err(refused)?);
        self.under_way += 1;
        self.expect(
            self.now + (overheads.base_s * f64::from(overheads.repeats) * PS_PER_S).round() as Picoseconds,
            Due::Begin(task),
        );
        Ok(bytes)
    }

    /// Goes on to a time, or until a task ends; none where nothing is left to wait for. Tasks that have ended are in
    /// [`ByPacket::ended`].
    ///
    /// # Errors
    /// As [`Live::advance`].
    pub fn advance(&mut self, until: Option<Picoseconds>, stop: &AtomicBool) -> Result<Option<Picoseconds>> {
        if until.is_none() && self.under_way == 0 {
            return Ok(None);
        }
        let mut news = Vec::new();
        let mut done = Vec::new();
        while self.ended.is_empty() {
            let due = self.due.peek().map(|Reverse((time, ..))| *time);
            let next = [until, due, self.fluid.next()].into_iter().flatten().min();
            self.now = self.live.advance(next.unwrap_or(Picoseconds::MAX), stop, &mut news)?;
            self.fluid.advance(self.now, &mut done);
            for (tag, _) in done.drain(..) {
                self.out_of_nvlink(tag)?;
            }
            for news in news.drain(..) {
                match news {
                    News::Sent(flow) => {
                        let Sending { task, lane, queue, .. } = self.sending[flow as usize];
                        self.send_next(task, lane, queue)?;
                    }
                    News::Received(flow) => self.arrived_in_part(self.sending[flow as usize]),
                }
            }
            while let Some(&Reverse((time, _, what))) = self.due.peek() {
                if time > self.now {
                    break;
                }
                self.due.pop();
                match what {
                    Due::Begin(task) => {
                        let first = self.tasks[task as usize].as_ref().map(Pieces::first).unwrap_or_default();
                        self.start(task, first)?;
                    }
                    Due::Arrive(task, transfer) => self.arrive(task, transfer)?,
                }
            }
            if until.is_some_and(|until| self.now >= until) {
                break;
            }
        }
        Ok(Some(self.now))
    }

    /// Takes the tasks that have ended.
    pub fn ended(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.ended)
    }

    fn expect(&mut self, time: Picoseconds, what: Due) {
        self.added += 1;
        self.due.push(Reverse((time, self.added, what)));
    }

    /// Starts transfers, and those that only wait for these to be queued, in order.
    fn start(&mut self, task: u32, mut ready: Vec<u32>) -> Result<()> {
        let mut next = 0;
        while next < ready.len() {
            let transfer = ready[next];
            next += 1;
            let Some(pieces) = &mut self.tasks[task as usize] else { return Ok(()) };
            let Some(lane) = pieces.queue(transfer, &mut ready) else {
                pieces.arrive(transfer, &mut ready);
                continue;
            };
            for queue in 0..pieces.tracks[lane as usize].queues.len() as u32 {
                let queued = &self.tasks[task as usize].as_ref().map(|pieces| &pieces.tracks[lane as usize].queues);
                let is_idle = queued.is_some_and(|queues| {
                    !queues[queue as usize].is_busy && !queues[queue as usize].waiting.is_empty()
                });
                if is_idle {
                    self.send_next(task, lane, queue)?;
                }
            }
        }
        self.end_if_done(task);
        Ok(())
    }

    /// Lets a queue send what is next in it.
    fn send_next(&mut self, task: u32, lane: u32, queue: u32) -> Result<()> {
        let Some(pieces) = &mut self.tasks[task as usize] else { return Ok(()) };
        let track = &mut pieces.tracks[lane as usize];
        let line = &mut track.queues[queue as usize];
        let Some((transfer, bytes)) = line.waiting.pop_front() else {
            line.is_busy = false;
            return Ok(());
        };
        line.is_busy = true;
        let sending = Sending { task, transfer, lane, queue };
        match &mut track.way {
            Way::Between(crossing) => {
                crossing.inside.iter().for_each(|&link| self.inside_bytes[link as usize] += bytes);
                let [from, to] = crossing.nics;
                let pair = track.pair.wrapping_add(queue);
                let flow = self.live.send(Message { from, to, bytes: bytes.ceil() as u64, pair })?;
                debug_assert_eq!(flow as usize, self.sending.len());
                self.sending.push(sending);
            }
            Way::Inside(demand) => {
                demand.work[0] = bytes;
                let demand = (**demand).clone();
                let tag = self.free_tags.pop().unwrap_or_else(|| {
                    self.inside.push(sending);
                    self.inside.len() as u32 - 1
                });
                self.inside[tag as usize] = sending;
                self.fluid.add(demand, tag);
            }
        }
        Ok(())
    }

    /// A transfer inside a server has carried its bytes.
    fn out_of_nvlink(&mut self, tag: u32) -> Result<()> {
        let sending = self.inside[tag as usize];
        self.free_tags.push(tag);
        self.send_next(sending.task, sending.lane, sending.queue)?;
        self.arrived_in_part(sending);
        Ok(())
    }

    /// A part of a transfer has come; with the last of them, it is its rank's after the lane's latency.
    fn arrived_in_part(&mut self, Sending { task, transfer, .. }: Sending) {
        let Some(pieces) = &mut self.tasks[task as usize] else { return };
        let parts = &mut pieces.parts[transfer as usize];
        *parts -= 1;
        if *parts == 0 {
            let time = pieces.handed(transfer, self.now);
            self.expect(time, Due::Arrive(task, transfer));
        }
    }

    fn arrive(&mut self, task: u32, transfer: u32) -> Result<()> {
        let mut ready = Vec::new();
        if let Some(pieces) = &mut self.tasks[task as usize] {
            pieces.arrive(transfer, &mut ready);
        }
        self.start(task, ready)
    }

    fn end_if_done(&mut self, task: u32) {
        if self.tasks[task as usize].as_ref().is_some_and(Pieces::is_done) {
            self.tasks[task as usize] = None;
            self.under_way -= 1;
            self.ended.push(task);
        }
    }

    /// Ends the run: what links carried goes into the outcome. `efficiency` is the payload in a byte on the wire of
    /// each link.
    ///
    /// # Errors
    /// [`Error::Internal`] where packets do not add up, or the fluid part broke its laws.
    pub fn finish(self, efficiency: &[f64], outcome: &mut Outcome) -> Result<PacketOutcome> {
        super::run::check_rates(&self.fluid)?;
        let none = vec![0.0; self.router.resources().len()];
        let links = efficiency.len();
        let carried = self.fluid.carried();
        super::ledger::write(links, self.router.resources(), [&carried, &none, &none], outcome);
        for (link, sent) in self.live.sent().into_iter().enumerate() {
            outcome.link_bytes[link] += sent as f64 * efficiency[link] + self.inside_bytes[link];
        }
        let graph = self.router.topology().graph();
        let busy = (0..links).map(|link| outcome.link_bytes[link] / graph.rate[link]);
        if let Some((link, seconds)) = busy.enumerate().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))) {
            outcome.link_limiting[link] = seconds;
        }
        outcome.rounds = self.fluid.rounds();
        outcome.batching_error = self.fluid.batching_error();
        self.live.finish()
    }
}

/// Most packet-hops of one run: some minutes on one core.
const MOST_PACKET_HOPS: f64 = 2e9;

/// Most transfers of one run: each takes some hundred bytes.
const MOST_TRANSFERS: f64 = 2e7;

/// Whether a run by packets ends in reasonable time.
///
/// # Errors
/// [`Error::Program`] with what to do otherwise.
pub(super) fn check_burden(burden: Burden) -> Result<()> {
    let Burden { transfers, packet_hops } = burden;
    for (what, found, most) in
        [("packet-hops", packet_hops, MOST_PACKET_HOPS), ("transfers", transfers, MOST_TRANSFERS)]
    {
        if found > most {
            return Err(Error::Program(format!(
                "by packets the step has about {:.0} million {what}, and {:.0} million are possible: take fewer bytes, \
                 fewer channels or fewer GPUs, or fluid in place of packet",
                found / 1e6,
                most / 1e6
            )));
        }
    }
    Ok(())
}
