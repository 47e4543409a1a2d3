//! UDP's header (RFC 768): of it RoCEv2 uses the source port, which tells flows apart to switches that hash.

use crate::bytes::{Layer, ParseError, Reader, u16_at};

/// The port of RoCEv2 (annex A17; IANA's `roce`).
pub const ROCE_PORT: u16 = 4791;

pub(crate) const HEADER: usize = 8;

/// Writes the header before so many bytes. The checksum is 0, none: the invariant CRC protects more.
pub(crate) fn write(source_port: u16, bytes: u16, out: &mut Vec<u8>) {
    for word in [source_port, ROCE_PORT, HEADER as u16 + bytes, 0] {
        out.extend_from_slice(&word.to_be_bytes());
    }
}

/// Reads the header; gives the source port.
pub(crate) fn read(reader: &mut Reader<'_>) -> Result<u16, ParseError> {
    let offset = reader.offset();
    let left = reader.left();
    let header = reader.header::<HEADER>(Layer::Udp)?;
    let error = |what| Err(ParseError { layer: Layer::Udp, offset, what });
    let (port, length) = (u16_at(header, 2), u16_at(header, 4));
    if port != ROCE_PORT {
        return error(format!("it goes to port {port}, not to {ROCE_PORT}"));
    }
    if usize::from(length) != left {
        return error(format!("its length is {length}, IP has {left} bytes for it"));
    }
    Ok(u16_at(header, 0))
}
