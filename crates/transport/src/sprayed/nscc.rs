//! NSCC, the network-signalled congestion control of Ultra Ethernet: a window at the sender, moved by marks and delay.
//!
//! After the Ultra Ethernet specification 1.0 (June 2025), with the constants of the consortium's reference simulator.
//!
//! | mark | delay | the window |
//! |---|---|---|
//! | no | below target | grows in proportion to what is missing to the target; fast after a window without queues |
//! | no | above target | grows by a fair, small amount: others are being told to shrink |
//! | yes | above target | shrinks by up to half, at most once a round trip |
//! | yes | below target | stays: the packet met one busy path, and the next takes another |
//!
//! Where trims or very long delays show that far too much was sent, quick adaptation sets the window to what got through
//! in the last round trip. Constants scale with the bandwidth-delay product over that of 100 Gb/s and 12 us.

use super::Window;
use crate::Picoseconds;

/// Bandwidth-delay product that the constants are given for, bytes: 100 Gb/s over 12 us.
const REFERENCE_BDP: u64 = 150_000;
/// Round trip that the constants are given for.
const REFERENCE_RTT: Picoseconds = 12_000_000;
/// Delays below this count as no queue.
const NO_QUEUE: Picoseconds = 1_000_000;
/// One over the weight of a new sample in the mean delay: 0.0125.
const SMOOTHING: u64 = 80;
/// Part of the window that may get through before quick adaptation no longer looks: an eighth.
const QUICK_GATE: u64 = 8;

/// Constants of NSCC on one fabric.
#[derive(Clone, Copy, Debug)]
pub struct NsccSettings {
    /// Bytes of a full packet, headers included.
    pub mtu: u64,
    /// Payload bytes of a full packet.
    pub payload: u64,
    /// Longest round trip of the unloaded fabric, that of a full packet and its acknowledgement.
    pub base_rtt: Picoseconds,
    /// Rate of a NIC, bytes a second.
    pub rate: f64,
    /// Delay by queues that is aimed for.
    pub target: Picoseconds,
}

impl NsccSettings {
    /// The specification's constants; the target is three quarters of the round trip where switches trim, else all of it.
    pub fn new(mtu: u16, payload: u16, base_rtt: Picoseconds, rate: f64, trims: bool) -> Self {
        let target = if trims { base_rtt / 4 * 3 } else { base_rtt };
        Self { mtu: mtu.into(), payload: payload.into(), base_rtt, rate, target }
    }

    /// Bytes that a NIC sends in a round trip.
    pub fn bdp(&self) -> u64 {
        self.bytes_in(self.base_rtt)
    }

    fn bytes_in(&self, time: Picoseconds) -> u64 {
        (time as f64 * 1e-12 * self.rate) as u64
    }

    /// Scales a constant with the bandwidth-delay product.
    fn scaled(&self, bytes: u64) -> u64 {
        (bytes as f64 * self.bdp() as f64 / REFERENCE_BDP as f64) as u64
    }
}

/// The window of one flow.
#[derive(Clone, Debug)]
pub struct Nscc {
    settings: NsccSettings,
    window: u64,
    most: u64,
    base_rtt: Picoseconds,
    mean_delay: Picoseconds,
    /// Growth due, in bytes times bytes: divided by the window when it is made good.
    growth: u64,
    arrived_since_growth: u64,
    last_growth: Picoseconds,
    last_decrease: Picoseconds,
    /// Bytes that arrived without queues since the last delay.
    unqueued: u64,
    is_fast: bool,
    quick: Quick,
    /// Constants of the fabric: bytes.
    proportional: u64,
    fair: u64,
    steady: u64,
}

/// State of quick adaptation.
#[derive(Clone, Copy, Debug, Default)]
struct Quick {
    period_end: Picoseconds,
    arrived: u64,
    is_due: bool,
    to_ignore: u64,
    ignored: u64,
}

impl Nscc {
    /// A flow's window as it begins: one and a half bandwidth-delay products.
    pub fn new(settings: NsccSettings) -> Self {
        let most = settings.bdp() * 3 / 2;
        let delay_part = settings.target as f64 / REFERENCE_RTT as f64;
        Self {
            settings,
            window: most,
            most,
            base_rtt: settings.base_rtt,
            mean_delay: 0,
            growth: 0,
            arrived_since_growth: 0,
            last_growth: 0,
            last_decrease: 0,
            unqueued: 0,
            is_fast: false,
            quick: Quick::default(),
            proportional: (settings.scaled(4 * settings.payload) as f64 * delay_part) as u64,
            fair: settings.scaled(5 * settings.payload),
            steady: settings.scaled(settings.payload) * 3 / 20,
        }
    }

