//! Who sends what to whom: strands of edges, phase by phase. Nothing here knows paths, rates or time.

use super::servers::{Place, Servers};
use super::{direct, hierarchical, pxn, ring};
use crate::program::{Algorithm, Carriage, Collective, Kind, QpUse};
use crate::{Error, Result};

/// Bytes that one rank sends to another in the course of a strand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Edge {
    /// Sending rank.
    pub from: u32,
    /// Receiving rank.
    pub to: u32,
    /// Bytes in all.
    pub bytes: f64,
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
    /// An open chain in edge order: every edge passes on all that came in.
    Chain,
}

/// Consecutive edges of a strand with one pattern; fed by the stage before, as far as ranks meet.
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
    /// Stages in the order that data takes, none empty.
    pub stages: Vec<Stage>,
    /// Edges of all stages, stage after stage.
    pub edges: Vec<Edge>,
}

impl Strand {
    /// Empties it, for reuse.
    pub fn restart(&mut self, channel: u32, spread: u32) {
        self.channel = channel;
        self.spread = spread;
        self.stages.clear();
        self.edges.clear();
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
        let mut back = Self { channel: self.channel, spread: self.spread, ..Self::default() };
        for (pattern, range) in self.ranges().collect::<Vec<_>>().into_iter().rev() {
            let edges = self.edges[range].iter().rev();
            back.stage(pattern, edges.map(|&Edge { from, to, bytes }| Edge { from: to, to: from, bytes }));
        }
        back
    }

    /// Each stage's pattern with the positions of its edges.
    pub fn ranges(&self) -> impl Iterator<Item = (Pattern, std::ops::Range<usize>)> + '_ {
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

/// Whether a group of `ranks` ranks can run a collective.
///
/// # Errors
/// [`Error::Program`] with the cause: no channel or queue pair, sizes that are negative or not finite, a byte matrix of
/// another size or for another kind, an all-to-all that is neither direct nor by PXN, or PXN for another kind.
pub fn check(collective: &Collective, ranks: usize) -> Result<()> {
    let wrong = |cause: String| Err(Error::Program(cause));
    let is_size = |bytes: f64| bytes.is_finite() && bytes >= 0.0;
    if ranks == 0 {
        return wrong("it has no ranks".into());
    }
    if !is_size(collective.bytes) {
        return wrong(format!("its size is {} bytes", collective.bytes));
    }
    if collective.channels == 0 {
        return wrong("it has no channels".into());
    }
    let exchanges = matches!(collective.algorithm, Algorithm::Direct | Algorithm::Pxn);
    if collective.kind == Kind::AllToAll && !exchanges {
        return wrong(format!(
            "an all-to-all is direct or by PXN: its data has no use for the detours of {:?}",
            collective.algorithm
        ));
    }
    if collective.kind != Kind::AllToAll && collective.algorithm == Algorithm::Pxn {
        return wrong(format!("PXN is for an all-to-all, not for {:?}", collective.kind));
    }
    if let Some(matrix) = &collective.matrix {
        if collective.kind != Kind::AllToAll {
            return wrong(format!("a byte matrix is for an all-to-all, not for {:?}", collective.kind));
        }
        if matrix.len() != ranks * ranks {
            return wrong(format!(
                "its byte matrix has {} entries but its group of {ranks} ranks needs {}",
                matrix.len(),
                ranks * ranks
            ));
        }
        if let Some(bytes) = matrix.iter().find(|bytes| !is_size(**bytes)) {
            return wrong(format!("its byte matrix has an entry of {bytes} bytes"));
        }
    }
    check_carriage(&collective.carriage)
}

/// Whether a connection can be carried so.
///
/// # Errors
/// [`Error::Program`] where it has no queue pair, or messages of no size.
pub fn check_carriage(carriage: &Carriage) -> Result<()> {
    if carriage.qps == 0 {
        return Err(Error::Program("its connections have no queue pairs".into()));
    }
    let message = carriage.message_bytes;
    if carriage.qp_use == QpUse::RoundRobin && (message.is_nan() || message <= 0.0) {
        return Err(Error::Program(format!("its messages have {message} bytes")));
    }
    Ok(())
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
        return reduce(collective, group, place, emit);
    }
    match collective.algorithm {
        Algorithm::Ring => ring::given(collective, group, emit),
        Algorithm::RailRing => ring::alternating(collective, &Servers::of(group, place)?, emit),
        Algorithm::Direct => direct::describe(collective, group, emit),
        Algorithm::Pxn => pxn::describe(collective, group, place, emit),
        Algorithm::HierarchicalStaged => hierarchical::staged(collective, &Servers::of(group, place)?, emit),
        Algorithm::HierarchicalPipelined => hierarchical::pipelined(collective, &Servers::of(group, place)?, emit),
    }
}

/// Describes a reduce as its broadcast backwards: every edge turned round, the last to carry data first.
fn reduce(collective: &Collective, group: &[u32], place: &Place, emit: &mut Emit) -> Result<()> {
    let broadcast = Collective { kind: Kind::Broadcast, ..collective.clone() };
    let mut strands = Vec::new();
    describe(&broadcast, group, place, &mut |phase, strand| {
        strands.push((phase, strand.reversed()));
        Ok(())
    })?;
    let last = strands.last().map_or(0, |&(phase, _)| phase);
    strands.iter().rev().try_for_each(|(phase, strand)| emit(last - phase, strand))
}
