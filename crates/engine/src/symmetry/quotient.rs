//! One demand for each class: on the resources that stand for their classes, with the load of all its members.

use std::collections::HashMap;
use std::sync::Arc;

use super::colours::Colours;
use super::exchange::Exchange;
use super::ground::Ground;
use super::{Content, Task, repeats};
use crate::Result;
use crate::demand::Demands;
use crate::lower::{Lowering, Phase};
use crate::program::{Collective, Work};

/// Most entries that demands of classes may have: the solver takes some 60 bytes for each, 4 GB.
const MOST_ENTRIES: usize = 60_000_000;

/// Makes the demands of classes.
pub(super) struct Quotient<'a, 'r> {
    ground: &'a Ground<'r>,
    lowering: Lowering<'r>,
    colours: &'a Colours,
    /// For each resource, the one that stands for its class, and the number of these.
    pub stand_in: Vec<u32>,
    pub alike: Vec<u32>,
    /// Load on each resource of the demand at hand, and those that have some.
    load: Vec<f64>,
    loaded: Vec<u32>,
    entries: Vec<(u32, f64)>,
    /// Entries of all demands so far.
    made: usize,
}

impl<'a, 'r> Quotient<'a, 'r> {
    pub fn new(ground: &'a Ground<'r>, lowering: Lowering<'r>, colours: &'a Colours) -> Self {
        let resources = ground.rank_vertex(0);
        let mut first = HashMap::new();
        let stand_in = (0..resources).map(|resource| *first.entry(colours.of(resource)).or_insert(resource)).collect();
        Self {
            ground,
            lowering,
            colours,
            stand_in,
            alike: (0..resources).map(|resource| colours.alike(resource)).collect(),
            load: vec![0.0; resources as usize],
            loaded: Vec::new(),
            entries: Vec::new(),
            made: 0,
        }
    }

    /// Whether there is memory for more.
    pub fn has_room(&self) -> bool {
        self.made <= MOST_ENTRIES
    }

    /// What the class of a task, of `members` tasks, puts on the network; the task is a part of some work.
    ///
    /// # Errors
    /// As lowering.
    pub fn phases(&mut self, work: &Work, part: usize, task: &Task, members: f64) -> Result<Vec<Phase>> {
        match (&task.content, work) {
            (Content::Exchanged(exchange), Work::Collective { collective, .. }) => self.exchanged(collective, exchange),
            (Content::Listed(first), Work::Collective { groups, collective }) => {
                let phases = self.lowering.collective(collective, &groups[part])?;
                Ok(self.listed(phases, *first, members))
            }
            (Content::Listed(first), Work::SendRecv { pairs, bytes, carriage, overheads }) => {
                let (from, to) = pairs[part];
                let phases = self.lowering.message(from, to, *bytes, carriage, overheads)?;
                Ok(self.listed(phases, *first, members))
            }
            (Content::Listed(first), Work::Storage { flows, bytes, carriage, .. }) => {
                let phases = self.lowering.flows(&flows[part], *bytes, carriage)?;
                Ok(self.listed(phases, *first, members))
            }
            (_, Work::Compute { .. }) | (Content::Exchanged(_), Work::SendRecv { .. } | Work::Storage { .. }) => {
                Ok(Vec::new())
            }
        }
    }

    /// The demands of a task, the first of each class, as those of its whole class.
    fn listed(&mut self, phases: Vec<Phase>, first: u32, members: f64) -> Vec<Phase> {
        let mut vertex = first;
        let mut known = HashMap::new();
        let of_class = |phase: Phase| {
            let mut demands = Demands::default();
            for (demand, times) in repeats(&phase.demands) {
                if known.insert(self.colours.of(vertex), ()).is_none() {
                    let members = f64::from(self.colours.alike(vertex)) * times as f64;
                    self.push(&phase.demands, demand, members, &mut demands);
                }
                vertex += 1;
            }
            Phase { demands: Arc::new(demands), bytes: phase.bytes * members }
        };
        phases.into_iter().map(of_class).collect()
    }

    /// Appends a demand as that of its class of `members`.
    fn push(&mut self, from: &Demands, demand: usize, members: f64, to: &mut Demands) {
        let (resources, coefficients) = from.row(demand);
        for (&resource, &coefficient) in resources.iter().zip(coefficients) {
            let stand_in = self.stand_in[resource as usize];
            if self.load[stand_in as usize] == 0.0 {
                self.loaded.push(stand_in);
            }
            self.load[stand_in as usize] += coefficient;
        }
        self.entries.clear();
        for resource in self.loaded.drain(..) {
            let load = std::mem::take(&mut self.load[resource as usize]);
            self.entries.push((resource, load * members / f64::from(self.alike[resource as usize])));
        }
        self.made += self.entries.len();
        to.push(&self.entries, from.weight[demand], from.cap[demand], from.work[demand], from.latency[demand]);
    }

    /// An exchange's demands, class by class.
    fn exchanged(&mut self, collective: &Collective, exchange: &Exchange) -> Result<Vec<Phase>> {
        let of_phase = |phase| {
            let (row, all) = (Demands::default(), Demands::default());
            let mut pairs = Pairs { quotient: self, collective, exchange, phase, row, all, bytes: 0.0 };
            pairs.near()?;
            pairs.far()?;
            Ok(Phase { bytes: pairs.bytes, demands: Arc::new(pairs.all) })
        };
        (0..exchange.uniform.phases).map(of_phase).collect()
    }

