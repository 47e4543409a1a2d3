//! Programs as Python gives them, turned into the engine's own.

use crate::EngineError;
use eastwest_engine::program::{
    Algorithm, Carriage, Collective, Kind, Mix, Op, Overheads, Program, QpUse, Stream, Work,
};
use numpy::ndarray::ArrayView1;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

/// One operation: the attributes of `eastwest.engine.program.NativeOp`.
#[derive(FromPyObject)]
pub struct OpIn<'py> {
    after: Vec<u32>,
    queue: u32,
    work: String,
    seconds: f64,
    bytes: f64,
    kind: String,
    algorithm: String,
    channels: u32,
    repeats: u32,
    members: PyReadonlyArray1<'py, u32>,
    sizes: Vec<usize>,
    matrix: Option<PyReadonlyArray2<'py, f64>>,
    ranks: Option<PyReadonlyArray1<'py, u32>>,
    flows: PyReadonlyArray1<'py, u32>,
    flow_sizes: Vec<usize>,
    overheads: OverheadsIn,
    nvlink_sharp: f64,
}

/// Several jobs on one network: the attributes of `eastwest.engine.program.NativeMix`.
#[derive(FromPyObject)]
pub struct MixIn<'py> {
    until: Vec<u32>,
    slowdown: Vec<f64>,
    senders: PyReadonlyArray1<'py, u32>,
    receivers: PyReadonlyArray2<'py, u32>,
    offered: f64,
}

impl MixIn<'_> {
    fn mix(&self, carriage: Carriage) -> PyResult<Mix> {
        let (senders, receivers) = (self.senders.as_slice()?, self.receivers.as_array());
        if senders.len() != receivers.nrows() {
            return Err(EngineError::new_err("background traffic has not as many rows of receivers as senders"));
        }
        let stream =
            |(&from, to): (&u32, ArrayView1<'_, u32>)| Stream { from, to: to.to_vec(), rate: self.offered, carriage };
        let background = senders.iter().zip(receivers.outer_iter()).map(stream).collect();
        Ok(Mix { until: self.until.clone(), slowdown: self.slowdown.clone(), background })
    }
}

/// What a protocol costs: the attributes of `eastwest.workload.Overheads`.
#[derive(FromPyObject)]
struct OverheadsIn {
    base_s: f64,
    intra_s: f64,
    inter_s: f64,
    wire: f64,
    channel_rate: f64,
}

/// How connections are carried: the attributes of `eastwest.engine.Carriage`.
#[derive(FromPyObject)]
pub struct CarriageIn {
    pub balancing: String,
    pub qps: u32,
    pub qp_use: String,
    pub message_bytes: f64,
    pub hash_seeds: String,
    pub flowlets: u32,
    pub paths: Option<u32>,
}

fn unknown(what: &str, word: &str) -> PyErr {
    EngineError::new_err(format!("unknown {what} '{word}'"))
}

fn kind(word: &str) -> PyResult<Kind> {
    Ok(match word {
        "all-reduce" => Kind::AllReduce,
        "all-gather" => Kind::AllGather,
        "reduce-scatter" => Kind::ReduceScatter,
        "all-to-all" => Kind::AllToAll,
        "broadcast" => Kind::Broadcast,
        "reduce" => Kind::Reduce,
        _ => return Err(unknown("collective", word)),
    })
}

fn algorithm(word: &str) -> PyResult<Algorithm> {
    Ok(match word {
        "ring" => Algorithm::Ring,
        "rail-ring" => Algorithm::RailRing,
        "direct" => Algorithm::Direct,
        "pxn" => Algorithm::Pxn,
        "hierarchical-staged" => Algorithm::HierarchicalStaged,
        "hierarchical-pipelined" => Algorithm::HierarchicalPipelined,
        "halving-doubling" => Algorithm::HalvingDoubling,
        "bruck" => Algorithm::Bruck,
        "nvls" => Algorithm::Nvls,
        "nvls-tree" => Algorithm::NvlsTree,
        "sharp" => Algorithm::Sharp,
        "nvls-sharp" => Algorithm::NvlsSharp,
        "tree" => Algorithm::Tree,
        _ => return Err(unknown("algorithm", word)),
    })
}

/// The engine's carriage of each connection.
pub fn carriage(given: &CarriageIn) -> PyResult<Carriage> {
    let qp_use = match given.qp_use.as_str() {
        "split" => QpUse::Split,
        "round-robin" => QpUse::RoundRobin,
        word => return Err(unknown("use of queue pairs", word)),
    };
    Ok(Carriage { qps: given.qps, qp_use, message_bytes: given.message_bytes })
}

fn pairs(flat: &[u32]) -> Vec<(u32, u32)> {
    flat.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

/// Entries one after another, cut into groups of these sizes.
fn groups<T: Clone>(entries: &[T], sizes: &[usize]) -> PyResult<Vec<Vec<T>>> {
    let mut rest = entries;
    let mut groups = Vec::with_capacity(sizes.len());
    for &size in sizes {
        let Some((group, after)) = rest.split_at_checked(size) else {
            return Err(EngineError::new_err("the groups' sizes exceed their members"));
        };
        groups.push(group.to_vec());
        rest = after;
    }
    Ok(groups)
}

fn op(given: &OpIn<'_>, carriage: Carriage) -> PyResult<Op> {
    let members = given.members.as_slice()?;
    let OverheadsIn { base_s, intra_s, inter_s, wire, channel_rate } = given.overheads;
    let overheads = Overheads { base_s, intra_s, inter_s, wire, channel_rate, repeats: given.repeats };
    let work = match given.work.as_str() {
        "compute" => {
            let ranks = given.ranks.as_ref().map(|ranks| ranks.as_slice().map(<[u32]>::to_vec)).transpose()?;
            Work::Compute { seconds: given.seconds, ranks }
        }
        "send-recv" => Work::SendRecv { pairs: pairs(members), bytes: given.bytes, carriage, overheads },
        "storage" => {
            let flows = groups(&pairs(given.flows.as_slice()?), &given.flow_sizes)?;
            Work::Storage { groups: groups(members, &given.sizes)?, flows, bytes: given.bytes, carriage }
        }
        "collective" => {
            let groups = groups(members, &given.sizes)?;
            let matrix = given.matrix.as_ref().map(|m| m.as_array().iter().copied().collect());
            let collective = Collective {
                kind: kind(&given.kind)?,
                algorithm: algorithm(&given.algorithm)?,
                bytes: given.bytes,
                matrix,
                channels: given.channels,
                carriage,
                nvlink_sharp: given.nvlink_sharp,
                overheads,
            };
            Work::Collective { groups, collective }
        }
        word => return Err(unknown("work", word)),
    };
    Ok(Op { after: given.after.clone(), queue: given.queue, work })
}

/// The engine's program.
pub fn program(
    gpu: &[u32],
    ops: &[OpIn<'_>],
    overlap_slowdown: f64,
    mix: &MixIn<'_>,
    carriage: Carriage,
) -> PyResult<Program> {
    let ops = ops.iter().map(|given| op(given, carriage)).collect::<PyResult<Vec<_>>>()?;
    Ok(Program { gpu: gpu.to_vec(), ops, overlap_slowdown, mix: mix.mix(carriage)? })
}
