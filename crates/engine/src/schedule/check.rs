//! Programs that cannot run, told before they are started, with the operation and the cause.

use crate::lower;
use crate::program::{Carriage, Mix, Program, Stream, Work};
use crate::routing::Topology;
use crate::schedule::RunOptions;
use crate::{Error, Result};

/// Longest that the computes of a program may take in all, seconds: half of what a clock of picoseconds can tell.
const LONGEST_S: f64 = 9e6;

/// Largest buffer or message, bytes: a petabyte, which a slow link carries before that.
const LARGEST_BYTES: f64 = 1e15;

/// Most hops of connections that one operation may need: at some 60 bytes each, 4 GB in a run.
const MOST_HOPS: f64 = 6e7;

/// Whether these settings make sense.
///
/// # Errors
/// [`Error::Program`] otherwise.
pub(super) fn check_options(options: &RunOptions) -> Result<()> {
    let tolerance = options.tolerance;
    if (0.0..1.0).contains(&tolerance) {
        return Ok(());
    }
    Err(Error::Program(format!("a tolerance is a fraction from 0 to below 1, not {tolerance}")))
}

/// Whether a program can run.
///
/// # Errors
/// [`Error::Program`] otherwise.
pub(super) fn check(topology: &Topology, program: &Program) -> Result<()> {
    check_ranks(topology, program)?;
    let mut seen = Seen { last: vec![0; program.gpu.len()], mark: 0 };
    let mut computed = 0.0;
    let slowest = program.mix.slowdown.iter().copied().fold(program.overlap_slowdown, f64::max);
    for (index, op) in program.ops.iter().enumerate() {
        if let Some(&later) = op.after.iter().find(|&&after| after as usize >= index) {
            let what = if later as usize == index {
                "itself".into()
            } else {
                format!("operation {later}, which is not before it")
            };
            return wrong(index, format!("it comes after {what}"));
        }
        let is_compute = matches!(op.work, Work::Compute { .. });
        if is_compute != (op.queue == 0) {
            return wrong(index, "queue 0 is for compute, and only for compute".into());
        }
        check_work(topology, &op.work, &mut seen).or_else(|cause| wrong(index, cause))?;
        if let Work::Compute { seconds, .. } = op.work {
            computed += seconds * slowest;
        }
        if computed > LONGEST_S {
            return wrong(index, format!("with it the step computes for over {LONGEST_S:e} seconds"));
        }
    }
    check_mix(topology, program)
}

fn check_mix(topology: &Topology, program: &Program) -> Result<()> {
    let Mix { until, slowdown, background } = &program.mix;
    let (ops, ranks) = (program.ops.len(), program.gpu.len());
    if let Some(op) = until.iter().find(|&&op| op as usize >= ops) {
        return Err(Error::Program(format!("the run ends with operation {op} but there are {ops} operations")));
    }
    if !slowdown.is_empty() && slowdown.len() != ranks {
        return Err(Error::Program(format!("overlap slows {} ranks but there are {ranks}", slowdown.len())));
    }
    slowdown.iter().try_for_each(|&factor| check_slowdown(factor))?;
    for stream in background {
        let Stream { from, to, rate, carriage } = stream;
        if !(rate.is_finite() && *rate > 0.0) {
            return Err(Error::Program(format!("background traffic offers {rate} bytes a second")));
        }
        if to.is_empty() || to.contains(from) {
            return Err(Error::Program(format!("background traffic from node {from} goes nowhere but to others")));
        }
        for &node in to.iter().chain([from]) {
            if node as usize >= topology.graph().nodes() {
                let nodes = topology.graph().nodes();
                return Err(Error::Program(format!("background traffic on node {node} but there are {nodes} nodes")));
            }
            topology.domain(node).map_err(|cause| Error::Program(format!("background traffic: {cause}")))?;
        }
        lower::check_carriage(carriage)?;
    }
    let hops = |stream: &Stream| stream.to.len() as f64 * (6.0 + 2.0 * f64::from(stream.carriage.qps));
    let hops: f64 = background.iter().map(hops).sum();
    check_hops(hops).map_err(|_| {
        Error::Program(format!(
            "background traffic: its connections have about {:.0} million hops, and {:.0} million are possible: let it \
             go to fewer, as a permutation or an incast does",
            hops / 1e6,
            MOST_HOPS / 1e6
        ))
    })
}

fn check_slowdown(factor: f64) -> Result<()> {
    if factor.is_finite() && factor >= 1.0 {
        return Ok(());
    }
    Err(Error::Program(format!("overlap slows compute by a factor of 1 or more, not {factor}")))
}

fn wrong(op: usize, cause: String) -> Result<()> {
    Err(Error::Program(format!("operation {op}: {cause}")))
}

