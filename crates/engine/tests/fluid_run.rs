//! Demands that come and go: completions, what was carried, what limited, and what batching costs.

mod fluid_reference;

use eastwest_engine::demand::Demands;
use eastwest_engine::fluid::Fluid;
use eastwest_engine::{PS_PER_S, Picoseconds};
use fluid_reference::{Case, cases, hashed_all_to_all, near, run, simulate};
use proptest::prelude::*;

const FREE: f64 = f64::INFINITY;
const SECOND: Picoseconds = 1_000_000_000_000;

fn one(entries: &[(u32, f64)], work: f64, latency: Picoseconds) -> Demands {
    let mut demands = Demands::default();
    demands.push(entries, 1.0, FREE, work, latency);
    demands
}

/// Runs to the end: (time, tag, index) of each completion.
fn finish(fluid: &mut Fluid) -> Vec<(Picoseconds, u32, u32)> {
    let (mut all, mut done) = (Vec::new(), Vec::new());
    while let Some(time) = fluid.next() {
        fluid.advance(time, &mut done);
        all.extend(done.drain(..).map(|(tag, index)| (time, tag, index)));
    }
    all
}

#[test]
fn the_survivor_takes_the_rate_that_a_completion_frees() {
    // 1 and 3 bytes share 2 B/s: the first ends after 1 s, the other has 2 left at 2 B/s.
    let mut fluid = Fluid::new(vec![2.0], 0.0);
    fluid.add(one(&[(0, 1.0)], 1.0, 0), 7);
    fluid.add(one(&[(0, 1.0)], 3.0, 0), 8);
    assert_eq!(finish(&mut fluid), [(SECOND, 7, 0), (2 * SECOND, 8, 0)]);
    assert_eq!(fluid.carried(), [4.0]);
    assert_eq!(fluid.limiting(), [2.0]);
}

#[test]
fn latency_passes_after_the_work_and_holds_no_resource() {
    let mut fluid = Fluid::new(vec![1.0], 0.0);
    fluid.add(one(&[(0, 1.0)], 1.0, 10 * SECOND), 0);
    fluid.add(one(&[(0, 1.0)], 2.0, 0), 1);
    assert_eq!(finish(&mut fluid), [(3 * SECOND, 1, 0), (12 * SECOND, 0, 0)]);
}

#[test]
fn without_work_only_latency_passes() {
    let mut fluid = Fluid::new(vec![1.0], 0.0);
    fluid.add(one(&[(0, 1.0)], 0.0, 5), 0);
    fluid.add(one(&[(0, 1.0)], 0.0, 0), 1);
    fluid.add(Demands::default(), 2);
    assert_eq!(finish(&mut fluid), [(0, 1, 0), (5, 0, 0)]);
}

#[test]
fn a_demand_that_nothing_holds_is_done_at_once() {
    let mut fluid = Fluid::new(vec![FREE], 0.0);
    fluid.add(one(&[(0, 1.0)], 4.0, 3), 0);
    assert_eq!(finish(&mut fluid), [(3, 0, 0)]);
    assert_eq!(fluid.carried(), [4.0]);
}

#[test]
fn completions_are_rounded_up_to_a_picosecond() {
    let mut fluid = Fluid::new(vec![3.0], 0.0);
    fluid.add(one(&[(0, 1.0)], 1.0, 0), 0);
    assert_eq!(fluid.next(), Some(333_333_333_334));
}

#[test]
fn what_would_take_longer_than_the_clock_can_count_is_never_done() {
    let mut fluid = Fluid::new(vec![1e-12], 0.0);
    fluid.add(one(&[(0, 1.0)], 1.0, 0), 0);
    assert_eq!(fluid.next(), None);
}

#[test]
fn what_rounding_adds_to_a_span_costs_no_picosecond() {
    // 0.1 + 0.2 bytes are a little more than 0.3.
    let mut fluid = Fluid::new(vec![0.1], 0.0);
    fluid.add(one(&[(0, 1.0)], 0.1 + 0.2, 0), 0);
    assert_eq!(fluid.next(), Some(3 * SECOND));
}

