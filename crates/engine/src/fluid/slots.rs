//! Values that come and go at stable indices: what batches and islands are kept in.

use std::ops::Index;

/// Values under small indices; the index of a value that is removed is given to a later one.
pub(super) struct Slots<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    pub(super) fn insert(&mut self, value: T) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[id as usize] = Some(value);
        id
    }

    /// Takes a value out, which must be there.
    pub(super) fn remove(&mut self, id: u32) -> T {
        self.free.push(id);
        self.places[id as usize].take().expect("nothing is removed twice")
    }

    pub(super) fn get(&self, id: u32) -> Option<&T> {
        self.places.get(id as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.places.get_mut(id as usize)?.as_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }
}

impl<T> Index<u32> for Slots<T> {
    type Output = T;

    fn index(&self, id: u32) -> &T {
        self.get(id).expect("an index lives as long as its value")
    }
}
