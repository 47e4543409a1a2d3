//! Weighted max-min rates by progressive filling.
//!
//! A level rises from zero; a demand of weight `w` progresses at `w` times the level until a resource it crosses is
//! full, or its cap is reached, and keeps that rate (Bertsekas and Gallager, Data Networks, 2nd ed., 6.5.2). The level
//! at which a resource fills only rises as other demands freeze, so a heap of levels is corrected lazily. Every entry
//! is touched once; a resource costs a logarithm each time that its level is corrected.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::hint::black_box;

use super::network::{NONE, Network};

/// In place of the class that limits it: a demand that is still free to go faster.
const FREE: u32 = NONE - 1;

/// Below this part of the slope last summed, what subtraction has left is summed anew: rounding stays under 1e-10.
const RESUM: f64 = 1e-3;

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
    /// Demands that are free.
    free: u32,
}

/// The solver's memory, reused from one solution to the next.
#[derive(Default)]
pub(super) struct Filling {
    fillers: Vec<Filler>,
    /// Level at which each class was full.
    level: Vec<f64>,
    /// Level at which each class would be full if nothing else held its demands: no demand is held below the least of
    /// its classes', whichever of the others leave.
    pub fair_level: Vec<f64>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    freezing: Vec<u32>,
}

impl Filling {
    /// Rates of the `live` demands of a network (bytes of progress a second) and the class that froze each, or
    /// [`NONE`] where its cap or nothing did. Other demands are left as they are.
    pub(super) fn solve(&mut self, network: &Network, live: &[u32], rate: &mut [f64], limit: &mut [u32]) {
        self.start(network, live, limit);
        let mut caps = network.capped.iter().peekable();
        let mut level = 0.0f64;
        loop {
            while caps.next_if(|&&(_, demand)| limit[demand as usize] != FREE).is_some() {}
            let full = self.next_full(network, limit);
            if let Some(&&(cap, demand)) = caps.peek().filter(|&&&(cap, _)| full.is_none_or(|(at, _)| cap <= at)) {
                level = level.max(cap);
                limit[demand as usize] = NONE;
                rate[demand as usize] = cap * network.weight[demand as usize];
                self.freeze(network, demand, cap);
            } else if let Some((at, class)) = full {
                self.heap.pop();
                level = level.max(at);
                self.level[class as usize] = level;
                self.fill(network, class, level, limit);
            } else {
                break;
            }
        }
        for &demand in live {
            rate[demand as usize] = match limit[demand as usize] {
                NONE => rate[demand as usize],
                FREE => f64::INFINITY,
                class => self.level[class as usize] * network.weight[demand as usize],
            };
            limit[demand as usize] = match limit[demand as usize] {
                FREE => NONE,
                class => class,
            };
        }
    }

    fn start(&mut self, network: &Network, live: &[u32], limit: &mut [u32]) {
        self.level.clear();
        self.level.resize(network.capacity.len(), 0.0);
        self.fair_level.clear();
        self.fillers.clear();
        self.fillers.extend(network.capacity.iter().map(|&room| Filler { room, ..Filler::default() }));
        for &demand in live {
            limit[demand as usize] = FREE;
            for entry in network.row(demand) {
                let filler = &mut self.fillers[entry.class as usize];
                filler.slope += entry.pull;
                filler.free += 1;
            }
        }
        let mut heap = std::mem::take(&mut self.heap).into_vec();
        heap.clear();
        for (class, filler) in self.fillers.iter_mut().enumerate() {
            let level = filler.room / filler.slope;
            self.fair_level.push(level);
            if filler.free > 0 {
                filler.summed = filler.slope;
                heap.push(Reverse((level.to_bits(), class as u32)));
            }
        }
        self.heap = heap.into();
    }

    /// The class that fills next and the level at which it does; it stays on top of the heap.
    fn next_full(&mut self, network: &Network, limit: &[u32]) -> Option<(f64, u32)> {
        while let Some(mut top) = self.heap.peek_mut() {
            let Reverse((bits, class)) = *top;
            let filler = &mut self.fillers[class as usize];
            if filler.free == 0 {
                PeekMut::pop(top);
                continue;
            }
            if filler.slope < RESUM * filler.summed {
                filler.slope = free_slope(network, limit, class);
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
    fn fill(&mut self, network: &Network, class: u32, level: f64, limit: &mut [u32]) {
        let column = network.column(class);
        let mut freezing = std::mem::take(&mut self.freezing);
        freezing.resize(freezing.len().max(column.len()), 0);
        let mut picked = 0;
        for &demand in column {
            freezing[picked] = demand;
            picked += usize::from(limit[demand as usize] == FREE);
        }
        for block in freezing[..picked].chunks(FETCHED) {
            black_box(block.iter().map(|&demand| network.touch(demand)).fold(0, u32::wrapping_add));
            for &demand in block {
                limit[demand as usize] = class;
                self.freeze(network, demand, level);
            }
        }
        self.freezing = freezing;
    }

    #[inline]
    fn freeze(&mut self, network: &Network, demand: u32, level: f64) {
        for entry in network.row(demand) {
            let filler = &mut self.fillers[entry.class as usize];
            filler.room -= entry.pull * level;
            filler.slope -= entry.pull;
            filler.free -= 1;
        }
    }
}

/// Sum of the pulls that free demands have on a class.
fn free_slope(network: &Network, limit: &[u32], class: u32) -> f64 {
    let free = network.column(class).iter().filter(|&&demand| limit[demand as usize] == FREE);
    free.flat_map(|&demand| network.row(demand)).filter(|entry| entry.class == class).map(|entry| entry.pull).sum()
}
