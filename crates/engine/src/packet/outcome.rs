//! What a run of packets gives back.

use super::{Capture, ClassOutcome, PortOutcome, Series};
use crate::Picoseconds;

/// One flow's fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowOutcome {
    /// When it started; none where it never did.
    pub start: Option<Picoseconds>,
    /// When the last of it arrived; none where it never did.
    pub received: Option<Picoseconds>,
    /// When its sender knew that all had arrived; none where it never did.
    pub end: Option<Picoseconds>,
    /// Packets of it that were sent again.
    pub retransmits: u64,
}

/// Counts over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Packets of data that senders gave to NICs, repeats included.
    pub packets: u64,
    /// Transmissions over links, of data and answers.
    pub link_hops: u64,
    /// Packets of data that arrived whole.
    pub delivered: u64,
    /// Packets of data dropped whole.
    pub drops: u64,
    /// Packets of data lost whole to bit errors, which a checksum finds.
    pub bit_errors: u64,
    /// Answers and trimmed packets lost to them.
    pub urgent_bit_errors: u64,
    /// Flows given up because the NIC at one of their ends was lost.
    pub lost_flows: u64,
    /// Answers and trimmed packets dropped.
    pub urgent_drops: u64,
    /// Packets of data that were in queues or on cables when the run ended.
    pub unfinished: u64,
    /// Packets that lost their payload.
    pub trims: u64,
    /// Marks of congestion set.
    pub marks: u64,
    /// Congestion notifications that receivers sent.
    pub cnps: u64,
    /// Packets sent again.
    pub retransmits: u64,
    /// Flows whose sender gave up.
    pub failed: u64,
    /// Pauses that ports asked for; with credits, times that a port had something to send and no credits for it.
    pub pauses: u64,
    /// Time that ports were paused or waited for credits, summed over ports.
    pub paused: Picoseconds,
    /// Storms of pauses that the watchdog broke.
    pub storms: u64,
    /// Most bytes of data before one port.
    pub deepest: u64,
}

/// A run of packets.
#[derive(Clone, Debug, Default)]
pub struct PacketOutcome {
    /// Each flow's fate, in the order given.
    pub flows: Vec<FlowOutcome>,
    /// Each port's fate, by link.
    pub ports: Vec<PortOutcome>,
    /// Counts.
    pub totals: Totals,
    /// When the last event happened.
    pub end: Picoseconds,
    /// Events handled.
    pub events: u64,
    /// The run over time, where that was wanted.
    pub series: Option<Series>,
    /// What left by chosen links, where that was wanted.
    pub capture: Option<Capture>,
    /// What became of traffic classes; empty where there are none.
    pub classes: ClassOutcome,
}
