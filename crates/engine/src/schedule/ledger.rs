//! Books of a run: what resources should have carried, what they did, and which flows crossed them.

use crate::fluid::Fluid;
use crate::lower::Phase;
use crate::outcome::Outcome;
use crate::routing::Resources;
use crate::{Error, PS_PER_S, Result};

/// Relative error that rounding may cause.
const ROUNDING: f64 = 1e-6;

/// Books of one run.
pub(super) struct Ledger {
    /// Bytes that each resource should carry.
    due: Vec<f64>,
    /// For operations with groups yet to be lowered: flows on each resource in each phase, and the number of groups to come.
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

    /// Checks the books and writes the part of `links` links in an outcome whose `step` is known.
    ///
    /// # Errors
    /// [`Error::Internal`] where bytes were lost or made, or a resource carried more than it can.
    pub fn close(
        self,
        links: usize,
        resources: &Resources,
        fluid: &Fluid,
        capacity: &[f64],
        tolerance: f64,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let seconds = outcome.step as f64 / PS_PER_S;
        let rounds_s = outcome.rounds as f64 / PS_PER_S;
        let carried_by = fluid.carried();
        for (resource, &due) in self.due.iter().enumerate() {
            let carried = carried_by[resource];
            if (carried - due).abs() > ROUNDING * due.max(1.0) {
                return Err(Error::Internal(format!("resource {resource} carried {carried} bytes of {due}")));
            }
            let most = capacity[resource] * (seconds * (1.0 + tolerance + ROUNDING) + rounds_s);
            if carried > most {
                return Err(Error::Internal(format!(
                    "resource {resource} carried {carried} bytes but can carry {most}"
                )));
            }
        }
        outcome.link_bytes = vec![0.0; links];
        outcome.link_flows = vec![0.0; links];
        outcome.link_limiting = vec![0.0; links];
        for (resource, &carried) in carried_by.iter().enumerate() {
            let links = resources.links(resource as u32);
            for &link in links {
                outcome.link_bytes[link as usize] = carried / links.len() as f64;
                outcome.link_flows[link as usize] = self.flows[resource] / links.len() as f64;
                outcome.link_limiting[link as usize] = fluid.limiting()[resource];
            }
        }
        Ok(())
    }
}
