//! Weighted max-min rates by progressive filling, and again after some demands have left.
//!
//! A level rises from zero; a demand of weight `w` progresses at `w` times the level until a resource it crosses is
//! full, and keeps that rate: it freezes (Bertsekas and Gallager, Data Networks, 2nd ed., 6.5.2). The level at which a
//! resource fills only rises as other demands freeze, so a heap of levels is corrected lazily. Every entry is touched
//! once; a resource costs a logarithm each time that its level is corrected.
//!
//! Whoever froze before a demand did crosses nothing that this demand had held back until then, so its departure leaves
//! their rates as they are: it takes only the demands that froze later to be thawed, and the level to rise again from
//! there. A departure that nobody froze after changes no rate at all.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::network::{NONE, Network};

/// In place of the class that limits it: a demand that is still free to go faster.
const FREE: u32 = NONE - 1;

/// In place of its place: a demand that has left.
const GONE: u32 = NONE;

/// Below this part of the slope last summed, what subtraction has left is summed anew: rounding stays under 1e-10.
const RESUM: f64 = 1e-3;

/// Thawed so many times as often as there are demands, rooms are computed anew: until then, what adding back and
/// subtracting again rounds off stays under 1e-11 of a capacity that ten thousand demands share.
const REFRESH: usize = 16;

/// Demands whose rows are read ahead of freezing them. Rows lie anywhere in memory and reading many at once hides most of
/// the wait, which is two thirds of a solution otherwise.
const FETCHED: usize = 64;

/// What is left of a class of resources as the level rises.
#[derive(Clone, Copy, Default)]
struct Filler {
    /// Capacity that frozen demands leave, bytes a second.
    room: f64,
    /// Load for each unit of level: pulls of demands that are free.
    slope: f64,
    /// Slope when it was last summed and not subtracted from.
    summed: f64,
    /// Pulls of all demands, free or frozen; of those that have left, the ones not thawed since count as well.
    pull: f64,
    /// Demands that are free.
    free: u32,
}

/// How a demand froze.
#[derive(Clone, Copy)]
struct Hold {
    /// The class that filled, or [`NONE`] where nothing holds the demand.
    class: u32,
    /// Place, in the order of freezing, of the first demand that the class froze.
    place: u32,
}

/// Max-min rates of the demands of one network, from which demands leave.
pub(super) struct Filling {
    fillers: Vec<Filler>,
    /// Level at which each class was full; meaningless for others.
    level: Vec<f64>,
    holds: Vec<Hold>,
    /// Demands in the order in which they froze.
    frozen: Vec<u32>,
    /// All from here on in that order have left.
    top: usize,
    /// Demands that have not left.
    staying: usize,
    /// Demands thawed since rooms were last computed from nothing.
    thaws: usize,
}

/// Memory that every filling needs while it works; but for the excess, what it holds in between means nothing.
#[derive(Default)]
pub(super) struct Scratch {
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    classes: Vec<u32>,
    freezing: Vec<u32>,
    /// Demands whose rates the latest refilling has computed.
    pub thawed: Vec<u32>,
    /// Largest load beyond its capacity that a class was ever given, as a part of the capacity: rounding, or a fault.
    pub excess: f64,
}

impl Filling {
    /// Computes the rates of all demands of a network.
    pub(super) fn new(network: &Network, scratch: &mut Scratch) -> Self {
        let mut filling = Self {
            fillers: Vec::new(),
            level: vec![0.0; network.capacity.len()],
            holds: vec![Hold { class: FREE, place: 0 }; network.weight.len()],
            frozen: Vec::with_capacity(network.weight.len()),
            top: 0,
            staying: network.weight.len(),
            thaws: 0,
        };
        filling.restart(network, scratch);
        filling.rise(network, 0.0, scratch);
        filling
    }

    /// Rate of a demand that has not left, bytes of progress a second.
    #[inline]
    pub(super) fn rate(&self, network: &Network, demand: u32) -> f64 {
        match self.holds[demand as usize].class {
            NONE => f64::INFINITY,
            class => self.level[class as usize] * network.weight[demand as usize],
        }
    }

