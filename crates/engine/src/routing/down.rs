//! Links that are down while routes are as before: what crosses them is lost.

use std::collections::HashMap;

/// The links that are down, and what has been found out about them.
pub(crate) struct Down<'a> {
    /// Whether each link is down.
    pub(super) links: &'a [bool],
    /// What gets through of all that is spread between two attachments, by both.
    pub(super) through: HashMap<(u32, u32), f64>,
    /// Whether the path that is followed crosses such a link.
    pub(super) meets: bool,
    /// Part of the connection that is followed whose paths do.
    pub(super) lost: f64,
}

impl<'a> Down<'a> {
    /// Nothing found out yet; `links` says of each link whether it is down.
    pub fn new(links: &'a [bool]) -> Self {
        Self { links, through: HashMap::new(), meets: false, lost: 0.0 }
    }
}
