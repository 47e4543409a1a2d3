//! A record of the packets that leave by chosen links, as a capture on a mirror port has it.

use eastwest_transport::{Packet, Picoseconds};

use super::run::Simulation;
use super::transport::Transport;
use crate::{Error, Result};

/// A packet as it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When its first bit left.
    pub time: Picoseconds,
    /// By which link.
    pub link: u32,
    /// What it was, marks of this port included.
    pub packet: Packet,
}

/// Packets that left by chosen links, in the order in which they did: the first of them, so that memory is bounded.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    is_chosen: Box<[bool]>,
    most: usize,
    /// The packets.
    pub records: Vec<Record>,
    /// How many more left by those links.
    pub missed: u64,
}

impl Capture {
    pub(super) fn see(&mut self, time: Picoseconds, link: u32, packet: &Packet) {
        if !self.is_chosen[link as usize] {
            return;
        }
        if self.records.len() < self.most {
            self.records.push(Record { time, link, packet: *packet });
        } else {
            self.missed += 1;
        }
    }
}

impl<T: Transport> Simulation<'_, T> {
    /// Records what leaves by some links, `most` packets at most; an outcome then has it.
    ///
    /// # Errors
    /// [`Error::Graph`] where there is no such link.
    pub fn capturing(mut self, links: &[u32], most: usize) -> Result<Self> {
        let mut is_chosen = vec![false; self.ports.len()].into_boxed_slice();
        for &link in links {
            *is_chosen
                .get_mut(link as usize)
                .ok_or_else(|| Error::Graph(format!("there is no link {link} to capture")))? = true;
        }
        self.is_observed = true;
        self.capture = Some(Box::new(Capture { is_chosen, most, ..Capture::default() }));
        Ok(self)
    }
}
