//! Books of a run: what resources should have carried, what they did, and which flows crossed them.

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
    /// For operations with groups yet to be lowered: flows on each resource in each phase, and how many are to come.
    open: Vec<Option<(Vec<Vec<f64>>, u32)>>,
    /// Most flows that one operation put on each resource.
    flows: Vec<f64>,
}

impl Ledger {
    pub fn new(resources: usize, ops: usize) -> Self {
        Self { due: vec![0.0; resources], open: vec![None; ops], flows: vec![0.0; resources] }
    }

    /// Notes demands that start.
    pub fn start(&mut self, phase: &Phase) {
        let demands = &phase.demands;
        for (demand, &work) in demands.work.iter().enumerate() {
            let (resources, coefficients) = demands.row(demand);
            for (&resource, coefficient) in resources.iter().zip(coefficients) {
                self.due[resource as usize] += coefficient * work;
            }
        }
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
            if (carried - due).abs() > ROUNDING * due.max(1.0) {
                return Err(Error::Internal(format!("resource {resource} carried {carried} bytes of {due}")));
            }
            let most = capacity[resource] * (seconds * (1.0 + ROUNDING) + slack);
            if carried > most {
                return Err(Error::Internal(format!("resource {resource} carried {carried} bytes, {most} at most")));
            }
        }
        Ok(())
    }

    /// Writes the part of `links` links in an outcome.
    pub fn write(&self, links: usize, resources: &Resources, carried: &[f64], limiting: &[f64], outcome: &mut Outcome) {
        outcome.link_bytes = vec![0.0; links];
        outcome.link_flows = vec![0.0; links];
        outcome.link_limiting = vec![0.0; links];
        for resource in 0..self.flows.len() {
            let links = resources.links(resource as u32);
            for &link in links {
                outcome.link_bytes[link as usize] = carried[resource] / links.len() as f64;
                outcome.link_flows[link as usize] = self.flows[resource] / links.len() as f64;
                outcome.link_limiting[link as usize] = limiting[resource] / links.len() as f64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::demand::Demands;

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
    fn more_than_a_resource_can_carry_is_told() {
        assert!(matches!(books().check(&[1000.0], &[99.0], 10.0, 0.0), Err(Error::Internal(_))));
        assert_eq!(books().check(&[1000.0], &[99.0], 10.0, 0.2), Ok(()));
    }
}
