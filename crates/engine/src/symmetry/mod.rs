//! Work that is alike, so that it is computed once: classes of ranks, of groups and pairs, of transfers and of resources.
//!
//! Max-min rates and simultaneous starts respect any *equitable partition* of the graph of what is joined: where all
//! resources of a class have one capacity and are loaded equally by each class of demands, and all demands of a class
//! cross resources of the same classes, progressive filling fills a class of resources at one level and freezes a class of
//! demands at one rate; where ranks of a class take part in tasks of the same classes, they come and go together. (This
//! is fractional isomorphism of linear programs: Grohe, Kersting, Mladenov and Selman, "Dimension reduction via colour
//! refinement", ESA 2014.) So one demand stands for a class, on one resource for each class that it crosses, with the
//! load that all its members put there; rates and times are those of each member.
//!
//! The coarsest such partition is found by refining colours ([`colours`]) over resources, ranks, tasks and demands;
//! uniform exchanges, which have too many pairs, are drawn by trunks between ends instead ([`exchange`]). A fabric with a
//! slow link, or groups placed unevenly, only has more classes.
//!
//! Only where traffic is sprayed: hashed flows have no like. Times over rates are not known here, nor who waits for what.

mod colours;
mod exchange;
mod ground;
mod quotient;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use colours::{Web, digest};
use exchange::Exchange;
use ground::{Ground, coefficient};
use quotient::Quotient;

use crate::demand::Demands;
use crate::lower::{self, Lowering, Phase, Uniform};
use crate::program::{Collective, Program, Work};
use crate::routing::Router;
use crate::{Error, Result};

/// Most edges that the graph of what is joined may have: at some 40 bytes each, 4 GB.
const MOST_EDGES: f64 = 1e8;

/// The classes of a program over a network.
pub(crate) struct Symmetry {
    /// Class of each rank, numbered by first ranks.
    pub rank_class: Vec<u32>,
    /// Classes of the groups or pairs of each operation that others are like.
    operations: HashMap<u32, Parts>,
    /// Background traffic.
    pub background: Arc<Demands>,
    /// For each resource, the one that stands for its class.
    stand_in: Vec<u32>,
    /// For each resource, the number of its class.
    alike: Vec<u32>,
}

/// The groups or pairs of one operation.
pub(crate) struct Parts {
    /// Class of each group or pair, numbered by the first.
    pub class_of: Vec<u32>,
    /// For each class, the demands of all its members, one for each of their classes.
    pub phases: Vec<Arc<Vec<Phase>>>,
}

/// A task in the web: one group's collective or one pair's message.
struct Task {
    vertex: u32,
    content: Content,
}

enum Content {
    /// Demands in the order of lowering, equal neighbours taken together; the vertex of the first.
    Listed(u32),
    Exchanged(Exchange),
}

impl Symmetry {
    /// Finds the classes of a program whose operation `i` does the same as operation `like[i]`, the first of its kind.
    /// None where they are not looked for: where traffic is not sprayed, or there is too much to list.
    ///
    /// # Errors
    /// As lowering the program; [`Error::Interrupted`] once `stop` is set.
    pub fn find(router: &Router, program: &Program, like: &[u32], stop: &AtomicBool) -> Result<Option<Self>> {
        if !router.sprays() {
            return Ok(None);
        }
        let ground = Ground::new(router, &program.gpu, program.ops.iter().any(|op| exchanges(&op.work)))?;
        let mut drawing = Drawing {
            lowering: Lowering::new(router, &program.gpu),
            ground,
            web: Web::default(),
            tasks: BTreeMap::new(),
        };
        drawing.ground.draw(&mut drawing.web, &seeds(program, like));
        let first_stream = drawing.web.vertices();
        let streams = drawing.background(router, program)?;
        for (index, op) in (0..).zip(&program.ops).filter(|&(index, _)| like[index as usize] == index) {
            if !drawing.operation(index, &op.work, stop)? {
                return Ok(None);
            }
        }
        drawing.classes(program, &streams, first_stream)
    }

    /// Classes of an operation's groups or pairs and what they put on the network; none for one that is like another.
    pub fn parts(&self, op: u32) -> Option<&Parts> {
        self.operations.get(&op)
    }

