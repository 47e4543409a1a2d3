//! Demands and resources compiled for the solver: who loads what, from both sides, nothing that cannot bind.
//!
//! Resources of infinite capacity are left out, and resources in series become one class (see [`super::series`]).
//! No rates here: see [`super::filling`].

use std::hint::black_box;

use super::series::{Classes, Workspace, mix};

/// No resource, no demand.
pub(super) const NONE: u32 = u32::MAX;

/// What the solver needs to know of one demand.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub resource: &'a [u32],
    pub coefficient: &'a [f64],
    pub weight: f64,
    pub cap: f64,
}

/// A demand's load on a class of resources. Without padding: there are many.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(Rust, packed(4))]
pub(super) struct Entry {
    /// Coefficient times weight: load for each unit of the filling's level.
    pub pull: f64,
    pub class: u32,
}

/// A fixed set of demands over classes of resources, as compressed rows and columns.
pub(super) struct Network {
    /// Where each demand's entries start; one more than there are demands.
    row_start: Vec<u32>,
    entries: Vec<Entry>,
    column_start: Vec<u32>,
    column: Vec<u32>,
    /// Capacity of each class, bytes a second: the least of its resources', or a demand's cap.
    pub capacity: Vec<f64>,
    /// The resource that has it, or [`NONE`] for a cap.
    pub resource: Vec<u32>,
    /// Every resource of finite capacity that a demand crosses, merged or not.
    pub crossed: Vec<u32>,
    /// Weight of each demand.
    pub weight: Vec<f64>,
}

