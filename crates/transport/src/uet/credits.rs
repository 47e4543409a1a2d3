//! RCCC, the receiver-credit congestion control of Ultra Ethernet: the receiver's side, one for each NIC.
//!
//! Senders say with each packet how many bytes they want to send in all; the receiver grants them in turn, a few packets at
//! a time, no faster than its own link takes them in. So many senders to one receiver need no queue before its port, but
//! for what each may send before it has heard of any credit. While nobody asks, those that have asked before are granted
//! up to a window ahead, so that what they send next need not wait.
//!
//! After the public descriptions of the Ultra Ethernet specification 1.0 and the consortium's reference simulator, whose
//! grants of four packets and first window these are. Credits and requests count bytes from the beginning, so that the
//! next makes good the loss of one. The sender's side is [`crate::sprayed::Credit`].

use std::collections::{HashMap, VecDeque};

use crate::{Flags, Kind, Packet, Picoseconds, Transmit};

/// How a receiver grants credit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreditSettings {
    /// Bytes that a sender may send at first, and be granted beyond what it has asked for.
    pub ahead: u64,
    /// Bytes of one grant.
    pub grant: u64,
    /// Bytes a second that are granted in all.
    pub rate: f64,
    /// Bytes of a credit's packet.
    pub control: u16,
    /// Bytes of a full packet.
    pub mtu: u64,
}

/// Those that send to one NIC, and the credit that each has been granted.
#[derive(Clone, Debug)]
pub struct Credits {
    settings: CreditSettings,
    sources: HashMap<u32, Source>,
    /// Who has asked for more than was granted, in turn.
    busy: VecDeque<u32>,
    /// Who may be granted credit ahead.
    idle: VecDeque<u32>,
    next_at: Picoseconds,
}

#[derive(Clone, Copy, Debug)]
struct Source {
    /// The packet that was last heard, which a credit answers.
    last: Packet,
    asked: u64,
    granted: u64,
    turn: Turn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    None,
    Busy,
    Idle,
}

impl Credits {
    /// Nobody has asked yet.
    pub fn new(settings: CreditSettings) -> Self {
        Self { settings, sources: HashMap::new(), busy: VecDeque::new(), idle: VecDeque::new(), next_at: 0 }
    }

    /// Takes note of what a packet of data or a request asks for; a request for what has been granted is answered at once,
    /// since the credit may be lost.
    pub fn on_packet(&mut self, source: u32, packet: &Packet) -> Option<Packet> {
        let Self { settings, sources, .. } = self;
        let granted = settings.ahead;
        let known = sources.entry(source).or_insert(Source { last: *packet, asked: 0, granted, turn: Turn::None });
        (known.last, known.asked) = (*packet, known.asked.max(packet.credit()));
        if packet.flags.has(Flags::TRIMMED) {
            // It will be sent again, and its sender may have no credit left to say so: what it could send ahead of any it
            // gives up once it is answered.
            let used = if known.granted == settings.ahead { known.granted } else { 0 };
            known.asked = (known.asked.max(used) + settings.mtu).min(known.granted + settings.ahead);
        }
        if known.asked > known.granted {
            if known.turn != Turn::Busy {
                known.turn = Turn::Busy;
                self.busy.push_back(source);
            }
        } else if packet.kind == Kind::Request {
            return Some(packet.credit_of(known.granted, settings.control));
        }
        None
    }

    /// Forgets a source: it has ended, or begins anew.
    pub fn forget(&mut self, source: u32) {
        if self.sources.remove(&source).is_some() {
            self.busy.retain(|&other| other != source);
            self.idle.retain(|&other| other != source);
        }
    }

    /// The next credit that is due.
    pub fn poll(&mut self, now: Picoseconds) -> Transmit {
        if now < self.next_at && !(self.busy.is_empty() && self.idle.is_empty()) {
            return Transmit::NotBefore(self.next_at);
        }
        let Some((source, most)) = self.next() else { return Transmit::Nothing };
        let Some(known) = self.sources.get_mut(&source) else { return Transmit::Nothing };
        let given = self.settings.grant.min(most - known.granted);
        known.granted += given;
        self.next_at = now + (given as f64 / self.settings.rate * 1e12) as Picoseconds;
        let is_busy = known.asked > known.granted;
        known.turn = if is_busy { Turn::Busy } else { Turn::Idle };
        (if is_busy { &mut self.busy } else { &mut self.idle }).push_back(source);
        Transmit::Packet(known.last.credit_of(known.granted, self.settings.control))
    }

