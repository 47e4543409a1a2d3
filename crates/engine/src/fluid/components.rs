//! Which demands share resources, directly or through others: the parts that can be solved apart.

use super::network::NONE;

/// A forest over the resources; clean between uses.
pub(super) struct Components {
    parent: Vec<u32>,
    label: Vec<u32>,
}

impl Components {
    pub(super) fn new(resources: usize) -> Self {
        Self { parent: vec![NONE; resources], label: vec![NONE; resources] }
    }

    /// Component of each demand, numbered in order of their first demands, and how many there are.
    /// Infinite resources join nothing; a demand that crosses no other is a component by itself.
    pub(super) fn of<'a>(
        &mut self,
        demands: usize,
        row: impl Fn(usize) -> &'a [u32],
        capacity: &[f64],
    ) -> (Vec<u32>, u32) {
        let mut crossed = Vec::new();
        for demand in 0..demands {
            let mut root = NONE;
            for &resource in row(demand) {
                if capacity[resource as usize] == f64::INFINITY {
                    continue;
                }
                if self.parent[resource as usize] == NONE {
                    self.parent[resource as usize] = resource;
                    crossed.push(resource);
                }
                if self.parent[resource as usize] == root {
                    continue;
                }
                let other = self.root(resource);
                if root != NONE {
                    self.parent[root.max(other) as usize] = root.min(other);
                }
                root = root.min(other);
            }
        }
        let mut count = 0;
        let mut component = Vec::with_capacity(demands);
        for demand in 0..demands {
            let first = row(demand).iter().find(|&&r| capacity[r as usize] < f64::INFINITY);
            let fresh = count;
            let label = match first {
                Some(&resource) => {
                    let root = self.root(resource);
                    let label = &mut self.label[root as usize];
                    if *label == NONE {
                        *label = fresh;
                    }
                    *label
                }
                None => fresh,
            };
            count += u32::from(label == fresh);
            component.push(label);
        }
        for resource in crossed {
            self.parent[resource as usize] = NONE;
            self.label[resource as usize] = NONE;
        }
        (component, count)
    }

    fn root(&mut self, mut resource: u32) -> u32 {
        while self.parent[resource as usize] != resource {
            let up = self.parent[self.parent[resource as usize] as usize];
            self.parent[resource as usize] = up;
            resource = up;
        }
        resource
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_are_joined_through_finite_resources_only() {
        let rows: [&[u32]; 6] = [&[0, 1], &[2], &[9], &[3, 2], &[1, 9], &[]];
        let mut capacity = [1.0; 10];
        capacity[9] = f64::INFINITY;
        let mut components = Components::new(10);
        for _ in 0..2 {
            let (component, count) = components.of(rows.len(), |d| rows[d], &capacity);
            assert_eq!((component, count), (vec![0, 1, 2, 1, 0, 3], 4));
        }
    }
}
