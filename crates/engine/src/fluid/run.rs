//! Demands that come and go over time: the clock, the components and what they have carried.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use super::components::Components;
use super::filling::Scratch;
use super::island::{Flight, Island, Landing};
use super::network::{NONE, Network};
use super::row;
use super::series::Workspace;
use super::slots::Slots;
use crate::demand::Demands;
use crate::{PS_PER_S, Picoseconds};

/// Demands of one add, kept until all of them are done.
struct Batch {
    demands: Arc<Demands>,
    tag: u32,
    live: usize,
}

/// Demands that progress at max-min rates, arriving and finishing on a clock of picoseconds.
///
/// Drive it with [`add`](Fluid::add), [`next`](Fluid::next) and [`advance`](Fluid::advance). An arrival recomputes the
/// rates in its connected component (over resources of finite capacity), a completion only those that it can change:
/// of demands that max-min holds at no lower level than the one that is done. Of equal demands that start together the
/// fastest are done first and change none.
///
/// # Batching and its error
///
/// With a tolerance `e` above zero, a completion that can change rates waits for those that follow it in its component
/// within `e` times the shortest span (from start to completion at present rates) among its demands: they become one
/// event, at the latest of them. Until then the batch's members hold their rates, idle once their work is done; so one
/// event delays no demand by more than `e` of its own time.
///
/// Events add up, and [`batching_error`](Fluid::batching_error) follows them. Let `b` bound, for each demand, the bytes
/// by which it is ahead of or behind an exact run given the same arrivals. While both runs have the same demands under
/// way, their rates agree and `b` stays. A batch whose first member is out of work at `t`, and which ends at `T`,
/// moves the completion of a member of rate `r`, out of work at `u`, by at most its *shift*:
///
/// * the exact run may speed it up from `t` on: it is done no earlier than `t`, and up to `b / r` before that;
/// * or slow it down, to no less than its fair share `f` (weight times the least, over its resources, of capacity over
///   the sum of all pulls): it then takes `(u - t + b / r) r / f` for what it has left at `t`.
///
/// Around the event both runs differ for at most the largest shift of its members, and each survivor's `b` grows by
/// that, times the change of its rate which the event brings. The error is the largest, over all demands done, of the
/// shift relative to the least time that the exact run took: `shift / (time - shift)`.
///
/// The bound is of first order. It takes a survivor's rate within a batch's span to lie between those before and
/// after, which holds where departures only speed others up but can fail where one departure slows a demand and the
/// next speeds it up; and it leaves out products of two shifts. (On small random networks with weights and
/// coefficients a hundred apart, one in some ten thousand exceeds it.) An arrival that a caller makes depend on a
/// completion inherits its lateness on top.
pub struct Fluid {
    capacity: Vec<f64>,
    tolerance: f64,
    now: Picoseconds,
    batches: Slots<Batch>,
    islands: Slots<Island>,
    /// Island of each resource.
    owner: Vec<u32>,
    /// Added, not yet part of an island.
    arrived: Vec<Flight>,
    /// (next event, island), earliest first; stale where the island has another by now.
    agenda: BinaryHeap<Reverse<(Picoseconds, u32)>>,
    /// (last completion expected, island), latest first; stale likewise.
    horizon: BinaryHeap<(Picoseconds, u32)>,
    /// (tag, index) of demands whose work is carried, by the time when their latency will have passed.
    trailing: BTreeMap<Picoseconds, Vec<(u32, u32)>>,
    carried: Vec<f64>,
    limiting: Vec<f64>,
    capped: f64,
    batching_error: f64,
    shortfall: f64,
    rounds: u64,
    landed: Vec<Landing>,
    components: Components,
    workspace: Workspace,
    scratch: Scratch,
}

impl Fluid {
    /// An empty run at time zero over resources of these capacities (bytes a second; infinite ones never bind).
    /// `tolerance` is the part of a demand's own time within which completions are batched; zero: exact.
    pub fn new(capacity: Vec<f64>, tolerance: f64) -> Self {
        let resources = capacity.len();
        Self {
            tolerance,
            now: 0,
            batches: Slots::default(),
            islands: Slots::default(),
            owner: vec![NONE; resources],
            arrived: Vec::new(),
            agenda: BinaryHeap::new(),
            horizon: BinaryHeap::new(),
            trailing: BTreeMap::new(),
            carried: vec![0.0; resources],
            limiting: vec![0.0; resources],
            capped: 0.0,
            batching_error: 0.0,
            shortfall: 0.0,
            rounds: 0,
            landed: Vec::new(),
            components: Components::new(resources),
            workspace: Workspace::new(resources),
            scratch: Scratch::default(),
            capacity,
        }
    }

    /// The clock.
    pub fn now(&self) -> Picoseconds {
        self.now
    }

