//! Packets made by an independent implementation (the `roce` layer of scapy 2.8): their bytes are ours, and read back.

use std::net::{Ipv4Addr, Ipv6Addr};

use eastwest_wire::{
    Aeth, Bth, Ecn, Ethernet, Frame, Ip, Ipv4, Ipv6, Mac, Nak, Operation, Reth, Syndrome, TooLong, crc32,
};

const ETHERNET: Ethernet = Ethernet { destination: Mac([2, 0, 10, 0, 0, 2]), source: Mac([2, 0, 10, 0, 0, 1]) };
const V4: Ipv4 = Ipv4 {
    dscp: 26,
    ecn: Ecn::Capable0,
    identification: 0,
    hop_limit: 64,
    source: Ipv4Addr::new(10, 0, 0, 1),
    destination: Ipv4Addr::new(10, 0, 0, 2),
};

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn assert_same(frame: Frame, payload: &[u8], hex: &str) {
    let mut written = Vec::new();
    frame.write(payload, &mut written).unwrap();
    assert_eq!(written, bytes(hex));
    assert_eq!(Frame::parse(&written), Ok((frame, payload)));
}

#[test]
fn the_first_packet_of_a_write() {
    let reth = Reth { address: 0x1000, key: 0xABCD, length: 0x2000 };
    let (bth, operation) = (Bth::new(0x12, 0x34_5678), Operation::WriteFirst(reth));
    let frame = Frame { ethernet: ETHERNET, ip: Ip::V4(V4), source_port: 0xC123, bth, operation };
    assert_same(
        frame,
        b"eastwest",
        "02000a00000202000a0000010800456a0044000040004011263d0a0000010a000002c12312b7003000000640ffff0000001200345678\
         0000000000001000\
         0000abcd00002000\
         6561737477657374cacc1cf8",
    );
}

#[test]
fn a_marked_middle_packet_over_ipv6_with_padding() {
    let ip = Ip::V6(Ipv6 {
        dscp: 26,
        ecn: Ecn::Experienced,
        flow_label: 0xABCDE,
        hop_limit: 9,
        source: Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, 1),
        destination: Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, 2),
    });
    let bth = Bth { asks_ack: true, ..Bth::new(0x12, 0x34_5679) };
    let frame = Frame { ethernet: ETHERNET, ip, source_port: 0xC123, bth, operation: Operation::WriteMiddle };
    assert_same(
        frame,
        b"abc",
        "02000a00000202000a00000186dd66babcde001c1109fd000000000000000000000000000001fd000000000000000000000000000002\
         c12312b7001c00000750ffff00000012803456796162630073bbd4b8",
    );
}

#[test]
fn a_negative_acknowledgement() {
    let ip = Ip::V4(Ipv4 { ecn: Ecn::NotCapable, identification: 7, hop_limit: 3, ..V4 });
    let operation = Operation::Acknowledge(Aeth { syndrome: Syndrome::Nak(Nak::SequenceError), messages: 5 });
    let bth = Bth::new(0xFF_FFFE, 0xFF_FFFF);
    let frame = Frame { ethernet: ETHERNET, ip, source_port: 0xFFFF, bth, operation };
    assert_same(
        frame,
        b"",
        "02000a00000202000a000001080045680030000740000311634c0a0000010a000002ffff12b7001c00001140ffff00fffffe00ffffff\
         6000000551eb5e47",
    );
}

#[test]
fn a_congestion_notification() {
    let ip = Ip::V4(Ipv4 { dscp: 48, ecn: Ecn::NotCapable, ..V4 });
    let bth = Bth { becn: true, ..Bth::new(0x12, 0) };
    let operation = Operation::CongestionNotification;
    let frame = Frame { ethernet: ETHERNET, ip, source_port: 0xC123, bth, operation };
    assert_same(
        frame,
        b"",
        "02000a00000202000a000001080045c0003c00004000401125ef0a0000010a000002c12312b7002800008140ffff4000001200000000\
         0000000000000000000000000000000075a62d7e",
    );
}

#[test]
fn the_crc_is_ethernets() {
    // the check value that catalogues of CRCs give for CRC-32
    assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    // the same byte by byte as eight at a time
    let long: Vec<u8> = (0..=255).collect();
    let mut bitwise = !0u32;
    for &byte in &long {
        bitwise ^= u32::from(byte);
        for _ in 0..8 {
            bitwise = if bitwise & 1 == 1 { bitwise >> 1 ^ 0xEDB8_8320 } else { bitwise >> 1 };
        }
    }
    assert_eq!(crc32(&long), !bitwise);
}

#[test]
fn a_short_packet_fills_a_smallest_frame() {
    let operation = Operation::SendOnly;
    let frame = Frame { ethernet: ETHERNET, ip: Ip::V4(V4), source_port: 1, bth: Bth::new(2, 0), operation };
    let mut written = Vec::new();
    frame.write(b"", &mut written).unwrap();
    assert_eq!(written.len(), 60);
    assert_eq!(Frame::parse(&written), Ok((frame, &b""[..])));
}

#[test]
fn more_than_ip_can_count_is_refused() {
    let operation = Operation::SendOnly;
    let frame = Frame { ethernet: ETHERNET, ip: Ip::V4(V4), source_port: 1, bth: Bth::new(2, 0), operation };
    let mut written = Vec::new();
    // 20 of IP, 8 of UDP, 12 of BTH and 4 of CRC
    assert!(frame.write(&[0; 65_532 - 44], &mut written).is_ok());
    assert_eq!(Frame::parse(&written).unwrap().1.len(), 65_532 - 44);
    assert_eq!(frame.write(&[0; 65_532 - 43], &mut Vec::new()), Err(TooLong { payload: 65_532 - 43 }));
}
