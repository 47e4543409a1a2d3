//! Books of a run: what resources should have carried, what they did, and which flows crossed them.

use crate::demand::Demands;
use crate::lower::Phase;
use crate::outcome::Outcome;
use crate::routing::Resources;
use crate::{Error, Result};

/// Relative error that rounding may cause.
pub(super) const ROUNDING: f64 = 1e-6;

/// Books of one run.
pub(super) struct Ledger {
    /// Bytes that each resource should carry.
    due: Vec<f64>,
    /// Of them, those of transfers that the run's end cut short.
    cut: Vec<f64>,
    /// Most that background traffic offers each resource, bytes a second.
    offered: Vec<f64>,
    /// For operations with groups yet to be lowered: flows on each resource in each phase, and how many are to come.
    open: Vec<Option<(Vec<Vec<f64>>, u32)>>,
    /// Most flows that one operation put on each resource.
    flows: Vec<f64>,
}

impl Ledger {
    pub fn new(resources: usize, ops: usize) -> Self {
        let none = vec![0.0; resources];
        Self { due: none.clone(), cut: none.clone(), offered: none.clone(), open: vec![None; ops], flows: none }
    }

    /// Notes demands that start.
    pub fn start(&mut self, phase: &Phase) {
        enter(&phase.demands, &phase.demands.work, &mut self.due);
    }

    /// Notes that the run has ended before these demands.
    pub fn cut(&mut self, phase: &Phase) {
        enter(&phase.demands, &phase.demands.work, &mut self.cut);
    }

    /// Notes background traffic.
    pub fn offer(&mut self, demands: &Demands) {
        enter(demands, &demands.cap, &mut self.offered);
    }

    /// Counts the flows of one of an operation's `parts` groups or pairs; once for operations that are alike.
    pub fn count(&mut self, op: usize, parts: u32, phases: &[Phase]) {
        let (counts, to_come) = self.open[op].get_or_insert_with(|| (vec![], parts));
        let resources = self.flows.len();
        counts.resize_with(counts.len().max(phases.len()), || vec![0.0; resources]);
        for (phase, count) in phases.iter().zip(counts.iter_mut()) {
            let demands = &phase.demands;
            for (demand, &weight) in demands.weight.iter().enumerate() {
                let (resources, coefficients) = demands.row(demand);
                for (&resource, coefficient) in resources.iter().zip(coefficients) {
                    count[resource as usize] += coefficient * weight;
                }
            }
        }
        *to_come -= 1;
        if *to_come == 0 {
            for count in counts.iter() {
                self.flows.iter_mut().zip(count).for_each(|(most, &count)| *most = most.max(count));
            }
            self.open[op] = None;
        }
    }

    /// Checks the books of a run that took `seconds`, give or take `slack`.
    ///
    /// # Errors
    /// [`Error::Internal`] where bytes were lost or made, or a resource carried more than it can.
    pub fn check(&self, carried: &[f64], capacity: &[f64], seconds: f64, slack: f64) -> Result<()> {
        for (resource, (&due, &carried)) in self.due.iter().zip(carried).enumerate() {
            let (least, beside) = (due - self.cut[resource], self.offered[resource] * (seconds + slack));
            let rounding = ROUNDING * (due + beside).max(1.0);
            if carried < least - rounding || carried > due + beside + rounding {
                return Err(Error::Internal(format!("resource {resource} carried {carried} bytes of {due}")));
            }
            let most = capacity[resource] * (seconds * (1.0 + ROUNDING) + slack);
            if carried > most + rounding {
                return Err(Error::Internal(format!("resource {resource} carried {carried} bytes, {most} at most")));
            }
        }
        Ok(())
    }

    /// Most flows that one operation put on each resource.
    pub fn into_flows(self) -> Vec<f64> {
        self.flows
    }
}

/// Writes the part of `links` links in an outcome: bytes carried, most flows and seconds of limiting, by resource.
pub(super) fn write(links: usize, resources: &Resources, of_resource: [&[f64]; 3], outcome: &mut Outcome) {
    let [carried, flows, limiting] = of_resource;
    outcome.link_bytes = vec![0.0; links];
    outcome.link_flows = vec![0.0; links];
    outcome.link_limiting = vec![0.0; links];
    for resource in 0..resources.len() {
        let links = resources.links(resource as u32);
        for &link in links {
            outcome.link_bytes[link as usize] = carried[resource] / links.len() as f64;
            outcome.link_flows[link as usize] = flows[resource] / links.len() as f64;
            outcome.link_limiting[link as usize] = limiting[resource] / links.len() as f64;
        }
    }
}

/// Adds to each resource what demands load it with in all, when each progresses by so much.
fn enter(demands: &Demands, progress: &[f64], book: &mut [f64]) {
    for (demand, &progress) in progress.iter().enumerate() {
        let (resources, coefficients) = demands.row(demand);
        for (&resource, coefficient) in resources.iter().zip(coefficients) {
            book[resource as usize] += coefficient * progress;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Books of a resource that is to carry 2 bytes for each of 500 bytes of progress.
    fn books() -> Ledger {
        let mut demands = Demands::default();
        demands.push(&[(0, 2.0)], 1.0, f64::INFINITY, 500.0, 0);
        let mut ledger = Ledger::new(1, 0);
        ledger.start(&Phase { demands: Arc::new(demands), bytes: 1000.0 });
        ledger
    }

    #[test]
    fn bytes_carried_as_due_within_capacity_pass() {
        assert_eq!(books().check(&[1000.0], &[100.0], 10.0, 0.0), Ok(()));
        assert_eq!(books().check(&[1000.0], &[f64::INFINITY], 10.0, 0.0), Ok(()));
    }

    #[test]
    fn bytes_lost_or_made_are_told() {
        for carried in [999.0, 1001.0] {
            assert!(matches!(books().check(&[carried], &[1e9], 10.0, 0.0), Err(Error::Internal(_))));
        }
    }

    #[test]
    fn a_transfer_that_is_cut_short_may_carry_less_and_no_more() {
        let mut demands = Demands::default();
        demands.push(&[(0, 1.0)], 1.0, f64::INFINITY, 300.0, 0);
        let (mut books, cut) = (books(), Phase { demands: Arc::new(demands), bytes: 300.0 });
        books.start(&cut);
        books.cut(&cut);
        for (carried, is_right) in [(999.0, false), (1000.0, true), (1300.0, true), (1301.0, false)] {
            assert_eq!(books.check(&[carried], &[1e9], 10.0, 0.0).is_ok(), is_right, "{carried} bytes");
        }
    }

    #[test]
    fn background_traffic_carries_what_it_offers_at_most() {
        let (mut books, mut demands) = (books(), Demands::default());
        demands.push(&[(0, 0.5)], 1.0, 20.0, f64::INFINITY, 0);
        books.offer(&demands);
        for (carried, is_right) in [(999.0, false), (1000.0, true), (1100.0, true), (1101.0, false)] {
            assert_eq!(books.check(&[carried], &[1e9], 10.0, 0.0).is_ok(), is_right, "{carried} bytes");
        }
    }

    #[test]
    fn more_than_a_resource_can_carry_is_told() {
        assert!(matches!(books().check(&[1000.0], &[99.0], 10.0, 0.0), Err(Error::Internal(_))));
        assert_eq!(books().check(&[1000.0], &[99.0], 10.0, 0.2), Ok(()));
    }
}
