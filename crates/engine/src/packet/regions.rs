//! The events to come, region by region of the network: state that is worked on together stays in a cache.
//!
//! What happens in one region reaches another over a cable, and so not before that cable's latency has passed. Each
//! region's events are therefore handled for a window of time as long as the shortest such latency (the *lookahead* of
//! conservative parallel simulation: Chandy and Misra, IEEE TSE 5, 1979), then the next region's, and so on: of a large
//! network only one region is touched at a time. As events of one time have an order that does not depend on when they
//! were added, and draws depend on place and time alone, the result is the same however the network is parted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::due::{Due, Sorter};
use super::pool::Place;
use super::port::{End, Port};
use super::wheel::Wheel;
use crate::Picoseconds;

/// Ports of a region, in about: with their queues and the hosts' flows they fill a part of a second-level cache.
pub(super) const PORTS: usize = 256;

/// Bytes of a full packet, in about.
const FULL: u16 = 4096;

/// Latency from which on a cable is long, and its arrivals may wait in the heap.
const FAR: Picoseconds = 10_000_000;

/// What comes after the last event of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Onward {
    /// Another region's turn, or another window: ask for the next event again.
    Region,
    /// An event that concerns all regions; each has come to its time.
    All(Picoseconds, u32),
    /// Nothing up to the time asked for, but at this one.
    Later(Picoseconds),
    /// Nothing any more.
    Nothing,
}

/// The events to come in one region.
#[derive(Debug)]
struct Region {
    /// What begins here: ports that become free, timers, and whatever comes from far away.
    wheel: Wheel,
    /// What comes in by cables soon, the latest first.
    landings: Vec<Due>,
    /// What regions have sent since its last turn, and when the first of it comes.
    mail: Vec<Due>,
    posted: Picoseconds,
}

impl Region {
    /// Sorts in what was sent: what comes before a time as landings.
    fn deliver(&mut self, near: Picoseconds, sorter: &mut Sorter) {
        if self.mail.is_empty() {
            return;
        }
        for due in self.mail.drain(..) {
            if due.time() < near {
                self.landings.push(due);
            } else {
                self.wheel.add(due);
            }
        }
        sorter.sort(&mut self.landings);
        self.posted = Picoseconds::MAX;
    }

    /// A time before which it has no event.
    fn soonest(&self) -> Picoseconds {
        let landing = self.landings.last().map_or(Picoseconds::MAX, |due| due.time());
        self.wheel.soonest().unwrap_or(Picoseconds::MAX).min(landing).min(self.posted)
    }
}

/// The events of all regions.
#[derive(Debug)]
pub(super) struct Wheels {
    regions: Vec<Region>,
    /// A time for each region before which it has no event.
    soonest: Vec<Picoseconds>,
    /// Events that concern all regions.
    for_all: BinaryHeap<Reverse<(Picoseconds, u32)>>,
    /// The region whose turn it is.
    at: usize,
    /// When the window under way ends; not part of it.
    end: Picoseconds,
    /// The same, or the end of what was asked for, whichever comes first.
    limit: Picoseconds,
    /// How long a window lasts.
    lookahead: Picoseconds,
    sorter: Sorter,
}

impl Wheels {
    /// Events of so many regions of a network.
    fn new(ports: &[Port], regions: usize, lookahead: Picoseconds) -> Self {
        let (apart, horizon) = spans(ports, regions);
        let region = |_| Region {
            wheel: Wheel::new(apart, horizon),
            landings: Vec::new(),
            mail: Vec::new(),
            posted: Picoseconds::MAX,
        };
        Self {
            regions: (0..regions).map(region).collect(),
            soonest: vec![Picoseconds::MAX; regions],
            for_all: BinaryHeap::new(),
            at: 0,
            end: 0,
            limit: 0,
            lookahead,
            sorter: Sorter::default(),
        }
    }

    /// The whole network as one region: windows may be as long as one likes.
    pub fn whole(ports: &[Port]) -> Self {
        let shortest = ports.iter().map(Port::latency).min().unwrap_or(0);
        Self::new(ports, 1, shortest.max(2 * longest(ports)))
    }

    /// Parts a network where that pays, and tells its ports of it: switches and hosts in order, a region about `size` ports.
    pub fn parted(ports: &mut [Port], switches: usize, hosts: usize, size: usize) -> Self {
        let (of_switch, of_host) = regions(ports, switches, hosts, size);
        let region = |end: End| match end {
            End::Switch(switch) => of_switch[switch as usize],
            End::Host(host) => of_host.get(host as usize).copied().unwrap_or(0),
        };
        let regions = 1 + of_switch.iter().copied().max().unwrap_or(0);
        let crossing = ports.iter().filter(|port| region(port.from) != region(port.to));
        let lookahead = crossing.map(Port::latency).min().unwrap_or(0);
        if lookahead < 2 * longest(ports) {
            return Self::whole(ports);
        }
        for port in &mut *ports {
            port.regions = [region(port.from), region(port.to)];
        }
        Self::new(ports, usize::from(regions), lookahead)
    }

    /// Adds an event in the region whose turn it is.
    #[inline]
    pub fn add(&mut self, time: Picoseconds, event: u32) {
        self.regions[self.at].wheel.add(Due::new(time, event, 0));
    }

