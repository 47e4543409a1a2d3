//! Flowlets: a flow that has paused may take another path without overtaking itself.
//!
//! The next path is drawn at random, as LetFlow has it (Vanini et al., "Let it flow", NSDI 2017): flowlets grow short on
//! congested paths and long on free ones by themselves. Each switch has an entry for each flow that crosses it; a real
//! table has some thousands of entries, which flows share by hash, so that it finds fewer pauses.

use std::collections::HashMap;

use eastwest_transport::Random;

use crate::Picoseconds;

/// Where a flow went, and when its last packet did.
#[derive(Clone, Copy, Debug)]
struct Flowlet {
    last: Picoseconds,
    port: u32,
}

/// The tables of all switches.
#[derive(Debug)]
pub(in crate::packet) struct Flowlets {
    gap: Picoseconds,
    /// By switch, and queue pair and direction.
    table: HashMap<(u32, u32), Flowlet>,
}

impl Flowlets {
    /// Empty tables for flowlets that a pause of `gap` ends.
    pub fn new(gap: Picoseconds) -> Self {
        Self { gap, table: HashMap::new() }
    }

    /// The port for a packet of a flow at a switch: where its flowlet goes, unless no route leads there any more.
    pub fn port(&mut self, now: Picoseconds, way: (u32, u32), ports: &[u32], random: &mut Random) -> u32 {
        let entry = self.table.entry(way).or_insert(Flowlet { last: 0, port: u32::MAX });
        if now - entry.last > self.gap || !ports.contains(&entry.port) {
            entry.port = ports[random.below(ports.len() as u32) as usize];
        }
        entry.last = now;
        entry.port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTS: [u32; 8] = [10, 11, 12, 13, 14, 15, 16, 17];

    #[test]
    fn a_flow_keeps_its_port_until_it_pauses_longer_than_the_gap() {
        let (mut flowlets, mut random) = (Flowlets::new(100), Random::new(1));
        let first = flowlets.port(0, (3, 6), &PORTS, &mut random);
        let mut now = 0;
        for _ in 0..1000 {
            now += 100; // as long as the gap and no longer
            assert_eq!(flowlets.port(now, (3, 6), &PORTS, &mut random), first);
        }
        let mut taken: Vec<u32> = (0..100)
            .map(|_| {
                now += 101;
                flowlets.port(now, (3, 6), &PORTS, &mut random)
            })
            .collect();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken, PORTS);
    }

    #[test]
    fn a_flow_whose_port_has_lost_its_route_takes_another_at_once() {
        let (mut flowlets, mut random) = (Flowlets::new(100), Random::new(1));
        let first = flowlets.port(0, (0, 0), &PORTS, &mut random);
        let left: Vec<u32> = PORTS.into_iter().filter(|&port| port != first).collect();
        assert!(left.contains(&flowlets.port(1, (0, 0), &left, &mut random)));
    }
}