    /// Whose turn it is, and up to what it may be granted.
    fn next(&mut self) -> Option<(u32, u64)> {
        while let Some(source) = self.busy.pop_front() {
            if let Some(known) = self.sources.get(&source).filter(|known| known.asked > known.granted) {
                return Some((source, known.asked));
            }
        }
        while let Some(source) = self.idle.pop_front() {
            let Some(known) = self.sources.get_mut(&source).filter(|known| known.turn == Turn::Idle) else { continue };
            let most = known.asked + self.settings.ahead;
            if known.granted < most {
                return Some((source, most));
            }
            known.turn = Turn::None;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u64 = 4096;
    const SETTINGS: CreditSettings =
        CreditSettings { ahead: 100 * MTU, grant: 4 * MTU, rate: 50e9, control: 64, mtu: MTU };
    /// Time in which the link takes a grant in.
    const GRANT: Picoseconds = 4 * 81_920;

    fn asks(bytes: u64) -> Packet {
        Packet::data(0, 0, MTU as u16, 0, Flags::default()).asking(bytes)
    }

    /// Credits until a time, with the times at which they come.
    fn granted(credits: &mut Credits, mut now: Picoseconds, until: Picoseconds) -> Vec<(Picoseconds, Packet)> {
        let mut found = vec![];
        loop {
            match credits.poll(now) {
                Transmit::Packet(packet) => found.push((now, packet)),
                Transmit::NotBefore(time) if time <= until => now = time,
                _ => return found,
            }
        }
    }

    #[test]
    fn what_two_sources_ask_for_is_granted_in_turn_at_the_rate_of_the_link() {
        let mut credits = Credits::new(SETTINGS);
        for source in [3, 7] {
            let asked = Packet { flow: source, ..asks(116 * MTU) };
            assert_eq!(credits.on_packet(source, &asked), None);
        }
        let found = granted(&mut credits, 0, 7 * GRANT);
        let times: Vec<_> = found.iter().map(|(time, _)| *time).collect();
        assert_eq!(times, (0..8).map(|turn| turn * GRANT).collect::<Vec<_>>());
        let flows: Vec<_> = found.iter().map(|(_, packet)| packet.flow).collect();
        assert_eq!(flows, [3, 7, 3, 7, 3, 7, 3, 7]);
        assert_eq!(found[7].1.credit(), 116 * MTU);
    }

    #[test]
    fn a_source_that_has_all_is_granted_a_window_ahead_and_no_more() {
        let mut credits = Credits::new(SETTINGS);
        credits.on_packet(0, &asks(102 * MTU));
        let found = granted(&mut credits, 0, Picoseconds::MAX);
        assert_eq!(found[0].1.credit(), 102 * MTU);
        assert_eq!(found.last().unwrap().1.credit(), 202 * MTU);
        assert_eq!(found.len(), 1 + 25);
    }

    #[test]
    fn whoever_asks_goes_before_those_that_have_all() {
        let mut credits = Credits::new(SETTINGS);
        credits.on_packet(0, &asks(101 * MTU));
        granted(&mut credits, 0, GRANT);
        credits.on_packet(1, &Packet { flow: 1, ..asks(140 * MTU) });
        let found = granted(&mut credits, 2 * GRANT, 11 * GRANT);
        assert!(found[1..].iter().all(|(_, packet)| packet.flow == 1), "{found:?}");
    }

    #[test]
    fn what_was_trimmed_of_a_short_message_is_granted_unasked() {
        let mut credits = Credits::new(SETTINGS);
        let trimmed = Packet { flags: Flags::TRIMMED, ..asks(25 * MTU) };
        assert_eq!([credits.on_packet(0, &trimmed), credits.on_packet(0, &trimmed)], [None, None]);
        let found = granted(&mut credits, 0, 0);
        assert_eq!(found[0].1.credit(), 102 * MTU);
    }

    #[test]
    fn a_request_for_what_was_granted_is_answered_at_once() {
        let mut credits = Credits::new(SETTINGS);
        let request = Packet { kind: Kind::Request, ..asks(101 * MTU) };
        assert_eq!(credits.on_packet(0, &request), None);
        granted(&mut credits, 0, 0);
        let answer = credits.on_packet(0, &request).unwrap();
        assert_eq!((answer.kind, answer.credit()), (Kind::Credit, 101 * MTU));
    }
}