fn check_ranks(topology: &Topology, program: &Program) -> Result<()> {
    check_slowdown(program.overlap_slowdown)?;
    let mut rank_on = vec![None; topology.graph().nodes()];
    for (rank, &gpu) in program.gpu.iter().enumerate() {
        if gpu as usize >= rank_on.len() {
            return Err(Error::Program(format!("rank {rank} is on node {gpu} but there are {} nodes", rank_on.len())));
        }
        topology.domain(gpu).map_err(|cause| Error::Program(format!("rank {rank}: {cause}")))?;
        if let Some(other) = rank_on[gpu as usize].replace(rank) {
            return Err(Error::Program(format!("ranks {other} and {rank} are both on node {gpu}")));
        }
    }
    Ok(())
}

/// Ranks met since the last mark.
struct Seen {
    last: Vec<u32>,
    mark: u32,
}

impl Seen {
    fn restart(&mut self) {
        self.mark += 1;
    }

    fn meet(&mut self, rank: u32) -> std::result::Result<bool, String> {
        let ranks = self.last.len();
        match self.last.get_mut(rank as usize) {
            Some(last) => Ok(std::mem::replace(last, self.mark) != self.mark),
            None => Err(format!("it names rank {rank} but there are {ranks} ranks")),
        }
    }
}

fn check_size(bytes: f64) -> std::result::Result<(), String> {
    if bytes <= LARGEST_BYTES {
        return Ok(());
    }
    Err(format!("its {bytes:e} bytes are more than {LARGEST_BYTES:e}"))
}

/// Whether there is memory for all connections of each operation.
///
/// # Errors
/// [`Error::Program`] otherwise.
pub(super) fn check_memory(program: &Program) -> Result<()> {
    program.ops.iter().enumerate().try_for_each(|(index, op)| {
        let hops = match &op.work {
            Work::Compute { .. } => 0.0,
            Work::Collective { groups, collective } => {
                groups.iter().map(|group| lower::hops(collective, group.len())).sum()
            }
            Work::SendRecv { pairs, carriage, .. } => pairs.len() as f64 * (6.0 + 2.0 * f64::from(carriage.qps)),
            Work::Storage { flows, carriage, .. } => {
                flows.iter().map(Vec::len).sum::<usize>() as f64 * (6.0 + 2.0 * f64::from(carriage.qps))
            }
        };
        check_hops(hops).or_else(|cause| wrong(index, cause))
    })
}

fn check_hops(hops: f64) -> std::result::Result<(), String> {
    if hops <= MOST_HOPS {
        return Ok(());
    }
    Err(format!(
        "its connections have about {:.0} million hops, which would take some {:.0} GB of memory; {:.0} million are \
         possible: take smaller groups, fewer channels or queue pairs, or sprayed traffic, of which what is alike is \
         computed once",
        hops / 1e6,
        hops * 60.0 / 1e9,
        MOST_HOPS / 1e6
    ))
}

fn check_work(topology: &Topology, work: &Work, seen: &mut Seen) -> std::result::Result<(), String> {
    match work {
        Work::Compute { seconds, ranks } => {
            if !(seconds.is_finite() && *seconds >= 0.0) {
                return Err(format!("it computes for {seconds} seconds"));
            }
            seen.restart();
            for &rank in ranks.iter().flatten() {
                if !seen.meet(rank)? {
                    return Err(format!("rank {rank} is named twice"));
                }
            }
        }
        Work::Collective { groups, collective } => {
            seen.restart();
            for (index, group) in groups.iter().enumerate() {
                lower::check(collective, group.len()).map_err(|cause| format!("group {index}: {cause}"))?;
                for (position, &rank) in group.iter().enumerate() {
                    if !seen.meet(rank)? {
                        let twice = group[..position].contains(&rank);
                        let cause = if twice { "twice in group" } else { "in another group and in group" };
                        return Err(format!("rank {rank} is {cause} {index}"));
                    }
                }
            }
            check_size(collective.bytes)?;
            collective.matrix.iter().flatten().try_for_each(|&bytes| check_size(bytes))?;
        }
        Work::SendRecv { pairs, bytes, carriage, overheads } => {
            check_message(*bytes, carriage)?;
            lower::check_overheads(overheads).map_err(|cause| cause.to_string())?;
            for &(from, to) in pairs {
                seen.meet(from)?;
                seen.meet(to)?;
                if from == to {
                    return Err(format!("rank {from} sends to itself"));
                }
            }
        }
        Work::Storage { groups, flows, bytes, carriage } => {
            check_message(*bytes, carriage)?;
            if groups.len() != flows.len() {
                return Err(format!("{} groups wait for the flows of {}", groups.len(), flows.len()));
            }
            seen.restart();
            for &rank in groups.iter().flatten() {
                if !seen.meet(rank)? {
                    return Err(format!("rank {rank} is named twice"));
                }
            }
            for &(from, to) in flows.iter().flatten() {
                topology.domain(from).and(topology.domain(to)).map_err(|cause| cause.to_string())?;
                if from == to {
                    return Err(format!("node {from} sends to itself"));
                }
            }
        }
    }
    Ok(())
}

fn check_message(bytes: f64, carriage: &Carriage) -> std::result::Result<(), String> {
    lower::check_carriage(carriage).map_err(|cause| cause.to_string())?;
    if !(bytes.is_finite() && bytes >= 0.0) {
        return Err(format!("its messages have {bytes} bytes"));
    }
    check_size(bytes)
}