    /// The resource that holds a demand at its rate, or [`NONE`] where its cap or nothing does.
    pub(super) fn limit(&self, network: &Network, demand: u32) -> u32 {
        match self.holds[demand as usize].class {
            NONE => NONE,
            class => network.resource[class as usize],
        }
    }

    /// A level below which a demand is not held whichever others leave: the least, over its classes, of what each
    /// would hold it at if it held all that cross it.
    pub(super) fn fair_level(&self, network: &Network, demand: u32) -> f64 {
        let fair =
            |class: u32, pull: f64| network.capacity[class as usize] / self.fillers[class as usize].pull.max(pull);
        network.row(demand).iter().map(|entry| fair(entry.class, entry.pull)).fold(f64::INFINITY, f64::min)
    }

    /// Demands in the order in which they froze.
    pub(super) fn frozen(&self) -> &[u32] {
        &self.frozen
    }

    /// Whether a demand has left.
    pub(super) fn is_gone(&self, demand: u32) -> bool {
        self.holds[demand as usize].place == GONE
    }

    /// Place, in the order of freezing, from which on a demand's departure can change rates.
    pub(super) fn place(&self, demand: u32) -> u32 {
        self.holds[demand as usize].place
    }

    /// Whether rates can change if those demands leave of which the first is at a place.
    pub(super) fn would_change(&self, first: u32, leaves: impl Fn(u32) -> bool) -> bool {
        self.top_without(first, leaves) > first as usize
    }

    /// Takes a demand out; [`refill`](Self::refill) is due.
    pub(super) fn leave(&mut self, demand: u32) {
        self.holds[demand as usize].place = GONE;
        self.staying -= 1;
    }

    /// Computes the rates after demands have left of which the first was at a place: of demands after that place, which
    /// [`Scratch::thawed`] lists then. Gives whether there are any.
    pub(super) fn refill(&mut self, network: &Network, first: u32, scratch: &mut Scratch) -> bool {
        self.top = self.top_without(first, |demand| self.is_gone(demand));
        if self.top <= first as usize {
            return false;
        }
        if self.thaws > REFRESH * self.staying || 2 * (self.top - first as usize) > self.staying {
            self.restart(network, scratch);
            self.rise(network, 0.0, scratch);
        } else {
            let level = match first {
                0 => 0.0,
                _ => self.level[self.holds[self.frozen[first as usize - 1] as usize].class as usize],
            };
            self.thaw(network, first as usize, scratch);
            self.rise(network, level, scratch);
        }
        true
    }

    /// One past the last demand from a place on that stays.
    fn top_without(&self, first: u32, leaves: impl Fn(u32) -> bool) -> usize {
        let first = first as usize;
        let after = &self.frozen[first.min(self.top)..self.top];
        first + after.iter().rposition(|&demand| !leaves(demand)).map_or(0, |last| last + 1)
    }

    /// Frees all demands that have not left.
    fn restart(&mut self, network: &Network, scratch: &mut Scratch) {
        self.fillers.clear();
        self.fillers.extend(network.capacity.iter().map(|&room| Filler { room, ..Filler::default() }));
        self.frozen.clear();
        self.thaws = 0;
        scratch.thawed.clear();
        for (demand, hold) in (0..).zip(&mut self.holds).filter(|(_, hold)| hold.place != GONE) {
            let row = network.row(demand);
            *hold = Hold { class: if row.is_empty() { NONE } else { FREE }, place: 0 };
            for entry in row {
                let filler = &mut self.fillers[entry.class as usize];
                filler.slope += entry.pull;
                filler.free += 1;
            }
            scratch.thawed.push(demand);
        }
        scratch.classes.clear();
        scratch.classes.extend(0..self.fillers.len() as u32);
        self.fillers.iter_mut().for_each(|filler| filler.pull = filler.slope);
    }

