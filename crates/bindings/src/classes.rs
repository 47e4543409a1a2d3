//! Traffic classes from Python, and what became of them.

use eastwest_engine::PS_PER_S;
use eastwest_engine::packet::{
    Beyond, Class, ClassOutcome, Classes, Marking, Room, Simulation, Threshold, Transport, Trimming, headroom,
};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// One class: the attributes of `eastwest.engine.classes.NativeClass`.
#[derive(FromPyObject)]
pub struct ClassIn {
    priority: u8,
    weight: u32,
    is_lossless: bool,
    /// Multiple of the free memory that a group may hold; 0 for a threshold in bytes.
    alpha: f64,
    threshold: u32,
    reserve: u32,
    trim: u16,
    resume_below: u32,
    headroom: Option<u32>,
    mark_from: u32,
    mark_to: u32,
    mark_most: f64,
    answers: Option<u8>,
    notifications: Option<u8>,
}

impl ClassIn {
    fn class(&self) -> Class {
        let trimming = if self.trim == 0 { Trimming::Off } else { Trimming::To { bytes: self.trim } };
        let beyond = if self.is_lossless {
            Beyond::Pause { below: self.resume_below, headroom: self.headroom }
        } else {
            Beyond::Lose(trimming)
        };
        let threshold = if self.alpha > 0.0 { Threshold::Alpha(self.alpha) } else { Threshold::Bytes(self.threshold) };
        Class {
            priority: self.priority,
            weight: self.weight,
            room: Room { reserve: self.reserve, threshold, beyond },
            marking: marking(self.mark_from, self.mark_to, self.mark_most),
            answers: self.answers,
            notifications: self.notifications,
        }
    }
}

/// Marks from and to so many bytes, none where the latter is 0.
pub(crate) fn marking(from: u32, to: u32, most: f64) -> Option<Marking> {
    (to > 0).then_some(Marking { from, to, most: (most * 1000.0) as u32 })
}

/// The queues of switches beyond the one of each port.
#[derive(Clone, Debug, Default)]
pub(crate) struct Switching {
    pub classes: Option<Classes>,
    /// Bytes after which a packet is sent on, where it is not stored first.
    pub cut_through: Option<u16>,
}

impl Switching {
    /// From what Python gives: no classes, and a memory of 0 for one without end.
    pub fn new(classes: &[ClassIn], memory: u64, full: u16, cut_through: Option<u16>) -> Self {
        let classes = (!classes.is_empty()).then(|| Classes {
            classes: classes.iter().map(ClassIn::class).collect(),
            memory: (memory > 0).then_some(memory),
            full,
        });
        Self { classes, cut_through }
    }

    /// Gives a simulation these queues.
    pub fn queued<'a, T: Transport>(
        &self,
        mut simulation: Simulation<'a, T>,
    ) -> eastwest_engine::Result<Simulation<'a, T>> {
        if let Some(classes) = &self.classes {
            simulation = simulation.classed(classes)?;
        }
        Ok(match self.cut_through {
            Some(header) => simulation.cutting_through(header),
            None => simulation,
        })
    }
}

/// What became of classes: their counts, and how long each was paused at each port, by port and then class.
pub(crate) fn class_counts(py: Python<'_>, out: &Bound<'_, PyDict>, found: &ClassOutcome) -> PyResult<()> {
    let counts = found.totals.iter().map(|totals| {
        let counts = PyDict::new(py);
        for (name, count) in [
            ("drops", totals.drops),
            ("headroom_drops", totals.headroom_drops),
            ("trims", totals.trims),
            ("marks", totals.marks),
            ("pauses", totals.pauses),
            ("storms", totals.storms),
            ("deepest_queue_bytes", totals.deepest),
            ("most_shared_bytes", totals.most_shared),
            ("most_headroom_bytes", totals.most_headroom),
        ] {
            counts.set_item(name, count)?;
        }
        counts.set_item("paused_s", totals.paused as f64 / PS_PER_S)?;
        Ok(counts)
    });
    out.set_item("class_counts", PyList::new(py, counts.collect::<PyResult<Vec<_>>>()?)?)?;
    let paused = found.paused.iter().map(|&time| time as f64 / PS_PER_S);
    out.set_item("class_paused_s", PyArray1::from_iter(py, paused))
}

/// Bytes that may still come by a cable after its switch has decided to pause it: see the engine's `headroom`.
#[pyfunction]
pub fn headroom_bytes(rate: f64, latency_s: f64, full: u16) -> u32 {
    headroom(rate, (latency_s * PS_PER_S).round() as u64, full)
}
