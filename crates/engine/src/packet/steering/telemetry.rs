//! Adaptive routing with remote state: what switches tell each other of the queues before their ports.
//!
//! Every so often each switch tells how long what waits before each of its ports takes to leave, and whether a port is
//! down; the others have it one such interval later. What a switch knows of others is therefore between one and two
//! intervals old, of its own ports nothing is. A port costs what waits before it and then, on the best way on, before
//! each port to the receiver's switch: the delay that a packet expects there, in whole intervals, since less is no news by
//! the time that it comes: without such grades all would run to the queue that was the shortest. (CONGA, Alizadeh et al., SIGCOMM 2014,
//! compares paths by the load of their busiest link in the same way, fed back with packets of the other direction.)
//! Left out are the bytes that telling takes.

use eastwest_transport::Random;

use crate::Picoseconds;
use crate::packet::choice::least;
use crate::packet::port::{End, Port};
use crate::routing::Forwarding;

/// What a port that is down costs.
const NEVER: Picoseconds = Picoseconds::MAX >> 8;

/// What all switches know of each other.
pub(in crate::packet) struct Telemetry {
    every: Picoseconds,
    /// When switches tell next.
    next: Picoseconds,
    /// By port: what was told and has come, and what is on its way.
    known: Vec<Picoseconds>,
    told: Vec<Picoseconds>,
    /// Least that waits from a switch on to an attachment, and in which interval that was found out.
    onward: Vec<(u32, Picoseconds)>,
    interval: u32,
    attachments: usize,
}

impl Telemetry {
    /// All queues empty.
    pub fn new(every: Picoseconds, tables: &Forwarding, ports: &[Port]) -> Self {
        let attachments = tables.attachments();
        Self {
            every: every.max(1),
            next: 0,
            known: vec![0; ports.len()],
            told: vec![0; ports.len()],
            onward: vec![(0, 0); tables.switches() * attachments],
            interval: 0,
            attachments,
        }
    }

    /// The port with the least before it and behind it, in whole intervals; of equal ones any.
    pub fn port(
        &mut self,
        now: Picoseconds,
        attachment: u32,
        ports: &[u32],
        tables: &Forwarding,
        all: &[Port],
        random: &mut Random,
    ) -> u32 {
        if now >= self.next {
            self.tell(now, all);
        }
        least(ports, random, |port| {
            (delay(&all[port as usize]) + self.beyond(port, attachment, tables, all)) / self.every
        })
    }

    /// What was told comes, and switches tell again. After a pause of all traffic both are of now.
    fn tell(&mut self, now: Picoseconds, all: &[Port]) {
        let missed = now - self.next >= self.every;
        std::mem::swap(&mut self.known, &mut self.told);
        self.told.iter_mut().zip(all).for_each(|(told, port)| *told = delay(port));
        if missed {
            self.known.copy_from_slice(&self.told);
        }
        self.next = now - now % self.every + self.every;
        self.interval += 1;
    }

    /// What waits behind a port, on the best way to an attachment.
    fn beyond(&mut self, port: u32, attachment: u32, tables: &Forwarding, all: &[Port]) -> Picoseconds {
        let End::Switch(switch) = all[port as usize].to else { return 0 };
        let at = switch as usize * self.attachments + attachment as usize;
        if self.onward[at].0 != self.interval {
            let next = tables.next(switch, attachment).iter();
            let costs = next.map(|&next| self.known[next as usize] + self.beyond(next, attachment, tables, all));
            let least = costs.min().unwrap_or(0).min(NEVER);
            self.onward[at] = (self.interval, least);
        }
        self.onward[at].1
    }
}

/// How long what waits before a port takes to leave.
fn delay(port: &Port) -> Picoseconds {
    if port.is_down { NEVER } else { port.drain_time() }
}
