//! What a simulated connection exchanges, as RoCEv2.

use std::net::Ipv4Addr;

use eastwest_transport::{Flags, Framing, Kind, Packet};
use eastwest_wire::{Aeth, Conversation, Ecn, Frame, Ip, Ipv4, Nak, Operation, Reth, Syndrome};

const FRAMING: Framing = Framing { payload: 4096, header: 82, first: 0, control: 82, notification: 82 };
const SENDER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

fn conversation(bytes: u64) -> Conversation {
    Conversation { source: SENDER, destination: RECEIVER, bytes, framing: FRAMING }
}

fn data(bytes: u64, seq: u32) -> Packet {
    Packet::data(7, seq, FRAMING.size(bytes, seq), 0xABCD, Flags::default())
}

fn seen(bytes: u64, packet: Packet) -> (Frame, usize) {
    let mut out = Vec::new();
    assert_eq!(conversation(bytes).write(&packet, &mut out), Ok(true));
    let (frame, payload) = Frame::parse(&out).unwrap();
    (frame, payload.len())
}

fn v4(frame: &Frame) -> Ipv4 {
    match frame.ip {
        Ip::V4(ip) => ip,
        Ip::V6(_) => panic!("it is IPv6"),
    }
}

#[test]
fn a_message_is_a_first_packet_middle_ones_and_a_last() {
    let bytes = 2 * 4096 + 5;
    let parts: Vec<_> = (0..3).map(|seq| seen(bytes, data(bytes, seq))).collect();
    let reth = Reth { address: 0, key: 9, length: bytes as u32 };
    assert_eq!(
        parts.iter().map(|(frame, carried)| (frame.operation, frame.bth.psn, *carried)).collect::<Vec<_>>(),
        [(Operation::WriteFirst(reth), 0, 4096), (Operation::WriteMiddle, 1, 4096), (Operation::WriteLast, 2, 5)]
    );
    assert!(parts.iter().all(|(frame, _)| frame.bth.destination_qp == 9));
}

#[test]
fn a_short_message_is_one_packet() {
    let (frame, carried) = seen(100, data(100, 0));
    assert_eq!((frame.operation, carried), (Operation::WriteOnly(Reth { address: 0, key: 9, length: 100 }), 100));
}

#[test]
fn bytes_beyond_two_gibibytes_are_another_message() {
    let bytes = (1 << 31) + 4097;
    let next = 1 << 19; // 2^31 / 4096
    assert_eq!(seen(bytes, data(bytes, next - 1)).0.operation, Operation::WriteLast);
    let reth = Reth { address: 1 << 31, key: 9, length: 4097 };
    assert_eq!(seen(bytes, data(bytes, next)).0.operation, Operation::WriteFirst(reth));
    let ack = Packet { cumulative: next, ..data(bytes, next - 1).answer(Kind::Ack, 82) };
    assert!(matches!(seen(bytes, ack).0.operation, Operation::Acknowledge(Aeth { messages: 1, .. })));
}

#[test]
fn sequence_numbers_have_24_bits() {
    let bytes = 4096 << 25;
    assert_eq!(seen(bytes, data(bytes, (1 << 24) + 3)).0.bth.psn, 3);
}

#[test]
fn an_acknowledgement_names_the_last_packet_in_order_and_counts_messages() {
    let bytes = 3 * 4096;
    let answer = |cumulative| Packet { cumulative, ..data(bytes, cumulative - 1).answer(Kind::Ack, 82) };
    let (frame, _) = seen(bytes, answer(2));
    let syndrome = Syndrome::Ack { credits: 31 };
    assert_eq!((frame.bth.psn, frame.operation), (1, Operation::Acknowledge(Aeth { syndrome, messages: 0 })));
    let (frame, _) = seen(bytes, answer(3));
    assert_eq!((frame.bth.psn, frame.operation), (2, Operation::Acknowledge(Aeth { syndrome, messages: 1 })));
    assert_eq!((v4(&frame).source, v4(&frame).destination), (RECEIVER, SENDER));
}

#[test]
fn a_gap_is_answered_with_the_number_that_is_expected() {
    let bytes = 8 * 4096;
    let nack = Packet { cumulative: 2, ..data(bytes, 5).answer(Kind::Nack, 82) };
    let (frame, _) = seen(bytes, nack);
    let aeth = Aeth { syndrome: Syndrome::Nak(Nak::SequenceError), messages: 0 };
    assert_eq!((frame.bth.psn, frame.operation), (2, Operation::Acknowledge(aeth)));
}

#[test]
fn marks_stand_in_data_and_not_in_what_answers_it() {
    let marked = Packet { flags: Flags::CE, ..data(5000, 0) };
    assert_eq!(v4(&seen(5000, data(5000, 0)).0).ecn, Ecn::Capable0);
    assert_eq!(v4(&seen(5000, marked).0).ecn, Ecn::Experienced);
    let (notification, _) = seen(5000, marked.answer(Kind::Cnp, 82));
    assert_eq!((notification.operation, notification.bth.becn), (Operation::CongestionNotification, true));
    assert_eq!((v4(&notification).ecn, v4(&notification).dscp), (Ecn::NotCapable, 48));
}

#[test]
fn entropy_is_the_source_port_both_ways() {
    // 0xABCD: its low 14 bits 0x2BCD, folded with its high two 0b10, above 0xC000
    let there = seen(100, data(100, 0)).0;
    let back = seen(100, data(100, 0).answer(Kind::Cnp, 82)).0;
    assert_eq!((there.source_port, back.source_port), (0xEBCF, 0xEBCF));
}

#[test]
fn a_packet_without_its_payload_is_left_out() {
    let mut out = Vec::new();
    let trimmed = Packet { flags: Flags::TRIMMED, ..data(100, 0) };
    assert_eq!(conversation(100).write(&trimmed, &mut out), Ok(false));
    assert!(out.is_empty());
}
