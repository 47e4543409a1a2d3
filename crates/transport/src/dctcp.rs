//! DCTCP: a plain TCP-like sender over one path, for front-end and storage traffic.
//!
//! After RFC 8257: the share of marked bytes, smoothed, says by how much the window shrinks; without marks it grows as
//! TCP's does (RFC 5681), in slow start by what arrives, then by a packet a round trip. Losses are told by later packets
//! that have arrived, as RACK does (RFC 8985); over one path a packet that is overtaken is lost. Not here: the handshake,
//! flow control, delayed acknowledgements.

use crate::sprayed::{Feedback, Paths, PeerContext, SprayedReceiver, SprayedSender, SprayedSettings, Window};
use crate::{Picoseconds, Random};

/// Weight of the last round trip's marks: RFC 8257's g, one sixteenth.
const GAIN: f64 = 1.0 / 16.0;

/// Window that a connection begins with, packets (RFC 6928).
const FIRST_WINDOW: u64 = 10;

/// What all connections of a fabric share.
#[derive(Clone, Copy, Debug)]
pub struct DctcpSettings {
    /// Framing and timers; how the window moves is this module's own matter.
    pub sprayed: SprayedSettings,
}

/// The sending side.
pub type DctcpSender = SprayedSender<OnePath, Dctcp>;
/// The receiving side.
pub type DctcpReceiver = SprayedReceiver;

/// What messages of one connection share.
pub type DctcpContext = PeerContext<OnePath, Dctcp>;

impl DctcpSettings {
    /// What a connection begins with; the seed draws its source port, and so its path.
    pub fn context(&self, seed: u64) -> DctcpContext {
        let port = Random::new(seed).bits() as u16;
        PeerContext::new(OnePath(port), Dctcp::new(self.sprayed.nscc.mtu, self.sprayed.nscc.base_rtt))
    }

    /// The sender of a message of so many bytes.
    pub fn sender(&self, flow: u32, bytes: u64) -> DctcpSender {
        SprayedSender::new(self.sprayed, flow, bytes)
    }

    /// The receiver of a message of so many bytes.
    pub fn receiver(&self, bytes: u64) -> DctcpReceiver {
        SprayedReceiver::new(self.sprayed, bytes)
    }
}

/// The one path of a connection.
#[derive(Clone, Copy, Debug)]
pub struct OnePath(u16);

impl Paths for OnePath {
    fn deal(&mut self) -> u16 {
        self.0
    }

    fn learn(&mut self, _now: Picoseconds, _value: u16, _feedback: Feedback) {}

    fn probe(&mut self, _now: Picoseconds) -> Option<u16> {
        None
    }

    fn next_probe(&self) -> Option<Picoseconds> {
        None
    }

    fn probed(&mut self, _value: u16) {}
}

/// A connection's window.
#[derive(Clone, Debug)]
pub struct Dctcp {
    mtu: u64,
    base_rtt: Picoseconds,
    window: u64,
    /// Window below which it grows by what arrives.
    threshold: u64,
    /// Smoothed share of marked bytes.
    alpha: f64,
    /// Bytes that have arrived in this round trip, and of them those marked.
    arrived: u64,
    marked: u64,
    /// Bytes whose arrival ends this round trip.
    round: u64,
    last_halved: Option<Picoseconds>,
}

impl Dctcp {
    /// A window as it begins, for packets of `mtu` bytes.
    pub fn new(mtu: u64, base_rtt: Picoseconds) -> Self {
        let window = FIRST_WINDOW * mtu;
        Self {
            mtu,
            base_rtt,
            window,
            threshold: u64::MAX,
            alpha: 1.0,
            arrived: 0,
            marked: 0,
            round: window,
            last_halved: None,
        }
    }

    /// Smoothed share of bytes that were marked.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    fn end_round(&mut self) {
        let share = self.marked as f64 / self.arrived.max(1) as f64;
        self.alpha += GAIN * (share - self.alpha);
        if self.marked > 0 {
            self.window = (self.window as f64 * (1.0 - self.alpha / 2.0)) as u64;
            self.window = self.window.max(2 * self.mtu);
            self.threshold = self.window;
        }
        (self.arrived, self.marked, self.round) = (0, 0, self.window);
    }
}

impl Window for Dctcp {
    fn window(&self) -> u64 {
        self.window
    }

    fn delay(&mut self, round_trip: Picoseconds) -> Picoseconds {
        self.base_rtt = self.base_rtt.min(round_trip);
        round_trip - self.base_rtt
    }

    fn mean_delay(&self) -> Picoseconds {
        0
    }

    fn sample(&mut self, _delay: Picoseconds, _is_marked: bool) {}

    fn on_ack(&mut self, _now: Picoseconds, is_marked: bool, _delay: Picoseconds, arrived: u64, _in_flight: u64) {
        self.arrived += arrived;
        if is_marked {
            self.marked += arrived;
        } else if self.window < self.threshold {
            self.window += arrived;
        } else {
            self.window += self.mtu * arrived / self.window;
        }
        if self.arrived >= self.round {
            self.end_round();
        }
    }

    fn on_trim(&mut self, now: Picoseconds, bytes: u64, _in_flight: u64) {
        self.on_loss(now, bytes);
    }

    fn on_loss(&mut self, now: Picoseconds, _bytes: u64) {
        if self.last_halved.is_some_and(|last| now - last < self.base_rtt) {
            return; // once a round trip
        }
        self.last_halved = Some(now);
        self.window = (self.window / 2).max(2 * self.mtu);
        self.threshold = self.window;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u64 = 4096;

    fn after_rounds(marked: bool, rounds: u64) -> Dctcp {
        let mut dctcp = Dctcp::new(MTU, 10_000_000);
        dctcp.threshold = 0; // past slow start
        for _ in 0..rounds {
            for _ in 0..dctcp.window / MTU {
                dctcp.on_ack(0, marked, 0, MTU, 0);
            }
        }
        dctcp
    }

    #[test]
    fn without_marks_the_window_grows_by_a_packet_a_round_trip() {
        let grown = after_rounds(false, 10).window();
        assert!((19 * MTU..=20 * MTU).contains(&grown), "{} packets", grown / MTU);
    }

    #[test]
    fn the_share_of_marks_is_smoothed_by_a_sixteenth() {
        let mut dctcp = Dctcp::new(MTU, 10_000_000);
        dctcp.threshold = 0;
        dctcp.alpha = 0.0;
        for packet in 0..10 {
            dctcp.on_ack(0, packet % 2 == 0, 0, MTU, 0);
        }
        assert!((dctcp.alpha() - 0.5 / 16.0).abs() < 1e-12);
        // five packets unmarked add a tenth each, then half of alpha is cut
        let expected = 10.5 * (1.0 - 1.0 / 64.0) * MTU as f64;
        assert!((dctcp.window() as f64 / expected - 1.0).abs() < 0.01, "{}", dctcp.window());
    }

    #[test]
    fn losses_within_a_round_trip_halve_once() {
        let mut dctcp = Dctcp::new(MTU, 10_000_000);
        dctcp.window = 100 * MTU;
        dctcp.on_loss(50_000_000, MTU);
        dctcp.on_loss(55_000_000, MTU);
        assert_eq!(dctcp.window(), 50 * MTU);
        dctcp.on_loss(61_000_000, MTU);
        assert_eq!(dctcp.window(), 25 * MTU);
    }
}