    /// Starts demands now. Each is done when its work is carried and its latency has passed after that, and is then
    /// reported with this tag and its index in `demands`.
    pub fn add(&mut self, demands: impl Into<Arc<Demands>>, tag: u32) {
        let demands = demands.into();
        if demands.is_empty() {
            return;
        }
        let batch = self.batches.insert(Batch { demands: Arc::clone(&demands), tag, live: demands.len() });
        for (index, &work) in demands.work.iter().enumerate() {
            let is_held = || {
                let resources = demands.row(index).0;
                demands.cap[index] < f64::INFINITY
                    || resources.iter().any(|&resource| self.capacity[resource as usize] < f64::INFINITY)
            };
            if work > 0.0 && is_held() {
                self.arrived.push(Flight::new(batch, index as u32, work, self.now));
            } else {
                self.land(Landing { batch, index: index as u32, left: 0.0, error: 0.0 });
            }
        }
    }

    /// Time of the next completion, now or later, after computing the rates that have changed. Nothing if no demand is
    /// left that will ever be done.
    #[expect(clippy::should_implement_trait, reason = "looking ahead does not move the clock: no iterator")]
    pub fn next(&mut self) -> Option<Picoseconds> {
        self.absorb();
        let done = self.trailing.keys().next().copied();
        let carried = self.next_island().map(|(time, _)| time);
        done.into_iter().chain(carried).min()
    }

    /// Lets time pass until `to`, and appends the (tag, index) of the demands done by then, in order of time.
    ///
    /// # Panics
    /// If `to` lies in the past.
    pub fn advance(&mut self, to: Picoseconds, done: &mut Vec<(u32, u32)>) {
        assert!(to >= self.now, "the clock stands at {} ps and cannot go back to {to} ps", self.now);
        while let Some(time) = self.next().filter(|&time| time <= to) {
            self.pass(time);
            while let Some((_, island)) = self.next_island().filter(|&(next, _)| next <= time) {
                self.complete(island);
            }
            if self.trailing.first_key_value().is_some_and(|(&end, _)| end <= time) {
                done.extend(self.trailing.pop_first().into_iter().flat_map(|(_, demands)| demands));
            }
        }
        self.pass(to);
    }

    /// Bytes that each resource has carried so far.
    pub fn carried(&self) -> Vec<f64> {
        let mut carried = self.carried.clone();
        for batch in self.batches.iter() {
            carry_all(&batch.demands, &mut carried);
        }
        for flight in self.islands.iter().flat_map(Island::flights).chain(&self.arrived) {
            let demands = &self.batches[flight.batch].demands;
            carry(demands, flight.index as usize, -flight.remaining_at(self.now), &mut carried);
        }
        carried
    }

    /// Seconds in which each resource limited the demand that was expected to be done last of all under way.
    pub fn limiting(&self) -> &[f64] {
        &self.limiting
    }

    /// Seconds in which that demand was held by a cap of its own.
    pub fn capped(&self) -> f64 {
        self.capped
    }

    /// Largest relative error that batching can have caused in the time that a demand took (see [`Fluid`]).
    pub fn batching_error(&self) -> f64 {
        self.batching_error
    }

    /// Largest part of its work that a demand was said to have done without its rates having carried it: rounding, or a
    /// fault of the solver.
    pub fn shortfall(&self) -> f64 {
        self.shortfall
    }

    /// Largest load beyond its capacity that a resource was given at any time, as a part of the capacity: likewise.
    pub fn excess(&self) -> f64 {
        self.scratch.excess
    }

    /// Number of times that rates were computed, over all components.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Moves the clock, crediting the time to the resource, or the cap, that limits the last demand.
    fn pass(&mut self, to: Picoseconds) {
        while let Some(&(last, island)) = self.horizon.peek() {
            match self.islands.get(island) {
                Some(island) if island.last() == last => {
                    let seconds = (to - self.now) as f64 / PS_PER_S;
                    match island.critical() {
                        NONE => self.capped += seconds,
                        critical => self.limiting[critical as usize] += seconds,
                    }
                    break;
                }
                _ => {
                    self.horizon.pop();
                }
            }
        }
        self.now = to;
    }

    /// The island whose next event is first, and when that is.
    fn next_island(&mut self) -> Option<(Picoseconds, u32)> {
        while let Some(&Reverse((time, island))) = self.agenda.peek() {
            if self.islands.get(island).is_some_and(|island| island.next == time) {
                return Some((time, island));
            }
            self.agenda.pop();
        }
        None
    }

    /// Takes the demands of an island that are done by now off it, and computes the rates that this changes.
    fn complete(&mut self, id: u32) {
        let lag = self.settle(id);
        let island = &self.islands[id];
        if island.is_empty() {
            self.dissolve(id);
        } else if island.is_sparse() && island.is_unsettled() {
            let rest = self.dissolve(id);
            self.regroup(rest, lag);
        } else {
            self.refill(id, lag);
            self.plan(id);
        }
    }

