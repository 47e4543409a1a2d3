//! The sending side: a window of packets, each over an entropy value of its own, sent again where it was trimmed or lost.

use std::collections::VecDeque;
use std::marker::PhantomData;

use super::{Credit, Delivery, Feedback, Paths, PeerContext, SprayedSettings, Window};
use crate::{Bitmap, Flags, Kind, Packet, PathHealth, Picoseconds, Sender, Transmit};

/// What is known of a packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Record {
    sent: Stamp,
    state: State,
    /// Times that it was sent again.
    again: u8,
    entropy: u16,
}

/// A time of which only the age can be told, to 2^10 ps and up to four seconds: half of the memory of a time.
#[derive(Clone, Copy, Debug)]
struct Stamp(u32);

impl Stamp {
    fn of(now: Picoseconds) -> Self {
        Self((now >> 10) as u32)
    }

    fn age(self, now: Picoseconds) -> Picoseconds {
        u64::from(Self::of(now).0.wrapping_sub(self.0)) << 10
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    UnderWay,
    Arrived,
    Lost,
}

/// One message on its way, over the paths and under the window of its peer's context.
#[derive(Clone, Debug)]
pub struct SprayedSender<P, W> {
    settings: SprayedSettings,
    flow: u32,
    bytes: u64,
    packets: u32,
    /// Records of packets from `first` on, up to the highest that was sent.
    records: VecDeque<Record>,
    first: u32,
    /// Packets that the receiver has told of.
    received: u32,
    /// Packets thought to be under way: those sent, less those that the receiver counts. It hears of them sooner than
    /// [`Self::under_way`] does, but repeats that were not needed are never counted off.
    in_flight: u32,
    /// Records of packets under way.
    under_way: u32,
    /// Bytes that its context's credit has been told are yet to be sent.
    need: u64,
    lost: Bitmap,
    /// Of each plane, when the packet was sent that was sent last of those that have arrived; where that tells of losses.
    youngest: Box<[Picoseconds]>,
    /// Whether paths wait to be probed.
    probes_are_due: bool,
    timer: Option<Picoseconds>,
    retransmits: u64,
    context: PhantomData<fn(PeerContext<P, W>)>,
}

impl<P: Paths, W: Window> SprayedSender<P, W> {
    /// A message of so many bytes, to be sent from its first packet on.
    pub fn new(settings: SprayedSettings, flow: u32, bytes: u64) -> Self {
        Self {
            settings,
            flow,
            bytes,
            packets: settings.framing.packets(bytes),
            records: VecDeque::new(),
            first: 0,
            received: 0,
            in_flight: 0,
            under_way: 0,
            need: 0,
            lost: Bitmap::default(),
            youngest: vec![0; settings.overtaking.map_or(0, |_| settings.planes.into())].into(),
            probes_are_due: false,
            timer: None,
            retransmits: 0,
            context: PhantomData,
        }
    }

    fn bytes_in_flight(&self, context: &PeerContext<P, W>) -> u64 {
        u64::from(context.in_flight()) * self.settings.nscc.mtu
    }

    fn set_in_flight(&mut self, context: &mut PeerContext<P, W>, packets: u32) {
        context.recount(self.in_flight, packets);
        self.in_flight = packets;
    }

    fn record(&mut self, seq: u32) -> Option<&mut Record> {
        self.records.get_mut(seq.checked_sub(self.first)? as usize)
    }

    /// Tells the context's credit what is yet to be sent, in full packets.
    fn count_need(&mut self, credit: &mut Credit) {
        let unsent = self.packets - self.first - self.records.len() as u32;
        let need = u64::from(unsent + self.lost.count()) * self.settings.nscc.mtu;
        credit.recount(std::mem::replace(&mut self.need, need), need);
    }

    /// What to do without credit: to ask for it where the receiver does not know of the need, or else to wait.
    fn without_credit(&mut self, context: &mut PeerContext<P, W>, now: Picoseconds) -> Transmit {
        let window = context.window();
        self.timer.get_or_insert(now + self.settings.timeout);
        match &mut context.credit {
            Some(credit) if credit.is_unasked(window) => {
                let (bytes, entropy) = (credit.ask(window), context.paths.deal());
                Transmit::Packet(Packet::request(self.flow, self.settings.framing.control, entropy, bytes))
            }
            _ => Transmit::NoRoom,
        }
    }

    fn on_ack(&mut self, context: &mut PeerContext<P, W>, now: Picoseconds, ack: &Packet) {
        let newly = ack.received.saturating_sub(self.received);
        self.received += newly;
        self.set_in_flight(context, self.in_flight.saturating_sub(newly));
        let is_marked = ack.flags.has(Flags::CE);
        let delay = match self.round_trip(now, ack) {
            Some(round_trip) => {
                if !self.youngest.is_empty() {
                    let youngest = &mut self.youngest[usize::from(ack.entropy % self.settings.planes)];
                    *youngest = (*youngest).max(now - round_trip);
                }
                let delay = context.congestion.delay(round_trip);
                context.congestion.sample(delay, is_marked);
                delay
            }
            None => context.congestion.mean_delay(),
        };
        self.arrived_before(ack.cumulative);
        let mut bits = ack.bitmap;
        while bits != 0 {
            self.arrived(ack.base() + bits.trailing_zeros());
            bits &= bits - 1;
        }
        self.set_in_flight(context, self.in_flight.min(self.under_way));
        context.paths.learn(now, ack.entropy, if is_marked { Feedback::Marked } else { Feedback::Good });
        let arrived = u64::from(newly) * self.settings.nscc.mtu;
        context.congestion.on_ack(now, is_marked, delay, arrived, self.bytes_in_flight(context));
        if let Some(overtaking) = self.settings.overtaking {
            self.give_up_overtaken(context, now, overtaking);
        }
    }

