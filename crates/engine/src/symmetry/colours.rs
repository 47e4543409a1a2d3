//! Vertices of a graph sorted into classes that no vertex's surroundings tell apart: its coarsest equitable partition.
//!
//! Colour refinement (Weisfeiler and Leman, 1968): vertices keep one colour as long as the same numbers of edges of each
//! label lead to neighbours of each colour. A split costs the edges of all parts but the largest, which keeps its colour
//! (Hopcroft, 1971), so that all of it takes edges x logarithm of vertices. Nothing here knows what a vertex stands for.
//!
//! A vertex's surroundings are kept as one number: the sum over its edges of a scrambled (colour, label). Sums differ by
//! what changed, so a vertex with a million edges is not looked at again for one of them. Two that should differ agree
//! with probability 2^-64; with millions of vertices that is once in millions of runs.

use std::collections::HashMap;

/// Vertices and labelled edges, being put together.
#[derive(Default)]
pub(super) struct Web {
    seeds: Vec<u64>,
    edges: Vec<(u32, u32, u32)>,
    labels: HashMap<u64, u32>,
    /// The label before and its number: runs of edges share theirs.
    latest: (u64, u32),
}

/// Class of each vertex.
pub(super) struct Colours {
    colour: Vec<u32>,
    size: Vec<u32>,
}

impl Web {
    /// Adds a vertex; those of different seeds are never in one class.
    pub fn vertex(&mut self, seed: u64) -> u32 {
        assert!(self.seeds.len() < u32::MAX as usize, "over 4 billion vertices");
        self.seeds.push(seed);
        self.seeds.len() as u32 - 1
    }

    /// Joins two vertices.
    pub fn join(&mut self, a: u32, b: u32, label: u64) {
        if self.labels.is_empty() || self.latest.0 != label {
            let next = self.labels.len() as u32;
            self.latest = (label, *self.labels.entry(label).or_insert(next));
        }
        self.edges.push((a, b, self.latest.1));
    }

    /// Number of vertices so far.
    pub fn vertices(&self) -> u32 {
        self.seeds.len() as u32
    }

    /// Number of edges so far.
    pub fn edges(&self) -> usize {
        self.edges.len()
    }

    /// The classes.
    pub fn colours(self) -> Colours {
        let Self { seeds, edges, .. } = self;
        let near = Neighbours::new(seeds.len(), edges);
        let mut known = HashMap::new();
        let colour: Vec<u32> = (seeds.iter())
            .map(|&seed| {
                let next = known.len() as u32;
                *known.entry(seed).or_insert(next)
            })
            .collect();
        drop(seeds);
        let mut refinement = Refinement::new(colour, known.len(), &near);
        while refinement.split() {
            refinement.tell(&near);
        }
        Colours { colour: refinement.colour, size: refinement.size }
    }
}

impl Colours {
    /// Class of a vertex.
    pub fn of(&self, vertex: u32) -> u32 {
        self.colour[vertex as usize]
    }

    /// Number of vertices in a vertex's class.
    pub fn alike(&self, vertex: u32) -> u32 {
        self.size[self.of(vertex) as usize]
    }
}

/// Neighbours of each vertex with the edge's label, as compressed rows.
struct Neighbours {
    start: Vec<usize>,
    ends: Vec<(u32, u32)>,
}

impl Neighbours {
    fn new(vertices: usize, edges: Vec<(u32, u32, u32)>) -> Self {
        let mut start = vec![0usize; vertices + 1];
        for &(a, b, _) in &edges {
            start[a as usize + 1] += 1;
            start[b as usize + 1] += 1;
        }
        for vertex in 0..vertices {
            start[vertex + 1] += start[vertex];
        }
        let mut fill = start.clone();
        let mut ends = vec![(0, 0); 2 * edges.len()];
        for (a, b, label) in edges {
            for (from, to) in [(a, b), (b, a)] {
                ends[fill[from as usize]] = (to, label);
                fill[from as usize] += 1;
            }
        }
        Self { start, ends }
    }

    fn of(&self, vertex: u32) -> &[(u32, u32)] {
        &self.ends[self.start[vertex as usize]..self.start[vertex as usize + 1]]
    }
}

