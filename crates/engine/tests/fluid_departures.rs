//! Rates from one event to the next: they are what they would be if computed from nothing for the demands under way,
//! and departures that change none cost no computation.

mod fluid_reference;

use eastwest_engine::demand::Demands;
use eastwest_engine::fluid::{Fluid, max_min};
use eastwest_engine::{PS_PER_S, Picoseconds};
use fluid_reference::{Case, Flow, cases, hashed_all_to_all, near, run};
use proptest::prelude::*;

/// Runs a case and holds each flow's progress between any two events against its rate from nothing. Gives the run.
///
/// Each flow also crosses an infinite resource of its own, which shows its progress.
fn check_rates(case: &Case) -> std::result::Result<Fluid, TestCaseError> {
    let own = case.capacity.len();
    let mut capacity = case.capacity.clone();
    capacity.resize(own + case.flows.len(), f64::INFINITY);
    let mut fluid = Fluid::new(capacity, 0.0);
    let mut order: Vec<usize> = (0..case.flows.len()).collect();
    order.sort_by(|&a, &b| case.flows[a].start.total_cmp(&case.flows[b].start));
    let (mut waiting, mut done, mut under_way) = (order.into_iter().peekable(), Vec::new(), Vec::new());
    loop {
        while let Some(f) = waiting.next_if(|&f| start(case, f) <= fluid.now()) {
            let Flow { entries, weight, cap, work, .. } = &case.flows[f];
            let entries: Vec<(u32, f64)> = entries.iter().copied().chain([((own + f) as u32, 1.0)]).collect();
            let mut demand = Demands::default();
            demand.push(&entries, *weight, *cap, *work, 0);
            fluid.add(demand, f as u32);
            under_way.push(f);
        }
        let arrival = waiting.peek().map(|&f| start(case, f));
        let Some(next) = fluid.next().into_iter().chain(arrival).min() else { break };
        let now = fluid.now();
        let before = fluid.carried();
        fluid.advance(now + (next - now) / 2, &mut done);
        let span = (fluid.now() - now) as f64 / PS_PER_S;
        let after = fluid.carried();
        let mut demands = Demands::default();
        for &f in &under_way {
            let Flow { entries, weight, cap, work, .. } = &case.flows[f];
            demands.push(entries, *weight, *cap, *work, 0);
        }
        let rates = max_min(&demands, &case.capacity).0;
        for (&f, rate) in under_way.iter().zip(rates).filter(|(_, rate)| rate.is_finite()) {
            let progress = after[own + f] - before[own + f];
            let rounding = 1e-14 * case.flows[f].work;
            prop_assert!((progress - rate * span).abs() <= 1e-9 * rate * span + rounding, "flow {} at {}", f, now);
        }
        fluid.advance(next, &mut done);
        done.drain(..).for_each(|(tag, _)| under_way.retain(|&f| f != tag as usize));
    }
    prop_assert!(under_way.is_empty());
    Ok(fluid)
}

fn start(case: &Case, flow: usize) -> Picoseconds {
    (case.flows[flow].start * PS_PER_S).round() as Picoseconds
}

#[test]
fn in_an_uneven_hashed_all_to_all_rates_are_as_from_nothing() {
    check_rates(&hashed_all_to_all(24, |draw| 1.0 + draw)).unwrap();
}

#[test]
fn equal_demands_that_start_together_need_their_rates_once() {
    // The fastest are done first, and what holds the others back is elsewhere.
    let fluid = check_rates(&hashed_all_to_all(24, |_| 1.0)).unwrap();
    assert_eq!(fluid.rounds(), 1);
}

#[test]
fn equal_demands_that_start_together_are_done_at_those_rates_whatever_the_tolerance() {
    let case = hashed_all_to_all(24, |_| 1.0);
    let rates = max_min(&case.demands(), &case.capacity).0;
    for tolerance in [0.0, 0.05] {
        let (finished, fluid) = run(&case, tolerance);
        assert!(finished.iter().zip(&rates).all(|(&finished, rate)| near(finished, 1.0 / rate, 1e-9)));
        assert_eq!(fluid.batching_error(), 0.0);
    }
}

/// A flow over two links, without a cap, from the start.
fn flow(first: u32, second: u32, work: f64) -> Flow {
    Flow { entries: vec![(first, 1.0), (second, 1.0)], weight: 1.0, cap: f64::INFINITY, work, start: 0.0 }
}

#[test]
fn a_departure_leaves_alone_what_froze_before_it() {
    // Flow 0 is held by link 0 at 1 B/s, flows 1 and 2 by link 1 at 2 B/s: when 1 leaves, 2 goes on at 4 B/s.
    let case = Case { capacity: vec![1.0, 4.0, 9.0], flows: vec![flow(0, 2, 10.0), flow(1, 2, 2.0), flow(1, 2, 6.0)] };
    let (finished, fluid) = run(&case, 0.0);
    assert_eq!(finished, [10.0, 1.0, 2.0]);
    assert_eq!(fluid.rounds(), 2);
}

#[test]
fn of_demands_done_at_once_the_one_that_froze_first_counts() {
    // Flow 0 is held by link 1 at 3 B/s, flows 1 and 2 by link 0 at 1 B/s: when 0 and 1 leave, 2 goes on at 2 B/s.
    let case = Case { capacity: vec![2.0, 3.0, 9.0], flows: vec![flow(1, 2, 3.0), flow(0, 2, 1.0), flow(0, 2, 5.0)] };
    assert_eq!(run(&case, 0.0).0, [1.0, 1.0, 3.0]);
}

#[test]
fn a_light_demand_that_a_heavy_one_leaves_gets_all_to_nine_digits() {
    // Link 0 holds both. What subtracting the heavy one's weight from the sum of both has left must not count. Ten more
    // that hardly move make up most of the component, so that not all rates are computed anew.
    let mut case = Case { capacity: vec![1.0, 9.0], flows: Vec::new() };
    case.flows.push(Flow { weight: 1e9, ..flow(0, 1, 1.0) });
    case.flows.push(Flow { weight: 1e-3, ..flow(0, 1, 0.5) });
    for own in 2..12 {
        case.capacity.push(1e-12);
        case.flows.push(flow(own, 1, 1e-11));
    }
    let finished = run(&case, 0.0).0;
    assert!(near(finished[0], 1.0, 1e-9) && near(finished[1], 1.5, 1e-9), "{finished:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn rates_are_as_from_nothing_at_every_event(case in cases(8, 24)) {
        check_rates(&case)?;
    }
}
