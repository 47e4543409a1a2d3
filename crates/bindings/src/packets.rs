//! A network of queues, prepared for runs of packets; a run's results.

use eastwest_engine::graph::Graph;
use eastwest_engine::packet::{
    Change, Flow, NetworkSettings, PacketOutcome, Sampling, Scene, Simulation, Totals, Transport, Trigger,
    longest_round_trip, round_trip,
};
use eastwest_engine::routing::Forwarding;
use eastwest_engine::{PS_PER_S, Picoseconds};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::capture::{Capture, CapturingIn};
use crate::classes::{Switching, class_counts};
use crate::flows::{ChangeIn, FlowsIn, picoseconds};
use crate::network::{RoutesIn, interruptible, latencies, node_kinds, tables};
use crate::series::{self, SamplingIn};
use crate::settings::{AnyTransport, SettingsIn};
use crate::to_python;

/// The queues and cables of one fabric.
#[pyclass(frozen)]
pub struct PacketNetwork {
    pub(crate) graph: Graph,
    pub(crate) forwarding: Forwarding,
}

#[pymethods]
impl PacketNetwork {
    /// Nodes and links as flat arrays; rates are bytes a second on the wire, latencies seconds. `routes` are the columns
    /// of forwarding tables (switch, destination, link, weight) to use in place of the shortest paths.
    #[new]
    #[pyo3(signature = (kind, src, dst, rate, latency_s, routes=None))]
    fn new(
        kind: PyReadonlyArray1<'_, u8>,
        src: PyReadonlyArray1<'_, u32>,
        dst: PyReadonlyArray1<'_, u32>,
        rate: PyReadonlyArray1<'_, f64>,
        latency_s: PyReadonlyArray1<'_, f64>,
        routes: Option<RoutesIn<'_>>,
    ) -> PyResult<Self> {
        let (address, is_fabric) = (vec![0; kind.len()?], vec![false; src.len()?]);
        let graph = Graph::new(
            node_kinds(&kind)?,
            address,
            src.as_slice()?.to_vec(),
            dst.as_slice()?.to_vec(),
            rate.as_slice()?.to_vec(),
            latencies(&latency_s)?,
            is_fabric,
        )
        .map_err(to_python)?;
        let forwarding = match routes {
            None => Forwarding::new(&graph),
            Some(columns) => Forwarding::with_routes(&graph, &tables(&columns)?).map_err(to_python)?,
        };
        Ok(Self { graph, forwarding })
    }

