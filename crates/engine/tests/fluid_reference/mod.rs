//! Random demands, and a literal reference for them: water-filling round by round, a run event by event. Slow and plain
//! on purpose; it shares nothing with the engine but the demands themselves.
#![allow(dead_code, reason = "each test file uses its own part")]

use eastwest_engine::demand::Demands;
use eastwest_engine::fluid::Fluid;
use eastwest_engine::{PS_PER_S, Picoseconds};
use proptest::prelude::*;

/// One demand: entries, weight, cap, work, and when it starts (s).
#[derive(Clone, Debug)]
pub struct Flow {
    pub entries: Vec<(u32, f64)>,
    pub weight: f64,
    pub cap: f64,
    pub work: f64,
    pub start: f64,
}

/// A network and what crosses it.
#[derive(Clone, Debug)]
pub struct Case {
    pub capacity: Vec<f64>,
    pub flows: Vec<Flow>,
}

impl Case {
    pub fn demands(&self) -> Demands {
        let mut demands = Demands::default();
        for flow in &self.flows {
            demands.push(&flow.entries, flow.weight, flow.cap, flow.work, 0);
        }
        demands
    }
}

/// Small random networks; every third number comes from a short list, so that ties and resources in series are common.
pub fn cases(resources: usize, flows: usize) -> impl Strategy<Value = Case> {
    let number = || prop_oneof![2 => 0.1..10.0, 1 => prop::sample::select(vec![0.5, 1.0, 2.0])];
    let capacity = prop_oneof![9 => number(), 1 => Just(f64::INFINITY)];
    (prop::collection::vec(capacity, 1..=resources), 1..=flows).prop_flat_map(move |(capacity, count)| {
        let entries = prop::collection::btree_map(0..capacity.len() as u32, number(), 1..=capacity.len().min(4));
        let cap = prop_oneof![3 => Just(f64::INFINITY), 1 => number()];
        let start = prop_oneof![Just(0.0), 0.0..4.0];
        let flow = (entries, number(), cap, number(), start).prop_map(|(entries, weight, cap, work, start)| {
            // A demand that nothing holds is done at once and of no interest.
            let cap = if entries.len() == 1 { cap } else { cap.max(0.5) };
            Flow {
                entries: entries.into_iter().collect(),
                weight,
                cap,
                work,
                start: (start * PS_PER_S).round() / PS_PER_S,
            }
        });
        prop::collection::vec(flow, count).prop_map(move |flows| Case { capacity: capacity.clone(), flows })
    })
}

/// Every pair of some hosts under leaves of 8 with 8 spines, sending over one path that a linear congruential generator
/// draws; `work` makes a flow's bytes of a number from 0 to 1. All links have rate 1.
pub fn hashed_all_to_all(hosts: u32, work: impl Fn(f64) -> f64) -> Case {
    let mut state = 1u32;
    let mut draw = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state
    };
    let mut flows = Vec::new();
    for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))).filter(|(from, to)| from != to) {
        let mut entries = vec![(from, 1.0), (hosts + to, 1.0)];
        if from / 8 != to / 8 {
            let spine = draw() >> 29;
            entries.extend([(2 * hosts + from / 8 * 8 + spine, 1.0), (3 * hosts + to / 8 * 8 + spine, 1.0)]);
        }
        let work = work(f64::from(draw()) / f64::from(u32::MAX));
        flows.push(Flow { entries, weight: 1.0, cap: f64::INFINITY, work, start: 0.0 });
    }
    Case { capacity: vec![1.0; 4 * hosts as usize], flows }
}

/// Max-min rates of the flows named, by raising all free ones together until something is full, again and again.
pub fn water_fill(case: &Case, active: &[usize]) -> Vec<f64> {
    let mut rate = vec![None; case.flows.len()];
    while active.iter().any(|&f| rate[f].is_none()) {
        let level_of = |r: usize| {
            let (mut used, mut slope) = (0.0, 0.0);
            for &f in active {
                for &(resource, coefficient) in &case.flows[f].entries {
                    if resource as usize == r {
                        match rate[f] {
                            Some(rate) => used += coefficient * rate,
                            None => slope += coefficient * case.flows[f].weight,
                        }
                    }
                }
            }
            if slope > 0.0 { (case.capacity[r] - used) / slope } else { f64::INFINITY }
        };
        let levels: Vec<f64> = (0..case.capacity.len()).map(level_of).collect();
        let holds = |f: usize| {
            let flow = &case.flows[f];
            flow.entries.iter().map(|&(r, _)| levels[r as usize]).fold(flow.cap / flow.weight, f64::min)
        };
        let free: Vec<usize> = active.iter().copied().filter(|&f| rate[f].is_none()).collect();
        let level = free.iter().map(|&f| holds(f)).fold(f64::INFINITY, f64::min);
        for f in free {
            if holds(f) <= level {
                rate[f] = Some(level * case.flows[f].weight);
            }
        }
    }
    rate.into_iter().map(|rate| rate.unwrap_or(0.0)).collect()
}

/// When each flow is done (s), by stepping from event to event.
pub fn simulate(case: &Case) -> Vec<f64> {
    let mut left: Vec<f64> = case.flows.iter().map(|flow| flow.work).collect();
    let mut done = vec![f64::INFINITY; left.len()];
    let mut now = 0.0;
    loop {
        let active: Vec<usize> =
            (0..left.len()).filter(|&f| done[f].is_infinite() && case.flows[f].start <= now).collect();
        let arrival = case.flows.iter().map(|flow| flow.start).filter(|&s| s > now).fold(f64::INFINITY, f64::min);
        if active.is_empty() && arrival.is_infinite() {
            return done;
        }
        let rate = water_fill(case, &active);
        let finish = active.iter().map(|&f| left[f] / rate[f]).fold(f64::INFINITY, f64::min);
        let step = finish.min(arrival - now);
        for &f in &active {
            if left[f] / rate[f] <= step * (1.0 + 1e-12) {
                (left[f], done[f]) = (0.0, now + step);
            } else {
                left[f] -= rate[f] * step;
            }
        }
        now = if step < finish { arrival } else { now + step };
    }
}

/// What the engine says of a case: when each flow is done (s), and the run at its end.
pub fn run(case: &Case, tolerance: f64) -> (Vec<f64>, Fluid) {
    let mut fluid = Fluid::new(case.capacity.clone(), tolerance);
    let mut order: Vec<usize> = (0..case.flows.len()).collect();
    order.sort_by(|&a, &b| case.flows[a].start.total_cmp(&case.flows[b].start));
    let mut finished = vec![f64::NAN; order.len()];
    let (mut waiting, mut done) = (order.into_iter().peekable(), Vec::new());
    loop {
        let arrival = waiting.peek().map(|&f| (case.flows[f].start * PS_PER_S).round() as Picoseconds);
        let Some(time) = fluid.next().into_iter().chain(arrival).min() else { break };
        fluid.advance(time, &mut done);
        for (flow, _) in done.drain(..) {
            finished[flow as usize] = time as f64 / PS_PER_S;
        }
        while let Some(f) = waiting.next_if(|&f| case.flows[f].start * PS_PER_S <= time as f64 + 0.5) {
            let flow = &case.flows[f];
            let mut demand = Demands::default();
            demand.push(&flow.entries, flow.weight, flow.cap, flow.work, 0);
            fluid.add(demand, f as u32);
        }
    }
    (finished, fluid)
}

/// Whether two figures are the same but for rounding; infinite ones only if both are.
pub fn near(a: f64, b: f64, relative: f64) -> bool {
    a == b || (a - b).abs() <= relative * a.abs().max(b.abs())
}
