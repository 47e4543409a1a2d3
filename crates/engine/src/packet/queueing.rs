//! Switches and NICs at work where there are traffic classes: room, turns, marks and pauses by class.
//!
//! Answers and cut headers that belong to no class go ahead of all, take no room in a switch's memory and are never paused.

use std::collections::VecDeque;

use eastwest_transport::{Flags, Kind, Packet, Random};

use super::classes::{Admission, AtPort, ClassOutcome, Classes, Held, NO_WAY_IN, Table, name, port_and_class};
use super::draws::Purpose;
use super::event::Event;
use super::lanes::answered_alike;
use super::pool::Place;
use super::port::{End, Port, Waiting};
use super::run::Simulation;
use super::scheduler::{Set, has, only};
use super::settings::Trimming;
use super::transport::Transport;
use crate::{Error, Picoseconds, Result};

impl<'a, T: Transport> Simulation<'a, T> {
    /// Gives every port the queues of these classes, in place of the one that [`super::NetworkSettings`] describe. Where
    /// links send by credits they are virtual lanes, of which priority and weight alone matter.
    ///
    /// # Errors
    /// [`Error::Graph`] where classes contradict themselves or the network, or a flow names one that there is not.
    pub fn classed(mut self, classes: &Classes) -> Result<Self> {
        let count = classes.classes.len();
        if let Some(flow) = self.flows.iter().position(|flow| usize::from(flow.class) >= count) {
            let class = self.flows[flow].class;
            return Err(Error::Graph(format!(
                "flow {flow} is of class {class}, and the classes are 0 to {}",
                count - 1
            )));
        }
        let switches = self.switch_seeds.len();
        let mut answered = classes.clone();
        if self.credits.is_some() {
            answered.classes = answered_alike(&classes.classes);
            self.open_lanes(count);
        }
        self.classes = Some(Box::new(Table::new(&answered, self.graph, &self.ports, switches, self.hosts.len())?));
        Ok(self)
    }
}

impl Table {
    /// The class that a packet of a flow of some class travels in; none where it goes ahead of all.
    fn of(&self, packet: &Packet, own: usize) -> Option<usize> {
        match packet.kind {
            Kind::Data | Kind::Probe => (!packet.flags.has(Flags::TRIMMED)).then_some(own),
            Kind::Cnp => self.classes[own].notifications.map(usize::from),
            Kind::Ack | Kind::Nack | Kind::ProbeAnswer | Kind::Request | Kind::Credit => {
                self.classes[own].answers.map(usize::from)
            }
        }
    }

    /// Classes of a host with flows that may have something to send.
    pub fn with_flows(&self, host: u32) -> Set {
        let of_host = self.ready[host as usize * self.classes.len()..].iter().take(self.classes.len());
        of_host.enumerate().fold(0, |set, (class, flows)| if flows.is_empty() { set } else { set | only(class) })
    }

    /// Ends the pause of a class at a port; gives for how long it was paused.
    fn end_pause(&mut self, port: u32, class: usize, now: Picoseconds) -> Picoseconds {
        self.ports[port as usize].paused &= !only(class);
        let paused = now.saturating_sub(self.paused_since.remove(&name(port, class)).unwrap_or(now));
        self.outcome.totals[class].paused += paused;
        self.outcome.paused[port as usize * self.classes.len() + class] += paused;
        paused
    }

    /// Time that a port was paused until now, summed over classes.
    pub fn paused(&self, port: u32, now: Picoseconds) -> Picoseconds {
        let classes = self.classes.len();
        let over: Picoseconds = self.outcome.paused[port as usize * classes..][..classes].iter().sum();
        let since = (0..classes).filter_map(|class| self.paused_since.get(&name(port, class)));
        over + since.map(|&since| now.saturating_sub(since)).sum::<Picoseconds>()
    }

    /// Forgets the pauses of a cable that comes back; gives for how long its port was paused, summed over classes.
    pub fn reopen(&mut self, port: u32, now: Picoseconds) -> Picoseconds {
        self.ports[port as usize].pausing = 0;
        (0..self.classes.len()).map(|class| self.end_pause(port, class, now)).sum()
    }

