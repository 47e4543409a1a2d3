//! A network prepared for runs: the graph and its distances, kept between calls.

use crate::flows::{ChangeIn, picoseconds};
use crate::packets::{self, PacketNetwork};
use crate::program::{CarriageIn, MixIn, OpIn, carriage, program};
use crate::series;
use crate::settings::SettingsIn;
use crate::{EngineError, to_python};
use eastwest_engine::demand::Demands;
use eastwest_engine::fluid::max_min;
use eastwest_engine::graph::{Graph, NodeKind};
use eastwest_engine::lower::{Losses, check_carriage, losses};
use eastwest_engine::outcome::Outcome;
use eastwest_engine::program::Program;
use eastwest_engine::routing::{Balancing, Connection, Route, Router, Topology};
use eastwest_engine::schedule::{Fidelity, PacketNet, Record, RunOptions, record, run_packets, run_seeds};
use eastwest_engine::{PS_PER_S, Picoseconds};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How often a run looks whether the user wants it to stop.
const LISTEN: Duration = Duration::from_millis(50);

type Column<'py> = PyReadonlyArray1<'py, u32>;
pub(crate) type RoutesIn<'py> = (Column<'py>, Column<'py>, Column<'py>, PyReadonlyArray1<'py, f64>);
type ColumnOut<'py> = Bound<'py, PyArray1<u32>>;
type RoutesOut<'py> = (ColumnOut<'py>, ColumnOut<'py>, ColumnOut<'py>, Bound<'py, PyArray1<f64>>);

/// The network of one fabric.
#[pyclass(frozen)]
pub struct Network {
    topology: Topology,
}

fn balancing(carried: &CarriageIn) -> PyResult<Balancing> {
    Ok(match carried.balancing.as_str() {
        "ecmp" => Balancing::Ecmp,
        "wcmp" => Balancing::Wcmp,
        "flowlet" => Balancing::Flowlet { flowlets: carried.flowlets },
        "spray" => Balancing::Spray,
        "adaptive" => Balancing::Adaptive,
        "pinned" => Balancing::Pinned,
        "source" => Balancing::Source { paths: carried.paths },
        word => return Err(EngineError::new_err(format!("unknown load balancing '{word}'"))),
    })
}

fn per_switch_seeds(carried: &CarriageIn) -> PyResult<bool> {
    match carried.hash_seeds.as_str() {
        "per-switch" => Ok(true),
        "shared" => Ok(false),
        word => Err(EngineError::new_err(format!("unknown hash seeds '{word}'"))),
    }
}

/// The engine's kind of a node, by its code.
/// Kinds of nodes by their codes.
pub(crate) fn node_kinds(codes: &PyReadonlyArray1<'_, u8>) -> PyResult<Vec<NodeKind>> {
    codes.as_slice()?.iter().map(|&code| node_kind(code)).collect()
}

/// Latencies on the engine's clock.
pub(crate) fn latencies(seconds: &PyReadonlyArray1<'_, f64>) -> PyResult<Vec<Picoseconds>> {
    Ok(seconds.as_slice()?.iter().map(|&time| picoseconds(time)).collect())
}

fn node_kind(code: u8) -> PyResult<NodeKind> {
    Ok(match code {
        // To the network a host, a server's or storage's, is an endpoint as a GPU is.
        0 | 5 => NodeKind::Gpu,
        1 => NodeKind::NvSwitch,
        2 => NodeKind::Pcie,
        3 => NodeKind::Nic,
        4 => NodeKind::Switch,
        _ => return Err(EngineError::new_err(format!("unknown kind of node {code}"))),
    })
}

fn seconds(times: &[Picoseconds]) -> impl Iterator<Item = f64> + '_ {
    times.iter().map(|&time| time as f64 / PS_PER_S)
}

