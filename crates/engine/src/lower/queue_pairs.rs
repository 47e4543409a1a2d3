//! What part of a connection's bytes each of its queue pairs carries.

use crate::program::{Carriage, QpUse};

/// Fills `shares` with the parts of `bytes` (sum 1), one for each queue pair of each of `spread` channels.
///
/// In turns, message `i` goes over queue pair `i mod qps` (NCCL_IB_SPLIT_DATA_ON_QPS=0); the last message may be short.
pub(super) fn fill(carriage: &Carriage, bytes: f64, spread: u32, shares: &mut Vec<f64>) {
    shares.clear();
    let (qps, part) = (carriage.qps as usize, bytes / f64::from(spread));
    match carriage.qp_use {
        QpUse::Split => shares.resize(qps, 1.0 / (qps as f64 * f64::from(spread))),
        QpUse::RoundRobin => {
            let messages = (part / carriage.message_bytes).ceil().max(1.0);
            let last = part - (messages - 1.0) * carriage.message_bytes;
            let last_pair = ((messages - 1.0) % qps as f64) as usize;
            let (turns, more) = ((messages / qps as f64).floor(), (messages % qps as f64) as usize);
            shares.extend((0..qps).map(|pair| {
                let whole = turns + f64::from(u8::from(pair < more)) - f64::from(u8::from(pair == last_pair));
                (whole * carriage.message_bytes + if pair == last_pair { last } else { 0.0 }) / bytes
            }));
        }
    }
    for _ in 1..spread {
        shares.extend_from_within(..qps);
    }
}

/// Queue pairs that carry anything.
pub(super) fn active(shares: &[f64]) -> f64 {
    shares.iter().filter(|&&share| share > 0.0).count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shares(qps: u32, qp_use: QpUse, message_bytes: f64, bytes: f64, spread: u32) -> Vec<f64> {
        let mut out = Vec::new();
        fill(&Carriage { qps, qp_use, message_bytes }, bytes, spread, &mut out);
        out
    }

    #[test]
    fn split_gives_every_queue_pair_the_same() {
        assert_eq!(shares(4, QpUse::Split, 1.0, 1e6, 1), [0.25; 4]);
        assert_eq!(shares(2, QpUse::Split, 1.0, 1e6, 2), [0.25; 4]);
    }

    #[test]
    fn turns_give_whole_messages() {
        // 10 bytes in messages of 4: 4 to the first, 4 to the second, 2 to the first again.
        assert_eq!(shares(2, QpUse::RoundRobin, 4.0, 10.0, 1), [0.6, 0.4]);
        // 8 bytes: both messages whole.
        assert_eq!(shares(2, QpUse::RoundRobin, 4.0, 8.0, 1), [0.5, 0.5]);
    }

    #[test]
    fn fewer_messages_than_queue_pairs_leave_some_idle() {
        let out = shares(4, QpUse::RoundRobin, 4.0, 5.0, 1);
        assert_eq!(out, [0.8, 0.2, 0.0, 0.0]);
        assert_eq!(active(&out), 2.0);
    }

    proptest! {
        #[test]
        fn shares_sum_to_one(
            qps in 1u32..9, spread in 1u32..5, message in 1.0f64..1e6, bytes in 1.0f64..1e9, in_turns in any::<bool>()
        ) {
            let qp_use = if in_turns { QpUse::RoundRobin } else { QpUse::Split };
            let out = shares(qps, qp_use, message, bytes, spread);
            prop_assert_eq!(out.len() as u32, qps * spread);
            prop_assert!((out.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(out.iter().all(|&share| share >= 0.0));
        }
    }
}