    /// Round trip of each pair on the empty network, seconds: a packet of `there` bytes and one of `back`.
    fn round_trips_s<'py>(
        &self,
        py: Python<'py>,
        from_node: PyReadonlyArray1<'_, u32>,
        to_node: PyReadonlyArray1<'_, u32>,
        there: u32,
        back: u32,
        header: Option<u16>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let pairs = from_node.as_slice()?.iter().zip(to_node.as_slice()?);
        let time =
            |(&from, &to)| round_trip(&self.graph, &self.forwarding, from, to, there, back, header).map_err(to_python);
        let times = pairs.map(time).collect::<PyResult<Vec<_>>>()?;
        Ok(PyArray1::from_iter(py, times.into_iter().map(|time| time as f64 / PS_PER_S)))
    }

    /// Longest round trip between hosts (nodes) on the empty network, seconds: a packet of `there` bytes and one of `back`.
    fn longest_round_trip_s(
        &self,
        hosts: PyReadonlyArray1<'_, u32>,
        there: u32,
        back: u32,
        header: Option<u16>,
    ) -> PyResult<f64> {
        let hosts = hosts.as_slice()?;
        let time = longest_round_trip(&self.graph, &self.forwarding, hosts, there, back, header);
        Ok(time.map_err(to_python)? as f64 / PS_PER_S)
    }

    /// Runs flows until all have ended or `until_s` has come, records what leaves by some links, and samples the run.
    /// Returns arrays by flow, those of ports, counts, and the capture and the series where they were wanted.
    #[expect(clippy::too_many_arguments, reason = "each is one thing that a run is given")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        flows: FlowsIn<'py>,
        settings: SettingsIn,
        changes: Vec<ChangeIn>,
        until_s: f64,
        capturing: Option<CapturingIn>,
        sampling: Option<SamplingIn>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (given, triggers, network) = (flows.flows()?, flows.triggers(), settings.network()?);
        let until = if until_s.is_finite() { picoseconds(until_s) } else { Picoseconds::MAX };
        let changes = changes.iter().map(ChangeIn::change).collect::<PyResult<Vec<_>>>()?;
        let run = Run {
            network: self,
            flows: &given,
            triggers: &triggers,
            changes: &changes,
            settings: network,
            switching: settings.switching(),
            until,
            capturing,
            sampling: sampling.map(|sampling| sampling.sampling(settings.payload)),
        };
        let outcome = match settings.transport()? {
            AnyTransport::Uet(transport) => run.with(py, &transport)?,
            AnyTransport::Mrc(transport) => run.with(py, &transport)?,
            AnyTransport::Dctcp(transport) => run.with(py, &transport)?,
            AnyTransport::Roce(transport) => run.with(py, &transport)?,
            AnyTransport::InfiniBand(transport) => run.with(py, &transport)?,
        };
        let out = PyDict::new(py);
        let times = |get: fn(&eastwest_engine::packet::FlowOutcome) -> Option<Picoseconds>| {
            let seconds = |time: Option<Picoseconds>| time.map_or(f64::NAN, |time| time as f64 / PS_PER_S);
            PyArray1::from_iter(py, outcome.flows.iter().map(|flow| seconds(get(flow))))
        };
        out.set_item("start_s", times(|flow| flow.start))?;
        out.set_item("received_s", times(|flow| flow.received))?;
        out.set_item("end_s", times(|flow| flow.end))?;
        out.set_item("flow_retransmits", PyArray1::from_iter(py, outcome.flows.iter().map(|flow| flow.retransmits)))?;
        counts(&out, &outcome.totals)?;
        class_counts(py, &out, &outcome.classes)?;
        out.set_item("ports", series::ports(py, &outcome.ports)?)?;
        out.set_item("series", outcome.series.as_ref().map(|found| series::series(py, found)).transpose()?)?;
        out.set_item("events", outcome.events)?;
        out.set_item("simulated_s", outcome.end as f64 / PS_PER_S)?;
        let capture = outcome.capture.map(|capture| Capture {
            records: capture.records,
            missed: capture.missed,
            flows: given,
            framing: settings.framing(),
        });
        out.set_item("capture", capture)?;
        Ok(out)
    }
}

/// The counts of a run, by name.
pub(crate) fn counts(out: &Bound<'_, PyDict>, totals: &Totals) -> PyResult<()> {
    for (name, count) in [
        ("packets", totals.packets),
        ("link_hops", totals.link_hops),
        ("delivered", totals.delivered),
        ("drops", totals.drops + totals.urgent_drops),
        ("bit_errors", totals.bit_errors + totals.urgent_bit_errors),
        ("lost_flows", totals.lost_flows),
        ("trims", totals.trims),
        ("marks", totals.marks),
        ("retransmits", totals.retransmits),
        ("cnps", totals.cnps),
        ("storms", totals.storms),
        ("failed", totals.failed),
        ("pauses", totals.pauses),
        ("deepest_queue_bytes", totals.deepest),
    ] {
        out.set_item(name, count)?;
    }
    out.set_item("paused_s", totals.paused as f64 / PS_PER_S)?;
    Ok(())
}

/// What a run needs besides its transport.
struct Run<'a> {
    network: &'a PacketNetwork,
    flows: &'a [Flow],
    triggers: &'a [Trigger],
    changes: &'a [Change],
    settings: NetworkSettings,
    switching: Switching,
    until: Picoseconds,
    capturing: Option<CapturingIn>,
    sampling: Option<Sampling>,
}

impl Run<'_> {
    fn with<T: Transport + Sync>(&self, py: Python<'_>, transport: &T) -> PyResult<PacketOutcome> {
        let PacketNetwork { graph, forwarding } = self.network;
        let scene = Scene { graph, forwarding, flows: self.flows, triggers: self.triggers, changes: self.changes };
        interruptible(py, |stop| {
            let mut simulation = self.switching.queued(Simulation::new(scene, transport, self.settings)?)?;
            if let Some(CapturingIn { links, most }) = &self.capturing {
                simulation = simulation.capturing(links, *most)?;
            }
            if let Some(sampling) = self.sampling {
                simulation = simulation.sampling(sampling);
            }
            simulation.run(self.until, stop)
        })?
        .map_err(to_python)
    }
}
