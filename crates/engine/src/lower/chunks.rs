//! Strands to a graph of chunks: transfers, each waiting for others to end. For engines that move data piece by piece.
//!
//! Every edge carries its bytes as slices, in order. A rank passes a slice on once it has arrived, and like NCCL's
//! receive buffers it holds at most [`WINDOW`] slices that it has not passed on: whoever feeds it waits. That window is
//! what keeps the edges of a strand together, and so what makes one demand of one rate of them.
//!
//! Run as plain transfers, the chunks of one collective take as long as its demands: the busiest resource is busy
//! throughout in both. Collectives that compete may differ. An edge faster than its ring sends a slice and pauses, and
//! another's transfer that meets such bursts on two resources, at different times, gets less than they leave on average
//! (in random cases one end in fifty moves by over 1 %, the worst by over a third). Demands take the average, as buffers
//! in switches do for slices as short as NCCL's; plain transfers have no buffers.
//!
//! A ring takes its slices in blocks of the window: all steps for one block, then the next block, as NCCL loops over a
//! buffer. Stages of a strand are joined where ranks meet; phases are joined by a transfer without bytes.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::demands::places;
use super::route::{Hop, Routes};
use super::strand::{Edge, End, Pattern, Strand, describe};
use super::{direct, queue_pairs};
use crate::demand::Demands;
use crate::program::{Carriage, Collective, Overheads};
use crate::routing::Router;
use crate::{Picoseconds, Result};

/// Slices that a rank may have received and not passed on, for each channel. NCCL has NCCL_STEPS = 8 buffer slots, of
/// which a ring's chunk takes half (its device.h).
pub const WINDOW: u32 = 4;

/// A connection that transfers refer to, or a way to a switch that adds up.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// Sender.
    pub from: End,
    /// Receiver.
    pub to: End,
    /// Channel, for routing.
    pub channel: u32,
    /// Number of channels whose queue pairs share it.
    pub spread: u32,
    /// Payload bytes over all its transfers.
    pub bytes: f64,
    /// Payload that the protocol allows it, bytes a second.
    pub cap: f64,
    /// Ranks that its strand's aggregation tree joins, and the tree's turn.
    pub tree: Option<(Arc<[u32]>, u32)>,
}

/// Transfers and what each waits for.
#[derive(Clone, Debug)]
pub struct ChunkGraph {
    /// Connections used.
    pub lanes: Vec<Lane>,
    /// How each connection is carried.
    pub carriage: Carriage,
    /// Bytes on the wire for each byte of payload.
    pub wire: f64,
    /// Part of NVLink's rate that is reached where its switch adds up or copies.
    pub nvlink_sharp: f64,
    /// Lane of each transfer; none for a join, which has no bytes and ends as soon as it may start.
    pub lane: Vec<Option<u32>>,
    /// Bytes of each transfer.
    pub bytes: Vec<f64>,
    after_start: Vec<usize>,
    after: Vec<u32>,
}

impl ChunkGraph {
    /// Nothing to transfer yet.
    fn new(carriage: Carriage, wire: f64, nvlink_sharp: f64) -> Self {
        Self {
            lanes: vec![],
            carriage,
            wire,
            nvlink_sharp,
            lane: vec![],
            bytes: vec![],
            after_start: vec![0],
            after: vec![],
        }
    }

    /// Number of transfers, joins included.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is nothing to transfer.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Transfers that must end before one may start.
    pub fn after(&self, transfer: usize) -> &[u32] {
        &self.after[self.after_start[transfer]..self.after_start[transfer + 1]]
    }

    /// A lane as a demand of its own, without work or latency.
    ///
    /// # Errors
    /// [`crate::Error::Unreachable`] where no path joins its ends.
    pub fn demand(&self, router: &Router, gpu_of_rank: &[u32], lane: &Lane) -> Result<Demands> {
        self.path(router, gpu_of_rank, lane).map(|(demand, _)| demand)
    }

