//! A network of queues, prepared for runs of packets.

use eastwest_engine::graph::Graph;
use eastwest_engine::packet::{
    Becomes, Buffers, Change, Choice, Fecn, Flow, LaneBuffer, Live, NetworkSettings, Overheads, PacketOutcome, Pause,
    Sampling, Scene, Simulation, Start, Totals, Transport, Trigger, TriggerKind, Trimming, Watchdog,
    longest_round_trip, round_trip,
};
use eastwest_engine::routing::Forwarding;
use eastwest_engine::{PS_PER_S, Picoseconds};
use eastwest_transport::Framing;
use eastwest_transport::dcqcn::DcqcnSettings;
use eastwest_transport::dctcp::DctcpSettings;
use eastwest_transport::infiniband::{InfiniBandSettings, ThrottleSettings};
use eastwest_transport::mrc::MrcSettings;
use eastwest_transport::roce::{Repeat, RoceSettings};
use eastwest_transport::sprayed::{Delivery, NsccSettings, SprayedSettings};
use eastwest_transport::uet::{Control, UetSettings};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::capture::{Capture, CapturingIn};
use crate::classes::{ClassIn, Switching, class_counts, marking};
use crate::network::{RoutesIn, interruptible, node_kind, tables};
use crate::series::{self, SamplingIn};
use crate::{EngineError, to_python};

/// Round trips of the empty network by which packets overtake each other on many paths: a full queue more on one than on
/// another.
const OVERTAKING: Picoseconds = 2;

/// By how much packets overtake each other on one path: not at all, but for the resolution of times.
const ONE_PATH: Picoseconds = 2048;

/// The queues and cables of one fabric.
#[pyclass(frozen)]
pub struct PacketNetwork {
    pub(crate) graph: Graph,
    pub(crate) forwarding: Forwarding,
}

/// How packets are sent and switched: the attributes of `eastwest.engine.packets.PacketSettings`.
#[derive(FromPyObject)]
pub struct SettingsIn {
    transport: String,
    payload: u16,
    header: u16,
    control: u16,
    first: u16,
    notification: u16,
    planes: u16,
    rate: f64,
    base_rtt_s: f64,
    timeout_s: f64,
    entropies: u16,
    congestion_control: String,
    delivery: String,
    window: u64,
    probe_every_s: f64,
    ack_every: u32,
    ack_packets: u32,
    repeat: String,
    room: u32,
    trim: u16,
    mark_from: u32,
    mark_to: u32,
    mark_most: f64,
    dcqcn: String,
    pause_above: u32,
    pause_at: u32,
    watchdog_detect_s: f64,
    watchdog_restore_s: f64,
    vl_buffer: u32,
    retries: u32,
    fecn_threshold: u8,
    fecn_between: u32,
    fecn_least: u16,
    ccti_increase: u16,
    ccti_timer_s: f64,
    ccti_min: u16,
    loss: f64,
    patience_s: f64,
    message_overhead_s: f64,
    completion_overhead_s: f64,
    shares_contexts: bool,
    keeps_s: f64,
    choice: String,
    flowlet_gap_s: f64,
    telemetry_s: f64,
    native_classes: Vec<ClassIn>,
    memory: u64,
    cut_through: Option<u16>,
    seed: u64,
}

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

fn picoseconds(seconds: f64) -> Picoseconds {
    (seconds * PS_PER_S).round() as Picoseconds
}

impl FlowsIn<'_> {
    fn flows(&self) -> PyResult<Vec<Flow>> {
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

    fn triggers(&self) -> Vec<Trigger> {
        let kind = |&code: &i64| match u32::try_from(code) {
            Err(_) => TriggerKind::MultiShot,
            Ok(0) => TriggerKind::OneShot,
            Ok(count) => TriggerKind::Barrier(count),
        };
        self.triggers.iter().map(|code| Trigger { kind: kind(code) }).collect()
    }
}

/// A transport with its settings.
pub(crate) enum AnyTransport {
    Uet(UetSettings),
    Mrc(MrcSettings),
    Dctcp(DctcpSettings),
    Roce(RoceSettings),
    InfiniBand(InfiniBandSettings),
}