#[test]
fn like_demands_finish_in_one_event() {
    // 49 share a link whose rate has no exact share; each also has a link of its own.
    let mut demands = Demands::default();
    for own in 1..50 {
        demands.push(&[(0, 1.0), (own, 1.0)], 1.0, FREE, 0.1, 0);
    }
    let mut fluid = Fluid::new(vec![1.0; 50], 0.0);
    fluid.add(demands, 0);
    let times: Vec<_> = finish(&mut fluid).into_iter().map(|(time, ..)| time).collect();
    assert_eq!(times, [4_900_000_000_000; 49]);
    assert_eq!(fluid.rounds(), 1);
}

#[test]
fn only_what_shares_a_resource_is_solved_again() {
    // Two links; an infinite resource common to all joins nothing.
    let mut fluid = Fluid::new(vec![1.0, 1.0, FREE], 0.0);
    for link in 0..2 {
        fluid.add(one(&[(link, 1.0), (2, 1.0)], 1.0, 0), link);
    }
    fluid.next();
    assert_eq!(fluid.rounds(), 2);
    fluid.add(one(&[(0, 1.0), (2, 1.0)], 5.0, 0), 2);
    fluid.next();
    assert_eq!(fluid.rounds(), 3);
}

#[test]
fn carried_bytes_show_halfway() {
    let mut fluid = Fluid::new(vec![2.0, 8.0], 0.0);
    fluid.add(one(&[(0, 1.0), (1, 0.5)], 4.0, 0), 0);
    fluid.advance(SECOND, &mut Vec::new());
    assert_eq!(fluid.now(), SECOND);
    assert_eq!(fluid.carried(), [2.0, 1.0]);
}

#[test]
fn time_is_credited_to_what_holds_the_demand_expected_last() {
    // On link 0 for 1 s, on link 1 for 3 s, of which the last two are alone.
    let mut fluid = Fluid::new(vec![1.0, 1.0], 0.0);
    fluid.add(one(&[(0, 1.0)], 1.0, 0), 0);
    fluid.add(one(&[(1, 1.0)], 3.0, SECOND), 1);
    finish(&mut fluid);
    assert_eq!(fluid.limiting(), [0.0, 3.0]);
}

#[test]
fn time_is_credited_anew_when_another_demand_becomes_the_last() {
    // Two demands share 2 B/s of link 0, a third has 1 B/s of link 1; link 2 makes one component of all. The second is
    // expected after 5 s and the third after 4 s, until the first ends after 1 s: then the second needs 2 s more.
    let mut demands = Demands::default();
    demands.push(&[(0, 1.0)], 1.0, FREE, 1.0, 0);
    demands.push(&[(0, 1.0), (2, 1.0)], 1.0, FREE, 5.0, 0);
    demands.push(&[(1, 1.0), (2, 1.0)], 1.0, FREE, 4.0, 0);
    let mut fluid = Fluid::new(vec![2.0, 1.0, 9.0], 0.0);
    fluid.add(demands, 0);
    finish(&mut fluid);
    assert_eq!(fluid.limiting(), [1.0, 3.0, 0.0]);
}

#[test]
fn a_demand_that_a_departure_slows_can_become_the_last() {
    // Links 0 (3 B/s), 1 (4 B/s), 2 (1 B/s). X has 1.5 B/s beside the first demand and 2 B/s once that has left after
    // 1 s, which takes Y from 2.5 to 2 B/s and from 3.6 s to 4.25 s; X leaves after 2 s and Y is done after 3.125 s.
    // All the while a demand on link 2 is expected after 4 s. Others that are never last make one component of them.
    let mut demands = Demands::default();
    demands.push(&[(0, 1.0)], 1.0, FREE, 1.5, 0);
    demands.push(&[(0, 1.0), (1, 1.0)], 1.0, FREE, 3.5, 0);
    demands.push(&[(1, 1.0), (3, 1.0)], 1.0, FREE, 9.0, 0);
    demands.push(&[(2, 1.0), (3, 1.0)], 1.0, FREE, 4.0, 0);
    for own in 4..24 {
        demands.push(&[(3, 1.0), (own, 1.0)], 1.0, FREE, 0.375, 0);
    }
    let mut capacity = vec![3.0, 4.0, 1.0, 100.0];
    capacity.extend([0.125; 20]);
    let mut fluid = Fluid::new(capacity, 0.0);
    fluid.add(demands, 0);
    let last: Vec<_> = finish(&mut fluid).into_iter().map(|(time, ..)| time).skip(22).collect();
    assert_eq!(last, [3_125_000_000_000, 4 * SECOND]);
    assert_eq!(fluid.limiting()[..4], [0.0, 1.0, 3.0, 0.0]);
}

