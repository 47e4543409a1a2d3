//! A whole packet: headers to bytes and back.

use std::fmt;

use crate::bytes::{Layer, ParseError, Reader};
use crate::ethernet::{self, Ethernet};
use crate::icrc::icrc;
use crate::ip::Ip;
use crate::operation::Operation;
use crate::transport_header::Bth;
use crate::udp;

/// Bytes of the invariant CRC.
const ICRC: usize = 4;

/// The headers of a RoCEv2 packet. Lengths, checksums, padding and the CRC follow from them and the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Ends of the cable.
    pub ethernet: Ethernet,
    /// Ends of the network.
    pub ip: Ip,
    /// UDP source port: what switches hash besides the addresses.
    pub source_port: u16,
    /// Queue pair and sequence number.
    pub bth: Bth,
    /// What it is for.
    pub operation: Operation,
}

/// More payload than IP's length field can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Bytes of payload.
    pub payload: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} bytes of payload do not fit into one IP packet of at most {} bytes", self.payload, u16::MAX)
    }
}

impl std::error::Error for TooLong {}

impl Frame {
    /// Appends the packet with its payload, padded to four bytes, to a buffer.
    ///
    /// # Errors
    /// [`TooLong`] where all does not fit into an IP packet; nothing is appended then.
    pub fn write(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), TooLong> {
        let begin = out.len();
        let padding = payload.len().wrapping_neg() & 3;
        let mut inside = Vec::with_capacity(32);
        self.operation.write(&mut inside);
        let bytes = crate::transport_header::HEADER + inside.len() + payload.len() + padding + ICRC;
        if self.ip.header() + udp::HEADER + bytes > usize::from(u16::MAX) {
            return Err(TooLong { payload: payload.len() });
        }
        self.ethernet.write(self.ip.ether_type(), out);
        self.ip.write((udp::HEADER + bytes) as u16, out);
        udp::write(self.source_port, bytes as u16, out);
        self.bth.write(self.operation.opcode(), padding as u8, out);
        out.extend_from_slice(&inside);
        out.extend_from_slice(payload);
        out.resize(out.len() + padding, 0);
        let crc = icrc(&out[begin..], &self.ip);
        out.extend_from_slice(&crc);
        out.resize(out.len().max(begin + ethernet::SHORTEST), 0);
        Ok(())
    }

    /// Reads a packet from an Ethernet frame without its check sequence; gives its payload with it.
    ///
    /// # Errors
    /// [`ParseError`] where the bytes are no RoCEv2 packet, one cut short, one whose checksum, lengths or invariant CRC
    /// are wrong, or one of an operation that this crate does not know.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), ParseError> {
        let mut reader = Reader::new(bytes);
        let (ethernet, ether_type) = Ethernet::read(&mut reader)?;
        let ip = Ip::read(ether_type, &mut reader)?;
        let source_port = udp::read(&mut reader)?;
        let (bth, opcode, padding) = Bth::read(&mut reader)?;
        let operation = Operation::read(opcode, &mut reader)?;
        let Some(carried) = reader.left().checked_sub(ICRC + usize::from(padding)) else {
            let what = format!("{} bytes are left for {padding} of padding and {ICRC} of CRC", reader.left());
            return Err(reader.error(Layer::Payload, what));
        };
        if carried > 0 && !operation.carries_payload() {
            return Err(reader.error(Layer::Payload, format!("{carried} bytes, where opcode 0x{opcode:02x} has none")));
        }
        let payload = reader.take(Layer::Payload, carried)?;
        reader.take(Layer::Payload, padding.into())?;
        let right = icrc(reader.taken(), &ip);
        let found = *reader.header::<ICRC>(Layer::Icrc)?;
        if found != right {
            let [found, right] = [found, right].map(u32::from_be_bytes);
            let offset = reader.offset() - ICRC;
            let what = format!("it is 0x{found:08x}, that of these bytes 0x{right:08x}");
            return Err(ParseError { layer: Layer::Icrc, offset, what });
        }
        Ok((Self { ethernet, ip, source_port, bth, operation }, payload))
    }
}