    /// Frees the demands from a place on in the order of freezing, and gives back what they and those gone have taken.
    fn thaw(&mut self, network: &Network, first: usize, scratch: &mut Scratch) {
        scratch.thawed.clear();
        scratch.classes.clear();
        for block in self.frozen[first..].chunks(FETCHED) {
            network.fetch(block);
            for &demand in block {
                let hold = &mut self.holds[demand as usize];
                let level = self.level[hold.class as usize];
                let stays = hold.place != GONE;
                for entry in network.row(demand) {
                    let filler = &mut self.fillers[entry.class as usize];
                    filler.room += entry.pull * level;
                    if stays {
                        if filler.free == 0 {
                            filler.slope = 0.0;
                            scratch.classes.push(entry.class);
                        }
                        filler.slope += entry.pull;
                        filler.free += 1;
                    } else {
                        filler.pull -= entry.pull;
                    }
                }
                if stays {
                    hold.class = FREE;
                    scratch.thawed.push(demand);
                }
            }
        }
        self.frozen.truncate(first);
        self.thaws += scratch.thawed.len();
    }

    /// Raises the level until no demand is free.
    fn rise(&mut self, network: &Network, mut level: f64, scratch: &mut Scratch) {
        let mut heap = std::mem::take(&mut scratch.heap).into_vec();
        heap.clear();
        for &class in &scratch.classes {
            let filler = &mut self.fillers[class as usize];
            if filler.free > 0 {
                filler.summed = filler.slope;
                heap.push(Reverse(((filler.room.max(0.0) / filler.slope).to_bits(), class)));
            }
        }
        scratch.heap = heap.into();
        while let Some((at, class)) = self.next_full(network, &mut scratch.heap) {
            scratch.heap.pop();
            level = level.max(at);
            self.level[class as usize] = level;
            self.fill(network, class, level, &mut scratch.freezing);
        }
        self.top = self.frozen.len();
        for &class in &scratch.classes {
            let excess = -self.fillers[class as usize].room / network.capacity[class as usize];
            scratch.excess = scratch.excess.max(excess);
        }
    }

    /// The class that fills next and the level at which it does; it stays on top of the heap.
    fn next_full(&mut self, network: &Network, heap: &mut BinaryHeap<Reverse<(u64, u32)>>) -> Option<(f64, u32)> {
        while let Some(mut top) = heap.peek_mut() {
            let Reverse((bits, class)) = *top;
            let filler = &mut self.fillers[class as usize];
            if filler.free == 0 {
                PeekMut::pop(top);
                continue;
            }
            if filler.slope < RESUM * filler.summed {
                filler.slope = free_slope(network, &self.holds, class);
                filler.summed = filler.slope;
            }
            let now = (filler.room.max(0.0) / filler.slope).to_bits();
            if now <= bits {
                return Some((f64::from_bits(bits), class));
            }
            // Levels are not negative, and such floats are in the order of their bits.
            *top = Reverse((now, class));
        }
        None
    }

    /// Freezes all free demands of a class that is full at a level.
    fn fill(&mut self, network: &Network, class: u32, level: f64, freezing: &mut Vec<u32>) {
        let column = network.column(class);
        freezing.resize(freezing.len().max(column.len()), 0);
        let place = self.frozen.len() as u32;
        let mut picked = 0;
        for &demand in column {
            freezing[picked] = demand;
            picked += usize::from(self.holds[demand as usize].class == FREE);
        }
        for block in freezing[..picked].chunks(FETCHED) {
            network.fetch(block);
            for &demand in block {
                self.holds[demand as usize] = Hold { class, place };
                self.frozen.push(demand);
                for entry in network.row(demand) {
                    let filler = &mut self.fillers[entry.class as usize];
                    filler.room -= entry.pull * level;
                    filler.slope -= entry.pull;
                    filler.free -= 1;
                }
            }
        }
    }
}

/// Sum of the pulls that free demands have on a class.
fn free_slope(network: &Network, holds: &[Hold], class: u32) -> f64 {
    let free = network.column(class).iter().filter(|&&demand| holds[demand as usize].class == FREE);
    free.flat_map(|&demand| network.row(demand)).filter(|entry| entry.class == class).map(|entry| entry.pull).sum()
}