    /// As [`ChunkGraph::demand`], and the latency of its path.
    ///
    /// # Errors
    /// As [`ChunkGraph::demand`].
    pub fn path(&self, router: &Router, gpu_of_rank: &[u32], lane: &Lane) -> Result<(Demands, Picoseconds)> {
        let routes = Routes { router, gpu: gpu_of_rank, nvlink_sharp: self.nvlink_sharp };
        let (mut shares, mut legs) = (Vec::new(), Vec::new());
        queue_pairs::fill(&self.carriage, lane.bytes, lane.spread, &mut shares);
        let tree = lane.tree.as_ref().map(|(members, turn)| routes.tree(members, lane.channel, *turn)).transpose()?;
        let latency = routes.legs((lane.from, lane.to), lane.channel, tree.as_ref(), &shares, &mut legs)?;
        let mut entries: Vec<(u32, f64)> = legs.iter().map(|leg| (leg.resource, leg.share * self.wire)).collect();
        entries.sort_by_key(|entry| entry.0);
        entries.dedup_by(|entry, kept| {
            let same = entry.0 == kept.0;
            if same {
                kept.1 += entry.1;
            }
            same
        });
        let cap = tree.map_or(lane.cap, |tree| lane.cap.min(tree.port_rate / self.wire));
        let mut demand = Demands::default();
        demand.push(&entries, queue_pairs::active(&shares), cap, 0.0, 0);
        Ok((demand, latency))
    }

    /// What a lane's hop counts as among those that the protocol adds to, seconds.
    ///
    /// # Errors
    /// [`crate::Error::Graph`] where a rank is on no GPU.
    pub fn added_s(&self, router: &Router, gpu_of_rank: &[u32], lane: &Lane, overheads: &Overheads) -> Result<f64> {
        let routes = Routes { router, gpu: gpu_of_rank, nvlink_sharp: self.nvlink_sharp };
        Ok(match routes.hop((lane.from, lane.to))? {
            Hop::Half => 0.0,
            Hop::Inside => overheads.intra_s,
            Hop::Between => overheads.inter_s,
        })
    }

    fn push(&mut self, lane: Option<u32>, bytes: f64, after: &mut Vec<u32>) {
        after.sort_unstable();
        after.dedup();
        self.after.append(after);
        self.after_start.push(self.after.len());
        self.lane.push(lane);
        self.bytes.push(bytes);
    }
}

/// Lowers a collective of one group to chunks; edges carry each step in `slices` slices. Of the router only the servers
/// matter.
///
/// # Errors
/// As [`super::demands`], but for paths.
pub fn chunks(
    router: &Router,
    gpu_of_rank: &[u32],
    collective: &Collective,
    group: &[u32],
    slices: u32,
) -> Result<ChunkGraph> {
    lowered(router, gpu_of_rank, collective, group, |_| slices)
}

/// As [`chunks`], with slices as long as a message of the carriage (NCCL's step of its buffer), and no more than
/// [`MOST_SLICES`] a step.
///
/// # Errors
/// As [`chunks`].
pub fn messages(router: &Router, gpu_of_rank: &[u32], collective: &Collective, group: &[u32]) -> Result<ChunkGraph> {
    lowered(router, gpu_of_rank, collective, group, |strand| slices(strand, &collective.carriage))
}

/// A message from rank to rank, cut as [`messages`] are.
pub fn send(from: u32, to: u32, bytes: f64, carriage: &Carriage, overheads: &Overheads) -> ChunkGraph {
    let mut graph = ChunkGraph::new(*carriage, overheads.wire, 1.0);
    if bytes > 0.0 {
        let mut strand = Strand::default();
        direct::pair(&mut strand, Edge::ranks(from, to, bytes), 1);
        let slices = slices(&strand, carriage);
        push_strand(&mut graph, &strand, slices, overheads.channel_rate, None, &mut Vec::new());
    }
    graph
}