    /// Gives every resource what the one that stands for its class has.
    pub fn expand(&self, values: &[f64]) -> Vec<f64> {
        self.stand_in.iter().map(|&resource| values[resource as usize]).collect()
    }

    /// Gives every resource an equal part of what the one that stands for its class has.
    pub fn spread(&self, values: &[f64]) -> Vec<f64> {
        let parts = self.stand_in.iter().zip(&self.alike);
        parts.map(|(&resource, &alike)| values[resource as usize] / f64::from(alike)).collect()
    }
}

/// The web of a program on its way.
struct Drawing<'r> {
    lowering: Lowering<'r>,
    ground: Ground<'r>,
    web: Web,
    /// Tasks of each operation that others are like.
    tasks: BTreeMap<u32, Vec<Task>>,
}

impl<'r> Drawing<'r> {
    /// Draws the tasks of an operation. Gives whether there is room.
    fn operation(&mut self, op: u32, work: &Work, stop: &AtomicBool) -> Result<bool> {
        let mut tasks = Vec::new();
        match work {
            Work::Compute { .. } => return Ok(true),
            Work::Collective { groups, collective } => {
                for group in groups {
                    if stop.load(Ordering::Relaxed) {
                        return Err(Error::Interrupted);
                    }
                    match self.group(op, collective, group)? {
                        Some(task) => tasks.push(task),
                        None => return Ok(false),
                    }
                }
            }
            Work::SendRecv { pairs, bytes, carriage, overheads } => {
                for &(from, to) in pairs {
                    let vertex = self.task(op, &[from, to]);
                    let phases = self.lowering.message(from, to, *bytes, carriage, overheads)?;
                    tasks.push(Task { vertex, content: Content::Listed(self.list(op, vertex, &phases)) });
                }
            }
            Work::Storage { groups, flows, bytes, carriage } => {
                for (group, flows) in groups.iter().zip(flows) {
                    let vertex = self.task(op, group);
                    let phases = self.lowering.flows(flows, *bytes, carriage)?;
                    tasks.push(Task { vertex, content: Content::Listed(self.list(op, vertex, &phases)) });
                }
            }
        }
        self.tasks.insert(op, tasks);
        Ok(self.has_room())
    }

    fn has_room(&self) -> bool {
        self.web.edges() as f64 <= MOST_EDGES
    }

    /// Draws a group's collective, if there is room.
    fn group(&mut self, op: u32, collective: &Collective, group: &[u32]) -> Result<Option<Task>> {
        let vertex = self.task(op, group);
        let exchange = match Uniform::of(collective, group.len()) {
            Some(uniform) => Exchange::plan(&self.ground, uniform, group)?,
            None => None,
        };
        let room = MOST_EDGES - self.web.edges() as f64;
        let content = match exchange {
            Some(mut exchange) => {
                if exchange.edges() as f64 > room {
                    return Ok(None);
                }
                self.exchange(op, collective, vertex, &mut exchange)?;
                Content::Exchanged(exchange)
            }
            None => {
                if lower::hops(collective, group.len()) > room {
                    return Ok(None);
                }
                let phases = self.lowering.collective(collective, group)?;
                Content::Listed(self.list(op, vertex, &phases))
            }
        };
        Ok(Some(Task { vertex, content }))
    }

    fn exchange(&mut self, op: u32, collective: &Collective, task: u32, exchange: &mut Exchange) -> Result<()> {
        let Self { lowering, ground, web, .. } = self;
        let bytes = exchange.uniform.bytes;
        let mut demands = Demands::default();
        exchange.draw(ground, web, task, digest([4, u64::from(op)]), &mut |web, from, to| {
            demands.clear();
            lowering.pair(collective, (from, None, to), bytes, 0, &mut demands)?;
            let vertex = draw_demand(web, &demands, 0, digest([5, u64::from(op)]));
            web.join(vertex, task, 9);
            Ok(vertex)
        })
    }

    /// Draws the vertex of a task between ranks.
    fn task(&mut self, op: u32, ranks: &[u32]) -> u32 {
        let vertex = self.web.vertex(digest([6, u64::from(op)]));
        ranks.iter().for_each(|&rank| self.web.join(vertex, self.ground.rank_vertex(rank), 7));
        vertex
    }

