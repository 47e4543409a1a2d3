//! Settings of a run of packets: from Python's words and seconds to the engine's and the transports' own.

use eastwest_engine::Picoseconds;
use eastwest_engine::packet::{
    Buffers, Change, Choice, Fecn, LaneBuffer, Live, NetworkSettings, Overheads, Pause, Simulation, Trimming, Watchdog,
};
use eastwest_transport::Framing;
use eastwest_transport::dcqcn::DcqcnSettings;
use eastwest_transport::dctcp::DctcpSettings;
use eastwest_transport::infiniband::{InfiniBandSettings, ThrottleSettings};
use eastwest_transport::mrc::MrcSettings;
use eastwest_transport::roce::{Repeat, RoceSettings};
use eastwest_transport::sprayed::{Delivery, NsccSettings, SprayedSettings};
use eastwest_transport::uet::{Control, UetSettings};
use pyo3::prelude::*;

use crate::EngineError;
use crate::classes::{ClassIn, Switching, marking};
use crate::flows::picoseconds;
use crate::packets::PacketNetwork;

/// Round trips of the empty network by which packets overtake each other on many paths: a full queue more on one than on
/// another.
const OVERTAKING: Picoseconds = 2;

/// By how much packets overtake each other on one path: not at all, but for the resolution of times.
const ONE_PATH: Picoseconds = 2048;

/// How packets are sent and switched: the attributes of `eastwest.engine.packets.PacketSettings`.
#[derive(FromPyObject)]
pub struct SettingsIn {
    transport: String,
    pub(crate) payload: u16,
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

    pub(crate) fn framing(&self) -> Framing {
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
