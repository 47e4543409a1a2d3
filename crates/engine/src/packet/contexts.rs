//! What outlasts a flow: the contexts that transports keep for each peer or queue pair.
//!
//! A context is made when the first flow needs it. Once no flow uses it, it is kept for as long as the transport says, and
//! its place is then taken by another: memory follows the pairs that talk, not those that could.

use std::collections::{HashMap, VecDeque};

use eastwest_transport::{Receiver, Sender};

use super::run::Route;
use super::transport::Transport;
use crate::Picoseconds;

/// Which flows share a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// None: each flow begins anew.
    Flow,
    /// Those of one traffic class from one NIC to another.
    Peer,
    /// Those of one queue pair.
    QueuePair,
}

/// Between whom a context is: two hosts, and the traffic class, or the queue pair where each has its own.
type Key = ([u32; 2], u32);

/// A context with both ends' parts, and who uses it.
#[derive(Debug)]
pub(super) struct Shared<S, R> {
    /// The sender's part.
    pub sending: S,
    /// The receiver's.
    pub receiving: R,
    /// What no other context of the run is called.
    pub number: u32,
    /// Number that switches hash for packets under it.
    pub pair: u32,
    key: Key,
    /// Flows that use it now.
    flows: u32,
    idle_since: Picoseconds,
    /// Flows that found no room, in the order in which they asked.
    refused: VecDeque<u32>,
}

type SharedOf<T> =
    Shared<<<T as Transport>::Sender as Sender>::Context, <<T as Transport>::Receiver as Receiver>::Context>;

/// The contexts of a run.
pub(super) struct Contexts<T: Transport> {
    sharing: Sharing,
    keeps: Picoseconds,
    /// Contexts made so far.
    made: u32,
    linger: Picoseconds,
    slots: Vec<SharedOf<T>>,
    free: Vec<u32>,
    /// Where contexts are that may be met again.
    places: HashMap<Key, u32>,
    /// Places of contexts that no flow used from some time on, the earliest first.
    idle: VecDeque<(Picoseconds, u32)>,
}

impl<T: Transport> Contexts<T> {
    /// None yet. Where they are not shared, each flow has its own; one that is idle for longer than `keeps` is forgotten.
    /// Hosts' times may lie as far apart as `linger`.
    pub fn new(are_shared: bool, keeps: Picoseconds, linger: Picoseconds) -> Self {
        let sharing = if are_shared { T::SHARES } else { Sharing::Flow };
        Self {
            sharing,
            keeps,
            made: 0,
            linger,
            slots: vec![],
            free: vec![],
            places: HashMap::new(),
            idle: VecDeque::new(),
        }
    }

    /// Takes in a flow; gives the place of its context.
    pub fn enter(&mut self, transport: &T, route: &Route, seed: u64, now: Picoseconds) -> u32 {
        let (key, pair) = (self.key(route), route.pair);
        if self.sharing != Sharing::Flow {
            self.forget(now);
            if let Some(&place) = self.places.get(&key).filter(|&&place| self.is_kept(place, now)) {
                self.slots[place as usize].flows += 1;
                return place;
            }
        }
        self.made += 1;
        let (sending, receiving) = transport.context(seed ^ u64::from(pair) << 32);
        let fresh = Shared {
            sending,
            receiving,
            pair,
            number: self.made,
            key,
            flows: 1,
            idle_since: 0,
            refused: VecDeque::new(),
        };
        let place = match self.free.pop() {
            Some(place) => {
                self.slots[place as usize] = fresh;
                place
            }
            None => {
                self.slots.push(fresh);
                self.slots.len() as u32 - 1
            }
        };
        if self.sharing != Sharing::Flow {
            self.places.insert(key, place);
        }
        place
    }

    /// Whether a context is in use, or not idle for too long.
    fn is_kept(&self, place: u32, now: Picoseconds) -> bool {
        let slot = &self.slots[place as usize];
        slot.flows > 0 || now.saturating_sub(slot.idle_since) <= self.keeps
    }

    /// The context of a flow that has ended, where there is one that flows share.
    pub fn find(&self, route: &Route) -> Option<u32> {
        self.places.get(&self.key(route)).copied()
    }

    fn key(&self, route: &Route) -> Key {
        (route.hosts, if self.sharing == Sharing::Peer { route.class.into() } else { route.pair })
    }

    /// A flow's sender has ended.
    pub fn leave(&mut self, place: u32, now: Picoseconds) {
        if self.sharing == Sharing::Flow {
            return;
        }
        let slot = &mut self.slots[place as usize];
        slot.flows -= 1;
        if slot.flows == 0 {
            slot.idle_since = now;
            if self.keeps < Picoseconds::MAX {
                self.idle.push_back((now, place));
            }
        }
    }

    /// A flow's receiver has ended too. Gives whether its context has.
    pub fn end(&mut self, place: u32) -> bool {
        let was_its_own = self.sharing == Sharing::Flow;
        if was_its_own {
            self.free.push(place);
        }
        was_its_own
    }

    /// A flow found no room in its context: it is to be asked again in its turn.
    pub fn refuse(&mut self, place: u32, flow: u32) {
        if self.sharing != Sharing::Flow {
            self.slots[place as usize].refused.push_back(flow);
        }
    }

    /// The flow whose turn it is, now that there may be room.
    pub fn next_refused(&mut self, place: u32) -> Option<u32> {
        if self.sharing == Sharing::Flow {
            return None;
        }
        self.slots[place as usize].refused.pop_front()
    }

    /// Forgets contexts that have been idle for too long wherever the time may be.
    fn forget(&mut self, now: Picoseconds) {
        while let Some(&(since, place)) = self.idle.front() {
            if now.saturating_sub(since) <= self.keeps.saturating_add(self.linger) {
                return;
            }
            self.idle.pop_front();
            let slot = &self.slots[place as usize];
            // it may have been used again since
            if slot.flows == 0 && slot.idle_since == since && self.places.get(&slot.key) == Some(&place) {
                self.places.remove(&slot.key);
                self.free.push(place);
            }
        }
    }
}

impl<T: Transport> std::ops::Index<u32> for Contexts<T> {
    type Output = SharedOf<T>;

    fn index(&self, place: u32) -> &SharedOf<T> {
        &self.slots[place as usize]
    }
}

impl<T: Transport> std::ops::IndexMut<u32> for Contexts<T> {
    fn index_mut(&mut self, place: u32) -> &mut SharedOf<T> {
        &mut self.slots[place as usize]
    }
}
