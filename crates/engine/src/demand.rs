//! Demands: coefficients on resources that share one rate, stored as flat rows.
//!
//! A demand that progresses at `x` bytes a second loads resource `r` with `coefficient * x`. A pipelined ring
//! channel is one demand over all its edges; a point-to-point transfer is one demand over its path.

use crate::Picoseconds;

/// Many demands, as compressed rows.
#[derive(Clone, Debug)]
pub struct Demands {
    /// Where each demand's entries start; one more than there are demands.
    pub start: Vec<usize>,
    /// Resource of each entry; at most once in each demand.
    pub resource: Vec<u32>,
    /// Bytes on the resource for each byte of progress, of each entry; positive.
    pub coefficient: Vec<f64>,
    /// Share of contended resources that each demand takes, relative to others: its number of flows.
    pub weight: Vec<f64>,
    /// Rate that a demand cannot exceed, bytes a second; infinite where nothing but resources holds it.
    pub cap: Vec<f64>,
    /// Bytes of progress until each demand is done; infinite for one without end, which then needs a finite cap.
    pub work: Vec<f64>,
    /// Time added after a demand's last byte, picoseconds.
    pub latency: Vec<Picoseconds>,
}

impl Default for Demands {
    fn default() -> Self {
        Self {
            start: vec![0],
            resource: Vec::new(),
            coefficient: Vec::new(),
            weight: Vec::new(),
            cap: Vec::new(),
            work: Vec::new(),
            latency: Vec::new(),
        }
    }
}

impl Demands {
    /// Number of demands.
    pub fn len(&self) -> usize {
        self.work.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.work.is_empty()
    }

    /// Appends a demand; entries must name each resource once, with a positive coefficient.
    pub fn push(&mut self, entries: &[(u32, f64)], weight: f64, cap: f64, work: f64, latency: Picoseconds) {
        for &(resource, coefficient) in entries {
            self.resource.push(resource);
            self.coefficient.push(coefficient);
        }
        self.start.push(self.resource.len());
        self.weight.push(weight);
        self.cap.push(cap);
        self.work.push(work);
        self.latency.push(latency);
    }

    /// Takes all demands out.
    pub fn clear(&mut self) {
        self.start.truncate(1);
        self.resource.clear();
        self.coefficient.clear();
        for of_demand in [&mut self.weight, &mut self.cap, &mut self.work] {
            of_demand.clear();
        }
        self.latency.clear();
    }

    /// Appends all of others.
    pub fn append(&mut self, others: &Self) {
        let before = self.resource.len();
        self.start.extend(others.start[1..].iter().map(|start| before + start));
        self.resource.extend(&others.resource);
        self.coefficient.extend(&others.coefficient);
        self.weight.extend(&others.weight);
        self.cap.extend(&others.cap);
        self.work.extend(&others.work);
        self.latency.extend(&others.latency);
    }

    /// Whether two demands are the same in all, entries in the same order.
    pub fn are_equal(&self, a: usize, b: usize) -> bool {
        let traits = |demand: usize| (self.weight[demand], self.cap[demand], self.work[demand], self.latency[demand]);
        a == b || (traits(a) == traits(b) && self.row(a) == self.row(b))
    }

    /// Resources and coefficients of one demand.
    pub fn row(&self, demand: usize) -> (&[u32], &[f64]) {
        let range = self.start[demand]..self.start[demand + 1];
        (&self.resource[range.clone()], &self.coefficient[range])
    }
}
