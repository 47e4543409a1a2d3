//! IPv4 (RFC 791) and IPv6 (RFC 8200) without options, extension headers or fragments.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::bytes::{Layer, ParseError, Reader, u16_at, u32_at};
use crate::ethernet::{IPV4, IPV6};

const V4_HEADER: usize = 20;
const V6_HEADER: usize = 40;
const UDP: u8 = 17;

const DONT_FRAGMENT: u16 = 0x4000;
/// More fragments, and the offset of this one.
const FRAGMENT: u16 = 0x3FFF;
const FLOW_LABEL: u32 = (1 << 20) - 1;

/// What a packet says of congestion (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Its ends do not heed marks.
    NotCapable = 0,
    /// Its ends heed marks: ECT(1).
    Capable1 = 1,
    /// Its ends heed marks: ECT(0).
    Capable0 = 2,
    /// Marked on the way.
    Experienced = 3,
}

impl Ecn {
    fn of(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotCapable,
            1 => Self::Capable1,
            2 => Self::Capable0,
            _ => Self::Experienced,
        }
    }
}

/// An IPv4 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4 {
    /// Differentiated services code point: six bits.
    pub dscp: u8,
    /// Marks.
    pub ecn: Ecn,
    /// Tells fragments of packets apart; without meaning here, since none is ever cut (RFC 6864).
    pub identification: u16,
    /// Routers that it may still pass.
    pub hop_limit: u8,
    /// Who sent it.
    pub source: Ipv4Addr,
    /// Who is to have it.
    pub destination: Ipv4Addr,
}

/// An IPv6 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6 {
    /// Differentiated services code point: six bits.
    pub dscp: u8,
    /// Marks.
    pub ecn: Ecn,
    /// Tells flows apart: twenty bits.
    pub flow_label: u32,
    /// Routers that it may still pass.
    pub hop_limit: u8,
    /// Who sent it.
    pub source: Ipv6Addr,
    /// Who is to have it.
    pub destination: Ipv6Addr,
}

/// Either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ip {
    /// Version 4.
    V4(Ipv4),
    /// Version 6.
    V6(Ipv6),
}

impl Ip {
    pub(crate) fn ether_type(&self) -> u16 {
        match self {
            Self::V4(_) => IPV4,
            Self::V6(_) => IPV6,
        }
    }

    /// Bytes of the header itself.
    pub(crate) fn header(&self) -> usize {
        match self {
            Self::V4(_) => V4_HEADER,
            Self::V6(_) => V6_HEADER,
        }
    }

    /// Writes the header before so many bytes.
    pub(crate) fn write(&self, bytes: u16, out: &mut Vec<u8>) {
        let begin = out.len();
        match self {
            Self::V4(ip) => {
                out.extend_from_slice(&[0x45, ip.dscp << 2 | ip.ecn as u8]);
                for word in [V4_HEADER as u16 + bytes, ip.identification, DONT_FRAGMENT] {
                    out.extend_from_slice(&word.to_be_bytes());
                }
                out.extend_from_slice(&[ip.hop_limit, UDP, 0, 0]);
                out.extend_from_slice(&ip.source.octets());
                out.extend_from_slice(&ip.destination.octets());
                let sum = checksum(&out[begin..]);
                out[begin + 10..begin + 12].copy_from_slice(&sum.to_be_bytes());
            }
            Self::V6(ip) => {
                let class = u32::from(ip.dscp << 2 | ip.ecn as u8);
                out.extend_from_slice(&(6 << 28 | class << 20 | ip.flow_label & FLOW_LABEL).to_be_bytes());
                out.extend_from_slice(&bytes.to_be_bytes());
                out.extend_from_slice(&[UDP, ip.hop_limit]);
                out.extend_from_slice(&ip.source.octets());
                out.extend_from_slice(&ip.destination.octets());
            }
        }
    }

    /// Reads the header and forgets what comes after its packet: frames are padded.
    pub(crate) fn read(ether_type: u16, reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        match ether_type {
            IPV4 => Ipv4::read(reader).map(Self::V4),
            IPV6 => Ipv6::read(reader).map(Self::V6),
            other => {
                let what = format!("type 0x{other:04x} follows, neither IPv4 (0x0800) nor IPv6 (0x86dd)");
                Err(ParseError { layer: Layer::Ethernet, offset: 0, what })
            }
        }
    }
}

impl Ipv4 {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let offset = reader.offset();
        let header = reader.header::<V4_HEADER>(Layer::Ipv4)?;
        let error = |what: String| Err(ParseError { layer: Layer::Ipv4, offset, what });
        let (total, fragment) = (u16_at(header, 2), u16_at(header, 6));
        if header[0] != 0x45 {
            return error(format!("it begins with 0x{:02x}, not with 0x45: version 4 without options", header[0]));
        }
        if checksum(header) != 0 {
            return error(format!("its checksum 0x{:04x} is wrong", u16_at(header, 10)));
        }
        if fragment & FRAGMENT != 0 {
            return error("it is a fragment".into());
        }
        if header[9] != UDP {
            return error(format!("protocol {} follows, not UDP (17)", header[9]));
        }
        let Some(bytes) = usize::from(total).checked_sub(V4_HEADER) else {
            return error(format!("its total length {total} is less than its own {V4_HEADER} bytes"));
        };
        reader.cut(Layer::Ipv4, bytes)?;
        Ok(Self {
            dscp: header[1] >> 2,
            ecn: Ecn::of(header[1]),
            identification: u16_at(header, 4),
            hop_limit: header[8],
            source: u32_at(header, 12).into(),
            destination: u32_at(header, 16).into(),
        })
    }
}

impl Ipv6 {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let offset = reader.offset();
        let header = reader.header::<V6_HEADER>(Layer::Ipv6)?;
        let error = |what: String| Err(ParseError { layer: Layer::Ipv6, offset, what });
        let first = u32_at(header, 0);
        if first >> 28 != 6 {
            return error(format!("its version is {}, not 6", first >> 28));
        }
        if header[6] != UDP {
            return error(format!("header {} follows, not UDP (17)", header[6]));
        }
        reader.cut(Layer::Ipv6, u16_at(header, 4).into())?;
        let class = (first >> 20) as u8;
        let address = |at: usize| {
            let words: [u16; 8] = std::array::from_fn(|word| u16_at(header, at + 2 * word));
            Ipv6Addr::from(words)
        };
        Ok(Self {
            dscp: class >> 2,
            ecn: Ecn::of(class),
            flow_label: first & FLOW_LABEL,
            hop_limit: header[7],
            source: address(8),
            destination: address(24),
        })
    }
}

/// Ones' complement of the ones' complement sum of 16-bit words (RFC 1071): 0 over a header with its right checksum.
fn checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks_exact(2).map(|word| u32::from(u16_at(word, 0))).sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    !((folded & 0xFFFF) + (folded >> 16)) as u16
}
