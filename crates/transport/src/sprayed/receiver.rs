//! The receiving side: places packets in any order, or takes them in order alone, and says what has arrived.

use super::{Delivery, SprayedSettings};
use crate::{Answers, Bitmap, Flags, Kind, Packet, Picoseconds, Receiver};

/// One message as it comes in.
#[derive(Clone, Debug)]
pub struct SprayedReceiver {
    settings: SprayedSettings,
    packets: u32,
    /// Packets that came ahead of the lowest that is missing.
    ahead: Bitmap,
    received: u32,
    /// Bytes since the last acknowledgement.
    unacknowledged: u32,
    /// Where packets are taken in order alone: the gap that was last told of.
    told_of: Option<u32>,
    /// An answer was asked for while packets were missing: one is due when they have come.
    owes_answer: bool,
}

impl SprayedReceiver {
    /// Waits for the first packet of a flow of so many bytes.
    pub fn new(settings: SprayedSettings, bytes: u64) -> Self {
        let packets = settings.framing.packets(bytes);
        Self {
            settings,
            packets,
            ahead: Bitmap::default(),
            received: 0,
            unacknowledged: 0,
            told_of: None,
            owes_answer: false,
        }
    }

    fn ack(&mut self, packet: &Packet, base: u32) -> Packet {
        self.unacknowledged = 0;
        let cumulative = self.ahead.base();
        let ahead = u16::try_from(base.saturating_sub(cumulative)).unwrap_or(u16::MAX);
        Packet {
            cumulative,
            received: self.received,
            ahead,
            bitmap: self.ahead.window(cumulative + u32::from(ahead)),
            ..packet.answer(Kind::Ack, self.settings.framing.control)
        }
    }

    /// Where a bitmap begins that shows the most around a packet: what came before it, above the lowest missing.
    fn base_around(&self, seq: u32) -> u32 {
        seq.saturating_sub(63).max(self.ahead.base() + 1)
    }

    /// Tells, once, that a packet is missing before one that has come and is not kept.
    fn on_early(&mut self, packet: &Packet) -> Option<Packet> {
        let expected = self.ahead.base();
        if self.told_of.replace(expected) == Some(expected) {
            return None;
        }
        let early = Packet { flags: packet.flags.with(Flags::OUT_OF_ORDER), seq: expected, ..*packet };
        Some(self.nack(&early))
    }

    fn nack(&self, packet: &Packet) -> Packet {
        Packet {
            cumulative: self.ahead.base(),
            received: self.received,
            ..packet.answer(Kind::Nack, self.settings.framing.control)
        }
    }

    fn on_data(&mut self, packet: &Packet) -> Option<Packet> {
        if self.settings.delivery == Delivery::Rod && packet.seq > self.ahead.base() {
            return self.on_early(packet);
        }
        let is_marked = packet.flags.has(Flags::CE);
        self.unacknowledged += u32::from(packet.size);
        if !self.ahead.mark(packet.seq) {
            let base = if is_marked { packet.seq } else { self.base_around(packet.seq) };
            return Some(self.ack(packet, base)); // sent twice: the sender lacks our answer
        }
        let is_first = self.received == 0;
        self.received += 1;
        let asks = packet.flags.has(Flags::ACK_NOW);
        self.owes_answer |= asks;
        let was_next = packet.seq == self.ahead.base();
        self.ahead.advance();
        let is_caught_up = was_next && self.ahead.count() == 0 && std::mem::take(&mut self.owes_answer);
        let is_due = self.unacknowledged >= self.settings.ack_every;
        if is_marked || is_due || is_first || asks || is_caught_up {
            let base = if is_marked || asks { packet.seq } else { self.base_around(packet.seq) };
            return Some(self.ack(packet, base));
        }
        None
    }

    fn on_trimmed(&mut self, packet: &Packet) -> Option<Packet> {
        if self.ahead.has(packet.seq) {
            let base = self.base_around(packet.seq);
            return Some(self.ack(packet, base));
        }
        if self.settings.delivery == Delivery::Rod {
            if packet.seq > self.ahead.base() {
                return self.on_early(packet);
            }
            self.told_of = Some(packet.seq);
        }
        Some(self.nack(packet))
    }
}

impl Receiver for SprayedReceiver {
    type Context = ();

    fn on_packet(&mut self, _context: &mut (), _now: Picoseconds, packet: &Packet) -> Answers {
        let answer = match packet.kind {
            Kind::Probe => Some(packet.answer(Kind::ProbeAnswer, self.settings.framing.control)),
            Kind::Data if packet.flags.has(Flags::TRIMMED) => self.on_trimmed(packet),
            Kind::Data => self.on_data(packet),
            _ => None,
        };
        [answer, None]
    }

    fn received(&self) -> u32 {
        self.received
    }

    fn is_done(&self) -> bool {
        self.received == self.packets
    }
}
