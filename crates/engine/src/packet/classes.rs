//! Traffic classes: each with queues of its own, a share of the ports, a room in switches, marks and pauses.
//!
//! A run without classes has one queue before each port, in the port itself. Classes live in a table beside the ports,
//! which a run without them neither has nor looks at: its packets pay one test of a pointer a hop. (Being generic over
//! the discipline would spare that too, but would compile every transport twice.) What classes do is in `queueing`.

use std::collections::{HashMap, VecDeque};

use super::buffer::{Allowance, Group, headroom};
use super::port::{End, Port, Waiting};
use super::scheduler::{MOST_CLASSES, Order, Set, Turns, has, only};
use super::settings::{Marking, Trimming};
use crate::graph::Graph;
use crate::{Error, Picoseconds, Result};

/// The classes of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Classes {
    /// Up to eight; flows name them by their place.
    pub classes: Vec<Class>,
    /// Bytes of memory that a switch has for all packets in it, reserves and headroom included; none for as much as it
    /// takes.
    pub memory: Option<u64>,
    /// Bytes of a full packet.
    pub full: u16,
}

/// One class of traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Classes of a higher one are always sent first.
    pub priority: u8,
    /// Share among classes of one priority, 1 or more.
    pub weight: u32,
    /// Room in a switch.
    pub room: Room,
    /// Marks by the fill of its own queue, where there are any.
    pub marking: Option<Marking>,
    /// Class in which what receivers answer travels; none for ahead of all classes, never paused.
    pub answers: Option<u8>,
    /// The same for congestion notifications.
    pub notifications: Option<u8>,
}

/// How much a group may hold: of a lossless class all that came in by one cable, of a lossy one what waits for one port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// Bytes that are always its own.
    pub reserve: u32,
    /// How much it may hold beyond.
    pub threshold: Threshold,
    /// What happens to more.
    pub beyond: Beyond,
}

/// How much of a switch's memory a group may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// So many bytes.
    Bytes(u32),
    /// So many times what is free at the moment.
    Alpha(f64),
}

/// What happens beyond a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// The class is lossy: packets are trimmed or dropped.
    Lose(Trimming),
    /// The class is lossless: the cable's other end is asked to pause it.
    Pause {
        /// It is let go once the group holds so many bytes less than its threshold.
        below: u32,
        /// Bytes for what still comes; none for as many as speed and length of the cable make necessary.
        headroom: Option<u32>,
    },
}

/// Counts of one class over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassTotals {
    /// Packets of data dropped whole.
    pub drops: u64,
    /// Those of them for which there was no headroom.
    pub headroom_drops: u64,
    /// Packets that lost their payload.
    pub trims: u64,
    /// Marks of congestion set.
    pub marks: u64,
    /// Pauses asked for.
    pub pauses: u64,
    /// Time that ports were paused, summed over ports.
    pub paused: Picoseconds,
    /// Storms of pauses that the watchdog broke.
    pub storms: u64,
    /// Most bytes in one queue.
    pub deepest: u64,
    /// Most bytes of shared memory that one group held.
    pub most_shared: u64,
    /// Most bytes of headroom that one group held.
    pub most_headroom: u64,
}

/// What became of classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassOutcome {
    /// Counts of each.
    pub totals: Vec<ClassTotals>,
    /// How long each was paused at each port: by port, then class.
    pub paused: Vec<Picoseconds>,
}

/// A packet that waits in a class's queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub waiting: Waiting,
    /// Port by which it came; at a NIC none.
    pub way_in: u32,
}

/// The port of way in of packets that begin here.
pub(super) const NO_WAY_IN: u32 = u32::MAX;

/// A class's queue before a port.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub held: VecDeque<Held>,
    pub bytes: u32,
    /// Memory of a lossy class's.
    pub group: Group,
}

/// What came in by a cable and is still in the switch at its end, of one class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WayIn {
    /// Memory of a lossless class's.
    pub group: Group,
    /// Bytes of headroom.
    pub headroom: u32,
}

/// The classes at one port.
#[derive(Debug)]
pub(super) struct AtPort {
    pub queues: Box<[Queue]>,
    pub ways_in: Box<[WayIn]>,
    pub turns: Turns,
    /// Those with packets.
    pub waiting: Set,
    /// Those that the other end of the cable has asked to pause.
    pub paused: Set,
    /// Those that it has asked the port at its beginning to pause, as the way in to a switch.
    pub pausing: Set,
}

