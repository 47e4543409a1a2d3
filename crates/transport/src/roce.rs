//! RoCEv2 reliable connection: packets in order over one path, sent again from a gap on (go-back-N) or one by one
//! (selective repeat), at line rate or at DCQCN's.

use crate::dcqcn::{Dcqcn, DcqcnSettings};
use crate::selective::Selective;
use crate::{Answers, Bitmap, Flags, Framing, Kind, Packet, Picoseconds, Random, Receiver, Sender, Transmit};

/// What a NIC does about packets that are missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The receiver takes packets in order alone; the sender begins again from the first that is missing.
    GoBackN,
    /// The receiver keeps what comes early, and tells of each such packet; the sender sends again what is missing.
    Selective,
    /// The receiver places packets in any order and names no gaps, since on a lossless fabric a gap is a packet on another
    /// path: adaptive routing as InfiniBand and Ethernet NICs that place data directly take it. What is lost is sent again
    /// when the timer runs out.
    AnyOrder,
}

/// What all flows of a fabric share.
#[derive(Clone, Copy, Debug)]
pub struct RoceSettings {
    /// How messages are cut.
    pub framing: Framing,
    /// What is done about packets that are missed.
    pub repeat: Repeat,
    /// Most packets under way.
    pub window: u32,
    /// Packets after which a receiver acknowledges.
    pub ack_every: u32,
    /// Time without progress after which the sender begins again.
    pub timeout: Picoseconds,
    /// Congestion control, where there is any.
    pub dcqcn: Option<DcqcnSettings>,
}

/// What outlasts a message of a queue pair at its sender: its path, and its rate where DCQCN governs it.
#[derive(Clone, Debug)]
pub struct RoceContext {
    entropy: u16,
    rate: Option<Dcqcn>,
    /// When the rate allows the next packet.
    next_at: Picoseconds,
}

impl RoceContext {
    /// A queue pair as it begins; its UDP source port, and so its path, is drawn from the seed.
    pub fn new(settings: &RoceSettings, seed: u64) -> Self {
        let entropy = Random::new(seed).bits() as u16;
        Self { entropy, rate: settings.dcqcn.map(Dcqcn::new), next_at: 0 }
    }
}

/// What outlasts a message of a queue pair at its receiver: when it last told of a mark.
#[derive(Clone, Copy, Debug, Default)]
pub struct Notified(Option<Picoseconds>);

/// One message on its way.
#[derive(Clone, Debug)]
pub struct RoceSender {
    settings: RoceSettings,
    flow: u32,
    bytes: u64,
    packets: u32,
    /// Lowest packet that is not acknowledged.
    acknowledged: u32,
    /// Next packet to send.
    next: u32,
    /// One past the highest packet that was sent.
    highest: u32,
    /// Where packets are sent again one by one.
    selective: Option<Box<Selective>>,
    timer: Option<Picoseconds>,
    retransmits: u64,
}

impl RoceSender {
    /// A message of so many bytes.
    pub fn new(settings: RoceSettings, flow: u32, bytes: u64) -> Self {
        Self {
            settings,
            flow,
            bytes,
            packets: settings.framing.packets(bytes),
            acknowledged: 0,
            next: 0,
            highest: 0,
            selective: (settings.repeat == Repeat::Selective).then(Box::default),
            timer: None,
            retransmits: 0,
        }
    }

    /// Lowest packet that is not acknowledged.
    pub fn acknowledged(&self) -> u32 {
        self.acknowledged
    }
}

impl Sender for RoceSender {
    type Context = RoceContext;

    fn on_packet(&mut self, context: &mut RoceContext, now: Picoseconds, packet: &Packet) {
        if packet.kind == Kind::Cnp {
            if let Some(rate) = &mut context.rate {
                rate.on_notification(now);
            }
        }
        if !matches!(packet.kind, Kind::Ack | Kind::Nack) {
            return;
        }
        if packet.cumulative > self.acknowledged {
            self.acknowledged = packet.cumulative.min(self.highest);
            self.next = self.next.max(self.acknowledged);
            self.timer = (self.acknowledged < self.highest).then_some(now + self.settings.timeout);
        }
        if let Some(selective) = &mut self.selective {
            selective.on_answer(packet, self.acknowledged, self.highest);
        } else if packet.kind == Kind::Nack && self.settings.repeat == Repeat::GoBackN {
            self.next = self.acknowledged;
        }
    }

