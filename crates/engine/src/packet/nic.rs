//! A NIC at work: starts flows, sends for them in turn, and hands them what comes.

use std::collections::VecDeque;

use eastwest_transport::{Flags, Kind, Packet, Receiver, Sender, Transmit};

use super::classes::{Held, NO_WAY_IN};
use super::event::Event;
use super::live::News;
use super::port::Waiting;
use super::run::{Route, Simulation};
use super::transport::Transport;
use super::triggers::Start;
use crate::Picoseconds;

/// Packets polled for each plane of a NIC before a port gives up for now.
const MOST_POLLS: u32 = 4;

/// Packets that may wait before another plane's port.
const MOST_WAITING: usize = 4;

impl<T: Transport> Simulation<'_, T> {
    /// A flow is due: it starts, unless its host is late.
    pub(super) fn start(&mut self, flow: u32) {
        let given = self.flows[flow as usize];
        let route = &mut self.routes[flow as usize];
        let host = &mut self.hosts[route.hosts[0] as usize];
        if host.late > 0 && !route.is_late {
            route.is_late = true;
            self.wheel.add(self.now + host.late, Event::Start.word(flow));
            return;
        }
        if route.is_lost {
            self.to_start -= usize::from(matches!(given.start, Start::At(_)));
            return;
        }
        let seed = self.settings.seed;
        route.context = self.contexts.enter(self.transport, route, seed, self.now);
        route.pair = self.contexts[route.context].pair;
        self.senders[flow as usize] = Some(Box::new(self.transport.sender(flow, given.bytes)));
        self.receivers[flow as usize] = Some(Box::new(self.transport.receiver(given.bytes)));
        self.fates[flow as usize].start = Some(self.now);
        self.progress = self.progress.max(self.now);
        if matches!(given.start, Start::At(_)) {
            self.to_start -= 1;
        }
        let post = self.settings.overheads.post;
        if post == 0 {
            self.wake(flow);
        } else {
            host.busy_until = host.busy_until.max(self.now) + post;
            self.wheel.add(host.busy_until, Event::Deadline.word(flow));
        }
    }

    /// A flow may have something to send.
    pub(super) fn wake(&mut self, flow: u32) {
        let route = &mut self.routes[flow as usize];
        let (host, class) = (route.hosts[0], usize::from(route.class));
        if !route.is_ready {
            route.is_ready = true;
            self.ready(host, class).push_back(flow);
        }
        for plane in 0..self.planes as usize {
            self.offer(host, self.hosts[host as usize].ups[plane]);
        }
    }

    /// Flows of a host and class that may have something to send.
    #[inline]
    fn ready(&mut self, host: u32, class: usize) -> &mut VecDeque<u32> {
        match &mut self.classes {
            None => &mut self.hosts[host as usize].ready,
            Some(table) => table.ready(host, class),
        }
    }

    /// Lets a port of a NIC send as soon as it is free.
    pub(super) fn offer(&mut self, host: u32, index: u32) {
        let port = &mut self.ports[index as usize];
        if port.is_armed {
            return;
        }
        if port.free_at <= self.now {
            self.feed(host, index);
        } else {
            port.is_armed = true;
            self.wheel.add(port.free_at, Event::Free.word(index));
        }
    }

    /// Gives a NIC's free port its next packet: answers first, then flows in turn.
    pub(super) fn feed(&mut self, host: u32, index: u32) {
        if self.ports[index as usize].is_down {
            self.empty(index);
            return;
        }
        if self.classes.is_some() {
            self.feed_by_class(host, index);
            return;
        }
        if self.credits.is_some() {
            return self.feed_by_credits(host, index);
        }
        let mut waiting = self.ports[index as usize].next();
        if waiting.is_none() && !self.ports[index as usize].is_paused {
            waiting = self.poll_for(host, index, 0);
        }
        let Some(Waiting { place, size, .. }) = waiting else { return };
        self.transmit(index, place, size);
        let port = &mut self.ports[index as usize];
        if port.has_work() || (!port.is_paused && !self.hosts[host as usize].ready.is_empty()) {
            port.is_armed = true;
            self.wheel.add(port.free_at, Event::Free.word(index));
        }
    }

    /// The plane that a packet takes: that of its entropy value, or where that port is down another, by a value near its
    /// own; such packets are dealt evenly over the ports that are up.
    fn plane_that_is_up(&self, host: u32, packet: &mut Packet) -> usize {
        let plane = self.plane(packet.entropy);
        let ups = &self.hosts[host as usize].ups;
        let is_up = |&plane: &usize| !self.ports[ups[plane] as usize].is_down;
        if is_up(&plane) {
            return plane;
        }
        let left = (0..ups.len()).filter(is_up).count();
        let turn = usize::from(packet.entropy) / ups.len() % left.max(1);
        let Some(other) = (0..ups.len()).filter(is_up).nth(turn) else { return plane };
        packet.entropy = packet.entropy - plane as u16 + other as u16;
        other
    }

    /// Polls flows of a class until one has a packet for a port; those that are for other planes' ports wait before these.
    pub(super) fn poll_for(&mut self, host: u32, index: u32, class: usize) -> Option<Waiting> {
        for _ in 0..MOST_POLLS * self.planes {
            let mut packet = self.poll(host, class)?;
            let plane = self.plane_that_is_up(host, &mut packet);
            let waiting = Waiting::of(self.pool.put(packet), &packet);
            let other = self.hosts[host as usize].ups[plane];
            if other == index {
                return Some(waiting);
            }
            let waiting = self.put_aside(other, class, waiting);
            self.wake_port(other);
            if waiting > MOST_WAITING {
                // the others are ahead of this one: they send before it asks again
                self.wake_port(index);
                return None;
            }
        }
        None
    }

    /// Lets a packet wait before another plane's port; gives how many do.
    fn put_aside(&mut self, port: u32, class: usize, waiting: Waiting) -> usize {
        if self.classes.is_some() {
            return self.push_by_class(port, class, Held { waiting, way_in: NO_WAY_IN });
        }
        let port = &mut self.ports[port as usize];
        port.push(waiting);
        port.data.len()
    }

    fn poll(&mut self, host: u32, class: usize) -> Option<Packet> {
        while let Some(flow) = self.ready(host, class).pop_front() {
            let context = self.routes[flow as usize].context;
            let polled = match &mut self.senders[flow as usize] {
                Some(sender) => sender.poll_transmit(&mut self.contexts[context].sending, self.now),
                None => Transmit::Nothing,
            };
            match polled {
                Transmit::Packet(packet) => {
                    self.ready(host, class).push_back(flow);
                    self.totals.packets += u64::from(packet.kind == Kind::Data);
                    if self.is_open {
                        self.tell_if_sent(flow);
                    }
                    self.arm(flow);
                    return Some(packet);
                }
                Transmit::NotBefore(time) => {
                    self.routes[flow as usize].is_ready = false;
                    let asked_at = &mut self.paced[flow as usize];
                    if *asked_at <= self.now || time < *asked_at {
                        *asked_at = time;
                        self.wheel.add(time, Event::Deadline.word(flow));
                    }
                }
                Transmit::Nothing => self.routes[flow as usize].is_ready = false,
                Transmit::NoRoom => {
                    let route = &mut self.routes[flow as usize];
                    route.is_ready = false;
                    if !std::mem::replace(&mut route.is_refused, true) {
                        self.contexts.refuse(context, flow);
                    }
                }
            }
        }
        None
    }

    /// Sees to it that a flow's deadline is met: one event a flow, early where the deadline has moved away meanwhile.
    fn arm(&mut self, flow: u32) {
        let Some(sender) = &self.senders[flow as usize] else { return };
        let timer = &mut self.timers[flow as usize];
        let context = &self.contexts[self.routes[flow as usize].context].sending;
        if let Some(deadline) = sender.deadline(context).filter(|&deadline| deadline < *timer) {
            *timer = deadline;
            self.wheel.add(deadline.max(self.now), Event::Deadline.word(flow));
        }
    }

    pub(super) fn deadline(&mut self, flow: u32) {
        let Some(sender) = &mut self.senders[flow as usize] else { return };
        if self.timers[flow as usize] <= self.now {
            self.timers[flow as usize] = Picoseconds::MAX;
        }
        let context = self.routes[flow as usize].context;
        sender.on_deadline(&mut self.contexts[context].sending, self.now);
        if sender.has_failed() {
            return self.give_up(flow);
        }
        self.arm(flow);
        self.wake_refused(context);
        self.wake(flow);
    }

    /// Asks the next of the flows again that found no room in a context.
    pub(super) fn wake_refused(&mut self, context: u32) {
        while let Some(flow) = self.contexts.next_refused(context) {
            self.routes[flow as usize].is_refused = false;
            if self.senders[flow as usize].is_some() && !self.routes[flow as usize].is_ready {
                self.wake(flow);
                return;
            }
        }
    }

    /// A flow's sender has given up: nothing more of it is sent, and it never ends.
    fn give_up(&mut self, flow: u32) {
        let Some(sender) = self.senders[flow as usize].take() else { return };
        self.totals.retransmits += sender.retransmits();
        self.totals.failed += 1;
        self.receivers[flow as usize] = None;
        self.left -= 1;
        self.contexts.leave(self.routes[flow as usize].context, self.now);
    }

    /// A packet has come to a host.
    pub(super) fn receive(&mut self, packet: &Packet) {
        let flow = packet.flow as usize;
        if packet.kind.is_forward() {
            let is_whole = packet.kind == Kind::Data && !packet.flags.has(Flags::TRIMMED);
            self.totals.delivered += u64::from(is_whole);
            let Some(receiver) = &mut self.receivers[flow] else { return };
            let before = receiver.received();
            let context = &mut self.contexts[self.routes[flow].context].receiving;
            let answers = receiver.on_packet(context, self.now, packet);
            if receiver.received() > before {
                self.progress = self.progress.max(self.now);
                if receiver.is_done() {
                    self.fates[flow].received = Some(self.now + self.settings.overheads.complete);
                    self.pull(self.flows[flow].when_received);
                    if self.is_open {
                        self.tell_received(packet.flow);
                    }
                }
            }
            for answer in answers.into_iter().flatten() {
                if answer.kind == Kind::Cnp {
                    if !self.may_notify(self.routes[flow].hosts[1]) {
                        continue;
                    }
                    self.totals.cnps += 1;
                }
                self.answer(self.routes[flow].hosts[1], answer);
            }
            if !self.granters.is_empty() {
                self.ask(packet);
            }
            return;
        }
        if packet.kind == Kind::Credit {
            return self.take_credit(packet);
        }
        let Some(sender) = &mut self.senders[flow] else { return };
        let context = self.routes[flow].context;
        sender.on_packet(&mut self.contexts[context].sending, self.now, packet);
        if sender.is_done() {
            self.fates[flow].retransmits = sender.retransmits();
            self.totals.retransmits += sender.retransmits();
            self.fates[flow].end = Some(self.now + self.settings.overheads.complete);
            self.left -= 1;
            self.senders[flow] = None;
            let region = self.region_of(self.routes[flow].hosts[1]);
            self.wheel.send(region, self.now + self.linger, Event::Forget.word(packet.flow));
            self.wake_refused(context);
            self.contexts.leave(context, self.now);
            self.pull(self.flows[flow].when_sent);
            return;
        }
        self.arm(packet.flow);
        self.wake_refused(context); // whoever waited before this flow has its turn before it
        self.wake(packet.flow);
    }

    /// Whether it is time for a NIC to tell of congestion again.
    fn may_notify(&mut self, host: u32) -> bool {
        let every = self.transport.notifies_every();
        let next = &mut self.notifies_at[host as usize];
        let is_due = self.now >= *next;
        if is_due {
            *next = self.now + every;
        }
        is_due
    }

    /// A flow's sender ended so long ago that no region can be before that time: its receiver ends too.
    pub(super) fn forget(&mut self, flow: u32) {
        let Route { hosts, context, .. } = self.routes[flow as usize];
        self.receivers[flow as usize] = None;
        if self.contexts.end(context) {
            self.forget_source(hosts[1], context);
        }
    }

    /// Starts what a trigger starts, once the software knows.
    fn pull(&mut self, trigger: Option<u32>) {
        let Some(trigger) = trigger else { return };
        for &flow in self.triggers.pull(trigger) {
            self.wheel.add(self.now + self.settings.overheads.complete, Event::Start.word(flow));
        }
    }

    /// Tells that all of a flow has arrived, once the software knows.
    fn tell_received(&mut self, flow: u32) {
        match self.settings.overheads.complete {
            0 => self.news.push(News::Received(flow)),
            complete => self.wheel.add(self.now + complete, Event::Completion.word(flow)),
        }
    }
}
