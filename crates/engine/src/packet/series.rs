//! A run over time: what each port carried, held, marked and lost in each interval, and how flows and paths fared.
//!
//! Intervals start short and are joined two by two once there are too many, so that memory is bounded however long a run
//! lasts. A port without anything to tell of an interval has no entry for it. Ports are looked at when an interval ends;
//! what a packet costs meanwhile is a few counters, and nothing where a run is not sampled.

use eastwest_transport::{Kind, Packet, PathHealth, Picoseconds, Receiver, Sender};

use super::run::Simulation;
use super::transport::Transport;

/// How a run is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Length of the first intervals.
    pub every: Picoseconds,
    /// Intervals at which neighbours are joined and twice as long from then on; even.
    pub most_samples: u32,
    /// Entries of ports at which they are, too.
    pub most_entries: usize,
    /// Payload bytes of a packet: flows are followed by packets that have arrived.
    pub payload: u64,
    /// Of more flows than these none is followed by itself.
    pub most_flows: usize,
}

/// What one port did in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortSample {
    /// Bytes sent, headers and answers included; a packet that two intervals share counts in each by its part.
    pub bytes: u64,
    /// Time that it was paused.
    pub paused: Picoseconds,
    /// Which interval.
    pub sample: u32,
    /// Which port, by link.
    pub port: u32,
    /// Most bytes of data that waited.
    pub deepest: u32,
    /// Bytes of data that waited at the end.
    pub waiting: u32,
    /// Marks set.
    pub marks: u32,
    /// Packets lost whole, before the port or on its cable.
    pub drops: u32,
    /// Packets trimmed for want of room.
    pub trims: u32,
}

/// What all of the network did in one interval, and how many flows and paths were in what state at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkSample {
    /// Packets of data that arrived whole.
    pub delivered: u64,
    /// Packets sent again.
    pub retransmits: u64,
    /// Congestion notifications.
    pub cnps: u64,
    /// Flows under way.
    pub flows: u32,
    /// Their entropy values, and what is known of these.
    pub paths: PathHealth,
}

/// What one flow did in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowSample {
    /// Payload bytes that arrived for the first time.
    pub delivered: u64,
    /// What was known of its paths at the end.
    pub paths: PathHealth,
}

/// What one port did over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Bytes sent, headers and answers included.
    pub bytes: u64,
    /// Packets sent, answers included.
    pub packets: u64,
    /// Marks set.
    pub marks: u64,
    /// Packets lost whole, before the port or on its cable.
    pub drops: u64,
    /// Packets trimmed for want of room.
    pub trims: u64,
}

/// A run over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// Length of an interval; the last is shorter.
    pub every: Picoseconds,
    /// By interval, those of one by port; intervals without anything to tell of a port are left out.
    pub ports: Vec<PortSample>,
    /// By interval.
    pub network: Vec<NetworkSample>,
    /// By interval, and of one by flow; empty where flows are too many to follow each.
    pub flows: Vec<FlowSample>,
    /// Over the whole run, by link.
    pub totals: Vec<PortCounts>,
    /// Flow and link of each hop that the first packet of a flow took: on one path all take these.
    pub ways: Vec<[u32; 2]>,
}

/// What a port did since the last interval's end.
#[derive(Clone, Copy, Debug, Default)]
struct Since {
    counts: PortCounts,
    paused: Picoseconds,
    /// Bytes of the transmission under way that were left over.
    unsent: u64,
    /// Most bytes that waited in earlier intervals.
    deepest: u32,
}

/// Totals of the network at the last interval's end.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    delivered: u64,
    retransmits: u64,
    cnps: u64,
}

/// A series as it grows.
#[derive(Debug)]
pub(super) struct Recorder {
    sampling: Sampling,
    series: Series,
    /// Intervals that have ended.
    ended: u32,
    since: Vec<Since>,
    before: Before,
    /// Payload bytes of each flow that had arrived.
    arrived: Vec<u64>,
}

impl Recorder {
    fn new(sampling: Sampling, ports: usize, flows: usize) -> Self {
        let followed = if flows <= sampling.most_flows { flows } else { 0 };
        Self {
            sampling,
            series: Series { every: sampling.every, totals: vec![PortCounts::default(); ports], ..Series::default() },
            ended: 0,
            since: vec![Since::default(); ports],
            before: Before::default(),
            arrived: vec![0; followed],
        }
    }