#[test]
fn a_resource_of_no_capacity_stalls_its_demands_only() {
    let mut fluid = Fluid::new(vec![0.0, 1.0], 0.0);
    fluid.add(one(&[(0, 1.0)], 1.0, 0), 0);
    fluid.add(one(&[(1, 1.0)], 1.0, 0), 1);
    assert_eq!(finish(&mut fluid), [(SECOND, 1, 0)]);
    assert_eq!(fluid.carried(), [0.0, 1.0]);
}

#[test]
fn near_completions_are_batched_and_the_error_is_theirs() {
    // 100 and 101 s on links of their own would not meet; a third demand joins them. All hold their rates until the
    // latest of the batch, so the first is 1 s late in 100 s.
    let mut demands = Demands::default();
    demands.push(&[(0, 1.0), (2, 1.0)], 1.0, FREE, 100.0, 0);
    demands.push(&[(1, 1.0), (2, 1.0)], 1.0, FREE, 101.0, 0);
    let mut fluid = Fluid::new(vec![1.0, 1.0, 10.0], 0.02);
    fluid.add(demands, 0);
    let end = 101 * SECOND;
    assert_eq!(finish(&mut fluid), [(end, 0, 0), (end, 0, 1)]);
    assert!(near(fluid.batching_error(), 0.01, 1e-9), "{}", fluid.batching_error());
    assert_eq!(fluid.carried(), [100.0, 101.0, 201.0]);
}

/// Start (whole seconds), entries, weight and work.
type Timed<'a> = (u64, &'a [(u32, f64)], f64, f64);

/// What batching errs by on demands in the order of their starts.
fn error_of(capacity: &[f64], tolerance: f64, flows: &[Timed]) -> f64 {
    let mut fluid = Fluid::new(capacity.to_vec(), tolerance);
    for (tag, &(start, entries, weight, work)) in (0..).zip(flows) {
        fluid.advance(start * SECOND, &mut Vec::new());
        let mut demands = Demands::default();
        demands.push(entries, weight, FREE, work, 0);
        fluid.add(demands, tag);
    }
    finish(&mut fluid);
    fluid.batching_error()
}

#[test]
fn a_member_out_of_work_after_the_first_may_have_been_slowed_to_its_fair_share() {
    // As above at 100 and 101 s, but the second demand's share of link 2 is 2.8 / (1 + 1 + 5) = 0.4 of its rate: the
    // second that it had left at 100 s could have taken 2.5 s.
    let error = error_of(
        &[1.0, 1.0, 2.8, 0.02],
        0.02,
        &[
            (0, &[(0, 1.0), (2, 1.0)], 1.0, 100.0),
            (0, &[(1, 1.0), (2, 1.0)], 1.0, 101.0),
            (0, &[(3, 1.0), (2, 5.0)], 1.0, 10.0),
        ],
    );
    assert!(near(error, 2.5 / (101.0 - 2.5), 1e-9), "{error}");
}

#[test]
fn a_survivor_errs_by_the_bytes_that_late_changes_of_its_rate_cost_at_its_fair_share() {
    // Two demands of 0.5 B/s leave a third, of 90 to 104 s, 2 B/s of link 2. They end at 100 and 101 s, taken together:
    // its change to 3 B/s is up to 1 s late, its drift 1 byte or 1/3 s. Twenty demands that hardly move have claims on
    // link 3 that would halve its rate: 2/3 s in 14 s.
    let mut capacity = vec![0.5, 0.5, 3.0, 15.0];
    capacity.extend([1e-3; 20]);
    let idle: Vec<[(u32, f64); 2]> = (4..24).map(|own| [(3, 0.45), (own, 1.0)]).collect();
    let mut flows: Vec<Timed> = vec![(0, &[(0, 1.0), (2, 1.0)], 1.0, 50.0), (0, &[(1, 1.0), (2, 1.0)], 1.0, 50.5)];
    flows.extend(idle.iter().map(|entries| (0, &entries[..], 1.0, 1.0)));
    flows.push((90, &[(2, 1.0), (3, 1.0)], 1.0, 31.0));
    let error = error_of(&capacity, 0.1, &flows);
    assert!(near(error, (2.0 / 3.0) / (14.0 - 2.0 / 3.0), 1e-9), "{error}");
}

