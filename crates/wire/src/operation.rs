//! What a packet is for: its opcode (InfiniBand specification, 9.2.1; annex A17 for congestion notifications) and the
//! headers that this opcode adds to the Base Transport Header.

use crate::bytes::{LOW_24, Layer, ParseError, Reader, u32_at};

/// Reserved bytes of a congestion notification (annex A17).
const CNP_RESERVED: usize = 16;

/// An operation of a reliable connection, or a congestion notification. A message is one packet (`Only`), or a first one,
/// middle ones and a last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// First of a message into a buffer that the receiver chooses.
    SendFirst,
    /// One of its middle.
    SendMiddle,
    /// Its last.
    SendLast,
    /// Its last, with a word for the receiver.
    SendLastImmediate(u32),
    /// All of it.
    SendOnly,
    /// All of it, with a word for the receiver.
    SendOnlyImmediate(u32),
    /// First of a message into memory that the sender names.
    WriteFirst(Reth),
    /// One of its middle.
    WriteMiddle,
    /// Its last.
    WriteLast,
    /// Its last, with a word for the receiver.
    WriteLastImmediate(u32),
    /// All of it.
    WriteOnly(Reth),
    /// All of it, with a word for the receiver.
    WriteOnlyImmediate(Reth, u32),
    /// What has arrived, or that something is amiss.
    Acknowledge(Aeth),
    /// Congestion seen on the way to its sender (CNP).
    CongestionNotification,
}

impl Operation {
    /// The first byte of the Base Transport Header.
    pub fn opcode(&self) -> u8 {
        match self {
            Self::SendFirst => 0x00,
            Self::SendMiddle => 0x01,
            Self::SendLast => 0x02,
            Self::SendLastImmediate(_) => 0x03,
            Self::SendOnly => 0x04,
            Self::SendOnlyImmediate(_) => 0x05,
            Self::WriteFirst(_) => 0x06,
            Self::WriteMiddle => 0x07,
            Self::WriteLast => 0x08,
            Self::WriteLastImmediate(_) => 0x09,
            Self::WriteOnly(_) => 0x0A,
            Self::WriteOnlyImmediate(..) => 0x0B,
            Self::Acknowledge(_) => 0x11,
            Self::CongestionNotification => 0x81,
        }
    }

    /// Whether such packets may carry payload.
    pub fn carries_payload(&self) -> bool {
        !matches!(self, Self::Acknowledge(_) | Self::CongestionNotification)
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::WriteFirst(reth) | Self::WriteOnly(reth) | Self::WriteOnlyImmediate(reth, _) => reth.write(out),
            Self::Acknowledge(aeth) => aeth.write(out),
            Self::CongestionNotification => out.extend_from_slice(&[0; CNP_RESERVED]),
            _ => {}
        }
        if let Self::SendLastImmediate(word)
        | Self::SendOnlyImmediate(word)
        | Self::WriteLastImmediate(word)
        | Self::WriteOnlyImmediate(_, word) = self
        {
            out.extend_from_slice(&word.to_be_bytes());
        }
    }

    pub(crate) fn read(opcode: u8, reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let immediate = |reader: &mut Reader<'_>| Ok(u32_at(reader.header::<4>(Layer::Immediate)?, 0));
        Ok(match opcode {
            0x00 => Self::SendFirst,
            0x01 => Self::SendMiddle,
            0x02 => Self::SendLast,
            0x03 => Self::SendLastImmediate(immediate(reader)?),
            0x04 => Self::SendOnly,
            0x05 => Self::SendOnlyImmediate(immediate(reader)?),
            0x06 => Self::WriteFirst(Reth::read(reader)?),
            0x07 => Self::WriteMiddle,
            0x08 => Self::WriteLast,
            0x09 => Self::WriteLastImmediate(immediate(reader)?),
            0x0A => Self::WriteOnly(Reth::read(reader)?),
            0x0B => Self::WriteOnlyImmediate(Reth::read(reader)?, immediate(reader)?),
            0x11 => Self::Acknowledge(Aeth::read(reader)?),
            0x81 => {
                reader.header::<CNP_RESERVED>(Layer::Cnp)?;
                Self::CongestionNotification
            }
            other => {
                let what = format!(
                    "opcode 0x{other:02x} is none of reliable connection's sends, writes and acknowledgements, nor a \
                     congestion notification (0x81)"
                );
                let offset = reader.offset() - crate::transport_header::HEADER;
                return Err(ParseError { layer: Layer::Bth, offset, what });
            }
        })
    }
}

