//! How many paths a sender has, and how many of them it keeps away from.

use std::ops::Add;

/// Counts of entropy values, each of which stands for a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathHealth {
    /// All values.
    pub values: u32,
    /// Those passed over for some turns, having met congestion.
    pub avoided: u32,
    /// Those not used until a probe comes back.
    pub retired: u32,
}

impl Add for PathHealth {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            values: self.values + other.values,
            avoided: self.avoided + other.avoided,
            retired: self.retired + other.retired,
        }
    }
}
