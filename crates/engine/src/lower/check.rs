//! Whether a collective makes sense, before anyone asks who sends what.

use crate::program::{Algorithm, Carriage, Collective, Kind, Overheads, QpUse};
use crate::{Error, Result};

/// The collectives that an algorithm carries out.
pub fn kinds(algorithm: Algorithm) -> &'static [Kind] {
    use Kind::{AllGather, AllReduce, AllToAll, Broadcast, Reduce, ReduceScatter};
    match algorithm {
        Algorithm::Direct => &[AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, Reduce],
        Algorithm::Pxn => &[AllToAll],
        Algorithm::Nvls => &[AllReduce, AllGather, ReduceScatter],
        Algorithm::NvlsTree | Algorithm::NvlsSharp => &[AllReduce],
        Algorithm::Sharp => &[AllReduce, Broadcast, Reduce],
        Algorithm::HalvingDoubling => &[AllReduce, AllGather, ReduceScatter],
        Algorithm::Bruck => &[AllGather, AllToAll],
        Algorithm::Tree => &[AllReduce, Broadcast, Reduce],
        Algorithm::Ring | Algorithm::RailRing | Algorithm::HierarchicalStaged | Algorithm::HierarchicalPipelined => {
            &[AllReduce, AllGather, ReduceScatter, Broadcast, Reduce]
        }
    }
}

/// Whether a group of `ranks` ranks can run a collective.
///
/// # Errors
/// [`Error::Program`] with the cause: no channel or queue pair, sizes that are negative or not finite, a byte matrix of
/// another size or for another kind, an algorithm that does not carry out this kind, or overheads that make no sense.
pub fn check(collective: &Collective, ranks: usize) -> Result<()> {
    let wrong = |cause: String| Err(Error::Program(cause));
    let is_size = |bytes: f64| bytes.is_finite() && bytes >= 0.0;
    let (kind, algorithm) = (collective.kind, collective.algorithm);
    if ranks == 0 {
        return wrong("it has no ranks".into());
    }
    if !is_size(collective.bytes) {
        return wrong(format!("its size is {} bytes", collective.bytes));
    }
    if collective.channels == 0 {
        return wrong("it has no channels".into());
    }
    if !kinds(algorithm).contains(&kind) {
        return wrong(format!("{algorithm:?} carries out {:?}, not {kind:?}", kinds(algorithm)));
    }
    if let Some(matrix) = &collective.matrix {
        if kind != Kind::AllToAll {
            return wrong(format!("a byte matrix is for an all-to-all, not for {kind:?}"));
        }
        if algorithm == Algorithm::Bruck {
            return wrong("a byte matrix is carried out by Direct or Pxn, not by Bruck".into());
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
    if !(collective.nvlink_sharp > 0.0 && collective.nvlink_sharp <= 1.0) {
        return wrong(format!("NVLink SHARP reaches {} of NVLink's rate", collective.nvlink_sharp));
    }
    check_overheads(&collective.overheads)?;
    check_carriage(&collective.carriage)
}

/// Refuses costs of a protocol that nothing has.
///
/// # Errors
/// [`Error::Program`], saying which.
pub fn check_overheads(overheads: &Overheads) -> Result<()> {
    let Overheads { base_s, intra_s, inter_s, wire, channel_rate, repeats } = *overheads;
    if !(base_s.is_finite() && base_s >= 0.0) {
        return Err(Error::Program(format!("its base takes {base_s} seconds")));
    }
    for (what, seconds) in [("inside a server", intra_s), ("between servers", inter_s)] {
        if !seconds.is_finite() {
            return Err(Error::Program(format!("its hop {what} takes {seconds} seconds more than its path")));
        }
    }
    if !(wire.is_finite() && wire >= 1.0) {
        return Err(Error::Program(format!("a byte of payload takes {wire} bytes on the wire, not 1 or more")));
    }
    if channel_rate.is_nan() || channel_rate <= 0.0 {
        return Err(Error::Program(format!("its channels carry {channel_rate} bytes a second")));
    }
    if repeats == 0 {
        return Err(Error::Program("it stands for no collective at all: it repeats 0 times".into()));
    }
    Ok(())
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
