//! The credit that a receiver grants, as its sender keeps account of it (Ultra Ethernet's RCCC).
//!
//! Bytes are counted from the beginning, on both sides: what was sent, what was granted, and what is asked for, which is
//! what was sent and what is yet to be sent. The receiver's side is [`crate::uet::Credits`].

use crate::Packet;

/// How a sender uses credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditUse {
    /// Bytes that may be sent before any credit has come, and most that are asked for at once.
    pub ahead: u64,
    /// Whether credit alone says what may be sent, and no window.
    pub is_alone: bool,
}

/// Credit for what flows to one peer send.
#[derive(Clone, Copy, Debug)]
pub struct Credit {
    settings: CreditUse,
    sent: u64,
    granted: u64,
    /// The most that was asked for.
    asked: u64,
    /// What flows have yet to send.
    need: u64,
    /// Whether nothing has been heard of the receiver: what is sent now it does not expect.
    is_speculating: bool,
}

impl Credit {
    /// Towards a receiver that has heard of nothing.
    pub fn new(settings: CreditUse) -> Self {
        Self { settings, sent: 0, granted: settings.ahead, asked: 0, need: 0, is_speculating: true }
    }

    /// Whether a window has no say.
    pub fn is_alone(&self) -> bool {
        self.settings.is_alone
    }

    /// Whether a packet may be sent: any credit will do, and the next grant makes up for what it lacks.
    pub fn is_left(&self) -> bool {
        self.sent < self.granted
    }

    /// A flow has so much to send, and had so much before.
    pub fn recount(&mut self, before: u64, now: u64) {
        self.need = self.need - before + now;
    }

    /// Asks for what is needed, in all, where a window allows `window` bytes under way.
    pub fn ask(&mut self, window: u64) -> u64 {
        self.asked = self.asked.max(self.wants(window));
        self.asked
    }

    /// Whether more is needed than the receiver has been asked for.
    pub fn is_unasked(&self, window: u64) -> bool {
        self.wants(window) > self.asked.max(self.granted)
    }

    fn wants(&self, window: u64) -> u64 {
        self.sent + self.need.min(self.settings.ahead).min(window)
    }

    /// Nothing was heard of what was asked for: it is to be asked for again.
    pub fn ask_again(&mut self) {
        self.asked = 0;
    }

    /// So many bytes are sent.
    pub fn spend(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// The receiver has answered: what was left to send without its credit is given up.
    pub fn on_answer(&mut self) {
        if self.is_speculating {
            self.is_speculating = false;
            self.sent = self.sent.max(self.granted);
        }
    }

    /// A packet was trimmed: its receiver knows that it will be sent again.
    pub fn on_trim(&mut self, bytes: u64) {
        self.on_answer();
        self.asked = self.asked.max(self.sent) + bytes;
    }

    /// Credit has come; one of a time before this account began is worth no more than could have been asked for.
    pub fn on_credit(&mut self, packet: &Packet) {
        self.on_answer();
        let most = self.asked.max(self.sent) + self.settings.ahead;
        self.granted = self.granted.max(packet.credit().min(most));
    }
}