    /// When the interval under way ends.
    pub fn due(&self) -> Picoseconds {
        (u64::from(self.ended) + 1) * self.series.every
    }

    pub fn sent(&mut self, port: u32, packet: &Packet) {
        let counts = &mut self.since[port as usize].counts;
        counts.bytes += u64::from(packet.size);
        counts.packets += 1;
        if packet.kind == Kind::Data && packet.seq == 0 && !packet.flags.has(eastwest_transport::Flags::AGAIN) {
            self.series.ways.push([packet.flow, port]);
        }
    }

    pub fn marked(&mut self, port: u32) {
        self.since[port as usize].counts.marks += 1;
    }

    pub fn lost(&mut self, port: u32) {
        self.since[port as usize].counts.drops += 1;
    }

    pub fn trimmed(&mut self, port: u32) {
        self.since[port as usize].counts.trims += 1;
    }

    /// Joins intervals two by two as long as they are too many.
    fn thin(&mut self) {
        let is_full = self.ended >= self.sampling.most_samples || self.series.ports.len() >= self.sampling.most_entries;
        if !is_full || self.ended % 2 == 1 || self.ended < 2 {
            return;
        }
        let followed = self.arrived.len();
        let series = &mut self.series;
        series.ports.iter_mut().for_each(|entry| {
            // what waited at the end of the first of two intervals is not what waits at the end of both
            entry.waiting *= entry.sample % 2;
            entry.sample /= 2;
        });
        series.ports.sort_by_key(|entry| (entry.sample, entry.port));
        series.ports.dedup_by(|later, first| {
            let is_same = (later.sample, later.port) == (first.sample, first.port);
            if is_same {
                first.join(later);
            }
            is_same
        });
        series.network = series.network.chunks(2).map(NetworkSample::joined).collect();
        if followed > 0 {
            let pairs = series.flows.chunks(2 * followed);
            series.flows = pairs.flat_map(|pair| (0..followed).map(|flow| FlowSample::joined(pair, flow))).collect();
        }
        series.every *= 2;
        self.ended /= 2;
    }
}

impl PortSample {
    /// Takes in what the same port did in the interval after.
    fn join(&mut self, later: &Self) {
        self.bytes += later.bytes;
        self.paused += later.paused;
        self.deepest = self.deepest.max(later.deepest);
        self.waiting = later.waiting;
        self.marks += later.marks;
        self.drops += later.drops;
        self.trims += later.trims;
    }
}

impl NetworkSample {
    /// Two intervals as one.
    fn joined(two: &[Self]) -> Self {
        let last = two[two.len() - 1];
        two[..two.len() - 1].iter().fold(last, |sum, each| Self {
            delivered: sum.delivered + each.delivered,
            retransmits: sum.retransmits + each.retransmits,
            cnps: sum.cnps + each.cnps,
            ..sum
        })
    }
}

impl FlowSample {
    /// Two intervals of a flow as one, out of those of all flows.
    fn joined(two: &[Self], flow: usize) -> Self {
        let [first, last] = [two[flow], two[two.len() / 2 + flow]];
        Self { delivered: first.delivered + last.delivered, ..last }
    }
}