    /// Background traffic of these vertices, the first of each class, as that of its whole class.
    pub fn background(&mut self, streams: &Demands, first: u32) -> Demands {
        let (mut known, mut demands) = (HashMap::new(), Demands::default());
        for (stream, vertex) in (0..streams.len()).zip(first..) {
            if known.insert(self.colours.of(vertex), ()).is_none() {
                self.push(streams, stream, f64::from(self.colours.alike(vertex)), &mut demands);
            }
        }
        demands
    }
}

/// The pairs of an exchange, and so far the demands of their classes.
struct Pairs<'p, 'a, 'r> {
    quotient: &'p mut Quotient<'a, 'r>,
    collective: &'p Collective,
    exchange: &'p Exchange,
    phase: usize,
    row: Demands,
    all: Demands,
    bytes: f64,
}

impl Pairs<'_, '_, '_> {
    fn push(&mut self, pair: (u32, Option<u32>, u32), members: f64) -> Result<()> {
        self.row.clear();
        let Self { quotient, collective, exchange, phase, row, all, bytes } = self;
        *bytes += members * quotient.lowering.pair(collective, pair, exchange.uniform.bytes, *phase, row)?;
        quotient.push(row, 0, members, all);
        Ok(())
    }

    /// Pairs inside servers, the first of each class.
    fn near(&mut self) -> Result<()> {
        let mut known = HashMap::new();
        for &(from, to, vertex) in &self.exchange.near {
            let colours = self.quotient.colours;
            if known.insert(colours.of(vertex), ()).is_none() {
                self.push((from, None, to), f64::from(colours.alike(vertex)))?;
            }
        }
        Ok(())
    }

    /// Pairs over trunks, for the first trunk of each class, as long as there is room.
    fn far(&mut self) -> Result<()> {
        let colours = self.quotient.colours;
        let mut known = HashMap::new();
        let firsts = self.exchange.trunks.iter().filter(|trunk| known.insert(colours.of(trunk.2), ()).is_none());
        let firsts: Vec<_> = firsts.copied().collect();
        let mut near: HashMap<(u32, u32), Vec<(u32, u32)>> =
            firsts.iter().map(|&(from, to, _)| ((from, to), Vec::new())).collect();
        let end_of = self.exchange.end_of();
        for &(from, to, _) in &self.exchange.near {
            if let Some(pairs) = near.get_mut(&(end_of[&from], end_of[&to])) {
                pairs.push((from, to));
            }
        }
        let servers = self.servers();
        for (from, to, vertex) in firsts {
            if !self.quotient.has_room() {
                break;
            }
            let alike = f64::from(colours.alike(vertex));
            for ((from, to), count) in self.far_classes(from, to, &near[&(from, to)]) {
                let members = alike * count as f64;
                self.push((from, None, to), members)?;
                for &(sender, senders) in servers.get(&from).into_iter().flatten() {
                    self.push((sender, Some(from), to), members * f64::from(senders))?;
                }
            }
        }
        Ok(())
    }

    fn colour(&self, rank: u32) -> u32 {
        self.quotient.colours.of(self.quotient.ground.rank_vertex(rank))
    }

    /// Classes of the far pairs over a trunk: one pair of each, and how many there are.
    fn far_classes(&self, from: u32, to: u32, near: &[(u32, u32)]) -> Vec<((u32, u32), u64)> {
        let [senders, receivers] = [from, to].map(|end| {
            let mut ranks = self.exchange.ranks[self.exchange.ends[end as usize].clone()].to_vec();
            ranks.sort_by_key(|&rank| (self.colour(rank), rank));
            ranks
        });
        let mut close: HashMap<(u32, u32), u64> = HashMap::new();
        let themselves = senders.iter().filter(|_| from == to).map(|&rank| (rank, rank));
        for (a, b) in near.iter().copied().chain(themselves) {
            *close.entry((self.colour(a), self.colour(b))).or_default() += 1;
        }
        let same = |a: &u32, b: &u32| self.colour(*a) == self.colour(*b);
        let mut classes = Vec::new();
        for sending in senders.chunk_by(same) {
            for receiving in receivers.chunk_by(same) {
                let close = close.get(&(self.colour(sending[0]), self.colour(receiving[0]))).copied().unwrap_or(0);
                let count = sending.len() as u64 * receiving.len() as u64 - close;
                let far = |&a: &u32| {
                    let b = receiving.iter().find(|&&b| !self.quotient.ground.is_near(a, b));
                    b.map(|&b| (a, b))
                };
                if let Some(pair) = sending.iter().find_map(far).filter(|_| count > 0) {
                    classes.push((pair, count));
                }
            }
        }
        classes
    }

    /// For each rank over which others relay: one of each class of pairs with these, and their number.
    fn servers(&self) -> HashMap<u32, Vec<(u32, u32)>> {
        let mut senders: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
        if !self.exchange.uniform.is_relayed {
            return senders;
        }
        let mut known: HashMap<(u32, u32), usize> = HashMap::new();
        for &(from, relay, vertex) in &self.exchange.near {
            let here = senders.entry(relay).or_default();
            let at = *known.entry((relay, self.quotient.colours.of(vertex))).or_insert(here.len());
            match here.get_mut(at) {
                Some((_, count)) => *count += 1,
                None => here.push((from, 1)),
            }
        }
        senders
    }
}
