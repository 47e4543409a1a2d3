//! Which links are one resource.

use std::collections::HashMap;
use std::hash::Hash;

use crate::graph::Graph;

/// Links grouped into the resources that demands load. Links of one resource carry equal shares of whatever crosses it,
/// so their capacities add up.
#[derive(Clone, Debug)]
pub struct Resources {
    /// Payload bytes a second of each resource, summed over its links.
    pub capacity: Vec<f64>,
    /// Whether each resource joins switches; `ideal` makes these infinite.
    pub is_fabric: Vec<bool>,
    link_start: Vec<u32>,
    links: Vec<u32>,
    of_link: Vec<u32>,
}

impl Resources {
    /// Makes links with equal keys one resource, numbered by their first links.
    pub(super) fn grouped<K: Eq + Hash>(graph: &Graph, key: impl Fn(usize) -> K) -> Self {
        let mut known = HashMap::new();
        let of_link: Vec<u32> = (0..graph.links())
            .map(|link| {
                let next = known.len() as u32;
                *known.entry(key(link)).or_insert(next)
            })
            .collect();
        let count = known.len();
        let mut capacity = vec![0.0; count];
        let mut is_fabric = vec![false; count];
        let mut link_start = vec![0u32; count + 1];
        for (link, &resource) in of_link.iter().enumerate() {
            capacity[resource as usize] += graph.rate[link];
            is_fabric[resource as usize] = graph.is_fabric[link];
            link_start[resource as usize + 1] += 1;
        }
        for resource in 0..count {
            link_start[resource + 1] += link_start[resource];
        }
        let mut links: Vec<u32> = (0..graph.links() as u32).collect();
        links.sort_by_key(|&link| of_link[link as usize]);
        Self { capacity, is_fabric, link_start, links, of_link }
    }

    /// Number of resources.
    pub fn len(&self) -> usize {
        self.capacity.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.capacity.is_empty()
    }

    /// Links of a resource, in index order.
    pub fn links(&self, resource: u32) -> &[u32] {
        let resource = resource as usize;
        &self.links[self.link_start[resource] as usize..self.link_start[resource + 1] as usize]
    }

    /// Resource that a link belongs to.
    pub fn of_link(&self, link: u32) -> u32 {
        self.of_link[link as usize]
    }
}