    /// Counts of each class, pauses that nobody ended included, and how long those lasted.
    pub fn close(&mut self, now: Picoseconds) -> (ClassOutcome, Picoseconds) {
        let open: Vec<_> = self.paused_since.keys().map(|&name| port_and_class(name)).collect();
        let paused = open.into_iter().map(|(port, class)| self.end_pause(port, class, now)).sum();
        (std::mem::take(&mut self.outcome), paused)
    }

    /// Whether each byte that takes room in a switch is one of a packet that waits there.
    pub fn adds_up(&self, ports: &[Port]) -> bool {
        let groups = |at: &AtPort| -> u64 {
            let out = at.queues.iter().map(|queue| queue.group.bytes());
            out.chain(at.ways_in.iter().map(|way_in| way_in.group.bytes())).map(u64::from).sum()
        };
        let queues = |(at, port): (&AtPort, &Port)| -> u64 {
            let is_in_switch = matches!(port.from, End::Switch(_));
            at.queues.iter().filter(|_| is_in_switch).map(|queue| u64::from(queue.bytes)).sum()
        };
        self.ports.iter().map(groups).sum::<u64>() == self.ports.iter().zip(ports).map(queues).sum()
    }

    /// Packets that wait before ports.
    pub fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        let queues = self.ports.iter().flat_map(|at| &at.queues);
        queues.flat_map(|queue| &queue.held).map(|held| &held.waiting)
    }
}

