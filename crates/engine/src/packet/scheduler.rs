//! Which class's queue a port sends from next: strictly by priority, and by weight among classes of one priority.
//!
//! Weights are served by deficit round robin (Shreedhar and Varghese, SIGCOMM 1995) in its form with surplus (Adiseshu,
//! Parulkar and Varghese, SIGCOMM 1996): a class may send while it has credit, its last packet may overdraw it, and what
//! was overdrawn is missing the next time. So nobody need know how long the next packet is, which a NIC that polls its
//! flows does not.

/// Most classes: as many as priority flow control tells apart (IEEE 802.1Qbb).
pub const MOST_CLASSES: usize = 8;

/// Some of the classes, one a bit.
pub(super) type Set = u8;

/// The set that holds one class.
pub(super) fn only(class: usize) -> Set {
    1 << class
}

/// Whether a set has a class.
pub(super) fn has(set: Set, class: usize) -> bool {
    set & only(class) != 0
}

/// The order in which all ports serve classes.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// Classes of one priority, the highest first.
    ranks: Box<[Set]>,
    /// Bytes of credit that a class gets each round.
    quanta: [i32; MOST_CLASSES],
}

/// Whose turn it is at one port.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turns {
    /// Bytes that each class may still send before its next round; below zero where it sent too many.
    credit: [i32; MOST_CLASSES],
    /// Class whose turn it is, in each rank.
    at: [u8; MOST_CLASSES],
}

impl Order {
    /// The order of classes of these priorities (the highest is served first) and weights (1 or more). The lightest of
    /// each priority gets `full` bytes of credit a round, at least a whole packet.
    pub fn new(classes: &[(u8, u32)], full: u16) -> Self {
        let mut priorities: Vec<u8> = classes.iter().map(|&(priority, _)| priority).collect();
        priorities.sort_unstable_by(|a, b| b.cmp(a));
        priorities.dedup();
        let of = |wanted: u8| (0..).zip(classes).filter(move |(_, (priority, _))| *priority == wanted);
        let mut quanta = [0; MOST_CLASSES];
        for &priority in &priorities {
            let lightest = of(priority).map(|(_, &(_, weight))| weight).min().unwrap_or(1);
            for (class, &(_, weight)) in of(priority) {
                let bytes = u64::from(full) * u64::from(weight) / u64::from(lightest.max(1));
                quanta[class] = bytes.clamp(1, i32::MAX as u64 / 4) as i32;
            }
        }
        let rank = |&priority: &u8| of(priority).fold(0, |set, (class, _)| set | only(class));
        Self { ranks: priorities.iter().map(rank).collect(), quanta }
    }

    /// The class that is to send next among those that could; none where none could.
    pub fn next(&self, turns: &mut Turns, ready: Set) -> Option<usize> {
        let (rank, &classes) = self.ranks.iter().enumerate().find(|(_, classes)| *classes & ready != 0)?;
        loop {
            let class = usize::from(turns.at[rank]);
            let credit = &mut turns.credit[class];
            if has(ready & classes, class) && *credit > 0 {
                return Some(class);
            }
            if !has(ready, class) {
                *credit = (*credit).min(0); // nothing is saved up by staying away
            }
            let after = (1..=MOST_CLASSES).map(|step| (class + step) % MOST_CLASSES);
            let turn = after.into_iter().find(|&other| has(classes, other))?;
            turns.at[rank] = turn as u8;
            turns.credit[turn] += self.quanta[turn];
        }
    }
}

impl Turns {
    /// Charges a class with a packet that it sends.
    pub fn charge(&mut self, class: usize, bytes: u16) {
        self.credit[class] -= i32::from(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that each class sends in so many packets of these sizes, if all always could.
    fn sent(classes: &[(u8, u32)], sizes: &[u16], packets: usize) -> Vec<u64> {
        let order = Order::new(classes, *sizes.iter().max().unwrap());
        let (mut turns, mut sent) = (Turns::default(), vec![0; classes.len()]);
        for _ in 0..packets {
            let class = order.next(&mut turns, (1u16 << classes.len()).wrapping_sub(1) as u8).unwrap();
            turns.charge(class, sizes[class]);
            sent[class] += u64::from(sizes[class]);
        }
        sent
    }

    #[test]
    fn weights_share_bytes_whatever_the_sizes_of_packets() {
        let sent = sent(&[(0, 3), (0, 1), (0, 2)], &[4096, 64, 1500], 100_000);
        let whole: u64 = sent.iter().sum();
        for (bytes, share) in sent.iter().zip([3, 1, 2]) {
            let expected = whole * share / 6;
            assert!(bytes.abs_diff(expected) <= 4 * 4096, "{bytes} of {whole}, expected {expected}");
        }
    }

    #[test]
    fn a_higher_priority_leaves_nothing_to_lower_ones() {
        assert_eq!(sent(&[(1, 9), (7, 1), (1, 9)], &[4096; 3], 10), [0, 40_960, 0]);
    }

    #[test]
    fn a_class_that_stays_away_saves_nothing_up() {
        let order = Order::new(&[(0, 1), (0, 1)], 1000);
        let mut turns = Turns::default();
        for _ in 0..100 {
            let class = order.next(&mut turns, only(0)).unwrap();
            turns.charge(class, 1000);
        }
        let mut next = || {
            let class = order.next(&mut turns, only(0) | only(1)).unwrap();
            turns.charge(class, 1000);
            class
        };
        let turns: Vec<_> = (0..10).map(|_| next()).collect();
        assert_eq!(turns.iter().filter(|&&class| class == 1).count(), 5, "{turns:?}");
    }

    #[test]
    fn no_class_is_next_where_none_could_send() {
        assert_eq!(Order::new(&[(0, 1), (3, 2)], 1000).next(&mut Turns::default(), 0), None);
    }
}
