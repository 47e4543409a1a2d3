//! Rates at one instant: against literal water-filling, the definition, closed forms and each other.

mod fluid_reference;

use eastwest_engine::demand::Demands;
use eastwest_engine::fluid::max_min;
use fluid_reference::{Case, cases, near, water_fill};
use proptest::prelude::*;

const FREE: f64 = f64::INFINITY;

/// Entries, weight, cap.
type Row<'a> = (&'a [(u32, f64)], f64, f64);

fn flows(rows: &[Row]) -> Demands {
    let mut demands = Demands::default();
    for &(entries, weight, cap) in rows {
        demands.push(entries, weight, cap, 1.0, 0);
    }
    demands
}

fn assert_near(rates: &[f64], expected: &[f64]) {
    assert_eq!(rates.len(), expected.len());
    assert!(rates.iter().zip(expected).all(|(&a, &b)| near(a, b, 1e-12)), "{rates:?}, expected {expected:?}");
}

#[test]
fn demands_share_a_link_by_weight() {
    let demands = flows(&[(&[(0, 1.0)], 1.0, FREE), (&[(0, 1.0)], 3.0, FREE)]);
    assert_eq!(max_min(&demands, &[8.0]), (vec![2.0, 6.0], vec![0, 0]));
}

#[test]
fn a_coefficient_multiplies_the_load() {
    // One of the two crosses the link twice: 2x + x = 9.
    let demands = flows(&[(&[(0, 2.0)], 1.0, FREE), (&[(0, 1.0)], 1.0, FREE)]);
    assert_near(&max_min(&demands, &[9.0]).0, &[3.0, 3.0]);
}

#[test]
fn what_a_cap_leaves_goes_to_the_others() {
    let demands = flows(&[(&[(0, 1.0)], 1.0, 1.0), (&[(0, 1.0)], 1.0, FREE), (&[(0, 1.0)], 1.0, FREE)]);
    assert_eq!(max_min(&demands, &[9.0]), (vec![1.0, 4.0, 4.0], vec![u32::MAX, 0, 0]));
}

#[test]
fn a_parking_lot_gives_the_long_flow_the_share_of_the_fullest_link() {
    // Links of 12 with 1, 2 and 3 short flows, one long flow over all (Bertsekas and Gallager, 6.5.2).
    let long: &[(u32, f64)] = &[(0, 1.0), (1, 1.0), (2, 1.0)];
    let short = |link: usize| (&long[link..=link], 1.0, FREE);
    let demands = flows(&[(long, 1.0, FREE), short(0), short(1), short(1), short(2), short(2), short(2)]);
    let (rates, limits) = max_min(&demands, &[12.0; 3]);
    assert_near(&rates, &[3.0, 9.0, 4.5, 4.5, 3.0, 3.0, 3.0]);
    assert_eq!(limits, [2, 0, 1, 1, 2, 2, 2]);
}

#[test]
fn in_a_series_the_least_capacity_rules_and_is_named() {
    let path: &[(u32, f64)] = &[(0, 1.0), (1, 1.0), (2, 1.0)];
    let demands = flows(&[(path, 1.0, FREE), (path, 1.0, FREE)]);
    assert_eq!(max_min(&demands, &[7.0, 4.0, 6.0]), (vec![2.0, 2.0], vec![1, 1]));
}

#[test]
fn nothing_holds_a_demand_on_infinite_resources() {
    let demands = flows(&[(&[(0, 1.0)], 1.0, FREE), (&[(0, 1.0)], 1.0, 5.0), (&[], 1.0, FREE)]);
    assert_eq!(max_min(&demands, &[FREE]), (vec![FREE, 5.0, FREE], vec![u32::MAX; 3]));
}

