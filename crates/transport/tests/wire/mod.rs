//! Two ends of a flow in one process, with a simulated clock and a link that delays, loses, repeats and reorders.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use eastwest_transport::uet::Credits;
use eastwest_transport::{Packet, Picoseconds, Random, Receiver, Sender, Transmit};

/// What the link does to packets, in parts of a thousand, and how long it takes.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub loss: u64,
    pub repeat: u64,
    /// Packets whose checksum is wrong when they come in, which is when they are dropped.
    pub corruption: u64,
    /// Packets may be late by up to so much, and so overtake each other.
    pub jitter: Picoseconds,
    pub delay: Picoseconds,
    /// Time of a packet on the wire.
    pub pace: Picoseconds,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Story {
    pub end: Picoseconds,
    pub sent: u64,
}

/// Runs until the sender knows that all has arrived; panics where it stalls, or says so too early.
pub fn run<S: Sender, R: Receiver<Context: Default>>(
    sender: &mut S,
    context: &mut S::Context,
    receiver: &mut R,
    link: Link,
    seed: u64,
) -> Story {
    run_under(None, sender, context, receiver, link, seed)
}

/// The same, with a receiver that may grant credit.
pub fn run_under<S: Sender, R: Receiver<Context: Default>>(
    mut credits: Option<Credits>,
    sender: &mut S,
    context: &mut S::Context,
    receiver: &mut R,
    link: Link,
    seed: u64,
) -> Story {
    let mut spoilt = Random::new(!seed);
    let mut shared = R::Context::default();
    let mut random = Random::new(seed);
    let mut flying: BinaryHeap<Reverse<(Picoseconds, u64, bool)>> = BinaryHeap::new();
    let mut packets: Vec<Packet> = Vec::new();
    let (mut now, mut free_at, mut sent) = (0, 0, 0u64);
    let mut put = |now: Picoseconds, packet: Packet, forth: bool, flying: &mut BinaryHeap<_>, all: &mut Vec<Packet>| {
        for copy in 0..2 {
            if (copy == 0 && random.chance(link.loss, 1000)) || (copy == 1 && !random.chance(link.repeat, 1000)) {
                continue;
            }
            let late = if link.jitter == 0 { 0 } else { random.bits() % link.jitter };
            all.push(packet);
            flying.push(Reverse((now + link.delay + late, all.len() as u64 - 1, forth)));
        }
    };
    for _ in 0..3_000_000u32 {
        if sender.is_done() {
            assert!(receiver.is_done(), "the sender is done before the receiver");
            return Story { end: now, sent };
        }
        let mut wake = None;
        if free_at <= now {
            match sender.poll_transmit(context, now) {
                Transmit::Packet(packet) => {
                    sent += 1;
                    free_at = now + link.pace;
                    put(free_at, packet, true, &mut flying, &mut packets);
                }
                Transmit::NotBefore(time) => wake = Some(time.max(now + 1)),
                Transmit::Nothing | Transmit::NoRoom => {}
            }
        }
        let busy = (free_at > now).then_some(free_at);
        let arrival = flying.peek().map(|Reverse((time, ..))| *time);
        let mut grant = None;
        while let Some(credits) = &mut credits {
            match credits.poll(now) {
                Transmit::Packet(credit) => put(now, credit, false, &mut flying, &mut packets),
                Transmit::NotBefore(time) => {
                    grant = Some(time);
                    break;
                }
                _ => break,
            }
        }
        let arrival = arrival.into_iter().chain(flying.peek().map(|Reverse((time, ..))| *time)).min();
        let next = [busy, arrival, sender.deadline(context), wake, grant].into_iter().flatten().min();
        now = next.expect("nothing more can happen, and the flow has not ended").max(now);
        while let Some(&Reverse((time, index, forth))) = flying.peek() {
            if time > now {
                break;
            }
            flying.pop();
            let packet = packets[index as usize];
            if spoilt.chance(link.corruption, 1000) {
                continue;
            }
            if forth {
                if let Some(credit) = credits.as_mut().and_then(|credits| credits.on_packet(0, &packet)) {
                    put(now, credit, false, &mut flying, &mut packets);
                }
                for answer in receiver.on_packet(&mut shared, now, &packet).into_iter().flatten() {
                    put(now, answer, false, &mut flying, &mut packets);
                }
            } else {
                sender.on_packet(context, now, &packet);
            }
        }
        if sender.deadline(context).is_some_and(|deadline| deadline <= now) {
            sender.on_deadline(context, now);
        }
    }
    panic!("the flow does not end");
}