impl AnyTransport {
    /// Opens a network between NICs that flows are added to, and whose links change.
    pub fn open<'a>(
        &'a self,
        network: &'a PacketNetwork,
        nics: &[u32],
        changes: &'a [Change],
        settings: NetworkSettings,
        switching: &Switching,
    ) -> eastwest_engine::Result<Box<dyn Live + 'a>> {
        let PacketNetwork { graph, forwarding } = network;
        Ok(match self {
            Self::Uet(transport) => {
                Box::new(switching.queued(Simulation::open(graph, forwarding, nics, changes, transport, settings)?)?)
            }
            Self::Mrc(transport) => {
                Box::new(switching.queued(Simulation::open(graph, forwarding, nics, changes, transport, settings)?)?)
            }
            Self::Dctcp(transport) => {
                Box::new(switching.queued(Simulation::open(graph, forwarding, nics, changes, transport, settings)?)?)
            }
            Self::Roce(transport) => {
                Box::new(switching.queued(Simulation::open(graph, forwarding, nics, changes, transport, settings)?)?)
            }
            Self::InfiniBand(transport) => {
                Box::new(switching.queued(Simulation::open(graph, forwarding, nics, changes, transport, settings)?)?)
            }
        })
    }
}

impl SettingsIn {
    pub(crate) fn payload(&self) -> f64 {
        self.payload.into()
    }

    pub(crate) fn transport(&self) -> PyResult<AnyTransport> {
        Ok(match self.transport.as_str() {
            "uet" => AnyTransport::Uet(UetSettings {
                sprayed: SprayedSettings {
                    delivery: match self.delivery.as_str() {
                        "rud" => Delivery::Rud,
                        "rod" => Delivery::Rod,
                        word => return Err(EngineError::new_err(format!("unknown delivery '{word}'"))),
                    },
                    ..self.sprayed()
                },
                entropies: self.entropies,
                control: match self.congestion_control.as_str() {
                    "nscc" => Control::Sender,
                    "rccc" => Control::Receiver,
                    "nscc+rccc" => Control::Both,
                    word => return Err(EngineError::new_err(format!("unknown congestion control '{word}'"))),
                },
            }),
            "mrc" => AnyTransport::Mrc(MrcSettings {
                sprayed: self.sprayed(),
                entropies: self.entropies,
                probe_every: picoseconds(self.probe_every_s),
            }),
            "dctcp" => AnyTransport::Dctcp(DctcpSettings { sprayed: self.sprayed() }),
            "rocev2" => AnyTransport::Roce(self.roce()?),
            "infiniband" => AnyTransport::InfiniBand(self.infiniband()?),
            word => return Err(EngineError::new_err(format!("unknown transport '{word}'"))),
        })
    }

    fn framing(&self) -> Framing {
        let notification = if self.notification > 0 { self.notification } else { self.control };
        Framing { first: self.first, notification, ..Framing::even(self.payload, self.header, self.control) }
    }

    pub(crate) fn network(&self) -> PyResult<NetworkSettings> {
        let trimming = if self.trim == 0 { Trimming::Off } else { Trimming::To { bytes: self.trim } };
        Ok(NetworkSettings {
            buffers: if self.transport == "infiniband" {
                self.credits()
            } else if self.pause_above > 0 {
                Buffers::Lossless { pause: Pause { above: self.pause_above, at: self.pause_at } }
            } else {
                Buffers::Lossy { room: self.room, trimming }
            },
            marking: marking(self.mark_from, self.mark_to, self.mark_most),
            patience: picoseconds(self.patience_s),
            overheads: Overheads {
                post: picoseconds(self.message_overhead_s),
                complete: picoseconds(self.completion_overhead_s),
            },
            shares_contexts: self.shares_contexts,
            loss: (self.loss * 1e9).round() as u32,
            watchdog: (self.watchdog_detect_s > 0.0).then_some(Watchdog {
                detect: picoseconds(self.watchdog_detect_s),
                restore: picoseconds(self.watchdog_restore_s),
            }),
            choice: self.choice()?,
            seed: self.seed,
        })
    }

    /// The queues of switches beyond the one of each port.
    pub(crate) fn switching(&self) -> Switching {
        Switching::new(&self.native_classes, self.memory, self.payload + self.header, self.cut_through)
    }

