//! What of a program does not depend on a seed: classes of ranks, who waits for what, which operations are alike.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::RunOptions;
use super::check::{check, check_memory, check_options};
use crate::Result;
use crate::demand::Demands;
use crate::lower::Phase;
use crate::program::{Program, Work};
use crate::routing::{Router, Topology};
use crate::symmetry::{Parts, Symmetry};

/// Rows of different lengths in one array.
#[derive(Debug, Default)]
pub(super) struct Rows {
    start: Vec<u32>,
    items: Vec<u32>,
}

impl Rows {
    /// Sorts (row, item) pairs into `rows` rows; items keep their order.
    fn of(rows: usize, pairs: &[(u32, u32)]) -> Self {
        let mut start = vec![0u32; rows + 1];
        for &(row, _) in pairs {
            start[row as usize + 1] += 1;
        }
        for row in 0..rows {
            start[row + 1] += start[row];
        }
        let (mut fill, mut items) = (start.clone(), vec![0; pairs.len()]);
        for &(row, item) in pairs {
            items[fill[row as usize] as usize] = item;
            fill[row as usize] += 1;
        }
        Self { start, items }
    }

    /// Items of a row.
    pub fn row(&self, row: u32) -> &[u32] {
        &self.items[self.start[row as usize] as usize..self.start[row as usize + 1] as usize]
    }
}

/// One operation on one class of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub op: u32,
    pub class: u32,
}

/// One group's collective or one pair's message, or a class of these: what moves data once all its turns have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub op: u32,
    /// Index of the group or pair, or of their class, within the operation.
    pub part: u32,
    /// First task that moves the same data between the same ranks; itself, where there is none before.
    pub like: u32,
}

/// A program made ready to run.
pub(super) struct Plan {
    /// Class of each rank. Ranks of a class do the same at the same times.
    pub class_of: Vec<u32>,
    pub classes: usize,
    /// For each class: factor by which communication stretches its compute.
    pub slowdown: Vec<f64>,
    /// Turns in program order, classes ascending within an operation.
    pub turns: Vec<Turn>,
    /// For each turn: turns of the same class that wait for it.
    pub waiting: Rows,
    /// For each turn: how many it waits for.
    pub waits: Vec<u32>,
    /// Tasks in program order.
    pub tasks: Vec<Task>,
    /// For each turn: the tasks it takes part in (compute: none).
    pub tasks_of: Rows,
    /// For each task: the turns that take part.
    pub turns_of: Rows,
    /// For each task that others are like (or that is alone): how many there are, itself included.
    pub uses: Vec<u32>,
    /// For each operation: its number of tasks.
    pub parts: Vec<u32>,
    /// Classes of what is alike, where these are known.
    pub symmetry: Option<Symmetry>,
}

impl Plan {
    /// Checks a program and prepares it, taking together what is alike.
    ///
    /// # Errors
    /// [`crate::Error::Program`] for one that cannot run, or for options that make no sense;
    /// [`crate::Error::Unreachable`] where ranks that must talk have no path;
    /// [`crate::Error::Interrupted`] once `stop` is set.
    pub fn new(topology: &Topology, program: &Program, options: &RunOptions, stop: &AtomicBool) -> Result<Self> {
        check_options(options)?;
        check(topology, program)?;
        let like = alike(program);
        // Where traffic is sprayed, seeds do not matter.
        let router = Router::new(topology, options.balancing, options.per_switch_seeds, 0);
        match Symmetry::find(&router, program, &like, stop)? {
            Some(symmetry) => Ok(Self::of(program, &like, symmetry.rank_class.clone(), Some(symmetry))),
            None => Self::in_full(topology, program, options),
        }
    }

    /// Checks a program and prepares it, taking together only ranks that belong to the same groups throughout.
    ///
    /// # Errors
    /// [`crate::Error::Program`] as [`new`](Self::new), or where there is not enough memory.
    pub fn in_full(topology: &Topology, program: &Program, options: &RunOptions) -> Result<Self> {
        check_options(options)?;
        check(topology, program)?;
        check_memory(program)?;
        Ok(Self::of(program, &alike(program), classes(program), None))
    }