struct Refinement {
    colour: Vec<u32>,
    /// Vertices of each colour.
    size: Vec<u32>,
    /// Vertices class by class; where each class starts; where each vertex stands.
    order: Vec<u32>,
    first: Vec<u32>,
    place: Vec<u32>,
    /// What surrounds each vertex, as a sum.
    around: Vec<u64>,
    /// Vertices whose surroundings have changed since their class was last looked at.
    touched: Vec<u32>,
    is_touched: Vec<bool>,
    /// Of each class, how many of its first vertices are those; zero in between.
    met: Vec<u32>,
    /// Vertices that left their class for another, with the colour that they had.
    moved: Vec<(u32, u32)>,
}

impl Refinement {
    fn new(colour: Vec<u32>, colours: usize, near: &Neighbours) -> Self {
        let vertices = colour.len() as u32;
        let mut first = vec![0u32; colours + 1];
        colour.iter().for_each(|&colour| first[colour as usize + 1] += 1);
        for colour in 0..colours {
            first[colour + 1] += first[colour];
        }
        let size: Vec<u32> = first.windows(2).map(|ends| ends[1] - ends[0]).collect();
        let mut fill = first.clone();
        first.truncate(colours);
        let (mut order, mut place) = (vec![0; colour.len()], vec![0; colour.len()]);
        for vertex in 0..vertices {
            let at = &mut fill[colour[vertex as usize] as usize];
            (order[*at as usize], place[vertex as usize]) = (vertex, *at);
            *at += 1;
        }
        let sum = |vertex| {
            let terms = near.of(vertex).iter().map(|&(to, label)| term(colour[to as usize], label));
            terms.fold(0, u64::wrapping_add)
        };
        Self {
            around: (0..vertices).map(sum).collect(),
            touched: (0..vertices).collect(),
            is_touched: vec![true; colour.len()],
            met: vec![0; colours],
            moved: Vec::new(),
            colour,
            size,
            order,
            first,
            place,
        }
    }

    /// Splits the classes in which surroundings differ. Gives whether any did.
    fn split(&mut self) -> bool {
        let touched = std::mem::take(&mut self.touched);
        let mut classes = Vec::new();
        for &vertex in &touched {
            // To the front of its class.
            self.is_touched[vertex as usize] = false;
            let colour = self.colour[vertex as usize] as usize;
            if self.met[colour] == 0 {
                classes.push(colour);
            }
            let (from, to) = (self.place[vertex as usize], self.first[colour] + self.met[colour]);
            let other = self.order[to as usize];
            self.order.swap(from as usize, to as usize);
            (self.place[vertex as usize], self.place[other as usize]) = (to, from);
            self.met[colour] += 1;
        }
        for colour in classes {
            self.split_class(colour);
        }
        !self.moved.is_empty()
    }

    fn split_class(&mut self, colour: usize) {
        let met = std::mem::take(&mut self.met[colour]);
        let (begin, size) = (self.first[colour], self.size[colour]);
        let Self { order, around, place, .. } = self;
        let class = &mut order[begin as usize..(begin + size) as usize];
        // What those have who were not touched; where all were, what one of them has.
        let rest = around[class[(met % size) as usize] as usize];
        let touched = &mut class[..met as usize];
        if touched.iter().all(|&vertex| around[vertex as usize] == rest) {
            return;
        }
        // Those that stay with the others last, so that they stand together.
        touched.sort_unstable_by_key(|&vertex| (around[vertex as usize] == rest, around[vertex as usize], vertex));
        (begin..).zip(touched.iter()).for_each(|(at, &vertex)| place[vertex as usize] = at);
        let mut parts: Vec<(u32, u32)> = Vec::new(); // first and size
        let mut first = begin;
        for part in touched.chunk_by(|&a, &b| around[a as usize] == around[b as usize]) {
            parts.push((first, part.len() as u32));
            first += part.len() as u32;
        }
        if met < size {
            match parts.last_mut().filter(|last| around[class[(last.0 - begin) as usize] as usize] == rest) {
                Some(last) => last.1 += size - met,
                None => parts.push((first, size - met)),
            }
        }
        let largest = (0..parts.len()).max_by_key(|&part| parts[part].1).unwrap_or(0);
        (self.first[colour], self.size[colour]) = parts.swap_remove(largest);
        for (first, size) in parts {
            let fresh = self.size.len() as u32;
            self.first.push(first);
            self.size.push(size);
            self.met.push(0);
            for &vertex in &self.order[first as usize..(first + size) as usize] {
                self.colour[vertex as usize] = fresh;
                self.moved.push((vertex, colour as u32));
            }
        }
    }

