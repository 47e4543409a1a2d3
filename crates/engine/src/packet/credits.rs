//! InfiniBand's link layer: a port sends only what the buffer at the other end of its cable has room for.
//!
//! Each direction of a cable has credits, one for 64 bytes of that buffer. A packet takes its credits as it begins to
//! leave; they come back as it begins to leave the buffer, a flow control packet's time and the cable's later. So no
//! healthy link ever loses a packet for want of room, and a port without credits holds up those before it.
//!
//! A packet that is stored before it is sent on gives its room up when it begins to leave; one that is not, when its last
//! bit has left: both are a packet's time after its first bit came.
//! Flow control packets are sent as soon as there is something to tell, and the bandwidth that they take (8 bytes to
//! 4 KiB) is not counted. Marks of congestion (FECN, annex A10) are set here, since only a port that has credits is the
//! root of congestion. Not here: what a sender does about a mark; virtual lane 15.

use std::collections::VecDeque;

use eastwest_transport::Flags;

use super::draws::Purpose;
use super::event::Event;
use super::pool::Place;
use super::port::{End, Port, Waiting};
use super::run::Simulation;
use super::transport::Transport;
use crate::{Error, Picoseconds, Result};

/// Bytes for which there is one credit.
const BLOCK: u32 = 64;

/// Bytes of a flow control packet on the wire: 6, and a symbol before and after it.
const FLOW_CONTROL_BYTES: u16 = 8;

/// Most credits that a flow control packet can tell of (InfiniBand Architecture Specification 1.2.1, section 7.9.4).
const MOST_TOLD: u32 = 2048;

/// Round trips of its cable for which a buffer has room, where its size is not given and [`MOST_TOLD`] credits are fewer:
/// one keeps the cable busy, as much again may wait for ports that others use.
const ROUND_TRIPS: u64 = 2;

/// How large the buffers at the ends of cables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneBuffer {
    /// So many bytes.
    Bytes(u32),
    /// As many credits as a port can tell of; or, where that is more, twice as many full packets, of so many bytes, as leave
    /// while one of them crosses and its credits come back.
    Ample {
        /// Bytes of a full packet.
        packet: u16,
    },
}

/// When a switch marks packets with a forward notification (FECN), with annex A10's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fecn {
    /// From 1, loose, to 15, aggressive: marks begin at (16 - threshold) sixteenths of a buffer before a port.
    pub threshold: u8,
    /// Packets between two marks, on average (Marking_Rate).
    pub between: u32,
    /// Bytes below which a packet is not marked (Packet_Size).
    pub least: u16,
}

/// Credits of one direction of a cable, as its sending port knows them.
#[derive(Debug)]
struct Lane {
    /// Blocks of the buffer.
    blocks: u32,
    /// Bytes before a port of its rate from which on packets are marked.
    marked_above: u32,
    /// Credits at hand.
    free: u32,
    /// Credits on their way back, in order of time.
    returning: VecDeque<(Picoseconds, u32)>,
    /// Credits that the port waits for; none where it does not wait.
    wanted: u32,
    /// Since when it waits.
    since: Picoseconds,
    /// Times that it has waited, and for how long in all when it last stopped.
    waits: u64,
    waited: Picoseconds,
}

impl Lane {
    fn new(port: &Port, buffer: LaneBuffer, fecn: Option<Fecn>) -> Self {
        let blocks = match buffer {
            LaneBuffer::Bytes(bytes) => bytes / BLOCK,
            LaneBuffer::Ample { packet } => {
                let each = port.time_of(packet).max(1);
                let busy = (each + port.latency() + return_time(port)).div_ceil(each);
                let packets = (ROUND_TRIPS * busy).min(u64::from(u32::MAX / BLOCK / blocks_of(packet)));
                MOST_TOLD.max(packets as u32 * blocks_of(packet))
            }
        };
        let threshold = fecn.map_or(0, |fecn| u32::from(16 - fecn.threshold.min(16)));
        let marked_above = (u64::from(blocks * BLOCK) * u64::from(threshold) / 16) as u32;
        Self {
            blocks,
            marked_above,
            free: blocks,
            returning: VecDeque::new(),
            wanted: 0,
            since: 0,
            waits: 0,
            waited: 0,
        }
    }

    /// Takes in what has come back.
    fn collect(&mut self, now: Picoseconds) {
        while let Some(&(_, blocks)) = self.returning.front().filter(|&&(time, _)| time <= now) {
            self.returning.pop_front();
            self.free += blocks;
        }
    }

    /// For how long the port has waited, if it does.
    fn waiting(&self, now: Picoseconds) -> Picoseconds {
        if self.wanted > 0 { now.saturating_sub(self.since) } else { 0 }
    }

    /// When credits that are on their way suffice for what is wanted.
    fn enough_at(&self) -> Option<Picoseconds> {
        let mut free = self.free;
        let sufficing = self.returning.iter().find(|&&(_, blocks)| {
            free += blocks;
            free >= self.wanted
        });
        sufficing.map(|&(time, _)| time)
    }
}

