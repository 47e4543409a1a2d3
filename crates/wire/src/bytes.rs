//! Bytes taken one header at a time, and what is said where they make no sense.

use std::fmt;

/// A part of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Addresses of the two ends of a cable, and what follows.
    Ethernet,
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
    /// UDP.
    Udp,
    /// Base Transport Header.
    Bth,
    /// RDMA Extended Transport Header.
    Reth,
    /// ACK Extended Transport Header.
    Aeth,
    /// Immediate data.
    Immediate,
    /// What a congestion notification bears: sixteen reserved bytes.
    Cnp,
    /// What is carried, with its padding.
    Payload,
    /// Invariant CRC.
    Icrc,
}

impl fmt::Display for Layer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Layer::Ethernet => "Ethernet",
            Layer::Ipv4 => "IPv4",
            Layer::Ipv6 => "IPv6",
            Layer::Udp => "UDP",
            Layer::Bth => "BTH",
            Layer::Reth => "RETH",
            Layer::Aeth => "AETH",
            Layer::Immediate => "ImmDt",
            Layer::Cnp => "CNP",
            Layer::Payload => "payload",
            Layer::Icrc => "ICRC",
        })
    }
}

/// Bytes that are no RoCEv2 packet, or none that this crate reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The part that could not be read.
    pub layer: Layer,
    /// Where that part begins, in bytes from the frame's beginning.
    pub offset: usize,
    /// What was found and what was expected.
    pub what: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at byte {}: {}", self.layer, self.offset, self.what)
    }
}

impl std::error::Error for ParseError {}

/// What is left of a frame while its headers are taken off.
pub(crate) struct Reader<'a> {
    frame: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(frame: &'a [u8]) -> Self {
        Self { frame, at: 0 }
    }

    pub fn offset(&self) -> usize {
        self.at
    }

    pub fn left(&self) -> usize {
        self.frame.len() - self.at
    }

    /// Everything before what is left.
    pub fn taken(&self) -> &'a [u8] {
        &self.frame[..self.at]
    }

    /// The next bytes of a layer, as many as its header has.
    pub fn header<const N: usize>(&mut self, layer: Layer) -> Result<&'a [u8; N], ParseError> {
        match self.frame[self.at..].first_chunk() {
            Some(header) => {
                self.at += N;
                Ok(header)
            }
            None => Err(self.error(layer, format!("{} bytes are left, its header has {N}", self.left()))),
        }
    }

    /// The next bytes of a layer.
    pub fn take(&mut self, layer: Layer, bytes: usize) -> Result<&'a [u8], ParseError> {
        match self.frame[self.at..].get(..bytes) {
            Some(taken) => {
                self.at += bytes;
                Ok(taken)
            }
            None => Err(self.error(layer, format!("{} bytes are left, {bytes} were announced", self.left()))),
        }
    }

    /// Forgets what comes after so many bytes from here.
    pub fn cut(&mut self, layer: Layer, bytes: usize) -> Result<(), ParseError> {
        if bytes > self.left() {
            return Err(self.error(layer, format!("{} bytes are left, {bytes} were announced", self.left())));
        }
        self.frame = &self.frame[..self.at + bytes];
        Ok(())
    }

    /// A complaint about what comes next.
    pub fn error(&self, layer: Layer, what: impl Into<String>) -> ParseError {
        ParseError { layer, offset: self.at, what: what.into() }
    }
}

/// 24 bits at the end of a word of 32.
pub(crate) const LOW_24: u32 = (1 << 24) - 1;

/// A number of 16 bits at a place of a header.
pub(crate) fn u16_at(header: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([header[at], header[at + 1]])
}

/// A number of 32 bits at a place of a header.
pub(crate) fn u32_at(header: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}
