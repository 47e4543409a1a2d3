//! DCQCN: the rate of a RoCEv2 queue pair, cut when congestion notifications come and raised again by timer and byte count.
//!
//! After Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, with its names: alpha is the
//! estimate of congestion, the target rate is what recovery aims at. Marks are the switch's business, notifications the
//! receiver's.

use crate::Picoseconds;

const US: Picoseconds = 1_000_000;
const MBPS: f64 = 1e6 / 8.0;

/// Parameters of reaction point and notification point. Rates are bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcqcnSettings {
    /// Rate of the NIC.
    pub line_rate: f64,
    /// Least rate.
    pub least_rate: f64,
    /// Weight of news in alpha (g).
    pub gain: f64,
    /// Time without notification after which alpha shrinks.
    pub alpha_every: Picoseconds,
    /// Shortest time between two cuts.
    pub cut_every: Picoseconds,
    /// Time after which the rate is raised.
    pub raise_every: Picoseconds,
    /// Bytes after which the rate is raised.
    pub raise_after: u64,
    /// Raises by timer or by bytes that only halve the distance to the target (F).
    pub recoveries: u32,
    /// Additive increase.
    pub step: f64,
    /// Hyper increase, where both timer and bytes are past recovery.
    pub leap: f64,
    /// Shortest time between two notifications of a flow.
    pub notify_every: Picoseconds,
}

impl DcqcnSettings {
    /// The paper's figures, of 40 Gb/s; rates scale with the NIC's.
    pub fn paper(line_rate: f64) -> Self {
        let scale = line_rate / (40_000.0 * MBPS);
        Self {
            line_rate,
            least_rate: 40.0 * MBPS * scale,
            gain: 1.0 / 256.0,
            alpha_every: 55 * US,
            cut_every: 50 * US,
            raise_every: 55 * US,
            raise_after: 10_000_000,
            recoveries: 5,
            step: 40.0 * MBPS * scale,
            leap: 400.0 * MBPS * scale,
            notify_every: 50 * US,
        }
    }
}

/// The reaction point of one queue pair.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    settings: DcqcnSettings,
    rate: f64,
    target: f64,
    alpha: f64,
    /// When alpha and the rate are looked at next; none before the first notification.
    next_alpha: Option<Picoseconds>,
    next_raise: Option<Picoseconds>,
    last_cut: Option<Picoseconds>,
    sent: u64,
    by_time: u32,
    by_bytes: u32,
}

impl Dcqcn {
    /// Begins at line rate.
    pub fn new(settings: DcqcnSettings) -> Self {
        Self {
            settings,
            rate: settings.line_rate,
            target: settings.line_rate,
            alpha: 1.0,
            next_alpha: None,
            next_raise: None,
            last_cut: None,
            sent: 0,
            by_time: 0,
            by_bytes: 0,
        }
    }

    /// The rate at a time, bytes a second.
    pub fn rate(&mut self, now: Picoseconds) -> f64 {
        while let Some(time) = self.next_alpha.filter(|&time| time <= now) {
            self.alpha *= 1.0 - self.settings.gain;
            self.next_alpha = Some(time + self.settings.alpha_every);
            if self.alpha < 1e-6 {
                self.next_alpha = None; // nothing more to forget
            }
        }
        while let Some(time) = self.next_raise.filter(|&time| time <= now) {
            self.by_time += 1;
            self.raise();
            let is_full = self.rate >= self.settings.line_rate;
            self.next_raise = (!is_full).then_some(time + self.settings.raise_every);
        }
        self.rate
    }

    /// So many bytes were sent.
    pub fn on_sent(&mut self, bytes: u64) {
        if self.rate >= self.settings.line_rate {
            return;
        }
        self.sent += bytes;
        if self.sent >= self.settings.raise_after {
            self.sent = 0;
            self.by_bytes += 1;
            self.raise();
        }
    }

    /// A notification came.
    pub fn on_notification(&mut self, now: Picoseconds) {
        self.rate(now);
        self.alpha = (1.0 - self.settings.gain) * self.alpha + self.settings.gain;
        self.next_alpha = Some(now + self.settings.alpha_every);
        if self.last_cut.is_some_and(|cut| now - cut < self.settings.cut_every) {
            return;
        }
        self.last_cut = Some(now);
        self.target = self.rate;
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(self.settings.least_rate);
        (self.sent, self.by_time, self.by_bytes) = (0, 0, 0);
        self.next_raise = Some(now + self.settings.raise_every);
    }

    fn raise(&mut self) {
        let past = self.settings.recoveries;
        if self.by_time.max(self.by_bytes) > past {
            let both = self.by_time.min(self.by_bytes);
            self.target += if both > past { self.settings.leap * f64::from(both - past) } else { self.settings.step };
        }
        self.target = self.target.min(self.settings.line_rate);
        self.rate = (self.rate + self.target) / 2.0;
        if self.settings.line_rate - self.rate < self.settings.line_rate * 1e-3 {
            self.rate = self.settings.line_rate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: f64 = 5e9; // 40 Gb/s

    #[test]
    fn the_first_notification_halves_the_rate_and_recovery_halves_the_distance() {
        let mut dcqcn = Dcqcn::new(DcqcnSettings::paper(LINE));
        assert_eq!(dcqcn.rate(0), LINE);
        dcqcn.on_notification(0);
        assert_eq!(dcqcn.rate(0), LINE / 2.0);
        for step in 1..=5u32 {
            let expected = LINE * (1.0 - 0.5f64.powi(step as i32 + 1));
            assert!((dcqcn.rate(u64::from(step) * 55 * US) / expected - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn notifications_within_the_cutting_time_cut_once() {
        let mut dcqcn = Dcqcn::new(DcqcnSettings::paper(LINE));
        dcqcn.on_notification(0);
        let after_one = dcqcn.rate(10 * US);
        dcqcn.on_notification(10 * US);
        assert_eq!(dcqcn.rate(10 * US), after_one);
    }

    #[test]
    fn alpha_forgets_so_that_later_cuts_are_smaller() {
        let mut dcqcn = Dcqcn::new(DcqcnSettings::paper(LINE));
        dcqcn.on_notification(0);
        let long_after = 400_000 * US;
        let before = dcqcn.rate(long_after);
        dcqcn.on_notification(long_after);
        assert!(dcqcn.rate(long_after) > 0.99 * before);
    }
}
