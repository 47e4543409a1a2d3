//! InfiniBand's Base Transport Header (specification, 9.2), twelve bytes, without its opcode, which an
//! [`Operation`](crate::Operation) has.

use crate::bytes::{LOW_24, Layer, ParseError, Reader, u16_at, u32_at};

pub(crate) const HEADER: usize = 12;

const SOLICITED: u8 = 0x80;
const MIGRATED: u8 = 0x40;
const FECN: u32 = 1 << 31;
const BECN: u32 = 1 << 30;
const ACK_REQUEST: u32 = 1 << 31;

/// Which queue pair a packet is for, and which of its packets it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bth {
    /// The receiver is to raise an event.
    pub is_solicited: bool,
    /// The connection's paths are as they were set up.
    pub is_migrated: bool,
    /// Partition key.
    pub partition: u16,
    /// Congestion was seen on the way (not set by RoCEv2, which has ECN).
    pub fecn: bool,
    /// Congestion was seen on the way back: set in congestion notifications.
    pub becn: bool,
    /// Queue pair that it is for: 24 bits.
    pub destination_qp: u32,
    /// The receiver is to acknowledge it.
    pub asks_ack: bool,
    /// Packet sequence number: 24 bits.
    pub psn: u32,
}

impl Bth {
    /// What real NICs send unless told otherwise: the default partition, paths as set up.
    pub fn new(destination_qp: u32, psn: u32) -> Self {
        Self {
            is_solicited: false,
            is_migrated: true,
            partition: 0xFFFF,
            fecn: false,
            becn: false,
            destination_qp,
            asks_ack: false,
            psn,
        }
    }

    pub(crate) fn write(&self, opcode: u8, padding: u8, out: &mut Vec<u8>) {
        let flag = |bit: u8, holds: bool| if holds { bit } else { 0 };
        let long = |bit: u32, holds: bool| if holds { bit } else { 0 };
        let flags = flag(SOLICITED, self.is_solicited) | flag(MIGRATED, self.is_migrated) | padding << 4;
        out.extend_from_slice(&[opcode, flags]);
        out.extend_from_slice(&self.partition.to_be_bytes());
        let queue_pair = long(FECN, self.fecn) | long(BECN, self.becn) | self.destination_qp & LOW_24;
        out.extend_from_slice(&queue_pair.to_be_bytes());
        out.extend_from_slice(&(long(ACK_REQUEST, self.asks_ack) | self.psn & LOW_24).to_be_bytes());
    }

    /// Reads the header; gives the opcode and the bytes of padding with it. Reserved bits are ignored.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<(Self, u8, u8), ParseError> {
        let offset = reader.offset();
        let header = reader.header::<HEADER>(Layer::Bth)?;
        let (flags, queue_pair, sequence) = (header[1], u32_at(header, 4), u32_at(header, 8));
        if flags & 0xF != 0 {
            let what = format!("its version is {}, not 0", flags & 0xF);
            return Err(ParseError { layer: Layer::Bth, offset, what });
        }
        let bth = Self {
            is_solicited: flags & SOLICITED != 0,
            is_migrated: flags & MIGRATED != 0,
            partition: u16_at(header, 2),
            fecn: queue_pair & FECN != 0,
            becn: queue_pair & BECN != 0,
            destination_qp: queue_pair & LOW_24,
            asks_ack: sequence & ACK_REQUEST != 0,
            psn: sequence & LOW_24,
        };
        Ok((bth, header[0], flags >> 4 & 3))
    }
}
