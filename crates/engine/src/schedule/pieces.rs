//! One collective or message as its graph of pieces, while it is carried out: what may start, what waits, what is left.
//! Not here: how a piece is moved ([`super::by_packet`]).

use std::collections::VecDeque;

use crate::demand::Demands;
use crate::lower::{ChunkGraph, Lane};
use crate::program::{Overheads, QpUse};
use crate::routing::{Connection, Crossing, Router};
use crate::{Error, PS_PER_S, Picoseconds, Result};

/// How the transfers of a lane are moved.
pub(super) enum Way {
    /// Inside a server, as a demand of the fluid engine.
    Inside(Box<Demands>),
    /// From NIC to NIC by packets.
    Between(Crossing),
}

/// A lane at work. Its queues hold what waits for its turn: one a queue pair, or one in all inside a server.
pub(super) struct Track {
    pub way: Way,
    /// Time from a transfer's last bit at the receiver's NIC, or out of NVLink, until its rank has it.
    pub latency: Picoseconds,
    /// Payload that the protocol allows, bytes a second.
    pub cap: f64,
    /// When the protocol has handed on what came before.
    pub handed: Picoseconds,
    pub queues: Vec<Queue>,
    /// Number of its first queue pair as switches hash it; others follow.
    pub pair: u32,
    /// Its first transfer.
    pub first: u32,
}

/// Parts of transfers in the order in which a queue pair sends them.
#[derive(Default)]
pub(super) struct Queue {
    pub is_busy: bool,
    /// Transfers with the bytes that go here.
    pub waiting: VecDeque<(u32, f64)>,
}

/// A graph of chunks under way.
pub(super) struct Pieces {
    pub graph: ChunkGraph,
    pub tracks: Vec<Track>,
    /// For each transfer: parts that have not arrived.
    pub parts: Vec<u32>,
    /// Those that wait for each transfer, as rows.
    waiting_start: Vec<u32>,
    waiting: Vec<u32>,
    waits: Vec<u32>,
    left: usize,
}

impl Pieces {
    /// A graph made ready.
    ///
    /// # Errors
    /// [`Error::Program`] for what packets cannot do; [`Error::Unreachable`] where ranks that must talk have no path.
    pub fn new(router: &Router, gpu_of_rank: &[u32], graph: ChunkGraph, overheads: &Overheads) -> Result<Self> {
        let mut tracks = Vec::with_capacity(graph.lanes.len());
        for lane in &graph.lanes {
            tracks.push(track(router, gpu_of_rank, &graph, lane, overheads)?);
        }
        for transfer in (0..graph.len()).rev() {
            if let Some(lane) = graph.lane[transfer] {
                tracks[lane as usize].first = transfer as u32;
            }
        }
        let mut waiting_start = vec![0u32; graph.len() + 1];
        let before = |transfer: usize| graph.after(transfer).iter().map(|&before| before as usize);
        (0..graph.len()).flat_map(before).for_each(|before| waiting_start[before + 1] += 1);
        (0..graph.len()).for_each(|transfer| waiting_start[transfer + 1] += waiting_start[transfer]);
        let (mut fill, mut waiting) = (waiting_start.clone(), vec![0; waiting_start[graph.len()] as usize]);
        for transfer in 0..graph.len() {
            for before in before(transfer) {
                waiting[fill[before] as usize] = transfer as u32;
                fill[before] += 1;
            }
        }
        Ok(Self {
            waits: (0..graph.len()).map(|transfer| graph.after(transfer).len() as u32).collect(),
            parts: vec![0; graph.len()],
            left: graph.len(),
            graph,
            tracks,
            waiting_start,
            waiting,
        })
    }

    /// Whether all has arrived.
    pub fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Transfers that wait for nothing; of exchanges between many, each rank's in the order of its distance, as NCCL deals
    /// out peers, so that not all begin with one receiver.
    pub fn first(&self) -> Vec<u32> {
        let is_free = |&transfer: &u32| self.waits[transfer as usize] == 0;
        let mut free: Vec<u32> = (0..self.graph.len() as u32).filter(is_free).collect();
        let ranks = self.graph.lanes.iter().filter_map(|lane| lane.to.rank()).max().map_or(1, |rank| rank + 1);
        free.sort_by_key(|&transfer| {
            let lane = self.graph.lane[transfer as usize].map(|lane| &self.graph.lanes[lane as usize]);
            let ends = lane.and_then(|lane| lane.from.rank().zip(lane.to.rank()));
            ends.map_or(0, |(from, to)| (to + ranks - from) % ranks)
        });
        free
    }

