//! The hash that switches choose a link with, and the 5-tuple that they hash.
//!
//! The mix is SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014), whose
//! finaliser is David Stafford's variant 13 of MurmurHash3's. Not a plain CRC, as some switches use: a CRC is linear,
//! so another seed only XORs one constant into the hashes of all flows; in a group of 2^n links two flows that
//! collide under one seed collide under every seed, and draws over seeds would say nothing about the spread of luck.

/// RoCEv2's UDP destination port.
const ROCE_PORT: u64 = 4791;
/// UDP's IP protocol number.
const UDP: u64 = 17;
/// Lowest UDP source port of RoCEv2, as in Linux's `IB_ROCE_UDP_ENCAP_VALID_PORT_MIN`; the 14 bits below are the flow's.
const SOURCE_PORT_MIN: u64 = 0xC000;
/// SplitMix64's increment: 2^64 over the golden ratio, made odd.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64's output for a state: every input bit changes each output bit with probability near one half.
pub(super) fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Two indices as one word.
pub(super) fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// UDP source port of a queue pair: RoCE NICs derive it from the queue pairs' numbers, which change from run to run;
/// here from the run's seed and a word for the connection.
pub(super) fn source_port(seed: u64, connection: u64, qp: u32) -> u64 {
    SOURCE_PORT_MIN | mix(mix(seed ^ connection).wrapping_add(u64::from(qp))) >> 50
}

/// The 5-tuple of a RoCEv2 flow, folded into 64 bits.
pub(super) fn five_tuple(source: u32, destination: u32, source_port: u64) -> u64 {
    mix(pair(source, destination)) ^ (source_port << 24 | ROCE_PORT << 8 | UDP)
}

/// The member of a group of `len` links that a switch with this seed gives to a flow: the hash's top bits, scaled
/// (Lemire, "Fast random integer generation in an interval", 2019; the bias is under `len` in 2^64).
pub(super) fn choose(flow: u64, switch_seed: u64, len: usize) -> usize {
    ((u128::from(mix(flow ^ switch_seed)) * len as u128) >> 64) as usize
}

/// The same where members have weights, in proportion to them.
pub(super) fn choose_weighted(flow: u64, switch_seed: u64, weights: &[u64]) -> usize {
    let total: u64 = weights.iter().sum();
    at(((u128::from(mix(flow ^ switch_seed)) * u128::from(total)) >> 64) as u64, weights)
}

/// The member of weighted ones, laid side by side, at a point below their sum.
fn at(mut point: u64, weights: &[u64]) -> usize {
    for (index, &weight) in weights.iter().enumerate() {
        if point < weight {
            return index;
        }
        point -= weight;
    }
    weights.len() - 1
}

/// A number from 0 to below 1: the top 53 bits of a hash.
pub(super) fn fraction(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mix_gives_the_published_splitmix64_sequence_of_seed_zero() {
        // First outputs of the reference implementation, https://prng.di.unimi.it/splitmix64.c, with x = 0.
        assert_eq!(mix(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(mix(GOLDEN), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn members_are_chosen_in_proportion_to_their_weights() {
        let mut chosen = [0u32; 3];
        (0..70_000).for_each(|flow| chosen[choose_weighted(flow, 5, &[4, 2, 1])] += 1);
        for (count, share) in chosen.into_iter().zip([4.0, 2.0, 1.0]) {
            assert!((f64::from(count) - share * 1e4).abs() < 600.0, "{chosen:?}"); // over four standard deviations
        }
    }

    #[test]
    fn source_ports_stay_in_the_range_of_rocev2() {
        for qp in 0..1000 {
            assert!((0xC000..=0xFFFF).contains(&source_port(7, 99, qp)));
        }
    }

    #[test]
    fn another_switch_seed_separates_flows_that_collide() {
        // A linear hash (CRC) would keep all of these pairs together; independence keeps one in four.
        let colliding: Vec<u64> = (0..4000).filter(|&flow| choose(flow, mix(1), 4) == 0).collect();
        let still = colliding.windows(2).filter(|w| choose(w[0], mix(2), 4) == choose(w[1], mix(2), 4)).count();
        let share = still as f64 / (colliding.len() - 1) as f64;
        assert!((share - 0.25).abs() < 0.06, "share {share}"); // 0.06: over four standard deviations of 1000 pairs
    }
}