/// Most slices that a step is cut into by [`messages`].
pub const MOST_SLICES: u32 = 256;

/// Most slices that fill a pipeline, and the least bytes of one: NCCL shortens the chunks of trees alike. Shorter ones would
/// not fill a path of 400 Gb/s, since a rank holds [`WINDOW`] of them.
const PIPELINE: (f64, f64) = (256.0, 65536.0);

/// The same where a pipeline goes round a ring: all steps are made for each block of [`WINDOW`], and one of four short
/// slices takes less time than the latency of a step between servers. So they are twice as long, unless that leaves fewer
/// than eight blocks to fill the stages before and after.
const AROUND: [(f64, f64); 2] = [(8.0 * WINDOW as f64, 65536.0), (128.0, 131072.0)];

/// Slices of each step of a strand: messages that the largest takes, or more where data is passed on within a step. Where
/// there are rings, those of their steps: what is before and after them stays inside servers.
pub(super) fn slices(strand: &Strand, carriage: &Carriage) -> u32 {
    let steps = |pattern| if let Pattern::Ring { steps } = pattern { Some(f64::from(steps)) } else { None };
    let goes_round = strand.stages.iter().any(|stage| steps(stage.pattern).is_some());
    let (mut largest, mut smallest) = (0.0f64, f64::INFINITY);
    for (pattern, range) in strand.ranges().filter(|&(pattern, _)| !goes_round || steps(pattern).is_some()) {
        let bytes = strand.edges[range].iter().map(|edge| edge.bytes).fold(0.0, f64::max);
        let of_step = bytes / steps(pattern).unwrap_or(1.0) / f64::from(strand.spread);
        (largest, smallest) = (largest.max(of_step), smallest.min(of_step));
    }
    let is_pipelined = strand.stages.len() > 1 || strand.stages.iter().any(|stage| stage.pattern == Pattern::Relay);
    let fills = if goes_round { AROUND } else { [PIPELINE; 2] };
    let filled = fills.map(|(most, least)| (smallest / least).min(most)).into_iter().fold(1.0, f64::max);
    let filled = if is_pipelined { filled } else { 1.0 };
    (largest / carriage.message_bytes).max(filled).ceil().clamp(1.0, f64::from(MOST_SLICES)) as u32
}

fn lowered(
    router: &Router,
    gpu_of_rank: &[u32],
    collective: &Collective,
    group: &[u32],
    slices: impl Fn(&Strand) -> u32,
) -> Result<ChunkGraph> {
    let mut graph = ChunkGraph::new(collective.carriage, collective.overheads.wire, collective.nvlink_sharp);
    let (mut phase, mut join, mut last) = (0, None, Vec::new());
    describe(collective, group, &places(router, gpu_of_rank), &mut |of, strand| {
        if of != phase {
            phase = of;
            join = Some(graph.len() as u32);
            graph.push(None, 0.0, &mut last);
        }
        let channel_rate = collective.overheads.channel_rate;
        push_strand(&mut graph, strand, slices(strand).max(1), channel_rate, join, &mut last);
        Ok(())
    })?;
    Ok(graph)
}

/// A slice's place in the order of one edge: which step of the ring it makes (0 elsewhere), and which slice it is.
#[derive(Clone, Copy)]
struct Turn {
    step: u32,
    slice: u32,
}

/// An edge as the chunks see it: when it carries which slice, and as which transfer.
struct Track {
    steps: u32,
    slices: u32,
    /// Transfer of the edge's first slice.
    first: u32,
    stage: usize,
}

impl Track {
    fn len(&self) -> u32 {
        self.steps * self.slices
    }

    /// The transfer that carries a slice in a step.
    fn transfer(&self, Turn { step, slice }: Turn) -> u32 {
        let block = slice / WINDOW;
        let width = WINDOW.min(self.slices - block * WINDOW);
        self.first + block * WINDOW * self.steps + step * width + slice % WINDOW
    }

