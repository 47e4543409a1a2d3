//! All-to-all by way of NVLink to the receiver's rail, as NCCL's PXN does it since 2.12 (PCI x NVLink).
//!
//! Data for a rank on another server goes first over NVLink to the GPU of the sender's server with the receiver's local
//! index, and from that GPU's NIC on: sender and receiver are then on one rail. One pair is one strand, a chain of both
//! hops, so that pairs keep the rates of their own that they have in a direct exchange. Pairs over one relay to one
//! receiver share its queue pairs, and so its paths, as NCCL shares connections (NCCL_NET_SHARED_COMMS).
//!
//! Not here: NICs that several GPUs share; the local index of a GPU is its rail.

use std::collections::HashMap;

use super::direct::{self, pair};
use super::servers::Place;
use super::strand::{Edge, Emit, Pattern, Strand};
use crate::Result;
use crate::program::Collective;

/// Describes an all-to-all. A pair goes straight inside a server, along a rail, and where no rank of the group sits on
/// the receiver's rail in the sender's server: NCCL relays through ranks of the communicator alone.
pub(super) fn describe(collective: &Collective, group: &[u32], place: &Place, emit: &mut Emit) -> Result<()> {
    let places = group.iter().map(|&rank| place(rank)).collect::<Result<Vec<_>>>()?;
    let rank_at: HashMap<(u32, u32), u32> = places.iter().copied().zip(group.iter().copied()).collect();
    let mut strand = Strand::default();
    direct::exchange(collective, group.len(), &mut |sender, receiver, bytes| {
        let (from, to) = (group[sender], group[receiver]);
        let ((server, _), (other, rail)) = (places[sender], places[receiver]);
        let relay = rank_at.get(&(server, rail)).filter(|&&relay| server != other && relay != from);
        match relay {
            None => pair(&mut strand, Edge::ranks(from, to, bytes), collective.channels),
            Some(&relay) => {
                strand.restart(0, collective.channels);
                let hops = [Edge::ranks(from, relay, bytes), Edge::ranks(relay, to, bytes)];
                strand.stage(Pattern::Relay, hops);
            }
        }
        emit(0, &strand)
    })
}
