//! Who sends what to whom: strands of edges, phase by phase. Nothing here knows paths, rates or time.

use super::check::check;
use super::hierarchical::{Between, Inside};
use super::servers::{Place, Servers};
use super::{direct, hierarchical, pxn, recursive, ring, tree};
use std::ops::Range;

use crate::Result;
use crate::program::{Algorithm, Collective, Kind};

/// Where an edge begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// A rank's GPU.
    Rank(u32),
    /// The NVLink switch of a server, by the server's number in the group.
    NvSwitch(u32),
    /// The root of the strand's aggregation tree.
    Root,
    /// All members of that tree.
    Members,
    /// Its first member.
    First,
    /// All its members but the first.
    Others,
}

impl End {
    /// The rank, where it is one.
    pub fn rank(self) -> Option<u32> {
        if let Self::Rank(rank) = self { Some(rank) } else { None }
    }

    /// The places that it stands for among a tree's members.
    pub(super) fn among(self, members: usize) -> Range<usize> {
        match self {
            Self::First => 0..1,
            Self::Others => 1..members,
            _ => 0..members,
        }
    }
}

/// Bytes that one end sends to another in the course of a strand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Edge {
    /// Sender.
    pub from: End,
    /// Receiver.
    pub to: End,
    /// Bytes in all.
    pub bytes: f64,
}

impl Edge {
    /// From rank to rank.
    pub fn ranks(from: u32, to: u32, bytes: f64) -> Self {
        Self { from: End::Rank(from), to: End::Rank(to), bytes }
    }
}

/// How the edges of a stage depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// They do not: each edge carries bytes of its own.
    Together,
    /// A closed ring in edge order: in each of `steps` steps every edge passes on what came in the step before.
    Ring {
        /// Steps, each of 1/steps of an edge's bytes.
        steps: u32,
    },
    /// Chains and trees between ranks: every edge passes on all that edges before it brought to where it begins.
    Relay,
}

/// Consecutive edges of a strand with one pattern; fed by the stage before, as far as ends meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stage {
    /// How its edges depend on each other.
    pub pattern: Pattern,
    /// One past its last edge.
    pub end: usize,
}

/// Edges that progress together, because they are pipelined: one channel of a ring, one pair of an all-to-all.
#[derive(Clone, Debug, Default)]
pub(super) struct Strand {
    /// Channel whose queue pairs carry it (the first, where `spread` is more than one).
    pub channel: u32,
    /// Number of channels whose queue pairs share each edge.
    pub spread: u32,
    /// Number of strands that share those channels.
    pub sharers: u32,
    /// Ranks that its aggregation tree joins; none where it has no tree.
    pub members: Vec<u32>,
    /// Turn of the tree among those of its collective.
    pub turn: u32,
    /// Stages in the order that data takes, none empty.
    pub stages: Vec<Stage>,
    /// Edges of all stages, stage after stage.
    pub edges: Vec<Edge>,
}

impl Strand {
    /// Payload rate that a protocol allows it, of `channel_rate` a channel, bytes a second.
    pub fn cap(&self, channel_rate: f64) -> f64 {
        channel_rate * f64::from(self.spread) / f64::from(self.sharers)
    }

    /// Empties it, for reuse.
    pub fn restart(&mut self, channel: u32, spread: u32) {
        self.channel = channel;
        self.spread = spread;
        self.sharers = 1;
        self.members.clear();
        self.turn = 0;
        self.stages.clear();
        self.edges.clear();
    }

    /// The single ends that an end stands for: members of its tree one by one.
    pub fn single(&self, end: End) -> impl Iterator<Item = End> + '_ {
        let members = match end {
            End::Members | End::First | End::Others => &self.members[end.among(self.members.len())],
            _ => &[],
        };
        let alone = members.is_empty().then_some(end);
        alone.into_iter().chain(members.iter().copied().map(End::Rank))
    }

    /// Appends a stage, unless it has no edges.
    pub fn stage(&mut self, pattern: Pattern, edges: impl IntoIterator<Item = Edge>) {
        let begin = self.edges.len();
        self.edges.extend(edges);
        if self.edges.len() > begin {
            self.stages.push(Stage { pattern, end: self.edges.len() });
        }
    }

    /// The same with time and direction turned round: what was passed on last is sent first, and back.
    pub fn reversed(&self) -> Self {
        let mut back = Self { stages: vec![], edges: vec![], ..self.clone() };
        for (pattern, range) in self.ranges().collect::<Vec<_>>().into_iter().rev() {
            let edges = self.edges[range].iter().rev();
            back.stage(pattern, edges.map(|&Edge { from, to, bytes }| Edge { from: to, to: from, bytes }));
        }
        back
    }

    /// Each stage's pattern with the positions of its edges.
    pub fn ranges(&self) -> impl Iterator<Item = (Pattern, Range<usize>)> + '_ {
        (0..self.stages.len()).map(|index| {
            let begin = if index == 0 { 0 } else { self.stages[index - 1].end };
            (self.stages[index].pattern, begin..self.stages[index].end)
        })
    }

    /// The edge in whose bytes progress is counted: the first that passes data on (between servers, where the strand is
    /// hierarchical), else the first.
    pub fn pace(&self) -> Edge {
        let relay = self.ranges().find(|(pattern, _)| *pattern != Pattern::Together);
        self.edges[relay.map_or(0, |(_, range)| range.start)]
    }
}

