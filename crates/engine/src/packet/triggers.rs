//! Flows, and what makes them start: a time, or the end of others.

use crate::{Error, Picoseconds, Result};

/// A message from one NIC to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// NIC node that sends.
    pub from: u32,
    /// NIC node that receives.
    pub to: u32,
    /// Bytes.
    pub bytes: u64,
    /// Traffic class, where a run has any.
    pub class: u8,
    /// What makes it start.
    pub start: Start,
    /// Trigger that it pulls when its sender knows that all has arrived.
    pub when_sent: Option<u32>,
    /// Trigger that it pulls when all has arrived.
    pub when_received: Option<u32>,
}

/// What makes a flow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// A time.
    At(Picoseconds),
    /// A trigger.
    On(u32),
}

/// How often a trigger must be pulled, and what it then starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerKind {
    /// The first pull starts all its flows.
    OneShot,
    /// Every pull starts the next of its flows.
    MultiShot,
    /// So many pulls start all its flows.
    Barrier(u32),
}

/// Something that flows pull and that starts flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// How.
    pub kind: TriggerKind,
}

/// The triggers of a run.
#[derive(Debug, Default)]
pub(super) struct Triggers {
    kinds: Vec<TriggerKind>,
    pulls: Vec<u32>,
    /// Flows of each trigger, in order.
    waiting: Vec<Vec<u32>>,
}

impl Triggers {
    /// Sorts flows under the triggers that start them.
    ///
    /// # Errors
    /// [`Error::Program`] where a flow names a trigger that there is not.
    pub fn new(triggers: &[Trigger], flows: &[Flow]) -> Result<Self> {
        let mut waiting = vec![Vec::new(); triggers.len()];
        for (index, flow) in flows.iter().enumerate() {
            let starts = if let Start::On(trigger) = flow.start { Some(trigger) } else { None };
            for named in [starts, flow.when_sent, flow.when_received].into_iter().flatten() {
                if named as usize >= triggers.len() {
                    return Err(Error::Program(format!("flow {index} names trigger {named}, which there is not")));
                }
            }
            if let Some(trigger) = starts {
                waiting[trigger as usize].push(index as u32);
            }
        }
        let kinds: Vec<TriggerKind> = triggers.iter().map(|trigger| trigger.kind).collect();
        Ok(Self { pulls: vec![0; kinds.len()], kinds, waiting })
    }

    /// Pulls a trigger; gives the flows that start.
    pub fn pull(&mut self, trigger: u32) -> &[u32] {
        let trigger = trigger as usize;
        self.pulls[trigger] += 1;
        let (pulls, waiting) = (self.pulls[trigger], &self.waiting[trigger]);
        let fires = match self.kinds[trigger] {
            TriggerKind::OneShot => pulls == 1,
            TriggerKind::Barrier(count) => pulls == count,
            TriggerKind::MultiShot => {
                let next = pulls as usize - 1;
                return waiting.get(next..=next).unwrap_or_default();
            }
        };
        if fires { waiting } else { &[] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(kind: TriggerKind) -> Triggers {
        let flow = |start| Flow { from: 0, to: 1, bytes: 1, class: 0, start, when_sent: None, when_received: None };
        Triggers::new(&[Trigger { kind }], &[flow(Start::On(0)), flow(Start::At(0)), flow(Start::On(0))]).unwrap()
    }

    #[test]
    fn a_one_shot_starts_all_its_flows_once() {
        let mut triggers = waiting(TriggerKind::OneShot);
        assert_eq!(triggers.pull(0), [0, 2]);
        assert!(triggers.pull(0).is_empty());
    }

    #[test]
    fn a_barrier_waits_for_all_pulls() {
        let mut triggers = waiting(TriggerKind::Barrier(3));
        assert!(triggers.pull(0).is_empty() && triggers.pull(0).is_empty());
        assert_eq!(triggers.pull(0), [0, 2]);
    }

    #[test]
    fn a_multi_shot_starts_one_flow_a_pull() {
        let mut triggers = waiting(TriggerKind::MultiShot);
        assert_eq!(triggers.pull(0), [0]);
        assert_eq!(triggers.pull(0), [2]);
        assert!(triggers.pull(0).is_empty());
    }
}