impl Network {
    /// Compiles `demands` rows; `row(d)` gives the d-th, the same whenever asked.
    pub(super) fn compile<'a>(
        demands: usize,
        row: impl Fn(usize) -> Row<'a>,
        capacity: &[f64],
        workspace: &mut Workspace,
    ) -> Self {
        [Some(mix as fn(u64, u64) -> u64), None]
            .into_iter()
            .find_map(|mix| {
                let classes = Classes::find(demands, &row, capacity, workspace, mix);
                Self::build(demands, &row, capacity, &workspace.class, classes)
            })
            .expect("resources that are not merged cannot be confused")
    }

    /// Rows and columns over the classes, or nothing if a class turns out to hold columns that differ.
    fn build<'a>(
        demands: usize,
        row: &impl Fn(usize) -> Row<'a>,
        capacity: &[f64],
        class_of: &[u32],
        classes: Classes,
    ) -> Option<Self> {
        let Classes { resource, entries, crossed } = classes;
        let caps: Vec<f64> = (0..demands).map(|demand| row(demand).cap).filter(|&cap| cap < f64::INFINITY).collect();
        // A cap is a class that one demand crosses. Such classes come first: they win ties.
        let entries = || std::iter::repeat_n(1, caps.len()).chain(entries.iter().copied());
        let total: usize = entries().map(|n| n as usize).sum();
        assert!(total < NONE as usize && demands < NONE as usize, "a network of over 4 billion entries");
        let mut network = Self {
            row_start: Vec::with_capacity(demands + 1),
            weight: Vec::with_capacity(demands),
            entries: Vec::with_capacity(total),
            column: vec![0; total],
            column_start: vec![0],
            capacity: caps.iter().copied().chain(resource.iter().map(|&r| capacity[r as usize])).collect(),
            resource: std::iter::repeat_n(NONE, caps.len()).chain(resource).collect(),
            crossed,
        };
        network.column_start.extend(entries().scan(0, |sum, n| {
            *sum += n;
            Some(*sum)
        }));
        network.row_start.push(0);
        let mut fill = network.column_start.clone();
        // The latest demand and coefficient on each class.
        let mut seen = vec![(NONE, 0.0f64); network.resource.len()];
        let mut next_cap = 0;
        for demand in 0..demands {
            let Row { resource, coefficient, weight, cap } = row(demand);
            let mut merged = false;
            for (&r, &coefficient) in resource.iter().zip(coefficient) {
                if capacity[r as usize] < f64::INFINITY {
                    let class = caps.len() + class_of[r as usize] as usize;
                    if network.resource[class] == r {
                        network.entries.push(Entry { pull: coefficient * weight, class: class as u32 });
                        network.column[fill[class] as usize] = demand as u32;
                        fill[class] += 1;
                        seen[class] = (demand as u32, coefficient);
                    } else {
                        merged = true;
                    }
                }
            }
            if merged {
                // As long as its class's own, and each entry matched by one of its class: the columns are equal.
                for (&r, &coefficient) in resource.iter().zip(coefficient) {
                    if capacity[r as usize] < f64::INFINITY
                        && seen[caps.len() + class_of[r as usize] as usize] != (demand as u32, coefficient)
                    {
                        return None;
                    }
                }
            }
            if cap < f64::INFINITY {
                network.entries.push(Entry { pull: weight, class: next_cap });
                network.column[next_cap as usize] = demand as u32;
                next_cap += 1;
            }
            network.row_start.push(network.entries.len() as u32);
            network.weight.push(weight);
        }
        Some(network)
    }

    /// Loads of a demand.
    #[inline]
    pub(super) fn row(&self, demand: u32) -> &[Entry] {
        let demand = demand as usize;
        &self.entries[self.row_start[demand] as usize..self.row_start[demand + 1] as usize]
    }

    /// Reads where the loads of some demands are, so that they are near when [`row`](Self::row) is wanted.
    #[inline]
    pub(super) fn fetch(&self, demands: &[u32]) {
        let ends = |demand: &u32| {
            let row = self.row(*demand);
            row.first().map_or(0, |entry| entry.class) ^ row.last().map_or(0, |entry| entry.class)
        };
        black_box(demands.iter().map(ends).fold(0, u32::wrapping_add));
    }

    /// Demands that cross a class.
    pub(super) fn column(&self, class: u32) -> &[u32] {
        let class = class as usize;
        &self.column[self.column_start[class] as usize..self.column_start[class + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [(&[u32], &[f64]); 3] =
        [(&[0, 1, 3], &[1.0, 1.0, 0.5]), (&[1, 0, 3], &[2.0, 2.0, 0.5]), (&[2], &[1.0])];

    fn row(demand: usize) -> Row<'static> {
        let (resource, coefficient) = ROWS[demand];
        Row { resource, coefficient, weight: 1.0, cap: f64::INFINITY }
    }

    #[test]
    fn resources_in_series_become_the_one_of_least_capacity() {
        let network = Network::compile(3, row, &[7.0, 5.0, 1.0, 9.0], &mut Workspace::new(4));
        assert_eq!(network.resource, [1, 2, 3]);
        assert_eq!(network.row(0), [Entry { pull: 1.0, class: 0 }, Entry { pull: 0.5, class: 2 }]);
        assert_eq!(network.column(0), [0, 1]);
        assert_eq!(network.crossed.len(), 4);
    }

    #[test]
    fn columns_that_differ_only_in_a_coefficient_stay_apart_even_under_one_digest() {
        let (capacity, mut workspace) = ([7.0, 5.0, 1.0, 9.0], Workspace::new(4));
        let same: fn(u64, u64) -> u64 = |_, _| 1;
        let classes = Classes::find(3, &row, &capacity, &mut workspace, Some(same));
        assert_eq!(classes.resource, [1, 2], "0, 1 and 3 have two entries each");
        assert!(Network::build(3, &row, &capacity, &workspace.class, classes).is_none());
    }

    #[test]
    fn infinite_resources_are_left_out() {
        let network = Network::compile(3, row, &[f64::INFINITY, 5.0, 1.0, f64::INFINITY], &mut Workspace::new(4));
        assert_eq!(network.resource, [1, 2]);
    }
}