/// Receives strands with the phase that each belongs to, phases in order.
pub(super) type Emit<'a> = dyn FnMut(usize, &Strand) -> Result<()> + 'a;

/// Hops that the connections of a collective of one group have, in about: six at the ends, and two for each flow between
/// leaves.
pub fn hops(collective: &Collective, ranks: usize) -> f64 {
    let flows = f64::from(collective.carriage.qps) * f64::from(collective.channels);
    let ranks = ranks as f64;
    match (collective.algorithm, collective.kind) {
        (Algorithm::Direct, Kind::Broadcast | Kind::Reduce) => ranks * (6.0 + 2.0 * flows),
        (Algorithm::Direct | Algorithm::Pxn, _) => ranks * (ranks - 1.0) * (6.0 + 2.0 * flows),
        (Algorithm::HalvingDoubling | Algorithm::Bruck, _) => 2.0 * ranks * ranks.log2() * (6.0 + 2.0 * flows),
        _ => ranks * (6.0 * f64::from(collective.channels) + 2.0 * flows),
    }
}

/// Describes a collective of one group, strand by strand; emits none where there is nothing to send.
///
/// # Errors
/// As [`check`]; where a hierarchy's servers hold unequal numbers of ranks; and what `emit` fails with.
pub(super) fn describe(collective: &Collective, group: &[u32], place: &Place, emit: &mut Emit) -> Result<()> {
    check(collective, group.len())?;
    if group.len() == 1 || (collective.bytes == 0.0 && collective.matrix.is_none()) {
        return Ok(());
    }
    if collective.kind == Kind::Reduce {
        let broadcast = Collective { kind: Kind::Broadcast, ..collective.clone() };
        return backwards(emit, &mut |emit| describe(&broadcast, group, place, emit));
    }
    let mut by_rails =
        |within, between| hierarchical::pipelined(collective, &Servers::of(group, place)?, (within, between), emit);
    match collective.algorithm {
        Algorithm::Ring => ring::given(collective, group, emit),
        Algorithm::RailRing => ring::alternating(collective, &Servers::of(group, place)?, emit),
        Algorithm::Direct => direct::describe(collective, group, emit),
        Algorithm::Pxn => pxn::describe(collective, group, place, emit),
        Algorithm::HierarchicalStaged => hierarchical::staged(collective, &Servers::of(group, place)?, emit),
        Algorithm::HierarchicalPipelined => by_rails(Inside::Direct, Between::Ring),
        Algorithm::Nvls => by_rails(Inside::NvlinkSharp, Between::Ring),
        Algorithm::NvlsTree => by_rails(Inside::NvlinkSharp, Between::Tree),
        Algorithm::Sharp => by_rails(Inside::Direct, Between::Aggregation),
        Algorithm::NvlsSharp => by_rails(Inside::NvlinkSharp, Between::Aggregation),
        Algorithm::HalvingDoubling => recursive::halving_doubling(collective, group, emit),
        Algorithm::Bruck => recursive::bruck(collective, group, emit),
        Algorithm::Tree => tree::describe(collective, &Servers::of(group, place)?, emit),
    }
}

/// Emits what `describe` emits backwards: every edge turned round, the last to carry data first. So a broadcast becomes
/// a reduce, and an all-gather a reduce-scatter.
pub(super) fn backwards(emit: &mut Emit, describe: &mut dyn FnMut(&mut Emit) -> Result<()>) -> Result<()> {
    let mut strands = Vec::new();
    describe(&mut |phase, strand| {
        strands.push((phase, strand.reversed()));
        Ok(())
    })?;
    let last = strands.last().map_or(0, |&(phase, _)| phase);
    strands.iter().rev().try_for_each(|(phase, strand)| emit(last - phase, strand))
}
