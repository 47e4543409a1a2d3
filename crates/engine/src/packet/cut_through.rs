//! Cut-through: switches that send a packet on while it still comes in.
//!
//! A packet is at a switch once its header is: it is then switched, takes room in full, and leaves as soon as its port is
//! free. Where the way out is faster than the way in, it waits so long that its last bit is in before it is due to leave.
//! A packet with a bit error is lost where it comes in, though real switches pass it on until its check fails at the end.

use std::collections::{HashMap, VecDeque};

use super::event::Event;
use super::pool::Place;
use super::port::{End, Port};
use super::run::Simulation;
use super::transport::Transport;
use crate::Picoseconds;

/// The state of a run with cut-through.
#[derive(Debug)]
pub(super) struct CutThrough {
    /// Bytes that must have come before a packet is switched.
    header: u16,
    /// Packets that wait for more of themselves, by way in, with the port by which each leaves.
    early: HashMap<u32, VecDeque<(Place, u32)>>,
}

impl CutThrough {
    /// How long before its last bit a packet is at a cable's end.
    #[inline(never)]
    pub fn lead(&self, port: &Port, bytes: u16) -> Picoseconds {
        match port.to {
            End::Switch(_) => port.time_of(bytes) - port.time_of(bytes.min(self.header)),
            End::Host(_) => 0,
        }
    }

    /// Packets that are in a switch and have not come before a port yet, with their way in.
    pub fn early(&self) -> impl Iterator<Item = (u32, Place)> {
        self.early.iter().flat_map(|(&way_in, packets)| packets.iter().map(move |&(place, _)| (way_in, place)))
    }

    /// The same without it.
    pub fn waiting(&self) -> impl Iterator<Item = Place> {
        self.early().map(|(_, place)| place)
    }
}

impl<T: Transport> Simulation<'_, T> {
    /// Lets switches send packets on once so many bytes of them have come in.
    #[must_use]
    pub fn cutting_through(mut self, header: u16) -> Self {
        self.cut_through = Some(Box::new(CutThrough { header, early: HashMap::new() }));
        self
    }

    /// Whether a packet must wait before it is put before a port, since it would run dry; sees to it that it comes there
    /// later.
    #[inline]
    pub(super) fn is_early(&mut self, way_in: u32, index: u32, place: Place) -> bool {
        self.cut_through.is_some() && self.hold(way_in, index, place)
    }

    #[inline(never)]
    fn hold(&mut self, way_in: u32, index: u32, place: Place) -> bool {
        let Some(cut) = &mut self.cut_through else { return false };
        let bytes = self.pool[place].size;
        let (into, out) = (&self.ports[way_in as usize], &self.ports[index as usize]);
        let wait = cut.lead(into, bytes).saturating_sub(out.time_of(bytes));
        if wait > 0 {
            cut.early.entry(way_in).or_default().push_back((place, index));
            self.wheel.add(self.now + wait, Event::Enter.word(way_in));
        }
        wait > 0
    }

    /// The next packet that came by a port can leave without running dry.
    #[inline(never)]
    pub(super) fn enter(&mut self, way_in: u32) {
        let early = self.cut_through.as_mut().and_then(|cut| cut.early.get_mut(&way_in));
        if let Some((place, index)) = early.and_then(VecDeque::pop_front) {
            self.enqueue(way_in, index, place);
        }
    }
}