    fn grow(&mut self, arrived: u64, delay: Picoseconds) {
        if delay < NO_QUEUE {
            self.unqueued += arrived;
            if self.unqueued > self.window || self.is_fast {
                self.window += self.settings.scaled(arrived) / 4;
                self.is_fast = true;
                return;
            }
        } else {
            self.unqueued = 0;
        }
        self.is_fast = false;
        let target = self.settings.target;
        self.growth +=
            (u128::from(self.proportional * arrived) * u128::from(target - delay) / u128::from(target)) as u64;
    }

    fn shrink(&mut self, now: Picoseconds) {
        (self.is_fast, self.unqueued) = (false, 0);
        let (mean, target) = (self.mean_delay, self.settings.target);
        if mean > target && now - self.last_decrease > self.base_rtt {
            // by 0.8 of the share of the delay that is above the target, at most by half
            let cut = (u128::from(self.window) * 4 * u128::from(mean - target) / (5 * u128::from(mean))) as u64;
            self.window -= cut.min(self.window / 2);
            self.last_decrease = now;
        }
    }

    fn quick_adapt(&mut self, now: Picoseconds, skip: bool, is_loss: bool, delay: Picoseconds, in_flight: u64) -> bool {
        let quick = &mut self.quick;
        let mut is_done = false;
        if quick.ignored < quick.to_ignore && skip {
            is_done = true;
        } else if now > quick.period_end {
            let is_bad = quick.is_due || is_loss || delay > 4 * self.settings.target;
            if quick.period_end != 0 && is_bad && quick.arrived < self.most / QUICK_GATE {
                self.window = quick.arrived.max(self.settings.mtu);
                (quick.to_ignore, quick.ignored, quick.is_due) = (in_flight, 0, false);
                is_done = true;
            }
            quick.arrived = 0;
            quick.period_end = now + self.base_rtt + self.settings.target;
        }
        if is_done {
            (self.growth, self.arrived_since_growth) = (0, 0);
        }
        is_done
    }

    fn keep_within_bounds(&mut self) {
        self.window = self.window.clamp(self.settings.mtu, self.most.max(self.settings.mtu));
    }
}

impl Window for Nscc {
    fn window(&self) -> u64 {
        self.window
    }

    fn delay(&mut self, round_trip: Picoseconds) -> Picoseconds {
        if round_trip < self.base_rtt {
            self.base_rtt = round_trip;
            self.most = self.settings.bytes_in(round_trip) * 3 / 2;
        }
        round_trip - self.base_rtt
    }

    fn mean_delay(&self) -> Picoseconds {
        self.mean_delay
    }

    fn sample(&mut self, delay: Picoseconds, is_marked: bool) {
        let counted = if !is_marked && delay > self.settings.target { self.base_rtt / 4 } else { delay };
        self.mean_delay = (self.mean_delay * (SMOOTHING - 1) + counted) / SMOOTHING;
    }

    fn on_ack(&mut self, now: Picoseconds, is_marked: bool, delay: Picoseconds, arrived: u64, in_flight: u64) {
        self.quick.arrived += arrived;
        self.quick.ignored += arrived;
        self.arrived_since_growth += arrived;
        if self.quick_adapt(now, is_marked, false, delay, in_flight) {
            return;
        }
        let target = self.settings.target;
        match (is_marked, delay >= target) {
            (false, true) => self.growth += self.fair * arrived,
            (false, false) => self.grow(arrived, delay),
            (true, true) => self.shrink(now),
            (true, false) => {}
        }
        self.keep_within_bounds();
        let is_period_over = now - self.last_growth > self.settings.base_rtt;
        if self.arrived_since_growth > 8 * self.settings.mtu || is_period_over {
            self.window += self.growth / self.window;
            if is_period_over {
                self.window += self.steady;
                self.last_growth = now;
            }
            (self.growth, self.arrived_since_growth) = (0, 0);
            self.keep_within_bounds();
        }
    }

    fn on_trim(&mut self, now: Picoseconds, bytes: u64, in_flight: u64) {
        self.quick.ignored += bytes;
        self.sample(self.settings.base_rtt, true);
        self.quick.is_due = true;
        if !self.quick_adapt(now, true, true, 0, in_flight) {
            self.window = self.window.saturating_sub(bytes);
            self.keep_within_bounds();
        }
    }

    fn on_loss(&mut self, _now: Picoseconds, bytes: u64) {
        self.window = self.window.saturating_sub(bytes).max(self.settings.mtu);
    }
}