    fn of(program: &Program, like: &[u32], class_of: Vec<u32>, symmetry: Option<Symmetry>) -> Self {
        let first_rank = first_ranks(&class_of);
        let mut plan = Self {
            classes: first_rank.len(),
            slowdown: first_rank.iter().map(|&rank| program.slowdown(rank)).collect(),
            turns: vec![],
            waiting: Rows::default(),
            waits: vec![],
            tasks: vec![],
            tasks_of: Rows::default(),
            turns_of: Rows::default(),
            uses: vec![],
            parts: vec![],
            class_of,
            symmetry,
        };
        let mut members: Vec<(u32, u32)> = Vec::new(); // (class, task) of the operation at hand
        let mut taken: Vec<(u32, u32)> = Vec::new(); // (turn, task)
        let mut order: Vec<(u32, u32)> = Vec::new(); // (turn, turn that waits for it)
        let mut turns_before: Vec<usize> = Vec::with_capacity(program.ops.len());
        let mut tasks_before: Vec<u32> = Vec::with_capacity(program.ops.len());
        let mut latest: Vec<Vec<(u32, u32)>> = vec![vec![]; plan.classes]; // (queue, turn) of each class
        for (index, op) in program.ops.iter().enumerate() {
            turns_before.push(plan.turns.len());
            tasks_before.push(plan.tasks.len() as u32);
            members.clear();
            plan.join(program, &first_rank, index, like[index], &mut members);
            let parts = plan.parts[index];
            for part in 0..parts {
                let like = tasks_before[like[index] as usize] + part;
                plan.tasks.push(Task { op: index as u32, part, like });
                plan.uses.push(0);
                plan.uses[like as usize] += 1;
            }
            members.sort_unstable();
            members.dedup();
            for same in members.chunk_by(|a, b| a.0 == b.0) {
                let (class, turn) = (same[0].0, plan.turns.len() as u32);
                plan.turns.push(Turn { op: index as u32, class });
                taken.extend(same.iter().filter(|member| member.1 != COMPUTE).map(|member| (turn, member.1)));
                let before = order.len();
                let queues = &mut latest[class as usize];
                match queues.iter_mut().find(|(queue, _)| *queue == op.queue) {
                    Some((_, last)) => order.push((std::mem::replace(last, turn), turn)),
                    None => queues.push((op.queue, turn)),
                }
                for &after in &op.after {
                    let range = turns_before[after as usize]..turns_before[after as usize + 1];
                    if let Ok(at) = plan.turns[range.clone()].binary_search_by_key(&class, |turn| turn.class) {
                        order.push(((range.start + at) as u32, turn));
                    }
                }
                plan.waits.push((order.len() - before) as u32);
            }
        }
        plan.waiting = Rows::of(plan.turns.len(), &order);
        plan.tasks_of = Rows::of(plan.turns.len(), &taken);
        taken.iter_mut().for_each(|pair| *pair = (pair.1, pair.0));
        plan.turns_of = Rows::of(plan.tasks.len(), &taken);
        plan
    }

    /// Lists which classes take part in which tasks of an operation, numbering the tasks from those there are.
    fn join(&mut self, program: &Program, first_rank: &[u32], op: usize, like: u32, members: &mut Vec<(u32, u32)>) {
        let next = self.tasks.len() as u32;
        let Self { class_of, symmetry, .. } = self;
        let parts = symmetry.as_ref().and_then(|symmetry| symmetry.parts(like));
        let task = |part: usize| next + parts.map_or(part as u32, |parts| parts.class_of[part]);
        let is_first = |rank: &&u32| first_rank[class_of[**rank as usize] as usize] == **rank;
        let join = |members: &mut Vec<_>, part: usize, ranks: &[u32]| {
            members.extend(ranks.iter().filter(is_first).map(|&rank| (class_of[rank as usize], task(part))));
        };
        let listed = match &program.ops[op].work {
            Work::Compute { ranks: None, .. } => {
                members.extend((0..self.classes as u32).map(|class| (class, COMPUTE)));
                0
            }
            Work::Compute { ranks: Some(ranks), .. } => {
                members.extend(ranks.iter().filter(is_first).map(|&rank| (class_of[rank as usize], COMPUTE)));
                0
            }
            Work::Collective { groups, .. } | Work::Storage { groups, .. } => {
                groups.iter().enumerate().for_each(|(part, group)| join(members, part, group));
                groups.len()
            }
            Work::SendRecv { pairs, .. } => {
                pairs.iter().enumerate().for_each(|(part, &(from, to))| join(members, part, &[from, to]));
                pairs.len()
            }
        };
        self.parts.push(parts.map_or(listed, |parts| parts.phases.len()) as u32);
    }

    /// What a task puts on the network, where that is known already.
    pub fn known(&self, task: Task) -> Option<Arc<Vec<Phase>>> {
        Some(Arc::clone(&self.classes_of(task)?.phases[task.part as usize]))
    }

