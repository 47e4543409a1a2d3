//! Ethernet's header: whose frame it is, and which IP follows. The frame check sequence is left to the hardware, as it is
//! in capture files.

use std::fmt;

use crate::bytes::{Layer, ParseError, Reader, u16_at};

/// Bytes of the shortest frame without its check sequence (IEEE 802.3, 4A.4.2: 64 with it).
pub(crate) const SHORTEST: usize = 60;

pub(crate) const HEADER: usize = 14;
pub(crate) const IPV4: u16 = 0x0800;
pub(crate) const IPV6: u16 = 0x86DD;

/// A hardware address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(out, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

/// The two ends of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ethernet {
    /// Who is to take it.
    pub destination: Mac,
    /// Who sent it.
    pub source: Mac,
}

impl Ethernet {
    pub(crate) fn write(&self, ether_type: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.destination.0);
        out.extend_from_slice(&self.source.0);
        out.extend_from_slice(&ether_type.to_be_bytes());
    }

    /// Reads the header; gives the type of what follows with it.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<(Self, u16), ParseError> {
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, _, _] = *reader.header::<HEADER>(Layer::Ethernet)?;
        let ether_type = u16_at(reader.taken(), HEADER - 2);
        Ok((Self { destination: Mac([d0, d1, d2, d3, d4, d5]), source: Mac([s0, s1, s2, s3, s4, s5]) }, ether_type))
    }
}
