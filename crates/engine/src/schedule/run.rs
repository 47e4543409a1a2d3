//! The event loop of one run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::by_packet::ByPacket;
use super::clock::Clock;
use super::ledger::{self, Ledger, ROUNDING};
use super::plan::{Plan, Task, Turn};
use super::recorder::Recorder;
use super::{Record, RunOptions};
use crate::fluid::Fluid;
use crate::lower::{self, Lowering, Phase};
use crate::outcome::{Outcome, Timeline};
use crate::program::{Program, Work};
use crate::routing::{Router, Topology};
use crate::{Error, PS_PER_S, Picoseconds, Result};

/// Runs a prepared program over one draw.
pub(super) fn run(
    topology: &Topology,
    program: &Program,
    plan: &Plan,
    options: &RunOptions,
    seed: u64,
    stop: &AtomicBool,
    record: Option<Record>,
) -> Result<(Outcome, Option<Timeline>)> {
    let router = Router::new(topology, options.balancing, options.per_switch_seeds, seed);
    let capacity = options.capacity(&router);
    let mut run = Run::new(&router, program, plan, &capacity, options.tolerance);
    run.recorder =
        record.map(|Record { every, tiers }| Recorder::new(every, tiers, router.resources(), plan.turns.len()));
    run.fill_background(&router)?;
    run.until_all_end(stop)?;
    run.close(&router, &capacity, options.tolerance)
}

/// As [`run`], but for what is moved by packets, over a router of the draw: its outcome has times and bytes handed over,
/// and nothing of links yet.
pub(super) fn run_by_packet<'a>(
    router: &'a Router<'a>,
    program: &'a Program,
    plan: &'a Plan,
    options: &RunOptions,
    by_packet: ByPacket<'a>,
    stop: &AtomicBool,
) -> Result<(Outcome, ByPacket<'a>)> {
    let mut run = Run::new(router, program, plan, &options.capacity(router), options.tolerance);
    run.by_packet = Some(by_packet);
    run.until_all_end(stop)?;
    let by_packet = run.by_packet.take();
    let outcome = run.ended()?;
    by_packet.map(|by_packet| (outcome, by_packet)).ok_or_else(|| Error::Internal("no packets".into()))
}

/// A group or pair whose data moves.
struct Moving {
    task: u32,
    phases: Arc<Vec<Phase>>,
    phase: usize,
    demands_left: usize,
    /// Its numbers in the records.
    transfers: Range<usize>,
}

struct Run<'a> {
    program: &'a Program,
    plan: &'a Plan,
    lowering: Lowering<'a>,
    fluid: Fluid,
    /// What moves the data, where that is not the fluid.
    by_packet: Option<ByPacket<'a>>,
    ledger: Ledger,
    now: Picoseconds,
    /// For each turn: turns it still waits for.
    waits: Vec<u32>,
    /// For each turn: tasks that it still runs.
    tasks_left: Vec<u32>,
    /// For each task: turns yet to come.
    turns_left: Vec<u32>,
    /// Phases of tasks that later tasks are like.
    lowered: Vec<Option<Arc<Vec<Phase>>>>,
    /// For each of those: tasks yet to use them.
    uses: Vec<u32>,
    /// Turns that may start now.
    ready: Vec<u32>,
    /// Tasks that move data, at the index that the fluid knows them by.
    moving: Vec<Option<Moving>>,
    free: Vec<u32>,
    clocks: Vec<Clock>,
    /// The turn that each class computes.
    computing: Vec<u32>,
    /// Expected ends of compute with class and version; stale where the clock's version has moved on.
    compute_ends: BinaryHeap<Reverse<(Picoseconds, u32, u32)>>,
    /// Whether the run ends only after each operation, and turns of such operations that have not ended.
    is_awaited: Vec<bool>,
    awaited: usize,
    recorder: Option<Recorder<'a>>,
    outcome: Outcome,
}

/// The tag of what never ends.
const BACKGROUND: u32 = u32::MAX;