    fn poll_transmit(&mut self, context: &mut RoceContext, now: Picoseconds) -> Transmit {
        let lost = self.selective.as_ref().and_then(|selective| selective.first());
        let seq = lost.unwrap_or(self.next);
        if lost.is_none() && (seq >= self.packets || seq - self.acknowledged >= self.settings.window) {
            return Transmit::Nothing;
        }
        if now < context.next_at {
            return Transmit::NotBefore(context.next_at);
        }
        let is_again = seq < self.highest;
        self.retransmits += u64::from(is_again);
        match &mut self.selective {
            Some(selective) if lost.is_some() => selective.on_repeated(seq, self.highest),
            _ => self.next += 1,
        }
        self.highest = self.highest.max(seq + 1);
        self.timer.get_or_insert(now + self.settings.timeout);
        let is_last = seq + 1 == self.packets;
        let flags = Flags::default().with_if(Flags::AGAIN, is_again).with_if(Flags::ACK_NOW, is_last || is_again);
        let size = self.settings.framing.size(self.bytes, seq);
        if let Some(rate) = &mut context.rate {
            context.next_at = now + (f64::from(size) / rate.rate(now) * 1e12) as Picoseconds;
            rate.on_sent(size.into());
        }
        Transmit::Packet(Packet::data(self.flow, seq, size, context.entropy, flags))
    }

    fn deadline(&self, _context: &RoceContext) -> Option<Picoseconds> {
        self.timer
    }

    fn on_deadline(&mut self, _context: &mut RoceContext, now: Picoseconds) {
        if self.timer.is_none_or(|timer| now < timer) {
            return;
        }
        self.timer = None;
        if self.acknowledged < self.highest {
            match &mut self.selective {
                Some(selective) => selective.on_silence(self.acknowledged, self.highest),
                None => self.next = self.acknowledged,
            }
            self.timer = Some(now + self.settings.timeout);
        }
    }

    fn is_done(&self) -> bool {
        self.acknowledged == self.packets
    }

    fn has_sent_all(&self) -> bool {
        self.highest == self.packets
    }

    fn retransmits(&self) -> u64 {
        self.retransmits
    }
}

/// One message as it comes in.
#[derive(Clone, Debug)]
pub struct RoceReceiver {
    settings: RoceSettings,
    packets: u32,
    ahead: Bitmap,
    received: u32,
    unacknowledged: u32,
    /// The gap that was last complained of: who goes back to it is told once.
    complained: Option<u32>,
}

impl RoceReceiver {
    /// Waits for the first packet of a flow of so many bytes.
    pub fn new(settings: RoceSettings, bytes: u64) -> Self {
        let packets = settings.framing.packets(bytes);
        Self { settings, packets, ahead: Bitmap::default(), received: 0, unacknowledged: 0, complained: None }
    }

    fn answer(&mut self, packet: &Packet, kind: Kind) -> Packet {
        self.unacknowledged = 0;
        let cumulative = self.ahead.base();
        // up to the packet that is answered, so that one answer tells again what those before it told
        let ahead = packet.seq.saturating_sub(63).saturating_sub(cumulative).min(u16::MAX.into()) as u16;
        let bitmap = self.ahead.window(cumulative + u32::from(ahead));
        let received = self.received;
        Packet { cumulative, received, ahead, bitmap, ..packet.answer(kind, self.settings.framing.control) }
    }
}

impl RoceReceiver {
    /// Tells of a mark, if it is time for the queue pair.
    fn notify(&self, last: &mut Notified, now: Picoseconds, packet: &Packet) -> Option<Packet> {
        let every = self.settings.dcqcn?.notify_every;
        let is_due = last.0.is_none_or(|last| now - last >= every);
        if !packet.flags.has(Flags::CE) || !is_due {
            return None;
        }
        last.0 = Some(now);
        Some(packet.answer(Kind::Cnp, self.settings.framing.notification))
    }

    fn on_data(&mut self, packet: &Packet) -> Option<Packet> {
        let expected = self.ahead.base();
        if self.ahead.has(packet.seq) {
            return Some(self.answer(packet, Kind::Ack));
        }
        let is_early = packet.seq > expected;
        if !is_early || self.settings.repeat != Repeat::GoBackN {
            self.ahead.mark(packet.seq);
            self.received += 1;
            self.unacknowledged += 1;
            self.ahead.advance();
        }
        if is_early && self.settings.repeat != Repeat::AnyOrder {
            if self.complained == Some(expected) && self.settings.repeat == Repeat::GoBackN {
                return None;
            }
            self.complained = Some(expected);
            return Some(self.answer(packet, Kind::Nack));
        }
        // where packets come in any order, the one that asks for an answer need not be the one that completes the message
        let is_asked = packet.flags.has(Flags::ACK_NOW) || self.is_done();
        let is_due = self.unacknowledged >= self.settings.ack_every || is_asked;
        is_due.then(|| self.answer(packet, Kind::Ack))
    }
}

impl Receiver for RoceReceiver {
    type Context = Notified;

    fn on_packet(&mut self, notified: &mut Notified, now: Picoseconds, packet: &Packet) -> Answers {
        if packet.kind != Kind::Data || packet.flags.has(Flags::TRIMMED) {
            return [None, None];
        }
        [self.notify(notified, now, packet), self.on_data(packet)]
    }

    fn received(&self) -> u32 {
        self.received
    }

    fn is_done(&self) -> bool {
        self.received == self.packets
    }
}