/// The classes of a run as it goes on.
#[derive(Debug)]
pub(super) struct Table {
    pub classes: Box<[Class]>,
    pub allowances: Box<[Allowance]>,
    pub order: Order,
    pub ports: Box<[AtPort]>,
    /// Bytes of shared memory that are free in each switch.
    pub free: Box<[u64]>,
    /// Flows of each host that may have something to send, by host, then class.
    pub ready: Box<[VecDeque<u32>]>,
    /// Since when classes are paused at ports, by their names.
    pub paused_since: HashMap<u32, Picoseconds>,
    /// Those that hear no pause until a time, after a storm.
    pub deaf_until: HashMap<u32, Picoseconds>,
    pub outcome: ClassOutcome,
}

/// Bits of a name that tell classes apart.
const CLASS_BITS: u32 = MOST_CLASSES.ilog2();

/// The name of a class at a port in an event.
pub(super) fn name(port: u32, class: usize) -> u32 {
    port << CLASS_BITS | class as u32
}

/// The port and the class of a name.
pub(super) fn port_and_class(name: u32) -> (u32, usize) {
    (name >> CLASS_BITS, name as usize & (MOST_CLASSES - 1))
}

impl Table {
    /// Classes at these ports, and memory shared out among the switches' ports.
    ///
    /// # Errors
    /// [`Error::Graph`] where there are none or too many classes, one contradicts itself, there are more ports than
    /// events can name, or a switch's memory is too small for all reserves and headroom.
    pub fn new(classes: &Classes, graph: &Graph, ports: &[Port], switches: usize, hosts: usize) -> Result<Self> {
        check(classes, ports.len())?;
        let Classes { classes, memory, full } = classes;
        let mut taken = vec![0; switches];
        let mut take = |switch: u32, bytes: u32| taken[switch as usize] += u64::from(bytes);
        let mut at_ports = Vec::with_capacity(ports.len());
        for (link, port) in ports.iter().enumerate() {
            let mut at = AtPort {
                queues: classes.iter().map(|_| Queue::default()).collect(),
                ways_in: vec![WayIn::default(); classes.len()].into(),
                turns: Turns::default(),
                waiting: 0,
                paused: 0,
                pausing: 0,
            };
            for (class, way_in) in classes.iter().zip(&mut at.ways_in) {
                match (class.room.beyond, port.from, port.to) {
                    (Beyond::Lose(_), End::Switch(switch), _) => take(switch, class.room.reserve),
                    (Beyond::Pause { headroom: asked, .. }, _, End::Switch(switch)) => {
                        let needed = || memory.map(|_| headroom(graph.rate[link], graph.latency[link], *full));
                        way_in.headroom = asked.or_else(needed).unwrap_or(u32::MAX >> 1);
                        take(switch, class.room.reserve);
                        if memory.is_some() {
                            take(switch, way_in.headroom);
                        }
                    }
                    _ => {}
                }
            }
            at_ports.push(at);
        }
        let free = taken.iter().map(|&taken| shared(*memory, taken)).collect::<Result<_>>()?;
        let allowance = |class: &Class| Allowance::new(class.room.reserve, class.room.threshold);
        let shares: Vec<_> = classes.iter().map(|class| (class.priority, class.weight)).collect();
        Ok(Self {
            allowances: classes.iter().map(allowance).collect::<Result<_>>()?,
            order: Order::new(&shares, *full),
            ports: at_ports.into(),
            free,
            ready: (0..hosts * classes.len()).map(|_| VecDeque::new()).collect(),
            paused_since: HashMap::new(),
            deaf_until: HashMap::new(),
            outcome: ClassOutcome {
                totals: vec![ClassTotals::default(); classes.len()],
                paused: vec![0; ports.len() * classes.len()],
            },
            classes: classes.clone().into(),
        })
    }

    /// Flows of a host and class that may have something to send.
    pub fn ready(&mut self, host: u32, class: usize) -> &mut VecDeque<u32> {
        &mut self.ready[host as usize * self.classes.len() + class]
    }

    /// Lets a packet wait before a port; gives how many of its class do.
    pub fn push(&mut self, port: u32, class: usize, held: Held) -> usize {
        let at = &mut self.ports[port as usize];
        let queue = &mut at.queues[class];
        queue.held.push_back(held);
        queue.bytes += u32::from(held.waiting.size);
        at.waiting |= only(class);
        let totals = &mut self.outcome.totals[class];
        totals.deepest = totals.deepest.max(queue.bytes.into());
        queue.held.len()
    }

    /// Takes a class's next packet from before a port, or its last.
    pub fn pop(&mut self, port: u32, class: usize, from: fn(&mut VecDeque<Held>) -> Option<Held>) -> Option<Held> {
        let at = &mut self.ports[port as usize];
        let queue = &mut at.queues[class];
        let held = from(&mut queue.held)?;
        queue.bytes -= u32::from(held.waiting.size);
        if queue.held.is_empty() {
            at.waiting &= !only(class);
        }
        Some(held)
    }