impl<'a> Run<'a> {
    fn new(router: &'a Router, program: &'a Program, plan: &'a Plan, capacity: &[f64], tolerance: f64) -> Self {
        let mut is_awaited = vec![program.mix.until.is_empty(); program.ops.len()];
        program.mix.until.iter().for_each(|&op| is_awaited[op as usize] = true);
        Self {
            program,
            plan,
            lowering: Lowering::new(router, &program.gpu),
            fluid: Fluid::new(capacity.to_vec(), tolerance),
            by_packet: None,
            ledger: Ledger::new(capacity.len(), program.ops.len()),
            now: 0,
            waits: plan.waits.clone(),
            tasks_left: (0..plan.turns.len() as u32).map(|turn| plan.tasks_of.row(turn).len() as u32).collect(),
            turns_left: (0..plan.tasks.len() as u32).map(|task| plan.turns_of.row(task).len() as u32).collect(),
            lowered: vec![None; plan.tasks.len()],
            uses: plan.uses.clone(),
            ready: (0..plan.turns.len() as u32).rev().filter(|&turn| plan.waits[turn as usize] == 0).collect(),
            moving: vec![],
            free: vec![],
            clocks: plan.slowdown.iter().map(|&slowdown| Clock::new(slowdown)).collect(),
            awaited: plan.turns.iter().filter(|turn| is_awaited[turn.op as usize]).count(),
            is_awaited,
            recorder: None,
            computing: vec![0; plan.classes],
            compute_ends: BinaryHeap::new(),
            outcome: Outcome {
                op_start: vec![Picoseconds::MAX; program.ops.len()],
                op_end: vec![0; program.ops.len()],
                op_bytes: vec![0.0; program.ops.len()],
                ..Outcome::default()
            },
        }
    }
}