/// The credits of all cables.
#[derive(Debug)]
pub(super) struct Credits {
    /// By cable, then virtual lane.
    lanes: Vec<Lane>,
    /// Virtual lanes of a cable.
    count: usize,
    fecn: Option<Fecn>,
}

impl Credits {
    /// Full credits everywhere, for buffers of so many lanes at the end of each cable.
    pub fn new(ports: &[Port], count: usize, buffer: LaneBuffer, fecn: Option<Fecn>) -> Self {
        let lanes = ports.iter().flat_map(|port| (0..count).map(move |_| Lane::new(port, buffer, fecn)));
        Self { lanes: lanes.collect(), count, fecn }
    }

    fn lane(&mut self, port: u32, lane: usize) -> &mut Lane {
        &mut self.lanes[port as usize * self.count + lane]
    }

    fn of_port(&self, port: u32) -> &[Lane] {
        &self.lanes[port as usize * self.count..][..self.count]
    }

    /// Times that a port has waited for credits, summed over lanes.
    pub fn waits(&self, port: u32) -> u64 {
        self.of_port(port).iter().map(|lane| lane.waits).sum()
    }

    /// Time that a port has waited for credits until a time, summed over lanes.
    pub fn waited(&self, port: u32, now: Picoseconds) -> Picoseconds {
        self.of_port(port).iter().map(|lane| lane.waited + lane.waiting(now)).sum()
    }

    /// Times that ports have waited on a lane.
    pub fn waits_on(&self, lane: usize) -> u64 {
        self.lanes.iter().skip(lane).step_by(self.count).map(|lane| lane.waits).sum()
    }

    /// Time that a port has waited on each lane until a time: by port, then lane.
    pub fn waited_by_lane(&self, now: Picoseconds) -> impl Iterator<Item = Picoseconds> {
        self.lanes.iter().map(move |lane| lane.waited + lane.waiting(now))
    }

    /// Time that ports have waited that still do.
    pub fn waiting(&self, now: Picoseconds) -> Picoseconds {
        self.lanes.iter().map(|lane| lane.waiting(now)).sum()
    }

    /// Checks that no credit was lost or made: those of each cable are at hand, on their way back, or taken by packets,
    /// of which `taken` gives the blocks by cable and lane.
    ///
    /// # Errors
    /// [`Error::Internal`] where they do not add up.
    pub fn close(&self, taken: &[u64]) -> Result<()> {
        for (at, (lane, &taken)) in self.lanes.iter().zip(taken).enumerate() {
            let returning: u64 = lane.returning.iter().map(|&(_, blocks)| u64::from(blocks)).sum();
            let found = u64::from(lane.free) + returning + taken;
            if found != u64::from(lane.blocks) {
                let (blocks, link) = (lane.blocks, at / self.count);
                return Err(Error::Internal(format!("link {link} had {blocks} credits and ends with {found}")));
            }
        }
        Ok(())
    }
}

/// Credits that a packet takes.
pub(super) fn blocks_of(bytes: u16) -> u32 {
    u32::from(bytes).div_ceil(BLOCK)
}

/// Time from when a packet begins to leave a buffer until the port before it knows.
fn return_time(port: &Port) -> Picoseconds {
    port.time_of(FLOW_CONTROL_BYTES) + port.latency()
}