    /// Draws a task's demands; gives the vertex of the first, which need not exist.
    fn list(&mut self, op: u32, task: u32, phases: &[Phase]) -> u32 {
        let first = self.web.vertices();
        for (at, phase) in phases.iter().enumerate() {
            for (demand, times) in repeats(&phase.demands) {
                let seed = digest([8, u64::from(op), at as u64, times as u64]);
                let vertex = draw_demand(&mut self.web, &phase.demands, demand, seed);
                self.web.join(vertex, task, 9);
            }
        }
        first
    }

    /// Draws background traffic; gives its demands, one for each vertex.
    fn background(&mut self, router: &Router, program: &Program) -> Result<Demands> {
        let nodes: Vec<u32> = (0..router.topology().graph().nodes() as u32).collect();
        let mut all = Demands::default();
        for stream in &program.mix.background {
            all.append(&lower::stream(router, &nodes, stream)?);
            draw_demand(&mut self.web, &all, all.len() - 1, 10);
        }
        Ok(all)
    }

    /// Finds the classes and what stands for them, if there is room for that.
    fn classes(self, program: &Program, streams: &Demands, first_stream: u32) -> Result<Option<Symmetry>> {
        let Self { lowering, ground, web, tasks, .. } = self;
        let colours = web.colours();
        let rank_class = numbered((0..program.gpu.len() as u32).map(|rank| colours.of(ground.rank_vertex(rank))));
        let mut quotient = Quotient::new(&ground, lowering, &colours);
        let mut operations = HashMap::with_capacity(tasks.len());
        for (op, tasks) in tasks {
            let class_of = numbered(tasks.iter().map(|task| colours.of(task.vertex)));
            let mut phases = Vec::new();
            for (part, task) in tasks.iter().enumerate() {
                if class_of[part] as usize == phases.len() {
                    let members = f64::from(colours.alike(task.vertex));
                    phases.push(Arc::new(quotient.phases(&program.ops[op as usize].work, part, task, members)?));
                }
            }
            operations.insert(op, Parts { class_of, phases });
        }
        let background = Arc::new(quotient.background(streams, first_stream));
        if !quotient.has_room() {
            return Ok(None);
        }
        let (stand_in, alike) = (quotient.stand_in, quotient.alike);
        Ok(Some(Symmetry { rank_class, operations, background, stand_in, alike }))
    }
}

/// Whether an operation has groups whose pairs can be taken together.
fn exchanges(work: &Work) -> bool {
    let Work::Collective { groups, collective } = work else { return false };
    groups.iter().any(|group| Uniform::of(collective, group.len()).is_some())
}

/// What sets ranks apart but for where they are and what groups they are in: their own slowdown, and computing.
fn seeds(program: &Program, like: &[u32]) -> Vec<u64> {
    let mut seeds: Vec<u64> = (0..program.gpu.len() as u32).map(|rank| program.slowdown(rank).to_bits()).collect();
    for (index, op) in (0..).zip(&program.ops).filter(|&(index, _)| like[index as usize] == index) {
        if let Work::Compute { ranks: Some(ranks), .. } = &op.work {
            for &rank in ranks {
                let seed = &mut seeds[rank as usize];
                *seed = digest([*seed, u64::from(index)]);
            }
        }
    }
    seeds
}

/// Draws a demand.
fn draw_demand(web: &mut Web, demands: &Demands, demand: usize, seed: u64) -> u32 {
    let traits = [demands.weight[demand].to_bits(), demands.cap[demand].to_bits(), demands.work[demand].to_bits()];
    let vertex = web.vertex(digest([seed, demands.latency[demand]].into_iter().chain(traits)));
    let (resources, coefficients) = demands.row(demand);
    for (&resource, &share) in resources.iter().zip(coefficients) {
        web.join(vertex, resource, coefficient(share));
    }
    vertex
}

/// Demands that differ from the one before, and how many like it follow one another: channels often do.
fn repeats(demands: &Demands) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut next = 0;
    std::iter::from_fn(move || {
        let first = next;
        if first == demands.len() {
            return None;
        }
        while next < demands.len() && demands.are_equal(first, next) {
            next += 1;
        }
        Some((first, next - first))
    })
}

/// Numbers in place of colours, in order of their first appearance.
fn numbered(colours: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut known = HashMap::new();
    colours
        .map(|colour| {
            let next = known.len() as u32;
            *known.entry(colour).or_insert(next)
        })
        .collect()
}