#[test]
fn a_survivors_drift_adds_to_what_its_own_batch_holds_it() {
    // The same drift of 1/3 s; but the third demand, out of work at 104 s, waits for a fourth until 104.5 s. That one is
    // held at a higher level than the third and shares link 4 with it, so that its rate might have changed.
    let flows: [Timed; 4] = [
        (0, &[(0, 1.0), (2, 1.0)], 1.0, 50.0),
        (0, &[(1, 1.0), (2, 1.0)], 1.0, 50.5),
        (0, &[(3, 1.0), (4, 1.0)], 0.05, 0.25 * 104.5),
        (90, &[(2, 1.0), (4, 1.0)], 1.0, 31.0),
    ];
    let error = error_of(&[0.5, 0.5, 3.0, 0.25, 100.0], 0.1, &flows);
    let shift = 0.5 + 1.0 / 3.0;
    assert!(near(error, shift / (14.5 - shift), 1e-9), "{error}");
}

#[test]
fn survivors_change_as_late_as_the_largest_shift_of_a_batch() {
    // The third demand's drift of 1 byte is 2/3 s since it shares link 2 with a fifth, from 103 s on. Out of work at
    // 104 s it waits for the fourth until 104.2 s: a shift of 0.2 + 2/3 s, of which the fourth has 0.2. The fifth, up
    // from 1.5 to 3 B/s, is half of that off in its 3 s.
    let flows: [Timed; 5] = [
        (0, &[(0, 1.0), (2, 1.0)], 1.0, 50.0),
        (0, &[(1, 1.0), (2, 1.0)], 1.0, 50.5),
        (0, &[(3, 1.0), (4, 1.0)], 1.0, 0.25 * 104.2),
        (90, &[(2, 1.0), (4, 1.0)], 1.0, 29.5),
        (103, &[(2, 1.0)], 1.0, 7.2),
    ];
    let error = error_of(&[0.5, 0.5, 3.0, 0.25, 100.0], 0.1, &flows);
    let shift = (0.2 + 2.0 / 3.0) / 2.0;
    assert!(near(error, shift / (3.0 - shift), 1e-9), "{error}");
}

#[test]
fn an_arrival_ends_the_wait_of_a_batch_and_its_survivors_err_by_that() {
    // As before, but at 100 and 102 s, and the first is told at 101 s when another demand comes: the third has then
    // missed a change from 2 to 2.5 B/s for 1 s. It is done after 14 s, at 3 B/s.
    let flows: [Timed; 4] = [
        (0, &[(0, 1.0), (2, 1.0)], 1.0, 50.0),
        (0, &[(1, 1.0), (2, 1.0)], 1.0, 51.0),
        (90, &[(2, 1.0), (3, 1.0)], 1.0, 30.5),
        (101, &[(3, 1.0), (4, 1.0)], 1.0, 1.0),
    ];
    let error = error_of(&[0.5, 0.5, 3.0, 100.0, 1e-3], 0.14, &flows);
    let shift = 0.5 / 3.0;
    assert!(near(error, shift / (14.0 - shift), 1e-9), "{error}");
}

/// When demands of 100 and 101 s end that a third makes one component, and another, of any start and span.
fn pair_beside(start: u64, entries: &[(u32, f64)], work: f64) -> Vec<Picoseconds> {
    let mut fluid = Fluid::new(vec![1.0, 1.0, 10.0, 2.0], 0.02);
    fluid.add(one(&[(0, 1.0), (2, 1.0)], 100.0, 0), 0);
    fluid.add(one(&[(1, 1.0), (2, 1.0)], 101.0, 0), 0);
    fluid.advance(start * SECOND, &mut Vec::new());
    fluid.add(one(entries, work, 0), 1);
    finish(&mut fluid).into_iter().filter(|&(_, tag, _)| tag == 0).map(|(time, ..)| time).collect()
}