impl<T: Transport> Simulation<'_, T> {
    /// Records the run over time; an outcome then has it.
    #[must_use]
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.recorder = Some(Box::new(Recorder::new(sampling, self.ports.len(), self.flows.len())));
        self.is_observed = true;
        self
    }

    /// When an interval of the series ends, where there is one.
    pub(super) fn sample_due(&self) -> Picoseconds {
        // what is still under way once all flows have ended counts in the last interval
        let recorder = self.recorder.as_ref().filter(|_| self.left > 0);
        recorder.map_or(Picoseconds::MAX, |recorder| recorder.due())
    }

    /// Ends all intervals that are over before a time; all regions have come to the end of the first.
    #[cold]
    pub(super) fn sample_before(&mut self, time: Picoseconds) {
        let Some(mut recorder) = self.recorder.take() else { return };
        while recorder.due() < time {
            let due = recorder.due();
            self.end_interval(&mut recorder, due, false);
            recorder.thin();
        }
        self.recorder = Some(recorder);
    }

    /// Ends the last interval, at the end of the run, and gives the series.
    pub(super) fn end_series(&mut self, end: Picoseconds) -> Option<Series> {
        let mut recorder = self.recorder.take()?;
        if end > 0 {
            self.end_interval(&mut recorder, end, true);
        }
        Some(recorder.series)
    }

    fn end_interval(&mut self, recorder: &mut Recorder, now: Picoseconds, is_last: bool) {
        for index in 0..self.ports.len() as u32 {
            self.end_of_port(recorder, index, now, is_last);
        }
        let senders = self.senders.iter().flatten();
        let (flows, retransmits) =
            senders.fold((0, self.totals.retransmits), |(flows, sum), sender| (flows + 1, sum + sender.retransmits()));
        let paths = self.paths_in_use();
        let before = &mut recorder.before;
        let is = Before { delivered: self.totals.delivered, retransmits, cnps: self.totals.cnps };
        recorder.series.network.push(NetworkSample {
            delivered: is.delivered - before.delivered,
            retransmits: is.retransmits - before.retransmits,
            cnps: is.cnps - before.cnps,
            flows,
            paths,
        });
        *before = is;
        for (flow, before) in recorder.arrived.iter_mut().enumerate() {
            let bytes = self.flows[flow].bytes;
            let arrived = match &self.receivers[flow] {
                _ if self.fates[flow].received.is_some() => bytes,
                Some(receiver) => bytes.min(u64::from(receiver.received()) * recorder.sampling.payload),
                None => 0,
            };
            let paths = self.senders[flow].as_ref().map_or(PathHealth::default(), |_| self.paths_of(flow));
            recorder.series.flows.push(FlowSample { delivered: arrived - *before, paths });
            *before = arrived;
        }
        recorder.ended += 1;
    }

    /// What is known of the paths of a flow under way.
    fn paths_of(&self, flow: usize) -> PathHealth {
        T::Sender::paths(&self.contexts[self.routes[flow].context].sending)
    }

    /// What is known of the paths of all flows under way; flows that share them count once.
    fn paths_in_use(&self) -> PathHealth {
        let under_way = (0..self.senders.len()).filter(|&flow| self.senders[flow].is_some());
        let mut first: Vec<(u32, usize)> = under_way.map(|flow| (self.routes[flow].context, flow)).collect();
        first.sort_unstable();
        first.dedup_by_key(|&mut (context, _)| context);
        first.iter().map(|&(_, flow)| self.paths_of(flow)).fold(PathHealth::default(), |sum, each| sum + each)
    }

    /// Takes down what a port did in the interval that ends now.
    fn end_of_port(&mut self, recorder: &mut Recorder, index: u32, now: Picoseconds, is_last: bool) {
        let paused = if self.pauses.is_empty() && self.credits.is_none() { 0 } else { self.paused(index, now) };
        let port = &mut self.ports[index as usize];
        let since = &mut recorder.since[index as usize];
        let counts = std::mem::take(&mut since.counts);
        // at most one packet is under way, so that what was left over and what was sent cannot be less
        let unsent = if is_last { 0 } else { port.unsent(now).min(since.unsent + counts.bytes) };
        let entry = PortSample {
            bytes: since.unsent + counts.bytes - unsent,
            paused: paused - since.paused,
            sample: recorder.ended,
            port: index,
            deepest: port.deepest,
            waiting: port.data_bytes,
            marks: counts.marks as u32,
            drops: counts.drops as u32,
            trims: counts.trims as u32,
        };
        let total = &mut recorder.series.totals[index as usize];
        total.bytes += entry.bytes;
        total.packets += counts.packets;
        total.marks += counts.marks;
        total.drops += counts.drops;
        total.trims += counts.trims;
        since.unsent = unsent;
        since.paused = paused;
        since.deepest = since.deepest.max(port.deepest);
        // the next interval begins with what waits now; the last gives back what was seen over the whole run
        port.deepest = if is_last { since.deepest } else { port.data_bytes };
        if entry != (PortSample { sample: entry.sample, port: index, ..PortSample::default() }) {
            recorder.series.ports.push(entry);
        }
    }
}
