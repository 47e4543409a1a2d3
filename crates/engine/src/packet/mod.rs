//! Every packet: through NICs, switch queues and links, driven by the transports' own state machines.
//!
//! A [`Simulation`] runs flows between hosts (NIC nodes) over a graph of switches. Each direction of a cable is a port with
//! its queues; a switch chooses a port for each packet by one of several rules ([`Choice`]). Queues and events pass on the
//! places of packets, and a hop takes two events: one when a port becomes free for what waits, none where nothing does, and
//! one when the packet arrives; cut-through and credits add theirs. Time is integer picoseconds. Large networks are worked
//! on region by region, so that what is at hand stays in a cache; whatever is added must therefore act on another region's
//! hosts and ports by events, no sooner than a cable's latency later (`regions`).
//!
//! To begin reading: `placing` makes a simulation of a scene, `run` is the event loop, `nic` a host at work, `switching` and
//! `queueing` a switch; `accounts` checks that packets add up. What most runs go without stands beside, and costs them a
//! look at whether it is there: `classes`, `credits`, `steering`, `cut_through`, `capture`, `series`.
//!
//! Not here: what a transport does ([`eastwest_transport`]); NVLink and PCIe inside a server.

mod accounts;
mod buffer;
mod capture;
mod changes;
mod choice;
mod classes;
mod contexts;
mod credits;
mod cut_through;
mod draws;
mod due;
mod event;
mod granting;
mod lanes;
mod live;
mod nic;
mod outcome;
mod path;
mod placing;
mod pool;
mod port;
mod ports;
mod queueing;
mod regions;
mod run;
mod scheduler;
mod series;
mod settings;
mod steering;
mod switching;
mod transport;
mod triggers;
mod wheel;

pub use buffer::headroom;
pub use capture::{Capture, Record};
pub use changes::{Becomes, Change};
pub use choice::Choice;
pub use classes::{Beyond, Class, ClassOutcome, ClassTotals, Classes, Room, Threshold};
pub use contexts::Sharing;
pub use credits::{Fecn, LaneBuffer};
pub use live::{Live, Message, News};
pub use outcome::{FlowOutcome, PacketOutcome, Totals};
pub use path::{longest_round_trip, round_trip};
pub use placing::Scene;
pub use ports::PortOutcome;
pub use run::Simulation;
pub use scheduler::MOST_CLASSES;
pub use series::{FlowSample, NetworkSample, PortCounts, PortSample, Sampling, Series};
pub use settings::{Buffers, Marking, NetworkSettings, Overheads, Pause, Trimming, Watchdog};
pub use transport::Transport;
pub use triggers::{Flow, Start, Trigger, TriggerKind};
