//! A switch at work: which port, room before it, marks, and pauses.

use eastwest_transport::{Flags, Packet};

use super::choice::{Choice, hashed, shorter_of_two, shortest};
use super::draws::Purpose;
use super::event::Event;
use super::pool::Place;
use super::port::{End, Waiting};
use super::run::{Route, Simulation};
use super::settings::{Buffers, Marking, Trimming};
use super::transport::Transport;

/// Bytes of a pause frame on the wire.
pub(super) const PAUSE_BYTES: u16 = 84;

/// Where a packet at a switch goes on to.
enum Onward<'a> {
    /// To its host, by this port.
    Here(u32),
    /// By one of these, none where nothing leads there.
    Away(&'a [u32]),
}

impl<T: Transport> Simulation<'_, T> {
    /// The port by which a switch sends on a packet that came by one; none where nothing leads to its receiver.
    pub(super) fn choose(&mut self, way_in: u32, switch: u32, place: Place) -> Option<u32> {
        let packet = &self.pool[place];
        let route = &self.routes[packet.flow as usize];
        let ports = match self.onward(switch, route, packet) {
            Onward::Here(down) => return Some(down),
            Onward::Away([]) => return None,
            Onward::Away(ports) => ports,
        };
        if self.settings.choice == Choice::Hash {
            return Some(hashed(ports, route.pair, packet, self.switch_seeds[switch as usize]));
        }
        let mut random = self.draws.at(Purpose::Path, way_in, self.now);
        match self.settings.choice {
            Choice::Random => Some(ports[random.below(ports.len() as u32) as usize]),
            Choice::ShortestQueue => Some(shortest(ports, &mut random, &self.ports)),
            Choice::ShorterOfTwo => Some(shorter_of_two(ports, &mut random, &self.ports)),
            _ => self.steer(switch, place, &mut random),
        }
    }

    fn onward(&self, switch: u32, route: &Route, packet: &Packet) -> Onward<'_> {
        let host = route.hosts[usize::from(packet.kind.is_forward())];
        let plug = &self.plugs[(host * self.planes) as usize + self.plane(packet.entropy)];
        if self.attachment_of[switch as usize] == plug.attachment {
            return Onward::Here(plug.down);
        }
        Onward::Away(match self.detour.as_deref() {
            Some(detour) => detour.next(switch, plug.attachment),
            None => self.forwarding.next(switch, plug.towards),
        })
    }

    /// The plane that an entropy value stands for.
    pub(super) fn plane(&self, entropy: u16) -> usize {
        if self.planes == 1 { 0 } else { usize::from(entropy) % self.planes as usize }
    }

    /// Puts a packet that came by one port before another port of a switch.
    #[inline(always)] // where packets arrive, its busiest caller
    pub(super) fn enqueue(&mut self, way_in: u32, index: u32, place: Place) {
        if self.classes.is_some() {
            self.enqueue_by_class(way_in, index, place);
            return;
        }
        let packet = &self.pool[place];
        let waiting = Waiting::of(place, packet);
        let size = u32::from(packet.size);
        let port = &mut self.ports[index as usize];
        if port.is_down {
            self.lose_arriving(way_in, index, place);
            return;
        }
        match self.settings.buffers {
            Buffers::Lossless { pause } => {
                port.push(waiting);
                port.came_by.push_back(way_in);
                let ingress = &mut self.ports[way_in as usize];
                ingress.held += size;
                if ingress.held > pause.above && !ingress.is_pausing {
                    ingress.is_pausing = true;
                    self.ask_to_pause(way_in, Event::Pause.word(way_in));
                }
            }
            Buffers::Credits { .. } => {
                port.push(waiting);
                port.came_by.push_back(way_in);
            }
            Buffers::Lossy { room, trimming } => {
                if !waiting.is_whole {
                    self.enqueue_urgent(index, waiting, room);
                } else if port.data_bytes + size <= room {
                    port.push(waiting);
                } else {
                    self.overflow(way_in, index, place, room, trimming);
                }
            }
        }
        self.attend(index);
    }

    /// Sees to it that a port of a switch sends what has come before it, now or when it is free.
    pub(super) fn attend(&mut self, index: u32) {
        let port = &mut self.ports[index as usize];
        port.deepest = port.deepest.max(port.data_bytes);
        if !port.is_armed {
            if port.free_at <= self.now {
                self.send(index);
            } else {
                port.is_armed = true;
                self.wheel.add(port.free_at, Event::Free.word(index));
            }
        }
    }

    fn enqueue_urgent(&mut self, index: u32, waiting: Waiting, room: u32) {
        let port = &mut self.ports[index as usize];
        if port.urgent_bytes + u32::from(waiting.size) > 2 * room {
            self.lose(index, waiting.place);
            return;
        }
        port.push_urgent(waiting);
    }

    /// Finds no room for a packet: it or the one that came last loses its payload, or all.
    fn overflow(&mut self, way_in: u32, index: u32, place: Place, room: u32, trimming: Trimming) {
        let Trimming::To { bytes } = trimming else {
            self.lose(index, place);
            return;
        };
        let port = &mut self.ports[index as usize];
        let mut cut = place;
        if self.draws.at(Purpose::Trim, way_in, self.now).chance(1, 2) {
            if let Some(last) = port.data.pop_back() {
                cut = last.place;
                port.data_bytes -= u32::from(last.size);
                port.push(Waiting::of(place, &self.pool[place]));
            }
        }
        let waiting = self.cut(index, cut, bytes);
        self.enqueue_urgent(index, waiting, room);
    }

    /// Cuts the payload of a packet off before a port.
    pub(super) fn cut(&mut self, index: u32, place: Place, bytes: u16) -> Waiting {
        let is_last_hop = matches!(self.ports[index as usize].to, End::Host(_));
        let packet = &mut self.pool[place];
        packet.size = bytes;
        packet.flags = packet.flags.with(Flags::TRIMMED).with_if(Flags::LAST_HOP, is_last_hop);
        self.totals.trims += 1;
        if let Some(recorder) = &mut self.recorder {
            recorder.trimmed(index);
        }
        Waiting::of(place, packet)
    }

    /// Sends what is next at a free port of a switch.
    pub(super) fn send(&mut self, index: u32) {
        if self.classes.is_some() {
            self.send_by_class(index);
            return;
        }
        if self.credits.is_some() && !self.take_credits(index) {
            return;
        }
        let port = &mut self.ports[index as usize];
        let Some(Waiting { place, size, is_whole }) = port.next() else { return };
        if let Some(marking) = self.settings.marking.filter(|_| is_whole) {
            let waiting = port.data_bytes;
            self.mark(index, place, waiting, marking);
        }
        self.release(index, size);
        self.transmit(index, place, size);
        let port = &mut self.ports[index as usize];
        if port.has_work() {
            port.is_armed = true;
            self.wheel.add(port.free_at, Event::Free.word(index));
        }
    }

    /// Marks a packet that leaves by a port as the bytes that wait behind it demand; whether it did.
    #[inline]
    pub(super) fn mark(&mut self, index: u32, place: Place, waiting: u32, marking: Marking) -> bool {
        let (over, span) = (waiting.saturating_sub(marking.from), u64::from(marking.to - marking.from));
        let part = u64::from(over) * u64::from(marking.most);
        let mut random = self.draws.at(Purpose::Mark, index, self.now);
        let marks = waiting > marking.to || (over > 0 && random.chance(part, span * 1000));
        if marks {
            let packet = &mut self.pool[place];
            packet.flags = packet.flags.with(Flags::CE);
            self.totals.marks += 1;
            if let Some(recorder) = &mut self.recorder {
                recorder.marked(index);
            }
        }
        marks
    }

    /// A packet of so many bytes has left a lossless queue: the cable that it came by may be let go.
    pub(super) fn release(&mut self, index: u32, bytes: u16) {
        let pause = match self.settings.buffers {
            Buffers::Lossy { .. } => return,
            Buffers::Lossless { pause } => Some(pause),
            Buffers::Credits { .. } => None,
        };
        let Some(way_in) = self.ports[index as usize].came_by.pop_front() else { return };
        let Some(pause) = pause else { return self.give_back_leaving(index, way_in, 0, bytes) };
        let ingress = &mut self.ports[way_in as usize];
        ingress.held -= u32::from(bytes);
        if ingress.is_pausing && ingress.held <= pause.at {
            ingress.is_pausing = false;
            self.signal(way_in, Event::Resume.word(way_in));
        }
    }

    /// Tells the port at the beginning of a cable to pause or to go on: a frame's time and the cable's later.
    pub(super) fn signal(&mut self, ingress: u32, word: u32) {
        let port = &self.ports[ingress as usize];
        let when = self.now + port.time_of(PAUSE_BYTES) + port.latency();
        self.wheel.send(port.regions[0], when, word);
    }

    pub(super) fn pause(&mut self, index: u32) {
        if self.classes.is_some() {
            self.pause_class(index);
            return;
        }
        let port = &mut self.ports[index as usize];
        if self.deaf_until.get(&index).is_some_and(|&until| self.now < until) {
            return;
        }
        port.is_paused = true;
        self.paused_since.insert(index, self.now);
        if let Some(watchdog) = self.settings.watchdog {
            self.wheel.add(self.now + watchdog.detect, Event::Watchdog.word(index));
        }
    }

    pub(super) fn resume(&mut self, index: u32) {
        if self.classes.is_some() {
            self.resume_class(index);
            return;
        }
        let port = &mut self.ports[index as usize];
        if port.is_paused {
            port.is_paused = false;
            self.end_pause(index);
            self.wake_port(index);
        }
    }

    /// The watchdog looks at a port that was paused: one that still is has its data dropped, and hears no pause for a time.
    pub(super) fn watch(&mut self, index: u32) {
        if self.classes.is_some() {
            self.watch_class(index);
            return;
        }
        let Some(watchdog) = self.settings.watchdog else { return };
        let port = &self.ports[index as usize];
        let since = self.paused_since.get(&index).copied().unwrap_or(self.now);
        if !port.is_paused || self.now - since < watchdog.detect || self.is_nic(index) {
            return;
        }
        self.totals.storms += 1;
        self.deaf_until.insert(index, self.now + watchdog.restore);
        self.empty(index);
        self.resume(index);
    }
}
