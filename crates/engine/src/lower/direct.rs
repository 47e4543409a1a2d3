//! Direct exchange: every rank sends straight to every other. One pair is one strand, over all channels' queue pairs.

use super::strand::{Edge, Emit, Pattern, Strand};
use crate::Result;
use crate::program::{Collective, Kind};

/// Describes a direct collective; an all-reduce is a reduce-scatter and then, once that has ended, an all-gather.
pub(super) fn describe(collective: &Collective, group: &[u32], emit: &mut Emit) -> Result<()> {
    let phases = if collective.kind == Kind::AllReduce { 2 } else { 1 };
    let mut strand = Strand::default();
    for phase in 0..phases {
        exchange(collective, group.len(), &mut |from, to, bytes| {
            pair(&mut strand, Edge::ranks(group[from], group[to], bytes), collective.channels);
            emit(phase, &strand)
        })?;
    }
    Ok(())
}

/// Names each pair of a group of `n` that has something to exchange: sender and receiver, as positions in the group, and
/// bytes.
pub(super) fn exchange(
    collective: &Collective,
    n: usize,
    each: &mut dyn FnMut(usize, usize, f64) -> Result<()>,
) -> Result<()> {
    let senders = if collective.kind == Kind::Broadcast { 1 } else { n };
    for from in 0..senders {
        for to in (0..n).filter(|&to| to != from) {
            let bytes = match (&collective.matrix, collective.kind) {
                (Some(matrix), _) => matrix[from * n + to],
                (None, Kind::Broadcast) => collective.bytes,
                (None, _) => collective.bytes / n as f64,
            };
            if bytes > 0.0 {
                each(from, to, bytes)?;
            }
        }
    }
    Ok(())
}

/// Makes a strand of a single edge.
pub(super) fn pair(strand: &mut Strand, edge: Edge, spread: u32) {
    strand.restart(0, spread);
    strand.stage(Pattern::Together, [edge]);
}