/// Rows of equal length as one array: runs x entries.
fn stacked<'py>(
    py: Python<'py>,
    outcomes: &[Outcome],
    width: usize,
    row: impl Fn(&Outcome) -> Vec<f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let flat: Vec<f64> = outcomes.iter().flat_map(row).collect();
    let array = Array2::from_shape_vec((outcomes.len(), width), flat)
        .map_err(|error| EngineError::new_err(error.to_string()))?;
    Ok(array.into_pyarray(py))
}

/// Numbers row after row as an array of so many columns.
fn table<T: numpy::Element>(py: Python<'_>, flat: Vec<T>, columns: usize) -> PyResult<Bound<'_, PyArray2<T>>> {
    let rows = flat.len().checked_div(columns).unwrap_or(0);
    let array = Array2::from_shape_vec((rows, columns), flat);
    Ok(array.map_err(|error| EngineError::new_err(error.to_string()))?.into_pyarray(py))
}

fn options(carried: &CarriageIn, fidelity: &str, tolerance: f64) -> PyResult<RunOptions> {
    Ok(RunOptions {
        fidelity: match fidelity {
            "ideal" => Fidelity::Ideal,
            "fluid" => Fidelity::Fluid,
            word => return Err(EngineError::new_err(format!("unknown fidelity '{word}'"))),
        },
        balancing: balancing(carried)?,
        per_switch_seeds: per_switch_seeds(carried)?,
        tolerance,
    })
}

/// Writes what runs of a program gave back, one row a run.
pub(crate) fn write(
    py: Python<'_>,
    out: &Bound<'_, PyDict>,
    topology: &Topology,
    program: &Program,
    outcomes: &[Outcome],
) -> PyResult<()> {
    let (links, ranks, count) = (topology.graph().links(), program.gpu.len(), program.ops.len());
    out.set_item("step_s", PyArray1::from_iter(py, outcomes.iter().map(|o| o.step as f64 / PS_PER_S)))?;
    out.set_item("op_start_s", stacked(py, outcomes, count, |o| seconds(&o.op_start).collect())?)?;
    out.set_item("op_end_s", stacked(py, outcomes, count, |o| seconds(&o.op_end).collect())?)?;
    out.set_item("op_bytes", stacked(py, outcomes, count, |o| o.op_bytes.clone())?)?;
    out.set_item("compute_s", stacked(py, outcomes, ranks, |o| seconds(&o.compute).collect())?)?;
    out.set_item("communication_s", stacked(py, outcomes, ranks, |o| seconds(&o.communication).collect())?)?;
    out.set_item("exposed_s", stacked(py, outcomes, ranks, |o| seconds(&o.exposed).collect())?)?;
    out.set_item("link_bytes", stacked(py, outcomes, links, |o| o.link_bytes.clone())?)?;
    out.set_item("link_flows", stacked(py, outcomes, links, |o| o.link_flows.clone())?)?;
    out.set_item("link_limiting_s", stacked(py, outcomes, links, |o| o.link_limiting.clone())?)?;
    out.set_item("capped_s", PyArray1::from_iter(py, outcomes.iter().map(|o| o.capped)))?;
    out.set_item("batching_error", PyArray1::from_iter(py, outcomes.iter().map(|o| o.batching_error)))?;
    out.set_item("rounds", PyArray1::from_iter(py, outcomes.iter().map(|o| o.rounds)))?;
    Ok(())
}

/// Runs `work` on a thread of its own while this one listens for Ctrl-C.
pub(crate) fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&AtomicBool) -> T + Send) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let (result, signal) = py.detach(|| {
        let (done, finished) = mpsc::channel::<()>();
        let stop = &stop;
        std::thread::scope(|scope| {
            let worker = scope.spawn(move || {
                let _dropped_at_the_end_even_of_a_panic = done;
                work(stop)
            });
            let mut signal = Ok(());
            while finished.recv_timeout(LISTEN) == Err(RecvTimeoutError::Timeout) {
                if signal.is_ok() {
                    signal = Python::attach(|py| py.check_signals());
                    stop.store(signal.is_err(), Ordering::Relaxed);
                }
            }
            (worker.join(), signal)
        })
    });
    signal?;
    result.map_err(|_| PyRuntimeError::new_err("the engine stopped on an internal error; please report it"))
}