impl Run<'_> {
    fn fill_background(&mut self, router: &Router) -> Result<()> {
        if let Some(background) = self.plan.background() {
            self.ledger.offer(background);
            self.fluid.add(Arc::clone(background), BACKGROUND);
            return Ok(());
        }
        let nodes: Vec<u32> = (0..router.topology().graph().nodes() as u32).collect();
        for stream in &self.program.mix.background {
            let demands = lower::stream(router, &nodes, stream)?;
            self.ledger.offer(&demands);
            self.fluid.add(demands, BACKGROUND);
        }
        Ok(())
    }

    fn until_all_end(&mut self, stop: &AtomicBool) -> Result<()> {
        let mut done = Vec::new();
        loop {
            while let Some(turn) = self.ready.pop() {
                self.start(turn)?;
            }
            if self.awaited == 0 {
                return Ok(());
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let compute_end = self.next_compute_end().map(|(time, _)| time);
            let mut next = self.fluid.next().into_iter().chain(compute_end).min();
            if let Some(by_packet) = &mut self.by_packet {
                next = by_packet.advance(next, stop)?;
            }
            let Some(next) = next else {
                return Ok(());
            };
            self.now = next;
            done.clear();
            while let Some(recorder) = self.recorder.as_mut().filter(|recorder| recorder.next() <= next) {
                self.fluid.advance(recorder.next(), &mut done);
                recorder.sample(recorder.every(), self.plan.of_all(self.fluid.carried()));
            }
            self.fluid.advance(next, &mut done);
            for &(index, _) in &done {
                self.end_demand(index)?;
            }
            for task in self.by_packet.as_mut().map(ByPacket::ended).unwrap_or_default() {
                self.end_moving(task);
            }
            while let Some((_, class)) = self.next_compute_end().filter(|&(time, _)| time <= next) {
                self.clocks[class as usize].end_compute(next);
                self.end(self.computing[class as usize]);
            }
        }
    }

    /// The class whose compute ends next, and when, as things stand.
    fn next_compute_end(&mut self) -> Option<(Picoseconds, u32)> {
        while let Some(&Reverse((time, class, version))) = self.compute_ends.peek() {
            if version == self.clocks[class as usize].version {
                return Some((time, class));
            }
            self.compute_ends.pop();
        }
        None
    }

    /// A turn has come: its class arrives at the operation.
    fn start(&mut self, turn: u32) -> Result<()> {
        let Turn { op, class } = self.plan.turns[turn as usize];
        if let Some(recorder) = &mut self.recorder {
            recorder.start(turn, op, class, self.now);
        }
        let op = op as usize;
        self.outcome.op_start[op] = self.outcome.op_start[op].min(self.now);
        if let Work::Compute { seconds, .. } = self.program.ops[op].work {
            self.computing[class as usize] = turn;
            let clock = &mut self.clocks[class as usize];
            let end = clock.start_compute(self.now, seconds * PS_PER_S);
            self.expect(class, end);
            return Ok(());
        }
        for &task in self.plan.tasks_of.row(turn) {
            self.turns_left[task as usize] -= 1;
            if self.turns_left[task as usize] == 0 {
                self.move_data(task)?;
            }
        }
        Ok(())
    }

    fn expect(&mut self, class: u32, end: Option<Picoseconds>) {
        if let Some(end) = end {
            self.compute_ends.push(Reverse((end, class, self.clocks[class as usize].version)));
        }
    }

    /// All have arrived.
    fn move_data(&mut self, task: u32) -> Result<()> {
        let Task { op, part, .. } = self.plan.tasks[task as usize];
        if let Some(by_packet) = &mut self.by_packet {
            let bytes = by_packet.begin(task, op, part)?;
            self.outcome.op_bytes[op as usize] += bytes;
            if bytes > 0.0 {
                self.start_moving(task);
            } else {
                self.end_task(task);
            }
            return Ok(());
        }
        let phases = self.phases(task)?;
        self.outcome.op_bytes[op as usize] += phases.iter().map(|phase| phase.bytes).sum::<f64>();
        if phases.is_empty() {
            self.end_task(task);
            return Ok(());
        }
        self.start_moving(task);
        let index = self.free.pop().unwrap_or_else(|| {
            self.moving.push(None);
            self.moving.len() as u32 - 1
        });
        self.start_phase(index, Moving { task, phases, phase: 0, demands_left: 0, transfers: 0..0 });
        Ok(())
    }

    /// Whether a task disturbs its ranks' compute.
    fn disturbs(&self, task: u32) -> bool {
        self.program.ops[self.plan.tasks[task as usize].op as usize].work.disturbs()
    }

    /// The ranks of a task communicate from now on.
    fn start_moving(&mut self, task: u32) {
        let disturbs = self.disturbs(task);
        for &turn in self.plan.turns_of.row(task) {
            let class = self.plan.turns[turn as usize].class;
            let end = self.clocks[class as usize].start_communication(self.now, disturbs);
            self.expect(class, end);
        }
    }

    /// All data of a task has arrived.
    fn end_moving(&mut self, task: u32) {
        let disturbed = self.disturbs(task);
        for &turn in self.plan.turns_of.row(task) {
            let class = self.plan.turns[turn as usize].class;
            let end = self.clocks[class as usize].end_communication(self.now, disturbed);
            self.expect(class, end);
        }
        self.end_task(task);
    }

    fn start_phase(&mut self, index: u32, mut moving: Moving) {
        let phase = &moving.phases[moving.phase];
        moving.demands_left = phase.demands.len();
        if let Some(recorder) = &mut self.recorder {
            let task = self.plan.tasks[moving.task as usize];
            let parts = self.plan.parts_of(task);
            moving.transfers = recorder.depart(task.op, parts, moving.phase, phase.bytes, self.now);
        }
        self.ledger.start(phase);
        self.fluid.add(Arc::clone(&phase.demands), index);
        self.moving[index as usize] = Some(moving);
    }

    fn end_demand(&mut self, index: u32) -> Result<()> {
        let slot = &mut self.moving[index as usize];
        let Some(moving) = slot else {
            return Err(Error::Internal(format!("a demand of task slot {index} ended twice")));
        };
        moving.demands_left -= 1;
        if moving.demands_left > 0 {
            return Ok(());
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.arrive(moving.transfers.clone(), self.now);
        }
        moving.phase += 1;
        let is_last = moving.phase == moving.phases.len();
        let Some(moving) = slot.take() else { return Ok(()) };
        if !is_last {
            self.start_phase(index, moving);
            return Ok(());
        }
        self.free.push(index);
        self.end_moving(moving.task);
        Ok(())
    }

    fn end_task(&mut self, task: u32) {
        for &turn in self.plan.turns_of.row(task) {
            self.tasks_left[turn as usize] -= 1;
            if self.tasks_left[turn as usize] == 0 {
                self.end(turn);
            }
        }
    }

    /// An operation has ended on a class.
    fn end(&mut self, turn: u32) {
        let op = self.plan.turns[turn as usize].op as usize;
        self.outcome.op_end[op] = self.outcome.op_end[op].max(self.now);
        self.awaited -= usize::from(self.is_awaited[op]);
        if let Some(recorder) = &mut self.recorder {
            recorder.end(turn, self.now);
        }
        for &waiting in self.plan.waiting.row(turn) {
            self.waits[waiting as usize] -= 1;
            if self.waits[waiting as usize] == 0 {
                self.ready.push(waiting);
            }
        }
    }

    /// A task's demands, lowered once for all tasks that are alike and kept as long as any is to come.
    fn phases(&mut self, task: u32) -> Result<Arc<Vec<Phase>>> {
        let Task { op, part, like } = self.plan.tasks[task as usize];
        let before = self.lowered[like as usize].take();
        let is_new = before.is_none();
        let phases = match before.or_else(|| self.plan.known(self.plan.tasks[task as usize])) {
            Some(phases) => phases,
            None => Arc::new(match &self.program.ops[op as usize].work {
                Work::Compute { .. } => vec![],
                Work::Collective { groups, collective } => {
                    self.lowering.collective(collective, &groups[part as usize])?
                }
                Work::SendRecv { pairs, bytes, carriage, overheads } => {
                    let (from, to) = pairs[part as usize];
                    self.lowering.message(from, to, *bytes, carriage, overheads)?
                }
                Work::Storage { flows, bytes, carriage, .. } => {
                    self.lowering.flows(&flows[part as usize], *bytes, carriage)?
                }
            }),
        };
        if is_new {
            let first = self.plan.tasks[like as usize].op as usize;
            self.ledger.count(first, self.plan.parts[first], &phases);
        }
        self.uses[like as usize] -= 1;
        if self.uses[like as usize] > 0 {
            self.lowered[like as usize] = Some(Arc::clone(&phases));
        }
        Ok(phases)
    }

    /// Completes the times of the outcome.
    fn ended(&mut self) -> Result<Outcome> {
        if self.awaited > 0 {
            // Completions that no clock can tell are no events, so that the run ends before them.
            if let Some(late) = self.moving.iter().flatten().next() {
                let op = self.plan.tasks[late.task as usize].op;
                let last = Picoseconds::MAX as f64 / crate::PS_PER_S;
                return Err(Error::Program(format!(
                    "operation {op}: its links are so slow that it takes over {last:.1e} seconds"
                )));
            }
            let waiting = self.plan.turns.iter().zip(&self.waits).find(|(_, waits)| **waits > 0);
            let op = waiting.map_or(0, |(turn, _)| turn.op);
            return Err(Error::Internal(format!("operation {op} never started")));
        }
        self.clocks.iter_mut().for_each(|clock| clock.catch_up(self.now));
        let mut outcome = std::mem::take(&mut self.outcome);
        outcome.step = self.now;
        outcome.op_start.iter_mut().filter(|start| **start == Picoseconds::MAX).for_each(|start| *start = 0);
        let of_rank = |get: fn(&Clock) -> Picoseconds| -> Vec<Picoseconds> {
            self.plan.class_of.iter().map(|&class| get(&self.clocks[class as usize])).collect()
        };
        outcome.compute = of_rank(|clock| clock.compute);
        outcome.communication = of_rank(|clock| clock.communication);
        outcome.exposed = of_rank(|clock| clock.exposed);
        Ok(outcome)
    }

    /// Checks the books and completes the outcome.
    fn close(mut self, router: &Router, capacity: &[f64], tolerance: f64) -> Result<(Outcome, Option<Timeline>)> {
        let mut outcome = self.ended()?;
        for moving in self.moving.iter().flatten() {
            self.ledger.cut(&moving.phases[moving.phase]);
        }
        outcome.batching_error = self.fluid.batching_error();
        outcome.rounds = self.fluid.rounds();
        outcome.capped = self.fluid.capped();
        // Completions are rounded to picoseconds, and batched ones may come early within the tolerance.
        let seconds = outcome.step as f64 / PS_PER_S;
        let slack = seconds * tolerance + outcome.rounds as f64 / PS_PER_S;
        let (carried, limiting) = (self.fluid.carried(), self.fluid.limiting());
        self.ledger.check(&carried, capacity, seconds, slack)?;
        check_rates(&self.fluid)?;
        let links = router.topology().graph().links();
        let (carried, limiting) = (self.plan.of_all(carried), self.plan.shared_by_all(limiting.to_vec()));
        let flows = self.plan.of_all(self.ledger.into_flows());
        ledger::write(links, router.resources(), [&carried, &flows, &limiting], &mut outcome);
        let timeline = self.recorder.map(|recorder| {
            let class_of = self.plan.class_of.clone();
            Timeline { class_of, ..recorder.close(outcome.step, carried) }
        });
        Ok((outcome, timeline))
    }
}

/// Checks what the solver did at each time, which the books of the whole run cannot show.
///
/// # Errors
/// [`Error::Internal`] where a demand ended before its rates had carried its bytes, or a link had more than it can carry.
pub(super) fn check_rates(fluid: &Fluid) -> Result<()> {
    let (shortfall, excess) = (fluid.shortfall(), fluid.excess());
    if shortfall > ROUNDING {
        return Err(Error::Internal(format!("a transfer ended with {shortfall:e} of its bytes not carried")));
    }
    if excess > ROUNDING {
        return Err(Error::Internal(format!("a resource was given {excess:e} more than its capacity")));
    }
    Ok(())
}