/// Where a message is written: RDMA Extended Transport Header (9.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reth {
    /// Virtual address of the receiver's memory.
    pub address: u64,
    /// Remote key: the right to write there.
    pub key: u32,
    /// Bytes of the message.
    pub length: u32,
}

impl Reth {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.address.to_be_bytes());
        out.extend_from_slice(&self.key.to_be_bytes());
        out.extend_from_slice(&self.length.to_be_bytes());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let header = reader.header::<16>(Layer::Reth)?;
        let address = u64::from(u32_at(header, 0)) << 32 | u64::from(u32_at(header, 4));
        Ok(Self { address, key: u32_at(header, 8), length: u32_at(header, 12) })
    }
}

/// How a receiver is doing: ACK Extended Transport Header (9.3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aeth {
    /// What it says.
    pub syndrome: Syndrome,
    /// Message sequence number, messages completed so far: 24 bits.
    pub messages: u32,
}

/// What an acknowledgement says, in a byte: three bits of kind, five of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syndrome {
    /// All up to its sequence number has arrived; five bits of code for how much more may come.
    Ack {
        /// Credits; 31 where they are not used.
        credits: u8,
    },
    /// There is no buffer for a send; five bits of code for how long to wait.
    NotReady {
        /// Timer.
        timer: u8,
    },
    /// Something is amiss.
    Nak(Nak),
}

/// What is amiss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Nak {
    /// Another packet is expected: that with this one's sequence number.
    SequenceError = 0,
    /// A request that makes no sense.
    InvalidRequest = 1,
    /// A request without the right to it.
    AccessError = 2,
    /// The receiver failed.
    OperationalError = 3,
    /// A reliable datagram that makes no sense.
    InvalidDatagram = 4,
}

const FIVE_BITS: u8 = 0x1F;

impl Syndrome {
    fn byte(self) -> u8 {
        match self {
            Self::Ack { credits } => credits & FIVE_BITS,
            Self::NotReady { timer } => 0x20 | timer & FIVE_BITS,
            Self::Nak(code) => 0x60 | code as u8,
        }
    }

    fn of(byte: u8) -> Option<Self> {
        let code = byte & FIVE_BITS;
        Some(match byte >> 5 {
            0 => Self::Ack { credits: code },
            1 => Self::NotReady { timer: code },
            3 => Self::Nak(match code {
                0 => Nak::SequenceError,
                1 => Nak::InvalidRequest,
                2 => Nak::AccessError,
                3 => Nak::OperationalError,
                4 => Nak::InvalidDatagram,
                _ => return None,
            }),
            _ => return None,
        })
    }
}

impl Aeth {
    fn write(&self, out: &mut Vec<u8>) {
        let word = u32::from(self.syndrome.byte()) << 24 | self.messages & LOW_24;
        out.extend_from_slice(&word.to_be_bytes());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let offset = reader.offset();
        let word = u32_at(reader.header::<4>(Layer::Aeth)?, 0);
        let byte = (word >> 24) as u8;
        let Some(syndrome) = Syndrome::of(byte) else {
            return Err(ParseError { layer: Layer::Aeth, offset, what: format!("syndrome 0x{byte:02x} is reserved") });
        };
        Ok(Self { syndrome, messages: word & LOW_24 })
    }
}
