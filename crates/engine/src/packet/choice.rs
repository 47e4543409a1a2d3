//! How a switch chooses among the ports that lead on.

use super::port::Port;
use eastwest_transport::{Packet, Random};

/// The rule of choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// By a hash of the flow and the packet's entropy value, with a seed of the switch's own: ECMP where a flow keeps its
    /// value, spraying by the host where it does not.
    Hash,
    /// Any, at random, for every packet: spraying by the switch.
    Random,
    /// The one with the fewest bytes before it; of equal ones any.
    ShortestQueue,
}

/// The port with the fewest bytes before it; of equal ones any.
pub(super) fn shortest(ports: &[u32], random: &mut Random, all: &[Port]) -> u32 {
    let first = random.below(ports.len() as u32) as usize;
    let turned = ports[first..].iter().chain(&ports[..first]);
    turned.copied().min_by_key(|&port| all[port as usize].waiting()).unwrap_or(ports[0])
}

/// The port that a switch's hash gives a packet of a queue pair.
pub(super) fn hashed(ports: &[u32], pair: u32, packet: &Packet, switch_seed: u64) -> u32 {
    // A probe takes the way of the data that it asks for.
    let way = u64::from(pair) << 1 | u64::from(packet.kind.is_forward());
    let key = way << 16 | u64::from(packet.entropy);
    ports[((u128::from(mix(key ^ switch_seed)) * ports.len() as u128) >> 64) as usize]
}

fn mix(key: u64) -> u64 {
    let mut z = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    z ^ (z >> 32)
}
