//! What happens on a network of packets: flows, what starts them, and what becomes of links; from Python's arrays.

use eastwest_engine::packet::{Becomes, Change, Flow, Start, Trigger, TriggerKind};
use eastwest_engine::{PS_PER_S, Picoseconds};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::EngineError;

/// What becomes of a link: the attributes of `eastwest.engine.packets.LinkChange`.
#[derive(FromPyObject)]
pub struct ChangeIn {
    at_s: f64,
    link: u32,
    becomes: String,
    rate: f64,
    loss: f64,
    late_s: f64,
    routes_after_s: Option<f64>,
}

impl ChangeIn {
    pub(crate) fn change(&self) -> PyResult<Change> {
        Ok(Change {
            at: picoseconds(self.at_s),
            link: self.link,
            becomes: match self.becomes.as_str() {
                "down" => Becomes::Down,
                "up" => Becomes::Up,
                "rate" => Becomes::Rate(self.rate),
                "lost" => Becomes::Lost,
                "late" => Becomes::Late(picoseconds(self.late_s)),
                "erring" => Becomes::Erring((self.loss * 1e9).round() as u32),
                word => return Err(EngineError::new_err(format!("unknown change '{word}'"))),
            },
            routes_after: self.routes_after_s.map(picoseconds),
        })
    }
}

/// Flows as flat arrays: the attributes of `eastwest.engine.packets.NativeFlows`.
#[derive(FromPyObject)]
pub struct FlowsIn<'py> {
    from_node: PyReadonlyArray1<'py, u32>,
    to_node: PyReadonlyArray1<'py, u32>,
    bytes: PyReadonlyArray1<'py, u64>,
    traffic_class: PyReadonlyArray1<'py, u8>,
    start_ps: PyReadonlyArray1<'py, u64>,
    start_trigger: PyReadonlyArray1<'py, i64>,
    sent_trigger: PyReadonlyArray1<'py, i64>,
    received_trigger: PyReadonlyArray1<'py, i64>,
    /// Of each trigger: -1 for multi-shot, 0 for one-shot, else the pulls that a barrier needs.
    triggers: Vec<i64>,
}

pub(crate) fn picoseconds(seconds: f64) -> Picoseconds {
    (seconds * PS_PER_S).round() as Picoseconds
}

impl FlowsIn<'_> {
    pub(crate) fn flows(&self) -> PyResult<Vec<Flow>> {
        let (from, to, bytes) = (self.from_node.as_slice()?, self.to_node.as_slice()?, self.bytes.as_slice()?);
        let class = self.traffic_class.as_slice()?;
        let (start, on) = (self.start_ps.as_slice()?, self.start_trigger.as_slice()?);
        let (sent, received) = (self.sent_trigger.as_slice()?, self.received_trigger.as_slice()?);
        if [to.len(), bytes.len(), class.len(), start.len(), on.len(), sent.len(), received.len()]
            .iter()
            .any(|&n| n != from.len())
        {
            return Err(EngineError::new_err("the flows' arrays differ in length"));
        }
        let flow = |i: usize| Flow {
            from: from[i],
            to: to[i],
            bytes: bytes[i],
            class: class[i],
            start: u32::try_from(on[i]).map_or(Start::At(start[i]), Start::On),
            when_sent: u32::try_from(sent[i]).ok(),
            when_received: u32::try_from(received[i]).ok(),
        };
        Ok((0..from.len()).map(flow).collect())
    }

    pub(crate) fn triggers(&self) -> Vec<Trigger> {
        let kind = |&code: &i64| match u32::try_from(code) {
            Err(_) => TriggerKind::MultiShot,
            Ok(0) => TriggerKind::OneShot,
            Ok(count) => TriggerKind::Barrier(count),
        };
        self.triggers.iter().map(|code| Trigger { kind: kind(code) }).collect()
    }
}