    /// Adds an event in any region: in another one, not before this window ends.
    pub fn send(&mut self, region: u16, time: Picoseconds, event: u32) {
        self.land(region, time, event, 0);
    }

    /// Adds an event in any region that is about a packet.
    #[inline]
    pub fn land(&mut self, region: u16, time: Picoseconds, event: u32, place: Place) {
        let (at, due) = (usize::from(region), Due::new(time, event, place));
        let region = &mut self.regions[at];
        if time < self.end && at == self.at {
            region.wheel.add(due);
            return;
        }
        region.mail.push(due);
        region.posted = region.posted.min(time);
        self.soonest[at] = self.soonest[at].min(time);
    }

    /// Adds an event that concerns all regions.
    pub fn add_for_all(&mut self, time: Picoseconds, event: u32) {
        self.for_all.push(Reverse((time, event)));
    }

    /// Sees to it that no event is taken after a time.
    pub fn close(&mut self, until: Picoseconds) {
        self.limit = self.end.min(until.saturating_add(1));
    }

    /// Takes the next event of the region whose turn it is, in this window; where there is none, [`Wheels::onward`] is due.
    #[inline]
    pub fn next(&mut self) -> Option<Due> {
        let region = &mut self.regions[self.at];
        let begun = region.wheel.peek(self.limit);
        let landing = region.landings.last().copied().unwrap_or(Due::NEVER);
        let next = begun.min(landing);
        if next.time() >= self.limit {
            return None;
        }
        if begun < landing {
            region.wheel.pop();
        } else {
            region.landings.pop();
        }
        Some(next)
    }

    /// Gives the turn to the next region, of this window or of the next.
    pub fn onward(&mut self, until: Picoseconds) -> Onward {
        self.soonest[self.at] = self.regions[self.at].soonest();
        if self.enter_from(self.at + 1) {
            return Onward::Region;
        }
        let soonest = self.soonest.iter().copied().min().unwrap_or(Picoseconds::MAX);
        let for_all = self.for_all.peek().map_or(Picoseconds::MAX, |&Reverse((time, _))| time);
        match soonest.min(for_all) {
            Picoseconds::MAX => return Onward::Nothing,
            time if time > until => return Onward::Later(time),
            _ => {}
        }
        if for_all <= soonest {
            let event = self.for_all.pop();
            return event.map_or(Onward::Nothing, |Reverse((time, event))| Onward::All(time, event));
        }
        if soonest >= self.end {
            self.end = soonest.saturating_add(self.lookahead).min(for_all);
        }
        self.close(until);
        self.enter_from(0);
        Onward::Region
    }

    /// Gives the turn to the first region from one on that has events now.
    fn enter_from(&mut self, first: usize) -> bool {
        let Some(ahead) = self.soonest[first..].iter().position(|&time| time < self.limit) else { return false };
        self.at = first + ahead;
        self.regions[self.at].deliver(self.end.saturating_add(self.lookahead), &mut self.sorter);
        true
    }

    /// All events but those for all regions, in no order.
    pub fn iter(&self) -> impl Iterator<Item = Due> {
        let of = |region: &'_ Region| region.landings.iter().chain(&region.mail).copied().collect::<Vec<_>>();
        self.regions.iter().flat_map(move |region| region.wheel.iter().chain(of(region)))
    }
}

/// The region of each switch and of each host: hosts with the switch that they are plugged into first.
fn regions(ports: &[Port], switches: usize, hosts: usize, size: usize) -> (Vec<u16>, Vec<u16>) {
    let mut first = vec![None; hosts];
    let mut around = vec![0; switches];
    for port in ports {
        if let End::Switch(switch) = port.from {
            around[switch as usize] += 1;
        }
        if let (End::Host(host), End::Switch(switch)) = (port.from, port.to) {
            around[switch as usize] += 1;
            if let Some(first) = first.get_mut(host as usize) {
                first.get_or_insert(switch);
            }
        }
    }
    let has_hosts = |switch: &u32| first.contains(&Some(*switch));
    let (leaves, others): (Vec<u32>, Vec<u32>) = (0..switches as u32).partition(has_hosts);
    let mut of_switch = vec![0; switches];
    let (mut region, mut filled) = (0, 0);
    for switch in leaves.into_iter().chain(others) {
        let wanted = around[switch as usize];
        if filled > 0 && filled + wanted > size && region < u16::MAX {
            (region, filled) = (region + 1, 0);
        }
        filled += wanted;
        of_switch[switch as usize] = region;
    }
    let of_host = first.iter().map(|switch| switch.map_or(0, |switch| of_switch[switch as usize])).collect();
    (of_switch, of_host)
}

/// Time between the events of a region, so that a few fall into each bucket of its wheel; and within what time most are
/// due.
fn spans(ports: &[Port], regions: usize) -> (Picoseconds, Picoseconds) {
    let latency = ports.iter().map(Port::latency).max().unwrap_or(0);
    (longest(ports) * 4 * regions as u64 / ports.len().max(1) as u64, longest(ports) + latency.min(FAR))
}

/// The longest time that a full packet takes.
fn longest(ports: &[Port]) -> Picoseconds {
    ports.iter().map(|port| port.time_of(FULL)).max().unwrap_or(1)
}