/// Rows of forwarding tables from their columns.
pub(crate) fn tables((switch, destination, link, weight): &RoutesIn<'_>) -> PyResult<Vec<Route>> {
    let ends = switch.as_slice()?.iter().zip(destination.as_slice()?);
    let ways = link.as_slice()?.iter().zip(weight.as_slice()?);
    let route = |((&switch, &destination), (&link, &weight))| Route { switch, destination, link, weight };
    Ok(ends.zip(ways).map(route).collect())
}

#[pymethods]
impl Network {
    /// Nodes and links as flat arrays; rates are payload bytes a second, latencies seconds. `routes` are the columns of
    /// forwarding tables (switch, destination, link, weight) to use in place of the shortest paths.
    #[new]
    #[pyo3(signature = (kind, address, src, dst, rate, latency_s, is_fabric, routes=None))]
    #[expect(clippy::too_many_arguments, reason = "the whole network in one call")]
    fn new(
        kind: PyReadonlyArray1<'_, u8>,
        address: PyReadonlyArray1<'_, u32>,
        src: PyReadonlyArray1<'_, u32>,
        dst: PyReadonlyArray1<'_, u32>,
        rate: PyReadonlyArray1<'_, f64>,
        latency_s: PyReadonlyArray1<'_, f64>,
        is_fabric: PyReadonlyArray1<'_, bool>,
        routes: Option<RoutesIn<'_>>,
    ) -> PyResult<Self> {
        let graph = Graph::new(
            node_kinds(&kind)?,
            address.as_slice()?.to_vec(),
            src.as_slice()?.to_vec(),
            dst.as_slice()?.to_vec(),
            rate.as_slice()?.to_vec(),
            latencies(&latency_s)?,
            is_fabric.as_slice()?.to_vec(),
        );
        let topology = match routes {
            None => graph.and_then(Topology::new),
            Some(columns) => {
                let routes = tables(&columns)?;
                graph.and_then(|graph| Topology::with_routes(graph, &routes))
            }
        };
        Ok(Self { topology: topology.map_err(to_python)? })
    }

