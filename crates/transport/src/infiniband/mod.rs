//! InfiniBand's reliable connection: the machine that RoCEv2 took over, in InfiniBand's own framing, with a limit on
//! retries and, where a fabric has it, the congestion control of the architecture's annex A10.
//!
//! Credits, virtual lanes and marks are the network's business. After the InfiniBand Architecture Specification, volume
//! 1: headers, timeouts and retries in chapter 9, congestion control in annex A10.

mod throttle;

pub use throttle::{TIMER_UNIT, Throttle, ThrottleSettings};

use crate::roce::{Notified, RoceContext, RoceReceiver, RoceSender, RoceSettings};
use crate::{Answers, Flags, Kind, Packet, Picoseconds, Receiver, Sender, Transmit};

/// Bytes around the payload of every packet: LRH 8, BTH 12, ICRC 4, VCRC 2.
pub const HEADER: u16 = 26;
/// Bytes of an acknowledgement: those and AETH 4.
pub const ACKNOWLEDGEMENT: u16 = 30;
/// Bytes of RETH, which the first packet of an RDMA WRITE bears besides.
pub const RETH: u16 = 16;

/// What all queue pairs of a fabric share.
#[derive(Clone, Copy, Debug)]
pub struct InfiniBandSettings {
    /// The reliable connection; its timeout is the local ACK timeout.
    pub connection: RoceSettings,
    /// Times that the timer may run out in a row before the queue pair gives up: 7 at most, in three bits.
    pub retries: u32,
    /// Congestion control, where there is any.
    pub throttle: Option<ThrottleSettings>,
}

/// What outlasts a message of a queue pair at its sender.
#[derive(Clone, Debug)]
pub struct InfiniBandContext {
    connection: RoceContext,
    throttle: Option<Throttle>,
}

impl InfiniBandContext {
    /// A queue pair as it begins, unthrottled.
    pub fn new(settings: &InfiniBandSettings, seed: u64) -> Self {
        Self {
            connection: RoceContext::new(&settings.connection, seed),
            throttle: settings.throttle.map(Throttle::new),
        }
    }
}

/// One message on its way.
#[derive(Clone, Debug)]
pub struct InfiniBandSender {
    connection: RoceSender,
    retries: u32,
    /// Times that the timer has run out since something was acknowledged.
    tries: u32,
}

impl InfiniBandSender {
    /// A message of so many bytes.
    pub fn new(settings: InfiniBandSettings, flow: u32, bytes: u64) -> Self {
        Self { connection: RoceSender::new(settings.connection, flow, bytes), retries: settings.retries, tries: 0 }
    }
}

impl Sender for InfiniBandSender {
    type Context = InfiniBandContext;

    fn on_packet(&mut self, context: &mut InfiniBandContext, now: Picoseconds, packet: &Packet) {
        if matches!(packet.kind, Kind::Ack | Kind::Nack) {
            let before = self.connection.acknowledged();
            self.connection.on_packet(&mut context.connection, now, packet);
            if self.connection.acknowledged() > before {
                self.tries = 0;
            }
            if let Some(throttle) = context.throttle.as_mut().filter(|_| packet.flags.has(Flags::CE)) {
                throttle.on_becn(now);
            }
        }
    }

    fn poll_transmit(&mut self, context: &mut InfiniBandContext, now: Picoseconds) -> Transmit {
        if self.has_failed() {
            return Transmit::Nothing;
        }
        if let Some(throttle) = context.throttle.as_ref().filter(|throttle| now < throttle.next_at()) {
            return Transmit::NotBefore(throttle.next_at());
        }
        let polled = self.connection.poll_transmit(&mut context.connection, now);
        let Transmit::Packet(mut packet) = polled else { return polled };
        if packet.seq == 0 {
            packet.size += RETH;
        }
        if let Some(throttle) = &mut context.throttle {
            throttle.on_sent(now, packet.size);
        }
        Transmit::Packet(packet)
    }

    fn deadline(&self, context: &InfiniBandContext) -> Option<Picoseconds> {
        self.connection.deadline(&context.connection).filter(|_| !self.has_failed())
    }

    fn on_deadline(&mut self, context: &mut InfiniBandContext, now: Picoseconds) {
        if self.deadline(context).is_some_and(|deadline| deadline <= now) {
            self.tries += 1;
            self.connection.on_deadline(&mut context.connection, now);
        }
    }

    fn is_done(&self) -> bool {
        self.connection.is_done()
    }

    fn has_sent_all(&self) -> bool {
        self.connection.has_sent_all()
    }

    fn retransmits(&self) -> u64 {
        self.connection.retransmits()
    }

    fn has_failed(&self) -> bool {
        self.tries > self.retries
    }
}

/// One message as it comes in.
#[derive(Clone, Debug)]
pub struct InfiniBandReceiver {
    connection: RoceReceiver,
    /// Whether a packet since the last answer bore a forward notification.
    has_seen_fecn: bool,
}

impl InfiniBandReceiver {
    /// Waits for the first packet of a message of so many bytes.
    pub fn new(settings: InfiniBandSettings, bytes: u64) -> Self {
        Self { connection: RoceReceiver::new(settings.connection, bytes), has_seen_fecn: false }
    }
}

impl Receiver for InfiniBandReceiver {
    type Context = Notified;

    fn on_packet(&mut self, context: &mut Notified, now: Picoseconds, packet: &Packet) -> Answers {
        self.has_seen_fecn |= packet.flags.has(Flags::CE);
        let mut answers = self.connection.on_packet(context, now, packet);
        for answer in answers.iter_mut().flatten() {
            // the next answer carries it back, as BECN in its BTH
            answer.flags = answer.flags.with_if(Flags::CE, std::mem::take(&mut self.has_seen_fecn));
        }
        answers
    }

    fn received(&self) -> u32 {
        self.connection.received()
    }

    fn is_done(&self) -> bool {
        self.connection.is_done()
    }
}
