//! Random headers come back as they were; random and damaged bytes are refused, never with a panic.

use eastwest_wire::{
    Aeth, Bth, Ecn, Ethernet, Frame, Ip, Ipv4, Ipv6, Layer, Mac, Nak, Operation, ParseError, Reth, Syndrome,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const U24: std::ops::Range<u32> = 0..1 << 24;

fn ecn() -> impl Strategy<Value = Ecn> {
    select(&[Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::Experienced])
}

fn ip() -> impl Strategy<Value = Ip> {
    let v4 = (0..64u8, ecn(), any::<(u16, u8, u32, u32)>()).prop_map(|(dscp, ecn, rest)| {
        let (identification, hop_limit, source, destination) = rest;
        Ip::V4(Ipv4 { dscp, ecn, identification, hop_limit, source: source.into(), destination: destination.into() })
    });
    let v6 = (0..64u8, ecn(), 0..1u32 << 20, any::<(u8, u128, u128)>()).prop_map(|(dscp, ecn, flow_label, rest)| {
        let (hop_limit, source, destination) = rest;
        Ip::V6(Ipv6 { dscp, ecn, flow_label, hop_limit, source: source.into(), destination: destination.into() })
    });
    prop_oneof![v4, v6]
}

fn operation() -> impl Strategy<Value = Operation> {
    let reth = any::<(u64, u32, u32)>().prop_map(|(address, key, length)| Reth { address, key, length });
    let nak = select(&[
        Nak::SequenceError,
        Nak::InvalidRequest,
        Nak::AccessError,
        Nak::OperationalError,
        Nak::InvalidDatagram,
    ]);
    let syndrome = prop_oneof![
        (0..32u8).prop_map(|credits| Syndrome::Ack { credits }),
        (0..32u8).prop_map(|timer| Syndrome::NotReady { timer }),
        nak.prop_map(Syndrome::Nak),
    ];
    let aeth = (syndrome, U24).prop_map(|(syndrome, messages)| Aeth { syndrome, messages });
    prop_oneof![
        select(&[
            Operation::SendFirst,
            Operation::SendMiddle,
            Operation::SendLast,
            Operation::SendOnly,
            Operation::WriteMiddle,
            Operation::WriteLast,
            Operation::CongestionNotification,
        ]),
        any::<u32>().prop_map(Operation::SendLastImmediate),
        any::<u32>().prop_map(Operation::SendOnlyImmediate),
        any::<u32>().prop_map(Operation::WriteLastImmediate),
        reth.clone().prop_map(Operation::WriteFirst),
        reth.clone().prop_map(Operation::WriteOnly),
        (reth, any::<u32>()).prop_map(|(reth, word)| Operation::WriteOnlyImmediate(reth, word)),
        aeth.prop_map(Operation::Acknowledge),
    ]
}

fn frame() -> impl Strategy<Value = Frame> {
    let ethernet = any::<([u8; 6], [u8; 6])>()
        .prop_map(|(destination, source)| Ethernet { destination: Mac(destination), source: Mac(source) });
    let bth = (any::<(bool, bool, bool, bool, bool, u16)>(), U24, U24).prop_map(|(bits, destination_qp, psn)| {
        let (is_solicited, is_migrated, fecn, becn, asks_ack, partition) = bits;
        Bth { is_solicited, is_migrated, partition, fecn, becn, destination_qp, asks_ack, psn }
    });
    (ethernet, ip(), any::<u16>(), bth, operation()).prop_map(|(ethernet, ip, source_port, bth, operation)| Frame {
        ethernet,
        ip,
        source_port,
        bth,
        operation,
    })
}

/// A frame with payload, where it may have some, and its bytes.
fn packet() -> impl Strategy<Value = (Frame, Vec<u8>, Vec<u8>)> {
    (frame(), vec(any::<u8>(), 0..300)).prop_map(|(frame, payload)| {
        let payload = if frame.operation.carries_payload() { payload } else { Vec::new() };
        let mut bytes = Vec::new();
        frame.write(&payload, &mut bytes).unwrap();
        (frame, payload, bytes)
    })
}

/// Where IP's packet ends in a frame that may be padded, and where the Base Transport Header begins.
fn places(frame: &Frame, bytes: &[u8]) -> (usize, usize) {
    let word = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    match frame.ip {
        Ip::V4(_) => (14 + word(16), 42),
        Ip::V6(_) => (54 + word(18), 62),
    }
}

proptest! {
    #[test]
    fn headers_come_back_as_they_were((frame, payload, bytes) in packet()) {
        prop_assert_eq!(Frame::parse(&bytes), Ok((frame, &payload[..])));
    }

    #[test]
    fn a_packet_cut_short_is_refused((frame, _, bytes) in packet(), at in any::<Index>()) {
        let (end, _) = places(&frame, &bytes);
        prop_assert!(Frame::parse(&bytes[..at.index(end)]).is_err());
    }

    #[test]
    fn a_flipped_bit_behind_the_transport_header_breaks_the_crc((frame, _, bytes) in packet(), at in any::<Index>(), bit in 0..8u8) {
        let (end, bth) = places(&frame, &bytes);
        // a part that only the CRC protects
        let begin = bth + 12 + if frame.operation.carries_payload() { 0 } else { 4 };
        let mut damaged = bytes;
        damaged[begin + at.index(end - begin)] ^= 1u8 << bit;
        let refused = Frame::parse(&damaged);
        prop_assert!(matches!(refused, Err(ParseError { layer: Layer::Icrc, .. })), "{:?}", refused);
    }

    #[test]
    fn what_routers_change_leaves_the_crc_alone((frame, payload, bytes) in packet(), hop_limit: u8, ecn in ecn()) {
        let mut routed = frame;
        match &mut routed.ip {
            Ip::V4(ip) => (ip.hop_limit, ip.ecn) = (hop_limit, ecn),
            Ip::V6(ip) => (ip.hop_limit, ip.ecn) = (hop_limit, ecn),
        }
        let mut again = Vec::new();
        routed.write(&payload, &mut again).unwrap();
        let (end, _) = places(&frame, &bytes);
        prop_assert_eq!(&bytes[end - 4..end], &again[end - 4..end]);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        if let Err(error) = Frame::parse(&bytes) {
            prop_assert!(error.offset <= bytes.len());
        }
    }

    #[test]
    fn damaged_packets_are_read_or_refused((_, _, bytes) in packet(), damage in vec((any::<Index>(), any::<u8>()), 1..6)) {
        let mut damaged = bytes;
        for (at, byte) in damage {
            let at = at.index(damaged.len());
            damaged[at] = byte;
        }
        match Frame::parse(&damaged) {
            Err(error) => prop_assert!(error.offset <= damaged.len()),
            // what was read is what is written
            Ok((frame, payload)) => {
                let mut again = Vec::new();
                frame.write(payload, &mut again).unwrap();
                prop_assert_eq!(Frame::parse(&again), Ok((frame, payload)));
            }
        }
    }
}
