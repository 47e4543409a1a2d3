//! How a switch chooses among the ports that lead on.

use super::port::Port;
use crate::Picoseconds;
use eastwest_transport::{Packet, Random};

/// Queues are told apart in steps of 16 KiB, four full packets, as switches grade them coarsely. Byte by byte, each flow
/// at line rate would find the port shortest that its own last packet has just left, keep to it, and meet the same flows
/// further down time and again: a permutation then takes 8 % longer than at random.
const GRADE_BITS: u32 = 14;

/// The rule of choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// By a hash of the flow and the packet's entropy value, with a seed of the switch's own: ECMP where a flow keeps its
    /// value, spraying by the host where it does not.
    Hash,
    /// Any, at random, for every packet: spraying by the switch.
    Random,
    /// The one with the fewest bytes before it, in coarse steps; of equal ones any. A switch sees that a port of its own
    /// is down.
    ShortestQueue,
    /// Of two drawn at random the one with fewer bytes before it.
    ShorterOfTwo,
    /// The one behind which least waits on the best way to the receiver, by what other switches last told.
    LeastCongested {
        /// Time between two tellings.
        every: Picoseconds,
    },
    /// By hash, in proportion to the capacity that leads on from each: weighted ECMP.
    Weighted,
    /// The one before, unless the flow has paused: then any, at random.
    Flowlet {
        /// The shortest pause.
        gap: Picoseconds,
    },
    /// None: each entropy value stands for a whole path, which new routes do not change.
    Source {
        /// Entropy values of a flow.
        values: u16,
    },
    /// One for each receiver, as static tables hold it (D-mod-k): what linear forwarding tables of InfiniBand have.
    Pinned,
}

/// The port with the fewest bytes before it, in coarse steps; of equal ones any.
pub(super) fn shortest(ports: &[u32], random: &mut Random, all: &[Port]) -> u32 {
    least(ports, random, |port| queue(all, port) >> GRADE_BITS)
}

/// Of two ports drawn at random the one with fewer bytes before it.
pub(super) fn shorter_of_two(ports: &[u32], random: &mut Random, all: &[Port]) -> u32 {
    let [a, b] = [(); 2].map(|()| ports[random.below(ports.len() as u32) as usize]);
    if queue(all, b) < queue(all, a) { b } else { a }
}

/// The port that costs least; of equal ones any.
pub(super) fn least(ports: &[u32], random: &mut Random, mut cost: impl FnMut(u32) -> u64) -> u32 {
    let first = random.below(ports.len() as u32) as usize;
    let turned = ports[first..].iter().chain(&ports[..first]);
    turned.copied().min_by_key(|&port| cost(port)).unwrap_or(ports[0])
}

/// Bytes before a port; without end where it is down.
fn queue(all: &[Port], port: u32) -> u64 {
    let port = &all[port as usize];
    if port.is_down { u64::MAX } else { port.waiting().into() }
}

/// The port that a switch's hash gives a packet of a queue pair.
pub(super) fn hashed(ports: &[u32], pair: u32, packet: &Packet, switch_seed: u64) -> u32 {
    ports[scaled(way(pair, packet) ^ switch_seed, ports.len() as u64) as usize]
}

/// The same in proportion to what each port is worth.
pub(super) fn hashed_by_worth(ports: &[u32], worth: &[u64], pair: u32, packet: &Packet, switch_seed: u64) -> u32 {
    let mut point = scaled(way(pair, packet) ^ switch_seed, worth.iter().sum());
    for (&port, &worth) in ports.iter().zip(worth) {
        if point < worth {
            return port;
        }
        point -= worth;
    }
    ports[0]
}

/// What a packet is hashed by: its queue pair, direction and entropy value. A probe takes the way of the data that it
/// asks for.
fn way(pair: u32, packet: &Packet) -> u64 {
    (u64::from(pair) << 1 | u64::from(packet.kind.is_forward())) << 16 | u64::from(packet.entropy)
}

/// A hash of a key as a number below `bound`.
pub(super) fn scaled(key: u64, bound: u64) -> u64 {
    ((u128::from(mix(key)) * u128::from(bound)) >> 64) as u64
}

fn mix(key: u64) -> u64 {
    let mut z = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    z ^ (z >> 32)
}