    /// Changes the surroundings of all neighbours of vertices that have moved.
    fn tell(&mut self, near: &Neighbours) {
        for (vertex, before) in self.moved.drain(..) {
            let now = self.colour[vertex as usize];
            for &(to, label) in near.of(vertex) {
                let around = &mut self.around[to as usize];
                *around = around.wrapping_add(term(now, label)).wrapping_sub(term(before, label));
                if !std::mem::replace(&mut self.is_touched[to as usize], true) {
                    self.touched.push(to);
                }
            }
        }
    }
}

fn term(colour: u32, label: u32) -> u64 {
    scramble(u64::from(colour) << 32 | u64::from(label))
}

/// A word in which every bit depends on every bit of another (the finaliser of `SplitMix64`, after Steele, Lea and Flood
/// 2014).
pub(super) fn scramble(word: u64) -> u64 {
    let mut z = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// One word for several in order.
pub(super) fn digest(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0, |sum, word| scramble(sum.rotate_left(23) ^ scramble(word)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn web(seeds: &[u64], edges: &[(u32, u32, u64)]) -> Web {
        let mut web = Web::default();
        for &seed in seeds {
            web.vertex(seed);
        }
        for &(a, b, label) in edges {
            web.join(a, b, label);
        }
        web
    }

    /// Round after round over all vertices, with whole signatures.
    fn reference(seeds: &[u64], edges: &[(u32, u32, u64)]) -> Vec<usize> {
        let mut colour: Vec<usize> = seeds.iter().map(|&seed| seed as usize).collect();
        loop {
            let mut signatures: Vec<(usize, Vec<(usize, u64)>)> = colour.iter().map(|&c| (c, vec![])).collect();
            for &(a, b, label) in edges {
                signatures[a as usize].1.push((colour[b as usize], label));
                signatures[b as usize].1.push((colour[a as usize], label));
            }
            let mut known = BTreeMap::new();
            let before = colour.iter().collect::<std::collections::BTreeSet<_>>().len();
            let next: Vec<usize> = (signatures.into_iter())
                .map(|mut signature| {
                    signature.1.sort_unstable();
                    let next = known.len();
                    *known.entry(signature).or_insert(next)
                })
                .collect();
            colour = next;
            if known.len() == before {
                return colour;
            }
        }
    }

    #[test]
    fn the_ends_of_a_path_are_told_from_its_middle() {
        let colours = web(&[0; 5], &[(0, 1, 0), (1, 2, 0), (2, 3, 0), (3, 4, 0)]).colours();
        assert_eq!([0, 1, 2, 3, 4].map(|vertex| colours.alike(vertex)), [2, 2, 1, 2, 2]);
        assert_eq!(colours.of(0), colours.of(4));
        assert_ne!(colours.of(0), colours.of(1));
    }

    #[test]
    fn labels_and_seeds_set_apart() {
        let colours = web(&[0, 0, 0, 0], &[(0, 1, 5), (2, 3, 6)]).colours();
        assert_eq!([0, 1, 2, 3].map(|vertex| colours.alike(vertex)), [2; 4]);
        assert_ne!(colours.of(1), colours.of(2));
        assert_eq!(web(&[0, 1], &[]).colours().alike(0), 1);
    }

    proptest! {
        #[test]
        fn classes_are_those_of_refinement_in_rounds(
            seeds in prop::collection::vec(0u64..2, 1..20),
            edges in prop::collection::vec((0u32..20, 0u32..20, 0u64..2), 0..40),
        ) {
            let n = seeds.len() as u32;
            let edges: Vec<_> = edges.into_iter().map(|(a, b, label)| (a % n, b % n, label)).collect();
            let (found, expected) = (web(&seeds, &edges).colours(), reference(&seeds, &edges));
            for a in 0..n {
                for b in 0..n {
                    prop_assert_eq!(found.of(a) == found.of(b), expected[a as usize] == expected[b as usize]);
                }
                let alike = expected.iter().filter(|&&colour| colour == expected[a as usize]).count();
                prop_assert_eq!(found.alike(a) as usize, alike);
            }
        }
    }
}