    /// The transfer after which a slice needs no more of this edge.
    fn last(&self, slice: u32) -> u32 {
        self.transfer(Turn { step: self.steps - 1, slice })
    }

    /// Turns in the order in which the edge takes them.
    fn turns(&self) -> impl Iterator<Item = Turn> + use<> {
        let (steps, slices) = (self.steps, self.slices);
        (0..slices).step_by(WINDOW as usize).flat_map(move |block| {
            let slices = block..slices.min(block + WINDOW);
            (0..steps).flat_map(move |step| slices.clone().map(move |slice| Turn { step, slice }))
        })
    }
}

/// Appends a strand's transfers, which start after `join`, and to `last` the last transfer of each edge.
fn push_strand(
    graph: &mut ChunkGraph,
    strand: &Strand,
    slices: u32,
    channel_rate: f64,
    join: Option<u32>,
    last: &mut Vec<u32>,
) {
    let (work, cap) = (strand.pace().bytes, strand.cap(channel_rate));
    let stages: Vec<(Pattern, Range<usize>)> = strand.ranges().collect();
    let mut tracks: Vec<Track> = Vec::with_capacity(strand.edges.len());
    let mut first = graph.len() as u32;
    for (stage, (pattern, range)) in stages.iter().enumerate() {
        let steps = if let Pattern::Ring { steps } = *pattern { steps } else { 1 };
        for _ in range.clone() {
            tracks.push(Track { steps, slices, first, stage });
            first += steps * slices;
        }
    }
    let meetings = Meetings::of(strand);
    let tree = (!strand.members.is_empty()).then(|| (Arc::from(&strand.members[..]), strand.turn));
    let mut after = Vec::new();
    for (index, edge) in strand.edges.iter().enumerate() {
        let track = &tracks[index];
        let (pattern, range) = &stages[track.stage];
        let neighbours = Neighbours::of(&meetings, &tracks, &stages, index);
        let lane = graph.lanes.len() as u32;
        let Edge { from, to, bytes } = *edge;
        graph.lanes.push(Lane {
            from,
            to,
            channel: strand.channel,
            spread: strand.spread,
            bytes,
            cap: cap * bytes / work,
            tree: tree.clone(),
        });
        for turn in track.turns() {
            match track.transfer(turn) {
                first if first == track.first => after.extend(join),
                transfer => after.push(transfer - 1),
            }
            match pattern {
                Pattern::Together => {}
                Pattern::Ring { .. } => {
                    let around = range.len();
                    let at = index - range.start;
                    let (up, down) = (range.start + (at + around - 1) % around, range.start + (at + 1) % around);
                    after.extend(before(turn, track.steps).map(|before| tracks[up].transfer(before)));
                    // room is made slice by slice, also where a step has fewer slices than there is room for
                    let made = (track.transfer(turn) - track.first).checked_sub(WINDOW);
                    after.extend(made.map(|made| tracks[down].first + made));
                }
                Pattern::Relay => {
                    after.extend(neighbours.before.iter().map(|&before| tracks[before].transfer(turn)));
                    if let Some(slice) = turn.slice.checked_sub(WINDOW) {
                        let turn = Turn { slice, ..turn };
                        after.extend(neighbours.behind.iter().map(|&behind| tracks[behind].transfer(turn)));
                    }
                }
            }
            if turn.step == 0 {
                after.extend(neighbours.feeders.iter().map(|&feeder| tracks[feeder].last(turn.slice)));
                if let Some(slice) = turn.slice.checked_sub(2 * WINDOW) {
                    after.extend(neighbours.followers.iter().map(|&follower| tracks[follower].last(slice)));
                }
            }
            graph.push(Some(lane), bytes / f64::from(track.len()), &mut after);
        }
        last.push(track.first + track.len() - 1);
    }
}

