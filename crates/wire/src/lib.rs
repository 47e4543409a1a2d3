//! RoCEv2 on the wire: typed headers to bytes and back, and capture files that other tools read.
//!
//! A [`Frame`] is Ethernet, IPv4 or IPv6, UDP to port 4791, InfiniBand's Base Transport Header with what an operation
//! adds to it, payload and the invariant CRC: InfiniBand Architecture Specification, volume 1, chapter 9, and annex A17
//! (RoCEv2). [`Frame::parse`] takes any bytes and answers with headers or with a [`ParseError`] that says where and what.
//! [`Conversation`] gives the packets that a simulated transport exchanges their headers; [`Pcap`] writes them to a file.
//!
//! Not here: what a transport does ([`eastwest_transport`]); other transports than reliable connection; VLAN tags, IP
//! options and fragments, which RoCEv2 traffic in one fabric does without.

mod bytes;
mod conversation;
mod ethernet;
mod frame;
mod icrc;
mod ip;
mod operation;
mod pcap;
mod transport_header;
mod udp;

pub use bytes::{Layer, ParseError};
pub use conversation::Conversation;
pub use ethernet::{Ethernet, Mac};
pub use frame::{Frame, TooLong};
pub use icrc::crc32;
pub use ip::{Ecn, Ip, Ipv4, Ipv6};
pub use operation::{Aeth, Nak, Operation, Reth, Syndrome};
pub use pcap::Pcap;
pub use transport_header::Bth;
pub use udp::ROCE_PORT;