    /// Queues a transfer on its lane, and appends to `ready` those of the lane that only waited for it to be queued. Gives
    /// the lane; none for a join.
    pub fn queue(&mut self, transfer: u32, ready: &mut Vec<u32>) -> Option<u32> {
        let lane = self.graph.lane[transfer as usize]?;
        let track = &mut self.tracks[lane as usize];
        let bytes = self.graph.bytes[transfer as usize] * self.graph.wire;
        let queues = track.queues.len();
        let each = match (&track.way, self.graph.carriage.qp_use) {
            (Way::Inside(_), _) => {
                track.queues[0].waiting.push_back((transfer, self.graph.bytes[transfer as usize]));
                1
            }
            (Way::Between(_), QpUse::Split) => {
                let part = bytes / queues as f64;
                track.queues.iter_mut().for_each(|queue| queue.waiting.push_back((transfer, part)));
                queues
            }
            (Way::Between(_), QpUse::RoundRobin) => {
                // Every channel has its part of the slice, on the queue pair whose turn it is.
                let qps = self.graph.carriage.qps as usize;
                let turn = (transfer - track.first) as usize % qps;
                let channels = queues / qps;
                let part = bytes / channels as f64;
                (0..channels)
                    .for_each(|channel| track.queues[channel * qps + turn].waiting.push_back((transfer, part)));
                channels
            }
        };
        self.parts[transfer as usize] = each as u32;
        self.release(transfer, true, ready);
        Some(lane)
    }

    /// A transfer has arrived: appends to `ready` what waited for that.
    pub fn arrive(&mut self, transfer: u32, ready: &mut Vec<u32>) {
        self.left -= 1;
        self.release(transfer, false, ready);
    }

    /// Counts down those that wait for a transfer: of its lane, as it is queued, others as it arrives.
    fn release(&mut self, transfer: u32, of_its_lane: bool, ready: &mut Vec<u32>) {
        let lane = self.graph.lane[transfer as usize];
        let row = self.waiting_start[transfer as usize] as usize..self.waiting_start[transfer as usize + 1] as usize;
        for &next in &self.waiting[row] {
            let is_of_its_lane = lane.is_some() && self.graph.lane[next as usize] == lane;
            if is_of_its_lane == of_its_lane {
                self.waits[next as usize] -= 1;
                if self.waits[next as usize] == 0 {
                    ready.push(next);
                }
            }
        }
    }

    /// When a transfer that has come at a time is its rank's: once the protocol has handed it on.
    pub fn handed(&mut self, transfer: u32, now: Picoseconds) -> Picoseconds {
        let Some(lane) = self.graph.lane[transfer as usize] else { return now };
        let track = &mut self.tracks[lane as usize];
        if track.cap.is_finite() {
            let takes = (self.graph.bytes[transfer as usize] / track.cap * PS_PER_S) as Picoseconds;
            track.handed = now.max(track.handed + takes);
        }
        track.handed.max(now) + track.latency
    }
}

fn track(
    router: &Router,
    gpu_of_rank: &[u32],
    graph: &ChunkGraph,
    lane: &Lane,
    overheads: &Overheads,
) -> Result<Track> {
    if lane.tree.is_some() {
        return Err(Error::Program(
            "packets are not added up in switches: choose another algorithm than SHARP's".into(),
        ));
    }
    let added = graph.added_s(router, gpu_of_rank, lane, overheads)? * PS_PER_S;
    let after = |path: Picoseconds| (path as f64 + added).max(0.0).round() as Picoseconds;
    let crossing = match (lane.from.rank(), lane.to.rank()) {
        (Some(from), Some(to)) => {
            let [from, to] = [from, to].map(|rank| gpu_of_rank[rank as usize]);
            router.topology().crossing(Connection { from, to, channel: lane.channel })?
        }
        _ => None,
    };
    let (way, latency, queues, pair) = match crossing {
        Some(crossing) => {
            let pair = pair_of(crossing.nics, lane);
            (Way::Between(crossing), after(crossing.latency), graph.carriage.qps * lane.spread, pair)
        }
        None => {
            let (demand, latency) = graph.path(router, gpu_of_rank, lane)?;
            (Way::Inside(Box::new(demand)), after(latency), 1, 0)
        }
    };
    let queues = (0..queues).map(|_| Queue::default()).collect();
    Ok(Track { way, latency, cap: lane.cap, handed: 0, queues, pair, first: 0 })
}

/// A number for the queue pairs of a connection, the same in each operation that uses it.
fn pair_of(nics: [u32; 2], lane: &Lane) -> u32 {
    let ends = [lane.from, lane.to].map(|end| u64::from(end.rank().unwrap_or(0)));
    [u64::from(nics[0]), u64::from(nics[1]), ends[0], ends[1], u64::from(lane.channel)].into_iter().fold(
        0x9E37_79B9_7F4A_7C15_u64,
        |hash, word| {
            let mixed = (hash ^ word).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed ^ mixed >> 31
        },
    ) as u32
}