#[test]
fn a_late_start_with_a_long_way_to_go_does_not_narrow_the_window() {
    assert_eq!(pair_beside(99, &[(3, 1.0), (2, 1.0)], 1e3), [101 * SECOND; 2]);
}

#[test]
fn a_late_start_with_a_short_way_to_go_narrows_the_window() {
    assert_eq!(pair_beside(99, &[(3, 1.0), (2, 1.0)], 10.0), [100 * SECOND, 101 * SECOND]);
}

#[test]
fn a_short_demand_that_is_done_does_not_narrow_the_window() {
    assert_eq!(pair_beside(0, &[(3, 1.0), (2, 1.0)], 20.0), [101 * SECOND; 2]);
}

/// Advances in small steps and checks that no resource carries more than its capacity allows.
fn check_capacity(case: &Case, tolerance: f64) -> std::result::Result<(), TestCaseError> {
    let mut fluid = Fluid::new(case.capacity.clone(), tolerance);
    fluid.add(case.demands(), 0);
    let mut done = Vec::new();
    let mut before = fluid.carried();
    while let Some(next) = fluid.next() {
        let last = fluid.now();
        for step in [last + (next - last) / 3, next] {
            let seconds = (step - fluid.now()) as f64 / PS_PER_S;
            fluid.advance(step, &mut done);
            let after = fluid.carried();
            for (r, &capacity) in case.capacity.iter().enumerate().filter(|(_, capacity)| capacity.is_finite()) {
                let limit = capacity * (seconds + 1e-12) + 1e-9;
                prop_assert!(after[r] - before[r] <= limit, "{} of {}", after[r] - before[r], limit);
            }
            before = after;
        }
    }
    Ok(())
}

/// Holds each completion of flows that start together against the exact one. The bound is of first order: products of
/// two shifts, the square of what the run says, are allowed on top.
fn check_error(mut case: Case, tolerance: f64) -> std::result::Result<(), TestCaseError> {
    for flow in &mut case.flows {
        flow.start = 0.0;
    }
    let (exact, _) = run(&case, 0.0);
    let (batched, fluid) = run(&case, tolerance);
    let error = fluid.batching_error();
    let allowed = error + error * error + 1e-9;
    for (f, (&batched, &exact)) in batched.iter().zip(&exact).enumerate() {
        let late = (batched - exact).abs();
        prop_assert!(late <= allowed * exact, "flow {} is off by {} of {}, allowed {}", f, late, exact, allowed);
    }
    Ok(())
}

#[test]
fn in_an_uneven_hashed_all_to_all_batching_errs_by_no_more_than_it_says() {
    let case = hashed_all_to_all(32, |draw| 1.0 + draw);
    let (exact, batched) = (run(&case, 0.0).1.rounds(), run(&case, 0.01).1);
    assert!(batched.batching_error() > 0.0 && 2 * batched.rounds() < exact, "{} of {exact} rounds", batched.rounds());
    check_error(case, 0.01).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn completions_equal_a_literal_simulation(case in cases(6, 10)) {
        let (finished, _) = run(&case, 0.0);
        for (f, expected) in simulate(&case).into_iter().enumerate() {
            prop_assert!(near(finished[f], expected, 1e-7), "flow {}: {} and not {}", f, finished[f], expected);
        }
    }

    #[test]
    fn every_byte_is_carried_once(case in cases(6, 10), tolerance in prop::sample::select(vec![0.0, 0.05])) {
        let (_, fluid) = run(&case, tolerance);
        let mut expected = vec![0.0; case.capacity.len()];
        for flow in &case.flows {
            for &(r, coefficient) in &flow.entries {
                expected[r as usize] += coefficient * flow.work;
            }
        }
        for (carried, expected) in fluid.carried().into_iter().zip(expected) {
            prop_assert!(near(carried, expected, 1e-12));
        }
    }

    #[test]
    fn no_resource_runs_above_its_capacity(case in cases(6, 10), tolerance in prop::sample::select(vec![0.0, 0.05])) {
        check_capacity(&case, tolerance)?;
    }

    #[test]
    fn on_one_link_batching_errs_by_no_more_than_it_says(case in cases(1, 12), tolerance in 0.001..0.05) {
        // Rates there only rise as others leave, as the bound assumes.
        check_error(case, tolerance)?;
    }
}