#[test]
fn a_light_demand_among_heavy_ones_keeps_its_share_to_nine_digits() {
    // A thousand heavy demands leave first, each held elsewhere: what subtraction leaves of 1e9 must still be right.
    let mut demands = Demands::default();
    for heavy in 0..1000 {
        demands.push(&[(0, 1.0), (1 + heavy, 1.0)], 1e6, FREE, 1.0, 0);
    }
    demands.push(&[(0, 1.0)], 1e-3, FREE, 1.0, 0);
    let mut capacity = vec![0.7; 1001];
    capacity[0] = 1000.0;
    let rates = max_min(&demands, &capacity).0;
    assert!(near(rates[1000], 300.0, 1e-9), "{}", rates[1000]);
}

fn check_definition(case: &Case) -> std::result::Result<(), TestCaseError> {
    let (rates, limits) = max_min(&case.demands(), &case.capacity);
    let crosses = |f: usize, r: u32| case.flows[f].entries.iter().find(|entry| entry.0 == r).map(|entry| entry.1);
    let load = |r: u32| (0..rates.len()).filter_map(|f| Some(crosses(f, r)? * rates[f])).sum::<f64>();
    for (r, &capacity) in case.capacity.iter().enumerate() {
        prop_assert!(load(r as u32) <= capacity * (1.0 + 1e-9));
    }
    let level = |f: usize| rates[f] / case.flows[f].weight;
    for f in 0..rates.len() {
        match limits[f] {
            u32::MAX => prop_assert!(near(rates[f], case.flows[f].cap, 1e-9)),
            r => {
                prop_assert!(near(load(r), case.capacity[r as usize], 1e-9), "{} is not full", r);
                let fastest = (0..rates.len()).filter(|&g| crosses(g, r).is_some()).map(level).fold(0.0, f64::max);
                prop_assert!(level(f) >= fastest * (1.0 - 1e-9), "{} could take from another", f);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn rates_equal_literal_water_filling(case in cases(8, 12)) {
        let rates = max_min(&case.demands(), &case.capacity).0;
        let all: Vec<usize> = (0..rates.len()).collect();
        for (f, expected) in water_fill(&case, &all).into_iter().enumerate() {
            prop_assert!(near(rates[f], expected, 1e-9), "flow {}: {} and not {}", f, rates[f], expected);
        }
    }

    #[test]
    fn each_demand_is_held_where_none_goes_faster_for_its_weight(case in cases(30, 60)) {
        check_definition(&case)?;
    }

    #[test]
    fn rates_do_not_depend_on_the_order_of_demands(
        (case, order) in cases(8, 12).prop_flat_map(|case| {
            let order: Vec<usize> = (0..case.flows.len()).collect();
            (Just(case), Just(order).prop_shuffle())
        })
    ) {
        let rates = max_min(&case.demands(), &case.capacity).0;
        let shuffled = Case { flows: order.iter().map(|&f| case.flows[f].clone()).collect(), ..case.clone() };
        for (rate, &f) in max_min(&shuffled.demands(), &case.capacity).0.into_iter().zip(&order) {
            prop_assert!(near(rate, rates[f], 1e-9));
        }
    }

    #[test]
    fn resources_in_series_count_as_the_least_of_them(case in cases(8, 12), extra in prop::collection::vec(0.2..5.0, 8)) {
        // Each resource gets a second one behind it, of another capacity.
        let first = case.capacity.len() as u32;
        let mut longer = case.clone();
        longer.capacity.extend(case.capacity.iter().zip(&extra).map(|(capacity, factor)| capacity * factor));
        for flow in &mut longer.flows {
            flow.entries.extend(flow.entries.clone().into_iter().map(|(r, coefficient)| (first + r, coefficient)));
        }
        let mut least = case.clone();
        for (capacity, factor) in least.capacity.iter_mut().zip(&extra) {
            *capacity *= factor.min(1.0);
        }
        prop_assert_eq!(max_min(&longer.demands(), &longer.capacity).0, max_min(&least.demands(), &least.capacity).0);
    }
}
