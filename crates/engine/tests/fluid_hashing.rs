//! What hashing flows onto paths costs: mean and least max-min rates of random permutations of 1,024 hosts, one flow a
//! pair, on non-blocking fabrics. The figures (mean 63 % of line rate behind one hashed stage, 52 % over two tiers,
//! 43 % over three, slowest flow 16 to 18 %) were computed independently by two earlier programs.

use eastwest_engine::demand::Demands;
use eastwest_engine::fluid::max_min;

const HOSTS: u32 = 1024;
const DRAWS: u64 = 8;

/// A seeded mix standing for a switch's hash: xorshift64* (Vigna 2016).
struct Hash(u64);

impl Hash {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) % u64::from(bound)) as u32
    }

    fn permutation(&mut self) -> Vec<u32> {
        let mut to: Vec<u32> = (0..HOSTS).collect();
        for last in (1..HOSTS).rev() {
            to.swap(last as usize, self.below(last + 1) as usize);
        }
        to
    }
}

/// Mean over draws of the mean and of the least rate, of links of rate 1; `path` names the fabric links of a flow.
fn rates(links: u32, path: impl Fn(u32, u32, &mut Hash) -> Vec<u32>) -> (f64, f64) {
    let (mut mean, mut least) = (0.0, 0.0);
    for draw in 0..DRAWS {
        let mut hash = Hash(0x9E37_79B9_7F4A_7C15 ^ (draw + 1));
        let mut demands = Demands::default();
        for (from, to) in (0..HOSTS).zip(hash.permutation()) {
            let fabric = path(from, to, &mut hash).into_iter().map(|link| 2 * HOSTS + link);
            let entries: Vec<(u32, f64)> =
                [from, HOSTS + to].into_iter().chain(fabric).map(|link| (link, 1.0)).collect();
            demands.push(&entries, 1.0, f64::INFINITY, 1.0, 0);
        }
        let rates = max_min(&demands, &vec![1.0; (2 * HOSTS + links) as usize]).0;
        mean += rates.iter().sum::<f64>() / f64::from(HOSTS);
        least += rates.iter().copied().fold(f64::INFINITY, f64::min);
    }
    (mean / DRAWS as f64, least / DRAWS as f64)
}

#[test]
fn one_hashed_stage_leaves_63_percent() {
    // Flows of each group of 32 hosts fall on 32 links; 1 - 1/e of the links get any.
    let (mean, _) = rates(HOSTS, |from, _, hash| vec![from / 32 * 32 + hash.below(32)]);
    assert!((mean - 0.63).abs() < 0.01, "{mean}");
}

#[test]
fn two_tiers_leave_52_percent_and_the_slowest_a_sixth() {
    // 32 leaves of 32 hosts and 32 spines: up by the hash, down the one link from that spine.
    let (mean, least) = rates(2 * HOSTS, |from, to, hash| {
        let spine = hash.below(32);
        if from / 32 == to / 32 { vec![] } else { vec![from / 32 * 32 + spine, HOSTS + to / 32 * 32 + spine] }
    });
    assert!((mean - 0.52).abs() < 0.015, "{mean}");
    assert!((0.15..0.2).contains(&least), "{least}");
}

#[test]
fn three_tiers_leave_43_percent() {
    // A fat tree of 16-port switches: 16 pods of 8 leaves and 8 spines, 8 hosts a leaf, 64 cores, 8 above each spine.
    let (mean, least) = rates(4 * HOSTS, |from, to, hash| {
        let (spine, core) = (hash.below(8), hash.below(8));
        let up = |host: u32| host / 8 * 8 + spine;
        let pod = |host: u32| host / 64 * 64 + spine * 8 + core;
        let mut path = Vec::new();
        if from / 8 != to / 8 {
            path.extend([up(from), HOSTS + up(to)]);
        }
        if from / 64 != to / 64 {
            path.extend([2 * HOSTS + pod(from), 3 * HOSTS + pod(to)]);
        }
        path
    });
    assert!((mean - 0.43).abs() < 0.015, "{mean}");
    assert!((0.13..0.2).contains(&least), "{least}");
}