    /// Takes for lost what was sent so long before something that has arrived that no queue explains it: of its plane, or,
    /// by twice as much, of another, whose queues are others.
    fn give_up_overtaken(&mut self, context: &mut PeerContext<P, W>, now: Picoseconds, overtaking: Picoseconds) {
        let latest = self.youngest.iter().copied().max().unwrap_or(0);
        let (soonest, across) = ((now - latest) + overtaking, (now - latest) + 2 * overtaking);
        for index in 0..self.records.len() {
            let record = &self.records[index];
            let age = record.sent.age(now);
            if age > soonest {
                let of_plane = self.youngest[usize::from(record.entropy % self.settings.planes)];
                let limit = across.min((now - of_plane) + overtaking);
                if record.state == State::UnderWay && age > limit {
                    self.give_up(context, now, index);
                }
            } else if record.again == 0 {
                break; // those behind were sent later still, but for repeats, whose turn comes
            }
        }
    }

    /// Takes a packet under way for lost.
    fn give_up(&mut self, context: &mut PeerContext<P, W>, now: Picoseconds, index: usize) {
        let record = &mut self.records[index];
        record.state = State::Lost;
        let entropy = record.entropy;
        self.lost.mark(self.first + index as u32);
        self.under_way -= 1;
        self.set_in_flight(context, self.in_flight.saturating_sub(1).min(self.under_way));
        if self.settings.loss_is_congestion {
            context.congestion.on_loss(now, self.settings.nscc.mtu);
        }
        context.paths.learn(now, entropy, Feedback::Lost);
    }

    /// Time since the packet was sent that an acknowledgement answers, where it is plain which sending it answers.
    fn round_trip(&mut self, now: Picoseconds, ack: &Packet) -> Option<Picoseconds> {
        let record = self.record(ack.seq).filter(|record| record.state == State::UnderWay)?;
        let is_plain = if ack.flags.has(Flags::AGAIN) { record.again == 1 } else { record.again == 0 };
        is_plain.then(|| record.sent.age(now))
    }

    fn arrived_before(&mut self, cumulative: u32) {
        while self.first < cumulative {
            let Some(record) = self.records.pop_front() else { break };
            self.under_way -= u32::from(record.state == State::UnderWay);
            self.first += 1;
        }
        self.lost.advance_to(self.first);
    }

    fn arrived(&mut self, seq: u32) {
        if let Some(record) = self.record(seq) {
            let before = std::mem::replace(&mut record.state, State::Arrived);
            self.under_way -= u32::from(before == State::UnderWay);
            self.lost.unmark(seq);
        }
    }

    /// All from a packet on is to be sent again: its receiver keeps nothing that comes before it.
    fn go_back(&mut self, context: &mut PeerContext<P, W>, seq: u32) {
        for index in seq.saturating_sub(self.first) as usize..self.records.len() {
            if self.records[index].state == State::UnderWay {
                self.records[index].state = State::Lost;
                self.lost.mark(self.first + index as u32);
                self.under_way -= 1;
            }
        }
        self.set_in_flight(context, self.in_flight.min(self.under_way));
    }

    /// A packet is missing before others that have come, which its receiver does not keep.
    fn on_gap(&mut self, context: &mut PeerContext<P, W>, now: Picoseconds, seq: u32) {
        let Some(index) = seq.checked_sub(self.first).map(|index| index as usize) else { return };
        if self.records.get(index).is_some_and(|record| record.state == State::UnderWay) {
            self.give_up(context, now, index);
            self.go_back(context, seq);
        }
    }

    fn on_nack(&mut self, context: &mut PeerContext<P, W>, now: Picoseconds, nack: &Packet) {
        if nack.flags.has(Flags::OUT_OF_ORDER) {
            return self.on_gap(context, now, nack.seq);
        }
        let Some(record) = self.record(nack.seq).filter(|record| record.state == State::UnderWay) else { return };
        let round_trip = record.sent.age(now);
        record.state = State::Lost;
        if let Some(credit) = &mut context.credit {
            credit.on_trim(self.settings.nscc.mtu);
        }
        self.under_way -= 1;
        self.lost.mark(nack.seq);
        context.congestion.delay(round_trip.max(1));
        let bytes_in_flight = self.bytes_in_flight(context);
        context.congestion.on_trim(now, self.settings.nscc.mtu, bytes_in_flight);
        self.set_in_flight(context, self.in_flight.saturating_sub(1));
        let feedback = match (nack.flags.has(Flags::LAST_HOP), nack.flags.has(Flags::CE)) {
            (false, _) => Feedback::Trimmed,
            (true, true) => Feedback::Marked,
            (true, false) => Feedback::Good,
        };
        context.paths.learn(now, nack.entropy, feedback);
        if self.settings.delivery == Delivery::Rod {
            self.go_back(context, nack.seq);
        }
    }