    /// The forwarding tables that a way of balancing amounts to, as columns (switch, destination, link, weight).
    fn routes<'py>(&self, py: Python<'py>, carried: CarriageIn) -> PyResult<RoutesOut<'py>> {
        let routes = self.topology.routes(balancing(&carried)?).ok_or_else(|| {
            EngineError::new_err("the paths that senders draw are in no switch's table: leave out their number")
        })?;
        let column = |get: fn(&Route) -> u32| PyArray1::from_iter(py, routes.iter().map(get));
        let weight = PyArray1::from_iter(py, routes.iter().map(|route| route.weight));
        Ok((column(|route| route.switch), column(|route| route.destination), column(|route| route.link), weight))
    }

    /// Runs a program once for each seed. Returns arrays, one row a seed.
    #[pyo3(signature = (gpu, ops, overlap_slowdown, mix, carried, fidelity, tolerance, seeds))]
    #[expect(clippy::too_many_arguments, reason = "the whole run in one call")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        gpu: PyReadonlyArray1<'py, u32>,
        ops: Vec<OpIn<'py>>,
        overlap_slowdown: f64,
        mix: MixIn<'py>,
        carried: CarriageIn,
        fidelity: &str,
        tolerance: f64,
        seeds: Vec<u64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let program = program(gpu.as_slice()?, &ops, overlap_slowdown, &mix, carriage(&carried)?)?;
        let options = options(&carried, fidelity, tolerance)?;
        let topology = &self.topology;
        let outcomes =
            interruptible(py, |stop| run_seeds(topology, &program, &options, &seeds, stop))?.map_err(to_python)?;
        let out = PyDict::new(py);
        write(py, &out, topology, &program, &outcomes)?;
        Ok(out)
    }

    /// Runs a program by packets over `packets`, the same nodes and links at the rates of the wire, once for each seed.
    /// Returns the arrays of `run`; `transfer_s`, the completion times of messages between servers, one array a seed; and
    /// `packets`, counts by name and arrays of what became of `ports`, one mapping a seed. `efficiency` is the payload in a byte of each link.
    #[pyo3(signature = (gpu, ops, overlap_slowdown, mix, carried, tolerance, seeds, packets, settings, efficiency, changes))]
    #[expect(clippy::too_many_arguments, reason = "the whole run in one call")]
    fn run_packets<'py>(
        &self,
        py: Python<'py>,
        gpu: PyReadonlyArray1<'py, u32>,
        ops: Vec<OpIn<'py>>,
        overlap_slowdown: f64,
        mix: MixIn<'py>,
        carried: CarriageIn,
        tolerance: f64,
        seeds: Vec<u64>,
        packets: &PacketNetwork,
        settings: SettingsIn,
        efficiency: PyReadonlyArray1<'py, f64>,
        changes: Vec<ChangeIn>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let program = program(gpu.as_slice()?, &ops, overlap_slowdown, &mix, carriage(&carried)?)?;
        let changes = changes.iter().map(ChangeIn::change).collect::<PyResult<Vec<_>>>()?;
        let (options, transport) = (options(&carried, "fluid", tolerance)?, settings.transport()?);
        let (topology, efficiency) = (&self.topology, efficiency.as_slice()?);
        let switching = settings.switching();
        let open = |nics: &[u32], network| transport.open(packets, nics, &changes, network, &switching);
        let net = PacketNet {
            graph: &packets.graph,
            forwarding: &packets.forwarding,
            payload: settings.payload(),
            efficiency,
            open: &open,
            settings: settings.network()?,
        };
        let runs = interruptible(py, |stop| run_packets(topology, &program, &options, &net, &seeds, stop))?;
        let (mut outcomes, mut times, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for run in runs.map_err(to_python)? {
            outcomes.push(run.outcome);
            let flows = run.packets.flows.iter();
            let took = flows.filter_map(|flow| Some((flow.received? - flow.start?) as f64 / PS_PER_S));
            times.push(PyArray1::from_iter(py, took));
            let named = PyDict::new(py);
            packets::counts(&named, &run.packets.totals)?;
            named.set_item("ports", series::ports(py, &run.packets.ports)?)?;
            counts.push(named);
        }
        let out = PyDict::new(py);
        write(py, &out, topology, &program, &outcomes)?;
        out.set_item("transfer_s", times)?;
        out.set_item("packets", counts)?;
        Ok(out)
    }

    /// Runs a program once and records what happened when. Times are integer picoseconds; `turns` has a row (operation,
    /// class, start, end) each, `transfers` (operation, part, phase, start, end), loads a row a span and a column a tier.
    #[pyo3(signature = (gpu, ops, overlap_slowdown, mix, carried, fidelity, tolerance, seed, every, tiers))]
    #[expect(clippy::too_many_arguments, reason = "the whole run in one call")]
    fn record<'py>(
        &self,
        py: Python<'py>,
        gpu: PyReadonlyArray1<'py, u32>,
        ops: Vec<OpIn<'py>>,
        overlap_slowdown: f64,
        mix: MixIn<'py>,
        carried: CarriageIn,
        fidelity: &str,
        tolerance: f64,
        seed: u64,
        every: Picoseconds,
        tiers: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let program = program(gpu.as_slice()?, &ops, overlap_slowdown, &mix, carriage(&carried)?)?;
        let options = options(&carried, fidelity, tolerance)?;
        let (topology, wanted) = (&self.topology, Record { every, tiers: tiers.as_slice()? });
        let (outcome, timeline) =
            interruptible(py, |stop| record(topology, &program, &options, seed, wanted, stop))?.map_err(to_python)?;
        let turns = timeline.turns.iter().flat_map(|t| [u64::from(t.op), u64::from(t.class), t.start, t.end]);
        let transfers = timeline
            .transfers
            .iter()
            .flat_map(|t| [u64::from(t.op), u64::from(t.part), u64::from(t.phase), t.start, t.end]);
        let out = PyDict::new(py);
        out.set_item("step_ps", outcome.step)?;
        out.set_item("class_of", timeline.class_of.into_pyarray(py))?;
        out.set_item("turns", table(py, turns.collect(), 4)?)?;
        out.set_item("transfers", table(py, transfers.collect(), 5)?)?;
        out.set_item("bytes", PyArray1::from_iter(py, timeline.transfers.iter().map(|t| t.bytes)))?;
        out.set_item("every_ps", timeline.every)?;
        out.set_item("mean", table(py, timeline.mean, timeline.tiers)?)?;
        out.set_item("most", table(py, timeline.most, timeline.tiers)?)?;
        Ok(out)
    }

    /// What of a program is lost, for each seed, where `down` says of each link whether it is down: the shares of the
    /// connections between servers that lose anything, of their bytes that are lost, and of the ranks that wait for them.
    #[expect(clippy::too_many_arguments, reason = "the whole program in one call")]
    fn losses(
        &self,
        py: Python<'_>,
        gpu: PyReadonlyArray1<'_, u32>,
        ops: Vec<OpIn<'_>>,
        mix: MixIn<'_>,
        carried: CarriageIn,
        down: PyReadonlyArray1<'_, bool>,
        seeds: Vec<u64>,
    ) -> PyResult<Vec<(f64, f64, f64)>> {
        let program = program(gpu.as_slice()?, &ops, 1.0, &mix, carriage(&carried)?)?;
        let (balancing, per_switch, down) = (balancing(&carried)?, per_switch_seeds(&carried)?, down.as_slice()?);
        let topology = &self.topology;
        if down.len() != topology.graph().links() {
            return Err(EngineError::new_err("there is not one entry of down for each link"));
        }
        let found = py.detach(|| {
            seeds
                .iter()
                .map(|&seed| losses(&Router::new(topology, balancing, per_switch, seed), &program, down))
                .collect::<Result<Vec<_>, _>>()
        });
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let shares = |found: Losses| {
            let waits = found.waits.iter().filter(|&&waits| waits).count();
            let ranks = share(waits as f64, found.waits.len() as f64);
            (share(found.hit, found.connections), share(found.lost, found.bytes), ranks)
        };
        Ok(found.map_err(to_python)?.into_iter().map(shares).collect())
    }

    /// Max-min rates of connections that all run at once, payload bytes a second: one an entry of `from_gpu`, `to_gpu`.
    fn max_min<'py>(
        &self,
        py: Python<'py>,
        from_gpu: PyReadonlyArray1<'py, u32>,
        to_gpu: PyReadonlyArray1<'py, u32>,
        carried: CarriageIn,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (from, to) = (from_gpu.as_slice()?, to_gpu.as_slice()?);
        let (balancing, per_switch) = (balancing(&carried)?, per_switch_seeds(&carried)?);
        check_carriage(&carriage(&carried)?).map_err(to_python)?;
        let shares = vec![1.0 / f64::from(carried.qps); carried.qps as usize];
        let topology = &self.topology;
        let rates = py.detach(|| {
            let router = Router::new(topology, balancing, per_switch, seed);
            let mut demands = Demands::default();
            let (mut legs, mut entries) = (Vec::new(), Vec::new());
            for (&from, &to) in from.iter().zip(to) {
                legs.clear();
                let latency = router.connect(Connection { from, to, channel: 0 }, &shares, &mut legs)?;
                entries.clear();
                entries.extend(legs.iter().map(|leg| (leg.resource, leg.share)));
                demands.push(&entries, f64::from(carried.qps), f64::INFINITY, 1.0, latency);
            }
            Ok(max_min(&demands, &router.resources().capacity).0)
        });
        Ok(rates.map_err(to_python)?.into_pyarray(py))
    }
}
