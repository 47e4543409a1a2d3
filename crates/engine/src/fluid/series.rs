//! Which resources are in series: crossed by the same demands with the same coefficients.
//!
//! Of such a class only the resource of least capacity can bind. Columns are compared by a digest that does not
//! depend on the order of entries; [`super::network`] verifies it entry by entry while it builds its rows.

use super::network::{NONE, Row};

/// Arrays over all resources that are reused from one compilation to the next; clean in between.
pub(super) struct Workspace {
    digest: Vec<u64>,
    entries: Vec<u32>,
    /// Class of each resource of the latest [`Classes`]; meaningless for a resource that is not crossed.
    pub class: Vec<u32>,
}

impl Workspace {
    pub(super) fn new(resources: usize) -> Self {
        Self { digest: vec![0; resources], entries: vec![0; resources], class: vec![NONE; resources] }
    }
}

/// The classes among the finite resources that some demands cross.
pub(super) struct Classes {
    /// The resource of least capacity of each class, ascending.
    pub resource: Vec<u32>,
    /// Demands that cross each class.
    pub entries: Vec<u32>,
    /// Every finite resource crossed, in no particular order.
    pub crossed: Vec<u32>,
}

impl Classes {
    /// Finds the classes; `mix(demand, coefficient)` is summed over a column to digest it, and without it every
    /// resource is a class of its own.
    pub(super) fn find<'a>(
        demands: usize,
        row: &impl Fn(usize) -> Row<'a>,
        capacity: &[f64],
        workspace: &mut Workspace,
        mix: Option<fn(u64, u64) -> u64>,
    ) -> Self {
        let Workspace { digest, entries, class } = workspace;
        let mut crossed = Vec::new();
        for demand in 0..demands {
            let row = row(demand);
            for (&resource, &coefficient) in row.resource.iter().zip(row.coefficient) {
                let r = resource as usize;
                if capacity[r] < f64::INFINITY {
                    if entries[r] == 0 {
                        crossed.push(resource);
                    }
                    entries[r] += 1;
                    if let Some(mix) = mix {
                        digest[r] = digest[r].wrapping_add(mix(demand as u64, coefficient.to_bits()));
                    }
                }
            }
        }
        let column = |r: u32| (digest[r as usize], entries[r as usize]);
        let mut order = crossed.clone();
        order.sort_unstable_by(|&a, &b| {
            let by_capacity = || capacity[a as usize].total_cmp(&capacity[b as usize]);
            column(a).cmp(&column(b)).then_with(by_capacity).then(a.cmp(&b))
        });
        let mut least = NONE;
        let mut resource = Vec::new();
        for &r in &order {
            if least == NONE || mix.is_none() || column(r) != column(least) {
                least = r;
                resource.push(r);
            }
            class[r as usize] = least;
        }
        // Classes are numbered by their resource, so that ties between them do not hang on digests.
        resource.sort_unstable();
        let class_entries = resource.iter().map(|&r| entries[r as usize]).collect();
        for (number, &r) in resource.iter().enumerate() {
            digest[r as usize] = number as u64;
        }
        for &r in &crossed {
            class[r as usize] = digest[class[r as usize] as usize] as u32;
        }
        for &r in &crossed {
            (digest[r as usize], entries[r as usize]) = (0, 0);
        }
        Self { resource, entries: class_entries, crossed }
    }
}

/// Scrambles an entry of a column (the finaliser of `SplitMix64`, after Steele, Lea and Flood 2014).
pub(super) fn mix(demand: u64, coefficient: u64) -> u64 {
    let mut z = demand.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ coefficient;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
