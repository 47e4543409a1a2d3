//! DCQCN: the rate of a RoCEv2 queue pair, cut when congestion notifications come and raised again by timer and byte count.
//!
//! After Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, with its names: alpha is the
//! estimate of congestion, the target rate is what recovery aims at. Marks are the switch's business, notifications the
//! receiver's.
//!
//! NVIDIA's NICs differ from the paper not in figures alone ([`DcqcnSettings::nvidia`]): alpha is looked at in periods of a
//! microsecond, the target stays where it was unless a timer has raised the rate since the last cut, and a flow that is
//! back at line rate is no longer limited, so that its next notification counts as its first.

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
    /// Shortest time between two notifications of a receiving NIC, whichever flows they are of.
    pub nic_notify_every: Picoseconds,
    /// Alpha at the first notification.
    pub first_alpha: f64,
    /// How alpha and the target follow notifications.
    pub habits: Habits,
}

/// What NICs do differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habits {
    /// As the paper has it: each notification raises alpha, each cut sets the target to the rate before.
    Paper,
    /// As NVIDIA's NICs have it: alpha follows periods with and without notification.
    Nvidia,
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
            nic_notify_every: 0,
            first_alpha: 1.0,
            habits: Habits::Paper,
        }
    }

    /// NVIDIA's defaults, the same at each speed: what `mlxconfig` shows as default of ConnectX-4 and later, in the units
    /// that its descriptions give (mstflint, `mlxconfig`), but for one: `RPG_BYTE_RESET` is described in bytes and taken in
    /// units of 64, for 32,767 bytes pass in less than a microsecond at 400 Gb/s, and 15 bits of such units make the 2 MB
    /// that a traffic generator's profile of the same algorithm has as its default (Spirent, Rocev2DcqcnProfile).
    ///
    /// | parameter | default | here |
    /// |---|---|---|
    /// | `DCE_TCP_G` | 1019 / 1024 of alpha stay | gain |
    /// | `DCE_TCP_RTT` | 1 us | alpha_every |
    /// | `INITIAL_ALPHA_VALUE` | 1023 / 1024 | first_alpha |
    /// | `RATE_REDUCE_MONITOR_PERIOD` | 4 us | cut_every |
    /// | `RPG_GD` | 11: the rate times 1 - alpha / 2 | as in the paper; `RPG_MIN_DEC_FAC` of 50 % follows |
    /// | `RPG_TIME_RESET` | 300 us | raise_every |
    /// | `RPG_BYTE_RESET` | 32,767 times 64 bytes | raise_after |
    /// | `RPG_THRESHOLD` | 1 | recoveries |
    /// | `RPG_AI_RATE`, `RPG_HAI_RATE` | 5 and 50 Mb/s | step, leap |
    /// | `RPG_MIN_RATE` | 1 Mb/s | least_rate |
    /// | `MIN_TIME_BETWEEN_CNPS` | 4 us | nic_notify_every: "from the port" |
    /// | `CLAMP_TGT_RATE`, `.._AFTER_TIME_INC` | off, on | the target |
    pub fn nvidia(line_rate: f64) -> Self {
        Self {
            line_rate,
            least_rate: MBPS,
            gain: 5.0 / 1024.0,
            alpha_every: US,
            cut_every: 4 * US,
            raise_every: 300 * US,
            raise_after: 32_767 * 64,
            recoveries: 1,
            step: 5.0 * MBPS,
            leap: 50.0 * MBPS,
            notify_every: 0,
            nic_notify_every: 4 * US,
            first_alpha: 1023.0 / 1024.0,
            habits: Habits::Nvidia,
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
    /// Whether a notification has come in this period of alpha.
    is_notified: bool,
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
            alpha: settings.first_alpha,
            next_alpha: None,
            next_raise: None,
            last_cut: None,
            is_notified: false,
            sent: 0,
            by_time: 0,
            by_bytes: 0,
        }
    }

    /// The rate at a time, bytes a second.
    pub fn rate(&mut self, now: Picoseconds) -> f64 {
        while let Some(time) = self.next_alpha.filter(|&time| time <= now) {
            let news = if std::mem::take(&mut self.is_notified) { self.settings.gain } else { 0.0 };
            self.alpha += news - self.settings.gain * self.alpha;
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
        match self.settings.habits {
            Habits::Paper => {
                self.alpha = (1.0 - self.settings.gain) * self.alpha + self.settings.gain;
                self.next_alpha = Some(now + self.settings.alpha_every);
            }
            Habits::Nvidia => {
                self.is_notified = true;
                self.next_alpha.get_or_insert(now + self.settings.alpha_every);
            }
        }
        if self.last_cut.is_some_and(|cut| now - cut < self.settings.cut_every) {
            return;
        }
        self.last_cut = Some(now);
        if self.settings.habits == Habits::Paper || self.by_time > 0 {
            self.target = self.rate;
        }
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
            if self.settings.habits == Habits::Nvidia {
                (self.target, self.alpha, self.next_alpha) = (self.rate, self.settings.first_alpha, None);
            }
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
    fn nvidia_s_alpha_settles_at_the_share_of_periods_with_a_notification() {
        // one notification in each fourth microsecond: alpha tends to a quarter, within the gain's ripple
        let mut dcqcn = Dcqcn::new(DcqcnSettings::nvidia(50e9));
        (0..2000).for_each(|turn| dcqcn.on_notification(turn * 4 * US));
        assert!((dcqcn.alpha - 0.25).abs() < 5.0 / 1024.0, "{}", dcqcn.alpha);
    }

    #[test]
    fn nvidia_s_first_cut_halves_and_bytes_alone_leave_the_target_where_it_was() {
        let mut dcqcn = Dcqcn::new(DcqcnSettings::nvidia(50e9));
        dcqcn.on_notification(0);
        assert!((dcqcn.rate(0) / 50e9 - (1.0 - 1023.0 / 2048.0)).abs() < 1e-12);
        dcqcn.on_notification(4 * US);
        assert_eq!(dcqcn.target, 50e9);
        // after 300 us the rate is raised by time: the next cut sets the target
        let raised = dcqcn.rate(310 * US);
        dcqcn.on_notification(310 * US);
        assert_eq!(dcqcn.target, raised);
    }

    #[test]
    fn a_flow_of_nvidia_s_that_is_back_at_line_rate_begins_anew() {
        let mut dcqcn = Dcqcn::new(DcqcnSettings::nvidia(50e9));
        dcqcn.on_notification(0);
        while dcqcn.rate(0) < 50e9 {
            dcqcn.on_sent(32_767 * 64);
        }
        assert_eq!(dcqcn.alpha, 1023.0 / 1024.0);
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
