//! What of a program does not depend on a seed: classes of ranks, who waits for what, which operations are alike.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::check::check;
use crate::Result;
use crate::program::{Program, Work};
use crate::routing::Topology;

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

/// One group's collective or one pair's message: what moves data once all its turns have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub op: u32,
    /// Index of the group or pair within the operation.
    pub part: u32,
    /// First task that moves the same data between the same ranks; itself, where there is none before.
    pub like: u32,
}

/// A program made ready to run.
#[derive(Debug)]
pub(super) struct Plan {
    /// Class of each rank. Ranks of a class belong to the same groups in every operation; one in a pair is alone.
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
}

impl Plan {
    /// Checks a program and prepares it.
    ///
    /// # Errors
    /// [`Error::Program`](crate::Error::Program) for one that cannot run.
    pub fn new(topology: &Topology, program: &Program) -> Result<Self> {
        check(topology, program)?;
        let (class_of, first_rank) = classes(program);
        let like = alike(program);
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
            plan.join(program, &first_rank, index, &mut members);
            let parts = plan.parts[index];
            for part in 0..parts {
                let like = tasks_before[like[index] as usize] + part;
                plan.tasks.push(Task { op: index as u32, part, like });
                plan.uses.push(0);
                plan.uses[like as usize] += 1;
            }
            members.sort_unstable();
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
        Ok(plan)
    }

    /// Lists which classes take part in which tasks of an operation, numbering the tasks from those there are.
    fn join(&mut self, program: &Program, first_rank: &[u32], op: usize, members: &mut Vec<(u32, u32)>) {
        let next = self.tasks.len() as u32;
        let class_of = &self.class_of;
        let is_first = |rank: &&u32| first_rank[class_of[**rank as usize] as usize] == **rank;
        self.parts.push(match &program.ops[op].work {
            Work::Compute { ranks: None, .. } => {
                members.extend((0..self.classes as u32).map(|class| (class, COMPUTE)));
                0
            }
            Work::Compute { ranks: Some(ranks), .. } => {
                members.extend(ranks.iter().filter(is_first).map(|&rank| (class_of[rank as usize], COMPUTE)));
                0
            }
            Work::Collective { groups, .. } => {
                for (part, group) in groups.iter().enumerate() {
                    let firsts = group.iter().filter(is_first);
                    members.extend(firsts.map(|&rank| (class_of[rank as usize], next + part as u32)));
                }
                groups.len() as u32
            }
            Work::SendRecv { pairs, .. } => {
                for (part, &(from, to)) in pairs.iter().enumerate() {
                    members.extend([from, to].map(|rank| (class_of[rank as usize], next + part as u32)));
                }
                pairs.len() as u32
            }
        });
    }
}

/// Stands for no task.
const COMPUTE: u32 = u32::MAX;

/// Class of each rank and first rank of each class, classes numbered by their first ranks.
fn classes(program: &Program) -> (Vec<u32>, Vec<u32>) {
    let ranks = program.gpu.len();
    let (mut class_of, mut first_rank) = (vec![0u32; ranks], Vec::new());
    let (mut member, mut split) = (vec![0u32; ranks], HashMap::new());
    let mut divide = |member: &[u32]| {
        split.clear();
        first_rank.clear();
        for rank in 0..ranks {
            let class = &mut class_of[rank];
            *class = *split.entry((*class, member[rank])).or_insert_with(|| {
                first_rank.push(rank as u32);
                first_rank.len() as u32 - 1
            });
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
            Work::Collective { groups, .. } => {
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
    (class_of, first_rank)
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
    }
    hasher.finish()
}