    /// Takes room in a switch for a packet that came by one port and is to leave by another, and says what that means.
    pub fn admit(&mut self, switch: u32, way_in: u32, port: u32, class: usize, bytes: u16) -> Admission {
        let (allowed, free) = (self.allowances[class], &mut self.free[switch as usize]);
        let totals = &mut self.outcome.totals[class];
        let bytes = u32::from(bytes);
        let (group, admission) = match self.classes[class].room.beyond {
            Beyond::Lose(trimming) => {
                let group = &mut self.ports[port as usize].queues[class].group;
                let admission =
                    if group.admit(bytes, allowed, free) { Admission::In } else { Admission::Overflow(trimming) };
                (group, admission)
            }
            Beyond::Pause { .. } => {
                let at = &mut self.ports[way_in as usize];
                let WayIn { group, headroom } = &mut at.ways_in[class];
                let is_in = group.admit_lossless(bytes, allowed, *headroom, free);
                let pauses = group.is_beyond(allowed, *free) && !has(at.pausing, class);
                if pauses {
                    at.pausing |= only(class);
                    totals.pauses += 1;
                }
                (group, Admission::lossless(is_in, pauses))
            }
        };
        totals.most_shared = totals.most_shared.max(group.shared.into());
        totals.most_headroom = totals.most_headroom.max(group.headroom.into());
        admission
    }

    /// Gives back the room of a packet that left a switch by a port; whether its way in may be let go.
    pub fn release(&mut self, switch: u32, port: u32, class: usize, held: Held) -> bool {
        let (allowed, free) = (self.allowances[class], &mut self.free[switch as usize]);
        let bytes = u32::from(held.waiting.size);
        match self.classes[class].room.beyond {
            Beyond::Lose(_) => {
                self.ports[port as usize].queues[class].group.release(bytes, free);
                false
            }
            Beyond::Pause { below, .. } => {
                let at = &mut self.ports[held.way_in as usize];
                let group = &mut at.ways_in[class].group;
                group.release(bytes, free);
                let resumes = has(at.pausing, class) && group.is_below(allowed, *free, below);
                at.pausing &= if resumes { !only(class) } else { Set::MAX };
                resumes
            }
        }
    }

    /// Bytes of answers and cut headers that may wait ahead of a class at a port of a switch: twice its room.
    pub fn room_ahead(&self, switch: u32, class: usize) -> u64 {
        match self.classes[class].room.beyond {
            Beyond::Lose(_) => 2 * self.allowances[class].threshold(self.free[switch as usize]),
            Beyond::Pause { .. } => u64::MAX,
        }
    }
}

/// What becomes of a packet that comes into a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// There is room.
    In,
    /// There is, and its way in is to pause its class.
    InAndPause,
    /// Lossy: there is none.
    Overflow(Trimming),
    /// Lossless: not even headroom; and whether its way in is to pause.
    NoHeadroom(bool),
}

impl Admission {
    fn lossless(is_in: bool, pauses: bool) -> Self {
        match (is_in, pauses) {
            (true, false) => Self::In,
            (true, true) => Self::InAndPause,
            (false, pauses) => Self::NoHeadroom(pauses),
        }
    }
}

/// Bytes of a switch's memory that its groups share, of which so many are taken up by reserves and headroom.
fn shared(memory: Option<u64>, taken: u64) -> Result<u64> {
    let Some(memory) = memory else { return Ok(u64::MAX >> 1) };
    let left = memory.checked_sub(taken).filter(|&left| left > 0);
    left.ok_or_else(|| {
        let kilobytes = |bytes: u64| bytes.div_ceil(1000);
        let (memory, taken) = (kilobytes(memory), kilobytes(taken));
        Error::Graph(format!(
            "a switch's buffer of {memory} kB is too small: reserves and headroom of its ports take {taken} kB"
        ))
    })
}

fn check(classes: &Classes, ports: usize) -> Result<()> {
    let Classes { classes, memory, .. } = classes;
    if !(1..=MOST_CLASSES).contains(&classes.len()) {
        return Err(Error::Graph(format!("there are 1 to {MOST_CLASSES} classes, not {}", classes.len())));
    }
    if ports >= 1 << (super::event::NAME_BITS - CLASS_BITS) {
        return Err(Error::Graph(format!("{ports} links are too many for classes")));
    }
    for (place, class) in classes.iter().enumerate() {
        if class.weight == 0 {
            return Err(Error::Graph(format!("class {place} has no weight")));
        }
        if matches!(class.room.threshold, Threshold::Alpha(_)) && memory.is_none() {
            return Err(Error::Graph(format!("class {place} shares a memory of which no size is given")));
        }
        let named = class.answers.into_iter().chain(class.notifications);
        if let Some(other) = named.into_iter().find(|&other| usize::from(other) >= classes.len()) {
            return Err(Error::Graph(format!("class {place} is answered in class {other}, which there is not")));
        }
    }
    Ok(())
}
