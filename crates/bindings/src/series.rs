//! A run over time and what became of its ports, as tables of numpy arrays.

use eastwest_engine::packet::{PortOutcome, Sampling, Series};
use eastwest_engine::{PS_PER_S, Picoseconds};
use eastwest_transport::PathHealth;
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// How to sample a run: the attributes of `eastwest.engine.series.Sampling`.
#[derive(FromPyObject)]
pub struct SamplingIn {
    every_s: f64,
    most_samples: u32,
    most_entries: usize,
    most_flows: usize,
}

impl SamplingIn {
    /// Sampling of a run whose packets carry so many bytes.
    pub fn sampling(&self, payload: u16) -> Sampling {
        Sampling {
            every: (self.every_s * PS_PER_S).round().max(1.0) as Picoseconds,
            most_samples: self.most_samples,
            most_entries: self.most_entries,
            payload: payload.into(),
            most_flows: self.most_flows,
        }
    }
}

fn seconds(time: Picoseconds) -> f64 {
    time as f64 / PS_PER_S
}

/// Adds a column: one value of each row.
fn column<R, V: Element>(table: &Bound<'_, PyDict>, name: &str, rows: &[R], value: impl Fn(&R) -> V) -> PyResult<()> {
    table.set_item(name, PyArray1::from_iter(table.py(), rows.iter().map(value)))
}

/// Adds the columns of entropy values.
fn paths<R>(table: &Bound<'_, PyDict>, rows: &[R], health: impl Fn(&R) -> PathHealth) -> PyResult<()> {
    column(table, "paths", rows, |row| health(row).values)?;
    column(table, "avoided", rows, |row| health(row).avoided)?;
    column(table, "retired", rows, |row| health(row).retired)
}

/// What became of ports, by link.
pub fn ports<'py>(py: Python<'py>, ports: &[PortOutcome]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    column(&table, "deepest_bytes", ports, |port| port.deepest)?;
    column(&table, "pauses", ports, |port| port.pauses)?;
    column(&table, "paused_s", ports, |port| seconds(port.paused))?;
    Ok(table)
}

/// The length of an interval, and tables: `ports`, `network` and `flows` by interval, `totals` by link, `ways` by hop.
pub fn series<'py>(py: Python<'py>, found: &Series) -> PyResult<Bound<'py, PyDict>> {
    let by_port = PyDict::new(py);
    column(&by_port, "sample", &found.ports, |row| row.sample)?;
    column(&by_port, "link", &found.ports, |row| row.port)?;
    column(&by_port, "bytes", &found.ports, |row| row.bytes)?;
    column(&by_port, "deepest_bytes", &found.ports, |row| row.deepest)?;
    column(&by_port, "waiting_bytes", &found.ports, |row| row.waiting)?;
    column(&by_port, "paused_s", &found.ports, |row| seconds(row.paused))?;
    column(&by_port, "marks", &found.ports, |row| row.marks)?;
    column(&by_port, "drops", &found.ports, |row| row.drops)?;
    column(&by_port, "trims", &found.ports, |row| row.trims)?;
    let network = PyDict::new(py);
    column(&network, "delivered", &found.network, |row| row.delivered)?;
    column(&network, "retransmits", &found.network, |row| row.retransmits)?;
    column(&network, "cnps", &found.network, |row| row.cnps)?;
    column(&network, "flows", &found.network, |row| row.flows)?;
    paths(&network, &found.network, |row| row.paths)?;
    let flows = PyDict::new(py);
    column(&flows, "delivered_bytes", &found.flows, |row| row.delivered)?;
    paths(&flows, &found.flows, |row| row.paths)?;
    let totals = PyDict::new(py);
    column(&totals, "bytes", &found.totals, |row| row.bytes)?;
    column(&totals, "packets", &found.totals, |row| row.packets)?;
    column(&totals, "marks", &found.totals, |row| row.marks)?;
    column(&totals, "drops", &found.totals, |row| row.drops)?;
    column(&totals, "trims", &found.totals, |row| row.trims)?;
    let ways = PyDict::new(py);
    column(&ways, "flow", &found.ways, |row| row[0])?;
    column(&ways, "link", &found.ways, |row| row[1])?;
    let out = PyDict::new(py);
    out.set_item("every_s", seconds(found.every))?;
    for (name, table) in
        [("ports", by_port), ("network", network), ("flows", flows), ("totals", totals), ("ways", ways)]
    {
        out.set_item(name, table)?;
    }
    Ok(out)
}