/// The turn of a ring's edge one block of slices earlier: the step before, or the last step of the block before. The edge
/// before must have come that far: it has then sent what is to be passed on.
fn before(turn: Turn, steps: u32) -> Option<Turn> {
    match turn.step.checked_sub(1) {
        Some(step) => Some(Turn { step, ..turn }),
        None => turn.slice.checked_sub(WINDOW).map(|slice| Turn { step: steps - 1, slice }),
    }
}

/// Edges of a strand by the ranks and switches where they arrive and leave, in order.
struct Meetings<'a> {
    strand: &'a Strand,
    arriving: HashMap<End, Vec<usize>>,
    leaving: HashMap<End, Vec<usize>>,
}

impl<'a> Meetings<'a> {
    fn of(strand: &'a Strand) -> Self {
        let (mut arriving, mut leaving) = (HashMap::new(), HashMap::new());
        for (index, edge) in strand.edges.iter().enumerate() {
            let note = |at: &mut HashMap<End, Vec<usize>>, end| at.entry(end).or_default().push(index);
            strand.single(edge.to).for_each(|end| note(&mut arriving, end));
            strand.single(edge.from).for_each(|end| note(&mut leaving, end));
        }
        Self { strand, arriving, leaving }
    }

    /// Edges in a range that arrive at an end.
    fn arriving(&self, end: End, range: Range<usize>) -> Vec<usize> {
        self.meeting(&self.arriving, end, &range)
    }

    /// Edges in a range that leave an end.
    fn leaving(&self, end: End, range: Range<usize>) -> Vec<usize> {
        self.meeting(&self.leaving, end, &range)
    }

    fn meeting(&self, edges: &HashMap<End, Vec<usize>>, end: End, range: &Range<usize>) -> Vec<usize> {
        let all = self.strand.single(end).filter_map(|end| edges.get(&end)).flatten().copied();
        all.filter(|edge| range.contains(edge)).collect()
    }
}

/// Edges that meet an edge at its ends.
struct Neighbours {
    /// Of the same stage, where that relays: those that bring what this one sends, and those that pass on what it brings.
    before: Vec<usize>,
    behind: Vec<usize>,
    /// Edges of the nearest stage before that bring what this one sends.
    feeders: Vec<usize>,
    /// Edges of the nearest stage after that pass on what this one brings.
    followers: Vec<usize>,
}

impl Neighbours {
    fn of(meetings: &Meetings, tracks: &[Track], stages: &[(Pattern, Range<usize>)], index: usize) -> Self {
        let Edge { from, to, .. } = meetings.strand.edges[index];
        let stage = tracks[index].stage;
        let relays = |stage: usize| stages[stage].0 == Pattern::Relay;
        let range = stages[stage].1.clone();
        let (before, behind) = if relays(stage) {
            (meetings.arriving(from, range.start..index), meetings.leaving(to, index + 1..range.end))
        } else {
            (vec![], vec![])
        };
        let some = |edges: &Vec<usize>| !edges.is_empty();
        let earlier = stages[..stage].iter().rev().map(|(_, range)| meetings.arriving(from, range.clone())).find(some);
        let later = stages[stage + 1..].iter().map(|(_, range)| meetings.leaving(to, range.clone())).find(some);
        let mut followers = later.unwrap_or_default();
        if !behind.is_empty() {
            // What is passed on in this stage makes room here; a later stage that is fed within itself sends other data,
            // as the way down a tree does on the way up.
            let is_fed_within = |&edge: &usize| {
                let (stage, from) = (tracks[edge].stage, meetings.strand.edges[edge].from);
                relays(stage) && !meetings.arriving(from, stages[stage].1.start..edge).is_empty()
            };
            followers.retain(|edge| !is_fed_within(edge));
        }
        Self { before, behind, feeders: earlier.unwrap_or_default(), followers }
    }
}