impl<T: Transport> Simulation<'_, T> {
    /// Puts a packet that came by one port before another port of a switch.
    #[inline(never)]
    pub(super) fn enqueue_by_class(&mut self, way_in: u32, index: u32, place: Place) {
        if self.credits.is_some() {
            return self.enqueue_by_lane(way_in, index, place);
        }
        let packet = &self.pool[place];
        let waiting = Waiting::of(place, packet);
        let (Some(table), port) = (self.classes.as_deref_mut(), &self.ports[index as usize]) else { return };
        let End::Switch(switch) = port.from else { return };
        if port.is_down {
            self.lose(index, place);
            return;
        }
        let own = usize::from(self.routes[packet.flow as usize].class);
        let Some(class) = table.of(packet, own) else {
            self.enqueue_ahead(switch, index, own, waiting);
            self.attend(index);
            return;
        };
        match table.admit(switch, way_in, index, class, waiting.size) {
            Admission::In => {
                self.push_by_class(index, class, Held { waiting, way_in });
            }
            Admission::InAndPause => {
                self.push_by_class(index, class, Held { waiting, way_in });
                self.ask_to_pause(way_in, Event::Pause.word(name(way_in, class)));
            }
            Admission::Overflow(trimming) => {
                let random = self.draws.at(Purpose::Trim, way_in, self.now);
                self.overflow_by_class(switch, index, class, place, trimming, random);
            }
            Admission::NoHeadroom(pauses) => {
                table.outcome.totals[class].headroom_drops += u64::from(waiting.is_whole);
                self.lose(index, place);
                if pauses {
                    self.ask_to_pause(way_in, Event::Pause.word(name(way_in, class)));
                }
            }
        }
        self.attend(index);
    }

    /// Puts an answer or a cut header of a class ahead of all classes.
    fn enqueue_ahead(&mut self, switch: u32, index: u32, own: usize, waiting: Waiting) {
        let Some(table) = &self.classes else { return };
        let port = &mut self.ports[index as usize];
        if u64::from(port.urgent_bytes) + u64::from(waiting.size) > table.room_ahead(switch, own) {
            self.lose(index, waiting.place);
        } else {
            port.push_urgent(waiting);
        }
    }

    /// Lets a packet wait in its class's queue before a port; gives how many do.
    pub(super) fn push_by_class(&mut self, index: u32, class: usize, held: Held) -> usize {
        let Some(table) = &mut self.classes else { return 0 };
        self.ports[index as usize].data_bytes += u32::from(held.waiting.size);
        table.push(index, class, held)
    }

    pub(super) fn pop_by_class(
        &mut self,
        index: u32,
        class: usize,
        from: fn(&mut VecDeque<Held>) -> Option<Held>,
    ) -> Option<Held> {
        let held = self.classes.as_mut()?.pop(index, class, from)?;
        self.ports[index as usize].data_bytes -= u32::from(held.waiting.size);
        Some(held)
    }

    /// Finds no room for a packet of a lossy class: it, or one of its size that came last, loses its payload, or all.
    fn overflow_by_class(
        &mut self,
        switch: u32,
        index: u32,
        class: usize,
        place: Place,
        trimming: Trimming,
        mut random: Random,
    ) {
        let is_whole = Waiting::of(place, &self.pool[place]).is_whole;
        let (Trimming::To { bytes }, Some(table), true) = (trimming, self.classes.as_mut(), is_whole) else {
            self.lose(index, place);
            return;
        };
        let mut cut = place;
        if random.chance(1, 2) {
            let last = table.ports[index as usize].queues[class].held.back_mut();
            if let Some(last) = last.filter(|last| last.waiting.is_whole && last.waiting.size == self.pool[place].size)
            {
                cut = std::mem::replace(&mut last.waiting.place, place);
            }
        }
        table.outcome.totals[class].trims += 1;
        let waiting = self.cut(index, cut, bytes);
        self.enqueue_ahead(switch, index, class, waiting);
    }

    /// Sends what is next at a free port of a switch.
    #[inline(never)]
    pub(super) fn send_by_class(&mut self, index: u32) {
        if self.credits.is_some() {
            return self.send_by_lane(index);
        }
        let Some(Waiting { place, size, .. }) = self.next_by_class(index) else { return };
        self.transmit(index, place, size);
        let port = &mut self.ports[index as usize];
        let Some(table) = &self.classes else { return };
        let at = &table.ports[index as usize];
        if port.urgent_bytes > 0 || at.waiting & !at.paused != 0 {
            port.is_armed = true;
            self.wheel.add(port.free_at, Event::Free.word(index));
        }
    }

    /// Takes what is to go next at a port of a switch, marked if its queue is long.
    fn next_by_class(&mut self, index: u32) -> Option<Waiting> {
        if let Some(ahead) = self.ports[index as usize].next_urgent() {
            return Some(ahead);
        }
        let table = self.classes.as_deref_mut()?;
        let at = &mut table.ports[index as usize];
        let class = table.order.next(&mut at.turns, at.waiting & !at.paused)?;
        let held = self.pop_by_class(index, class, VecDeque::pop_front)?;
        let Waiting { place, size, is_whole } = held.waiting;
        let table = self.classes.as_deref_mut()?;
        let at = &mut table.ports[index as usize];
        at.turns.charge(class, size);
        let (bytes, marking) = (at.queues[class].bytes, table.classes[class].marking.filter(|_| is_whole));
        if marking.is_some_and(|marking| self.mark(index, place, bytes, marking)) {
            self.classes.as_mut()?.outcome.totals[class].marks += 1;
        }
        self.release_by_class(index, class, held);
        Some(held.waiting)
    }

    /// A packet has left a switch's queue: the cable that it came by may be let go.
    fn release_by_class(&mut self, index: u32, class: usize, held: Held) {
        if self.credits.is_some() && held.way_in != NO_WAY_IN {
            return self.give_back(held.way_in, class, held.waiting.size, 0);
        }
        let (Some(table), End::Switch(switch)) = (&mut self.classes, self.ports[index as usize].from) else { return };
        if table.release(switch, index, class, held) {
            self.signal(held.way_in, Event::Resume.word(name(held.way_in, class)));
        }
    }

    /// Gives a NIC's free port its next packet: what goes ahead of all, then classes in turn, of each what waits and then
    /// its flows.
    #[inline(never)]
    pub(super) fn feed_by_class(&mut self, host: u32, index: u32) {
        if self.credits.is_some() {
            return self.feed_by_lane(host, index);
        }
        let waiting = self.ports[index as usize].next_urgent().or_else(|| self.poll_by_class(host, index));
        let Some(Waiting { place, size, .. }) = waiting else { return };
        self.transmit(index, place, size);
        let port = &mut self.ports[index as usize];
        let Some(table) = &self.classes else { return };
        let at = &table.ports[index as usize];
        if port.urgent_bytes > 0 || (at.waiting | table.with_flows(host)) & !at.paused != 0 {
            port.is_armed = true;
            self.wheel.add(port.free_at, Event::Free.word(index));
        }
    }

    fn poll_by_class(&mut self, host: u32, index: u32) -> Option<Waiting> {
        let mut in_vain = 0;
        loop {
            let table = self.classes.as_deref_mut()?;
            let flows = table.with_flows(host);
            let at = &mut table.ports[index as usize];
            let class = table.order.next(&mut at.turns, (at.waiting | flows) & !at.paused & !in_vain)?;
            let waiting = if has(at.waiting, class) {
                self.pop_by_class(index, class, VecDeque::pop_front).map(|held| held.waiting)
            } else {
                self.poll_for(host, index, class)
            };
            if let Some(waiting) = waiting {
                self.classes.as_mut()?.ports[index as usize].turns.charge(class, waiting.size);
                return Some(waiting);
            }
            in_vain |= only(class);
        }
    }

    /// Lets a receiver's answer wait before a port of its NIC.
    #[inline(never)]
    pub(super) fn answer_by_class(&mut self, index: u32, place: Place) {
        let packet = &self.pool[place];
        let own = usize::from(self.routes[packet.flow as usize].class);
        let waiting = Waiting::of(place, packet);
        match self.classes.as_ref().and_then(|table| table.of(packet, own)) {
            Some(class) => {
                self.push_by_class(index, class, Held { waiting, way_in: NO_WAY_IN });
            }
            None => self.ports[index as usize].push_urgent(waiting),
        }
    }

    #[inline(never)]
    pub(super) fn pause_class(&mut self, named: u32) {
        let (index, class) = port_and_class(named);
        let Some(table) = &mut self.classes else { return };
        if table.deaf_until.get(&named).is_some_and(|&until| self.now < until) {
            return;
        }
        table.ports[index as usize].paused |= only(class);
        table.paused_since.insert(named, self.now);
        if let Some(watchdog) = self.settings.watchdog {
            self.wheel.add(self.now + watchdog.detect, Event::Watchdog.word(named));
        }
    }

    #[inline(never)]
    pub(super) fn resume_class(&mut self, named: u32) {
        let (index, class) = port_and_class(named);
        let Some(table) = &mut self.classes else { return };
        if has(table.ports[index as usize].paused, class) {
            self.totals.paused += table.end_pause(index, class, self.now);
            self.wake_port(index);
        }
    }

    /// The watchdog looks at a class that was paused: one that still is has what waits of it dropped, and hears no pause
    /// for a time.
    #[inline(never)]
    pub(super) fn watch_class(&mut self, named: u32) {
        let (index, class) = port_and_class(named);
        let is_nic = self.is_nic(index);
        let (Some(watchdog), Some(table)) = (self.settings.watchdog, &mut self.classes) else { return };
        let since = table.paused_since.get(&named).copied().unwrap_or(self.now);
        let is_paused = has(table.ports[index as usize].paused, class);
        if !is_paused || self.now - since < watchdog.detect || is_nic {
            return;
        }
        self.totals.storms += 1;
        table.outcome.totals[class].storms += 1;
        table.deaf_until.insert(named, self.now + watchdog.restore);
        self.empty_class(index, class);
        self.resume_class(named);
    }

    /// Loses all that waits in classes before a port.
    pub(super) fn empty_classes(&mut self, index: u32) {
        let classes = self.classes.as_ref().map_or(0, |table| table.classes.len());
        (0..classes).for_each(|class| self.empty_class(index, class));
    }

    fn empty_class(&mut self, index: u32, class: usize) {
        while let Some(held) = self.pop_by_class(index, class, VecDeque::pop_front) {
            self.release_by_class(index, class, held);
            self.lose(index, held.waiting.place);
        }
    }
}
