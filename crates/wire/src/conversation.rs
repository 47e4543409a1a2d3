//! The packets that a simulated reliable connection exchanges, as headers: RDMA WRITEs from sender to receiver,
//! acknowledgements and congestion notifications back.
//!
//! What the simulation does not know is chosen here: each flow is a connection of its own, whose two queue pairs have one
//! number, and whose bytes are one message, or several of at most 2 GiB, into memory that begins at address 0. Hardware
//! addresses are made from IP addresses and stay those of the two hosts; routers count no hops down.

use std::net::Ipv4Addr;

use eastwest_transport::{Flags, Framing, Kind, Packet};

use crate::bytes::LOW_24;
use crate::ethernet::{Ethernet, Mac};
use crate::frame::{Frame, TooLong};
use crate::ip::{Ecn, Ip, Ipv4};
use crate::operation::{Aeth, Nak, Operation, Reth, Syndrome};
use crate::transport_header::Bth;

/// Code point that puts RoCE traffic into the lossless queue (NVIDIA Cumulus Linux, "RoCE": priority 3).
const DSCP: u8 = 26;
/// That of congestion notifications (there: priority 6).
const NOTIFICATION_DSCP: u8 = 48;
const HOP_LIMIT: u8 = 64;

/// Longest message of a reliable connection, bytes (InfiniBand Architecture Specification).
const LONGEST_MESSAGE: u64 = 1 << 31;

/// Queue pairs 0 and 1 are the subnet's own, the last is for multicast.
const FIRST_QP: u32 = 2;
const QPS: u32 = LOW_24 - FIRST_QP;

/// Acknowledgements that grant no credits: the code for "not used".
const NO_CREDITS: u8 = 31;

/// Payload of the longest packet.
static ZEROS: [u8; u16::MAX as usize] = [0; u16::MAX as usize];

/// One flow's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Address of the sender.
    pub source: Ipv4Addr,
    /// Address of the receiver.
    pub destination: Ipv4Addr,
    /// Bytes of the flow.
    pub bytes: u64,
    /// How they are cut into packets.
    pub framing: Framing,
}

impl Conversation {
    /// Appends a packet as it stands on a wire, without preamble and frame check sequence; its payload is zeros. Packets
    /// whose payload a switch cut off, and probes, which RoCEv2 does not have, are left out; says whether it is one.
    ///
    /// # Errors
    /// [`TooLong`] where the packet does not fit into IP's.
    pub fn write(&self, packet: &Packet, out: &mut Vec<u8>) -> Result<bool, TooLong> {
        if packet.flags.has(Flags::TRIMMED) {
            return Ok(false);
        }
        let bth = Bth::new(FIRST_QP + packet.flow % QPS, 0);
        let (bth, operation) = match packet.kind {
            Kind::Data => {
                let bth = Bth { psn: packet.seq & LOW_24, asks_ack: packet.flags.has(Flags::ACK_NOW), ..bth };
                (bth, self.part(packet))
            }
            // what has arrived is all before the lowest that has not
            Kind::Ack => {
                let psn = packet.cumulative.wrapping_sub(1) & LOW_24;
                (Bth { psn, ..bth }, self.answer(packet, Syndrome::Ack { credits: NO_CREDITS }))
            }
            Kind::Nack => {
                let psn = packet.cumulative & LOW_24;
                (Bth { psn, ..bth }, self.answer(packet, Syndrome::Nak(Nak::SequenceError)))
            }
            Kind::Cnp => (Bth { becn: true, ..bth }, Operation::CongestionNotification),
            Kind::Probe | Kind::ProbeAnswer | Kind::Request | Kind::Credit => return Ok(false),
        };
        let is_data = packet.kind == Kind::Data;
        let [source, destination] =
            if is_data { [self.source, self.destination] } else { [self.destination, self.source] };
        let frame = Frame {
            ethernet: Ethernet { destination: mac(destination), source: mac(source) },
            ip: Ip::V4(Ipv4 {
                dscp: if packet.kind == Kind::Cnp { NOTIFICATION_DSCP } else { DSCP },
                // an answer's mark tells of the packet that it answers
                ecn: match (is_data, packet.flags.has(Flags::CE)) {
                    (true, true) => Ecn::Experienced,
                    (true, false) => Ecn::Capable0,
                    (false, _) => Ecn::NotCapable,
                },
                identification: 0,
                hop_limit: HOP_LIMIT,
                source,
                destination,
            }),
            source_port: source_port(packet.entropy),
            bth,
            operation,
        };
        let payload = if is_data { self.framing.payload_of(packet) } else { 0 };
        frame.write(&ZEROS[..payload.into()], out)?;
        Ok(true)
    }

    /// Packets of a message.
    fn message(&self) -> u32 {
        (LONGEST_MESSAGE / u64::from(self.framing.payload.max(1))) as u32
    }

    /// Which part of which message a packet of data is.
    fn part(&self, packet: &Packet) -> Operation {
        let message = packet.seq / self.message();
        let first = message * self.message();
        let is_first = packet.seq == first;
        let is_last = packet.seq + 1 == self.framing.packets(self.bytes) || (packet.seq + 1) % self.message() == 0;
        let address = u64::from(first) * u64::from(self.framing.payload);
        let whole = u64::from(self.message()) * u64::from(self.framing.payload);
        let length = self.bytes.saturating_sub(address).min(whole) as u32;
        let reth = Reth { address, key: FIRST_QP + packet.flow % QPS, length };
        match (is_first, is_last) {
            (true, true) => Operation::WriteOnly(reth),
            (true, false) => Operation::WriteFirst(reth),
            (false, true) => Operation::WriteLast,
            (false, false) => Operation::WriteMiddle,
        }
    }

    fn answer(&self, packet: &Packet, syndrome: Syndrome) -> Operation {
        let is_all = packet.cumulative == self.framing.packets(self.bytes);
        let messages =
            if is_all { packet.cumulative.div_ceil(self.message()) } else { packet.cumulative / self.message() };
        Operation::Acknowledge(Aeth { syndrome, messages: messages & LOW_24 })
    }
}

/// A locally administered address (IEEE 802, 8.2.2) that ends as the host's IPv4 address.
fn mac(address: Ipv4Addr) -> Mac {
    let [a, b, c, d] = address.octets();
    Mac([2, 0, a, b, c, d])
}

/// The UDP source port of an entropy value: as Linux folds a flow label into the dynamic ports
/// (`rdma_flow_label_to_udp_sport`).
fn source_port(entropy: u16) -> u16 {
    0xC000 | ((entropy & 0x3FFF) ^ (entropy >> 14))
}