    /// Indices of the groups or pairs that a task stands for.
    pub fn parts_of(&self, task: Task) -> Vec<u32> {
        match self.classes_of(task) {
            None => vec![task.part],
            Some(parts) => {
                (0..).zip(&parts.class_of).filter(|(_, class)| **class == task.part).map(|(at, _)| at).collect()
            }
        }
    }

    /// Background traffic, where it is known already.
    pub fn background(&self) -> Option<&Arc<Demands>> {
        self.symmetry.as_ref().map(|symmetry| &symmetry.background)
    }

    /// Values of all resources, from those of resources that stand for their classes.
    pub fn of_all(&self, values: Vec<f64>) -> Vec<f64> {
        match &self.symmetry {
            Some(symmetry) => symmetry.expand(&values),
            None => values,
        }
    }

    /// As [`of_all`](Self::of_all), but of a class each has an equal part.
    pub fn shared_by_all(&self, values: Vec<f64>) -> Vec<f64> {
        match &self.symmetry {
            Some(symmetry) => symmetry.spread(&values),
            None => values,
        }
    }

    fn classes_of(&self, task: Task) -> Option<&Parts> {
        self.symmetry.as_ref()?.parts(self.tasks[task.like as usize].op)
    }
}

/// Stands for no task.
const COMPUTE: u32 = u32::MAX;

/// First rank of each class; classes are numbered in the order of these.
fn first_ranks(class_of: &[u32]) -> Vec<u32> {
    let mut first_rank = Vec::new();
    for (rank, &class) in (0..).zip(class_of) {
        if class as usize == first_rank.len() {
            first_rank.push(rank);
        }
    }
    first_rank
}

/// Class of each rank, numbered by their first ranks: ranks of a class belong to the same groups in every operation; one
/// in a pair is alone.
fn classes(program: &Program) -> Vec<u32> {
    let ranks = program.gpu.len();
    let mut class_of = vec![0u32; ranks];
    let (mut member, mut split) = (vec![0u32; ranks], HashMap::new());
    let mut divide = |member: &[u32]| {
        split.clear();
        for (class, &member) in class_of.iter_mut().zip(member) {
            let next = split.len() as u32;
            *class = *split.entry((*class, member)).or_insert(next);
        }
    };
    let mut slowdowns = HashMap::new();
    for rank in 0..ranks as u32 {
        let next = slowdowns.len() as u32;
        member[rank as usize] = *slowdowns.entry(program.slowdown(rank).to_bits()).or_insert(next);
    }
    divide(&member);
    let mut done: HashMap<&Vec<Vec<u32>>, ()> = HashMap::new();
    for op in &program.ops {
        member.fill(0);
        match &op.work {
            Work::Compute { ranks: None, .. } => continue,
            Work::Compute { ranks: Some(ranks), .. } => ranks.iter().for_each(|&rank| member[rank as usize] = 1),
            Work::Collective { groups, .. } | Work::Storage { groups, .. } => {
                if done.insert(groups, ()).is_some() {
                    continue;
                }
                for (group, ranks) in groups.iter().enumerate() {
                    ranks.iter().for_each(|&rank| member[rank as usize] = group as u32 + 1);
                }
            }
            Work::SendRecv { pairs, .. } => {
                for rank in pairs.iter().flat_map(|&(from, to)| [from, to]) {
                    member[rank as usize] = rank + 1;
                }
            }
        }
        divide(&member);
    }
    class_of
}

/// For each operation, the first that is the same; only what lowering sees counts.
fn alike(program: &Program) -> Vec<u32> {
    let mut known: HashMap<u64, Vec<u32>> = HashMap::new();
    (0..program.ops.len() as u32)
        .map(|index| {
            let work = &program.ops[index as usize].work;
            let same = known.entry(digest(work)).or_default();
            match same.iter().find(|&&other| program.ops[other as usize].work == *work) {
                Some(&other) => other,
                None => {
                    same.push(index);
                    index
                }
            }
        })
        .collect()
}

fn digest(work: &Work) -> u64 {
    let mut hasher = DefaultHasher::new();
    match work {
        Work::Compute { seconds, ranks } => (seconds.to_bits(), ranks).hash(&mut hasher),
        Work::Collective { groups, collective } => {
            (groups, collective.kind, collective.algorithm, collective.bytes.to_bits()).hash(&mut hasher);
        }
        Work::SendRecv { pairs, bytes, .. } => (pairs, bytes.to_bits()).hash(&mut hasher),
        Work::Storage { groups, flows, bytes, .. } => (groups, flows, bytes.to_bits()).hash(&mut hasher),
    }
    hasher.finish()
}
