//! Virtual lanes: traffic classes that send by credits, each with a buffer of its own at the end of every cable.
//!
//! A class is a service level, and takes the lane of its number all the way (the identity as SL to VL table). Priorities
//! and weights of classes are the arbitration table: high priority before low, and weights within one. Answers travel on
//! the lane of what they answer. A lane without credits holds up no other, which is what lets lanes break the cycles of
//! buffers in which one lane deadlocks.

use std::collections::VecDeque;

use eastwest_transport::Packet;

use super::classes::{Class, ClassOutcome, Held, NO_WAY_IN};
use super::credits::Credits;
use super::pool::Place;
use super::port::Waiting;
use super::run::Simulation;
use super::scheduler::{Set, has, only};
use super::settings::Buffers;
use super::transport::Transport;
use crate::Picoseconds;

/// Classes whose answers travel on their own lanes.
pub(super) fn answered_alike(classes: &[Class]) -> Vec<Class> {
    let answered = |(own, class): (u8, &Class)| Class { answers: Some(own), notifications: Some(own), ..*class };
    (0..).zip(classes).map(answered).collect()
}

impl<T: Transport> Simulation<'_, T> {
    /// Gives every cable so many lanes, where it has credits.
    pub(super) fn open_lanes(&mut self, count: usize) {
        if let Buffers::Credits { buffer, fecn } = self.settings.buffers {
            self.credits = Some(Box::new(Credits::new(&self.ports, count, buffer, fecn)));
        }
    }

    /// Counts waits for credits as pauses of lanes.
    pub(super) fn count_waits(&self, found: &mut ClassOutcome, end: Picoseconds) {
        let Some(credits) = self.credits.as_ref().filter(|_| !found.totals.is_empty()) else { return };
        found.paused = credits.waited_by_lane(end).collect();
        let count = found.totals.len();
        for (lane, totals) in found.totals.iter_mut().enumerate() {
            totals.pauses = credits.waits_on(lane);
            totals.paused = found.paused.iter().skip(lane).step_by(count).sum();
        }
    }

    /// The lane of a packet.
    pub(super) fn lane_of(&self, packet: &Packet) -> usize {
        if self.classes.is_none() { 0 } else { usize::from(self.routes[packet.flow as usize].class) }
    }

    /// What waits before a port, with its lane.
    pub(super) fn held_by_lane(&self, index: u32) -> impl Iterator<Item = (usize, &Held)> {
        let at = self.classes.as_ref().map(|table| &table.ports[index as usize]);
        let queues = at.into_iter().flat_map(|at| at.queues.iter().enumerate());
        let held = queues.flat_map(|(lane, queue)| queue.held.iter().map(move |held| (lane, held)));
        held.filter(|(_, held)| held.way_in != NO_WAY_IN)
    }

    /// Puts a packet that came by one port before another port of a switch.
    pub(super) fn enqueue_by_lane(&mut self, way_in: u32, index: u32, place: Place) {
        if self.ports[index as usize].is_down {
            self.lose_arriving(way_in, index, place);
            return;
        }
        let packet = self.pool[place];
        let (lane, waiting) = (self.lane_of(&packet), Waiting::of(place, &packet));
        self.push_by_class(index, lane, Held { waiting, way_in });
        self.attend(index);
    }

    /// As [`Simulation::feed`]: a packet of each lane that has flows is polled first, and waits for credits.
    pub(super) fn feed_by_lane(&mut self, host: u32, index: u32) {
        let Some(table) = &self.classes else { return };
        let lanes = table.with_flows(host) & !table.ports[index as usize].waiting;
        for lane in (0..Set::BITS as usize).filter(|&lane| has(lanes, lane)) {
            if let Some(waiting) = self.poll_for(host, index, lane) {
                self.push_by_class(index, lane, Held { waiting, way_in: NO_WAY_IN });
            }
        }
        self.send_by_lane(index);
        if self.classes.as_ref().is_some_and(|table| table.with_flows(host) & !table.ports[index as usize].waiting != 0)
        {
            self.wake_port(index); // of these the next are polled when it is free
        }
    }

    /// Sends what is next at a free port: of the lanes that have credits that whose turn it is.
    pub(super) fn send_by_lane(&mut self, index: u32) {
        let port = &mut self.ports[index as usize];
        if port.free_at > self.now {
            // asked again by credits that came back meanwhile
            self.wake_port(index);
            return;
        }
        let ready = self.lanes_with_credits(index);
        let Some(table) = self.classes.as_deref_mut() else { return };
        let at = &mut table.ports[index as usize];
        let Some(lane) = table.order.next(&mut at.turns, ready) else { return };
        let Some(held) = self.pop_by_class(index, lane, VecDeque::pop_front) else { return };
        let Waiting { place, size, .. } = held.waiting;
        let Some(table) = self.classes.as_deref_mut() else { return };
        let at = &mut table.ports[index as usize];
        at.turns.charge(lane, size);
        let waiting = at.queues[lane].bytes + u32::from(size);
        self.spend(index, lane, held.waiting, waiting);
        if held.way_in != NO_WAY_IN {
            self.give_back_leaving(index, held.way_in, lane, size);
        }
        self.transmit(index, place, size);
        if self.classes.as_ref().is_some_and(|table| table.ports[index as usize].waiting != 0) {
            self.wake_port(index);
        }
    }

    /// Lanes at a port with something to send and credits for it.
    fn lanes_with_credits(&mut self, index: u32) -> Set {
        let mut ready = 0;
        for lane in 0..Set::BITS as usize {
            let Some(table) = &self.classes else { return 0 };
            let at = &table.ports[index as usize];
            let head = at.queues.get(lane).and_then(|queue| queue.held.front());
            let size = head.map(|held| held.waiting.size);
            if size.is_some_and(|size| self.has_credits(index, lane, size)) {
                ready |= only(lane);
            }
        }
        ready
    }
}