    fn choice(&self) -> PyResult<Choice> {
        Ok(match self.choice.as_str() {
            "hash" => Choice::Hash,
            "random" => Choice::Random,
            "shortest-queue" => Choice::ShortestQueue,
            "shorter-of-two" => Choice::ShorterOfTwo,
            "least-congested" => Choice::LeastCongested { every: picoseconds(self.telemetry_s) },
            "wcmp" => Choice::Weighted,
            "pinned" => Choice::Pinned,
            "flowlet" => Choice::Flowlet { gap: picoseconds(self.flowlet_gap_s) },
            "source" => Choice::Source {
                // RoCEv2 and DCTCP keep one value a flow
                values: if matches!(self.transport.as_str(), "uet" | "mrc") { self.entropies } else { 1 },
            },
            word => return Err(EngineError::new_err(format!("unknown choice of ports '{word}'"))),
        })
    }

    fn sprayed(&self) -> SprayedSettings {
        let framing = self.framing();
        let mtu = framing.payload + framing.header;
        let base_rtt = picoseconds(self.base_rtt_s);
        SprayedSettings {
            framing,
            nscc: NsccSettings::new(mtu, framing.payload, base_rtt, self.rate, self.trim > 0),
            delivery: Delivery::Rud,
            ack_every: self.ack_every,
            timeout: picoseconds(self.timeout_s),
            planes: self.planes,
            overtaking: match self.transport.as_str() {
                "mrc" => Some(OVERTAKING * base_rtt),
                "dctcp" => Some(ONE_PATH),
                _ => None,
            },
            loss_is_congestion: self.transport != "mrc" || self.trim == 0,
            keeps: picoseconds(self.keeps_s),
        }
    }

    fn credits(&self) -> Buffers {
        Buffers::Credits {
            buffer: match self.vl_buffer {
                0 => LaneBuffer::Ample { packet: self.full() },
                bytes => LaneBuffer::Bytes(bytes),
            },
            fecn: (self.fecn_threshold > 0).then_some(Fecn {
                threshold: self.fecn_threshold,
                between: self.fecn_between,
                least: self.fecn_least,
            }),
        }
    }

    /// Bytes of a full packet.
    fn full(&self) -> u16 {
        self.payload + self.header
    }

    fn infiniband(&self) -> PyResult<InfiniBandSettings> {
        Ok(InfiniBandSettings {
            connection: self.roce()?,
            retries: self.retries,
            throttle: (self.fecn_threshold > 0).then_some(ThrottleSettings {
                packet_time: picoseconds(f64::from(self.full()) / self.rate),
                packet: self.full(),
                increase: self.ccti_increase,
                timer: picoseconds(self.ccti_timer_s),
                least: self.ccti_min,
            }),
        })
    }

    fn roce(&self) -> PyResult<RoceSettings> {
        Ok(RoceSettings {
            framing: self.framing(),
            repeat: match self.repeat.as_str() {
                "go-back-n" => Repeat::GoBackN,
                "selective" => Repeat::Selective,
                "any-order" => Repeat::AnyOrder,
                word => return Err(EngineError::new_err(format!("unknown repeat '{word}'"))),
            },
            window: match self.window {
                0 => u32::MAX,
                bytes => u32::try_from(bytes / u64::from(self.payload)).unwrap_or(u32::MAX).max(1),
            },
            ack_every: self.ack_packets,
            timeout: picoseconds(self.timeout_s),
            dcqcn: match self.dcqcn.as_str() {
                "off" => None,
                "paper" => Some(DcqcnSettings::paper(self.rate)),
                "nvidia" => Some(DcqcnSettings::nvidia(self.rate)),
                word => return Err(EngineError::new_err(format!("unknown DCQCN '{word}'"))),
            },
        })
    }
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
        let kind = kind.as_slice()?.iter().map(|&code| node_kind(code)).collect::<PyResult<Vec<_>>>()?;
        let (nodes, links) = (kind.len(), src.len()?);
        let latency = latency_s.as_slice()?.iter().map(|&time| picoseconds(time)).collect();
        let (src, dst, rate) = (src.as_slice()?.to_vec(), dst.as_slice()?.to_vec(), rate.as_slice()?.to_vec());
        let graph = Graph::new(kind, vec![0; nodes], src, dst, rate, latency, vec![false; links]).map_err(to_python)?;
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