    /// Makes islands of what has arrived, with all that it touches.
    fn absorb(&mut self) {
        if self.arrived.is_empty() {
            return;
        }
        let mut flights = std::mem::take(&mut self.arrived);
        let mut touched = Vec::new();
        if self.islands.iter().next().is_some() {
            for arrival in &flights {
                let resources = self.batches[arrival.batch].demands.row(arrival.index as usize).0;
                for &resource in resources {
                    let island = self.owner[resource as usize];
                    if island != NONE && touched.last() != Some(&island) {
                        touched.push(island);
                    }
                }
            }
            touched.sort_unstable();
            touched.dedup();
        }
        for island in touched {
            let lag = self.settle(island);
            if lag > 0.0 && !self.islands[island].is_empty() {
                // What lateness costs the others is the change of rates that it brings by itself.
                self.refill(island, lag);
            }
            flights.extend(self.dissolve(island));
        }
        self.regroup(flights, 0.0);
    }

    /// Lets an island progress until now; gives the seconds by which what this changes may be late.
    fn settle(&mut self, id: u32) -> f64 {
        let mut landed = std::mem::take(&mut self.landed);
        let lag = self.islands.get_mut(id).expect("an island on the agenda exists").settle(self.now, &mut landed);
        landed.drain(..).for_each(|landing| self.land(landing));
        self.landed = landed;
        lag
    }

    /// Removes an island and gives what is still under way there.
    fn dissolve(&mut self, id: u32) -> Vec<Flight> {
        let island = self.islands.remove(id);
        for &resource in island.resources() {
            self.owner[resource as usize] = NONE;
        }
        island.flights().copied().collect()
    }

    /// Makes an island of each connected component of these flights.
    fn regroup(&mut self, flights: Vec<Flight>, lag: f64) {
        let batches = &self.batches;
        let resources = |f: usize| batches[flights[f].batch].demands.row(flights[f].index as usize).0;
        let (component, count) = self.components.of(flights.len(), resources, &self.capacity);
        let mut parts: Vec<Vec<Flight>> = vec![Vec::new(); count as usize];
        if count == 1 {
            parts[0] = flights;
        } else {
            for (flight, component) in flights.into_iter().zip(component) {
                parts[component as usize].push(flight);
            }
        }
        for part in parts {
            let row_of = |f: usize| row(&self.batches[part[f].batch].demands, part[f].index as usize);
            let network = Network::compile(part.len(), row_of, &self.capacity, &mut self.workspace);
            let id = self.islands.insert(Island::new(part, network, self.now, lag, &mut self.scratch));
            self.rounds += 1;
            for &resource in self.islands[id].resources() {
                self.owner[resource as usize] = id;
            }
            self.look_ahead(id);
            self.plan(id);
        }
    }

    /// Computes the rates that completions change.
    fn refill(&mut self, id: u32, lag: f64) {
        let island = self.islands.get_mut(id).expect("only islands that exist are refilled");
        if island.refill(self.now, lag, &mut self.scratch) {
            self.rounds += 1;
            self.look_ahead(id);
        }
    }

    /// Notes when the last demand of an island that has an end is expected to be done.
    fn look_ahead(&mut self, id: u32) {
        let last = self.islands[id].last();
        if last < Picoseconds::MAX {
            self.horizon.push((last, id));
        }
    }

    /// Finds the next event of an island.
    fn plan(&mut self, id: u32) {
        let island = self.islands.get_mut(id).expect("only islands that exist have events");
        island.plan(self.tolerance);
        if island.next < Picoseconds::MAX {
            self.agenda.push(Reverse((island.next, id)));
        }
    }

    /// Books a demand whose work is carried.
    fn land(&mut self, Landing { batch: id, index, left, error }: Landing) {
        self.batching_error = self.batching_error.max(error);
        let batch = self.batches.get_mut(id).expect("a demand under way keeps its batch");
        if left > 0.0 {
            self.shortfall = self.shortfall.max(left / batch.demands.work[index as usize]);
        }
        let end = self.now + batch.demands.latency[index as usize];
        self.trailing.entry(end).or_default().push((batch.tag, index));
        batch.live -= 1;
        if batch.live == 0 {
            carry_all(&self.batches.remove(id).demands, &mut self.carried);
        }
    }
}

/// Adds the bytes of all work of some demands.
fn carry_all(demands: &Demands, carried: &mut [f64]) {
    for (demand, &work) in demands.work.iter().enumerate() {
        // What has no end is counted as it flies.
        if work < f64::INFINITY {
            carry(demands, demand, work, carried);
        }
    }
}

fn carry(demands: &Demands, demand: usize, progress: f64, carried: &mut [f64]) {
    let (resources, coefficients) = demands.row(demand);
    for (&resource, coefficient) in resources.iter().zip(coefficients) {
        carried[resource as usize] += coefficient * progress;
    }
}