impl<T: Transport> Simulation<'_, T> {
    /// Takes the credits of what is next at a port; false where it must wait for them, or nothing is there.
    pub(super) fn take_credits(&mut self, index: u32) -> bool {
        let port = &self.ports[index as usize];
        let (Some(&head), waiting) = (port.head(), port.data_bytes) else { return false };
        let has_credits = self.has_credits(index, 0, head.size);
        if has_credits {
            self.spend(index, 0, head, waiting);
        }
        has_credits
    }

    /// Whether a port has credits for a packet of so many bytes on a lane. If not, it waits, and is asked again.
    pub(super) fn has_credits(&mut self, index: u32, lane: usize, bytes: u16) -> bool {
        let Some(credits) = &mut self.credits else { return true };
        let is_alone = credits.count == 1;
        let lane = credits.lane(index, lane);
        lane.collect(self.now);
        let needed = blocks_of(bytes);
        if lane.free >= needed {
            return true;
        }
        let is_told = lane.wanted == needed;
        if lane.wanted == 0 {
            lane.since = self.now;
            lane.waits += 1;
            self.totals.pauses += 1;
        }
        lane.wanted = needed;
        if let Some(time) = lane.enough_at().filter(|_| is_alone || !is_told) {
            self.ask_again(index, is_alone, time);
        }
        false
    }

    /// Takes the credits of a packet that leaves now, one of so many bytes that wait on its lane, and marks it where the
    /// port is the root of congestion. A packet that waits alone, since it was stored before it goes on, is no queue.
    pub(super) fn spend(&mut self, index: u32, class: usize, packet: Waiting, waiting: u32) {
        let Some(credits) = &mut self.credits else { return };
        let fecn = credits.fecn.filter(|fecn| packet.is_whole && packet.size >= fecn.least);
        let lane = credits.lane(index, class);
        lane.free -= blocks_of(packet.size);
        let is_victim = lane.wanted > 0;
        if is_victim {
            let waited = self.now - lane.since;
            lane.waited += waited;
            self.totals.paused += waited;
            lane.wanted = 0;
        }
        let Some(fecn) = fecn.filter(|_| waiting > lane.marked_above.max(packet.size.into())) else { return };
        // a host that takes its time is the root of what waits for it
        let may_be_root = !is_victim || matches!(self.ports[index as usize].to, End::Host(_));
        if may_be_root && self.draws.at(Purpose::Mark, index, self.now).chance(1, u64::from(fecn.between) + 1) {
            let packet = &mut self.pool[packet.place];
            packet.flags = packet.flags.with(Flags::CE);
            self.totals.marks += 1;
            if let Some(table) = &mut self.classes {
                table.outcome.totals[class].marks += 1;
            }
        }
    }

    /// Gives back the credits of a packet that begins to leave by a port. Where it was not stored first, its last bit is
    /// still to come, and gives its room up as it leaves.
    pub(super) fn give_back_leaving(&mut self, index: u32, way_in: u32, lane: usize, bytes: u16) {
        let after = if self.cut_through.is_some() { self.ports[index as usize].time_of(bytes) } else { 0 };
        self.give_back(way_in, lane, bytes, after);
    }

    /// Gives a cable's sender the credits of a packet that leaves a lane's buffer at its end, after a time.
    pub(super) fn give_back(&mut self, way_in: u32, lane: usize, bytes: u16, after: Picoseconds) {
        let Some(credits) = &mut self.credits else { return };
        let is_alone = credits.count == 1;
        let due = self.now + after + return_time(&self.ports[way_in as usize]);
        let lane = credits.lane(way_in, lane);
        // in order, where the link has become faster
        let time = lane.returning.back().map_or(due, |&(last, _)| last.max(due));
        let is_told = lane.wanted == 0 || (!is_alone && lane.enough_at().is_some());
        lane.returning.push_back((time, blocks_of(bytes)));
        if let Some(time) = lane.enough_at().filter(|_| !is_told) {
            self.ask_again(way_in, is_alone, time);
        }
    }

    /// Asks a port for its next packet once credits have come: where it has one lane, unless it is asked anyway.
    fn ask_again(&mut self, index: u32, is_alone: bool, time: Picoseconds) {
        let port = &mut self.ports[index as usize];
        if !(is_alone && port.is_armed) {
            port.is_armed |= is_alone;
            self.wheel.add(time.max(port.free_at), Event::Free.word(index));
        }
    }

    /// A packet that came by a cable is gone before it waits anywhere: at a port, which is told.
    pub(super) fn lose_arriving(&mut self, way_in: u32, at: u32, place: Place) {
        if self.credits.is_some() {
            let packet = self.pool[place];
            self.give_back(way_in, self.lane_of(&packet), packet.size, 0);
        }
        self.lose(at, place);
    }

    /// As [`Simulation::feed`], where the next packet of a NIC waits for credits: it is polled first.
    pub(super) fn feed_by_credits(&mut self, host: u32, index: u32) {
        if self.ports[index as usize].head().is_none() {
            let Some(waiting) = self.poll_for(host, index, 0) else { return };
            self.ports[index as usize].push(waiting);
        }
        if !self.take_credits(index) {
            return;
        }
        let port = &mut self.ports[index as usize];
        let Some(Waiting { place, size, .. }) = port.next() else { return };
        self.transmit(index, place, size);
        let port = &mut self.ports[index as usize];
        if !port.is_armed && (port.has_work() || !self.hosts[host as usize].ready.is_empty()) {
            port.is_armed = true;
            self.wheel.add(port.free_at, Event::Free.word(index));
        }
    }

    /// Checks that credits add up.
    ///
    /// # Errors
    /// As [`Credits::close`].
    pub(super) fn close_credits(&self) -> Result<()> {
        let Some(credits) = &self.credits else { return Ok(()) };
        let mut taken = vec![0; credits.lanes.len()];
        let mut take = |port: u32, lane: usize, bytes: u16| {
            taken[port as usize * credits.count + lane] += u64::from(blocks_of(bytes));
        };
        let early = self.cut_through.iter().flat_map(|cut| cut.early());
        for (link, place) in self.landing().chain(early) {
            let packet = &self.pool[place];
            take(link, self.lane_of(packet), packet.size);
        }
        for (link, port) in (0..).zip(&self.ports) {
            port.data.iter().zip(&port.came_by).for_each(|(waiting, &way_in)| take(way_in, 0, waiting.size));
            self.held_by_lane(link).for_each(|(lane, held)| take(held.way_in, lane, held.waiting.size));
        }
        credits.close(&taken)
    }
}