/// A demand of these works on one resource each, capped; infinite work: without end.
fn capped(demands: &[(u32, f64, f64)]) -> Demands {
    let mut all = Demands::default();
    for &(resource, cap, work) in demands {
        all.push(&[(resource, 1.0)], 1.0, cap, work, 0);
    }
    all
}

#[test]
fn what_has_no_end_takes_its_cap_or_its_fair_share_and_never_ends() {
    // Beside a cap of 3 of 10 B/s, 14 bytes take 2 s; beside one of 8, at 5 B/s, 10 more take as long.
    let mut fluid = Fluid::new(vec![10.0], 0.0);
    fluid.add(capped(&[(0, 3.0, FREE)]), 0);
    fluid.add(one(&[(0, 1.0)], 14.0, 0), 1);
    assert_eq!(finish(&mut fluid), [(2 * SECOND, 1, 0)]);
    assert_eq!(fluid.carried(), [20.0]);
    assert_eq!(fluid.limiting(), [2.0], "the demand with an end was held by the resource");
    fluid.add(capped(&[(0, 5.0, FREE)]), 2);
    fluid.add(one(&[(0, 1.0)], 7.0, 0), 3);
    assert_eq!(finish(&mut fluid).len(), 1, "three share 10 B/s: 3, 3.5 and 3.5");
    assert_eq!(fluid.now(), 4 * SECOND);
    assert_eq!(fluid.carried(), [40.0]);
}

#[test]
fn time_at_its_own_cap_is_told_apart_from_time_at_a_resource() {
    // At a cap of 3 of 10 B/s beside one that takes the other 7: 6 bytes take 2 s, and no resource holds them.
    let mut fluid = Fluid::new(vec![10.0], 0.0);
    fluid.add(capped(&[(0, 3.0, 6.0)]), 0);
    fluid.add(one(&[(0, 1.0)], 7.0, 0), 1);
    finish(&mut fluid);
    assert_eq!((fluid.capped(), fluid.limiting()), (2.0, &[0.0][..]));
}

#[test]
fn time_without_demands_that_end_limits_nothing_and_is_carried() {
    let mut fluid = Fluid::new(vec![10.0, 1.0], 0.0);
    fluid.add(capped(&[(0, 4.0, FREE), (1, 4.0, FREE)]), 0);
    assert_eq!(fluid.next(), None);
    fluid.advance(3 * SECOND, &mut Vec::new());
    assert_eq!(fluid.carried(), [12.0, 3.0]);
    assert_eq!(fluid.limiting(), [0.0, 0.0]);
    assert_eq!(fluid.capped(), 0.0);
}

proptest! {
    #[test]
    fn others_cannot_tell_what_has_no_end_from_what_lasts_long(
        capacity in prop::collection::vec(1.0..100.0f64, 3),
        bounded in prop::collection::vec((0u32..3, 1.0..50.0f64), 1..8),
        endless in prop::collection::vec((0u32..3, 0.5..80.0f64), 1..4),
        tolerance in prop_oneof![Just(0.0), 0.0..0.1f64],
    ) {
        let times = |work: f64| {
            let mut fluid = Fluid::new(capacity.clone(), tolerance);
            fluid.add(capped(&endless.iter().map(|&(r, cap)| (r, cap, work)).collect::<Vec<_>>()), 0);
            fluid.add(capped(&bounded.iter().map(|&(r, work)| (r, FREE, work)).collect::<Vec<_>>()), 1);
            let mut done = finish(&mut fluid);
            done.retain(|&(_, tag, _)| tag == 1);
            done
        };
        prop_assert_eq!(times(FREE), times(1e9));
    }
}