    /// How long ago the packet under way that was sent first was sent.
    fn longest(&self, now: Picoseconds) -> Option<Picoseconds> {
        let under_way = self.records.iter().filter(|record| record.state == State::UnderWay);
        under_way.map(|record| record.sent.age(now)).max()
    }
}

impl<P: Paths, W: Window> Sender for SprayedSender<P, W> {
    type Context = PeerContext<P, W>;

    fn on_packet(&mut self, context: &mut PeerContext<P, W>, now: Picoseconds, packet: &Packet) {
        if let Some(credit) = &mut context.credit {
            credit.on_answer();
        }
        match packet.kind {
            Kind::Ack => self.on_ack(context, now, packet),
            Kind::Nack => self.on_nack(context, now, packet),
            Kind::ProbeAnswer => context.paths.probed(packet.entropy),
            Kind::Data | Kind::Cnp | Kind::Probe | Kind::Request => {}
            Kind::Credit => Self::on_credit(context, packet),
        }
    }

    fn on_credit(context: &mut PeerContext<P, W>, packet: &Packet) {
        if let Some(credit) = &mut context.credit {
            credit.on_credit(packet);
        }
    }

    fn poll_transmit(&mut self, context: &mut PeerContext<P, W>, now: Picoseconds) -> Transmit {
        if self.probes_are_due {
            if let Some(value) = context.paths.probe(now) {
                return Transmit::Packet(Packet::probe(self.flow, self.settings.framing.control, value));
            }
            self.probes_are_due = false;
        }
        let highest = self.first + self.records.len() as u32;
        let lost = self.lost.first();
        if lost.is_none() && highest == self.packets {
            return Transmit::Nothing;
        }
        let seq = lost.unwrap_or(highest);
        let size = self.settings.framing.size(self.bytes, seq);
        let under_way = self.bytes_in_flight(context);
        let window = context.window();
        if window < under_way + u64::from(size) {
            return Transmit::NoRoom;
        }
        let mut is_last = seq + 1 == self.packets || window < under_way + 2 * self.settings.nscc.mtu;
        if let Some(credit) = &mut context.credit {
            self.count_need(credit);
            if !credit.is_left() {
                return self.without_credit(context, now);
            }
            credit.spend(size.into());
            is_last |= !credit.is_left();
        }
        let entropy = context.paths.deal();
        let fresh = Record { sent: Stamp::of(now), state: State::UnderWay, again: 0, entropy };
        match lost {
            None => self.records.push_back(fresh),
            Some(seq) => {
                self.lost.unmark(seq);
                self.retransmits += 1;
                if let Some(record) = self.record(seq) {
                    *record = Record { again: record.again.saturating_add(1), ..fresh };
                }
            }
        }
        self.set_in_flight(context, self.in_flight + 1);
        self.under_way += 1;
        self.timer.get_or_insert(now + self.settings.timeout);
        let flags =
            Flags::default().with_if(Flags::ACK_NOW, is_last || lost.is_some()).with_if(Flags::AGAIN, lost.is_some());
        let mut packet = Packet::data(self.flow, seq, size, entropy, flags);
        if let Some(credit) = &mut context.credit {
            self.count_need(credit);
            packet = packet.asking(credit.ask(window));
        }
        Transmit::Packet(packet)
    }

    fn deadline(&self, context: &PeerContext<P, W>) -> Option<Picoseconds> {
        let probe = context.paths.next_probe().filter(|_| !self.probes_are_due);
        self.timer.into_iter().chain(probe).min()
    }

    fn on_deadline(&mut self, context: &mut PeerContext<P, W>, now: Picoseconds) {
        self.probes_are_due |= context.paths.next_probe().is_some_and(|probe| probe <= now);
        if self.timer.is_none_or(|timer| now < timer) {
            return;
        }
        if let Some(credit) = context.credit.as_mut().filter(|credit| !credit.is_left()) {
            credit.ask_again();
        }
        let timeout = self.settings.timeout;
        for index in 0..self.records.len() {
            let record = &self.records[index];
            if record.state == State::UnderWay && record.sent.age(now) >= timeout {
                self.give_up(context, now, index);
                if self.settings.delivery == Delivery::Rod {
                    self.go_back(context, self.first + index as u32);
                }
            }
        }
        self.timer = self.longest(now).map(|age| now + timeout.saturating_sub(age) + (1 << 10));
    }

    fn is_done(&self) -> bool {
        self.first == self.packets
    }

    fn has_sent_all(&self) -> bool {
        self.first + self.records.len() as u32 == self.packets
    }

    fn retransmits(&self) -> u64 {
        self.retransmits
    }

    fn paths(context: &PeerContext<P, W>) -> PathHealth {
        context.paths.health()
    }
}
