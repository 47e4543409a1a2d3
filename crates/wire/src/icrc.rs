//! The invariant CRC: Ethernet's CRC-32 over all that no switch or router may change (annex A17).

use crate::ethernet;
use crate::ip::Ip;
use crate::udp;

/// Bytes of the Base Transport Header up to the one with the congestion bits, which is masked.
const MASKED_OF_BTH: usize = 5;
/// Most bytes among which some are masked: IPv6's header, UDP's, and those.
const LONGEST_MASKED: usize = 40 + udp::HEADER + MASKED_OF_BTH;

/// Ethernet's polynomial (IEEE 802.3, 3.2.9), its bits in the order of the wire.
const POLYNOMIAL: u32 = 0xEDB8_8320;

/// CRC of each byte, followed by 0 to 7 bytes of zeros.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut zeros = 1;
    while zeros < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[zeros - 1][byte];
            tables[zeros][byte] = before >> 8 ^ tables[0][(before & 0xFF) as usize];
            byte += 1;
        }
        zeros += 1;
    }
    tables
}

/// Takes bytes into a CRC, eight at a time.
fn update(mut crc: u32, bytes: &[u8]) -> u32 {
    let eights = bytes.chunks_exact(8);
    let rest = eights.remainder();
    for eight in eights {
        let [a, b, c, d] = crc.to_le_bytes();
        let mixed = [eight[0] ^ a, eight[1] ^ b, eight[2] ^ c, eight[3] ^ d, eight[4], eight[5], eight[6], eight[7]];
        crc = mixed.iter().enumerate().fold(0, |sum, (at, &byte)| sum ^ TABLES[7 - at][usize::from(byte)]);
    }
    rest.iter().fold(crc, |crc, &byte| crc >> 8 ^ TABLES[0][usize::from(crc as u8 ^ byte)])
}

/// Ethernet's CRC-32.
pub fn crc32(bytes: &[u8]) -> u32 {
    !update(!0, bytes)
}

/// The invariant CRC of a frame from its Ethernet header to before the CRC itself, as it stands on the wire.
///
/// Taken over eight bytes of ones in place of InfiniBand's local header, then over everything from IP on, with ones for
/// what may change on the way: traffic class, hop limit, IPv4's checksum, IPv6's flow label, UDP's checksum, and the byte of
/// the Base Transport Header that has the congestion bits.
pub(crate) fn icrc(frame: &[u8], ip: &Ip) -> [u8; 4] {
    let begin = ethernet::HEADER;
    let udp_at = begin + ip.header();
    let bth_at = udp_at + udp::HEADER;
    let mut masked = [0xFF; 8 + LONGEST_MASKED];
    let headers = &mut masked[8..8 + bth_at + MASKED_OF_BTH - begin];
    headers.copy_from_slice(&frame[begin..bth_at + MASKED_OF_BTH]);
    match ip {
        Ip::V4(_) => {
            for at in [1, 8, 10, 11] {
                headers[at] = 0xFF;
            }
        }
        Ip::V6(_) => {
            headers[0] |= 0x0F;
            for at in [1, 2, 3, 7] {
                headers[at] = 0xFF;
            }
        }
    }
    for at in [udp_at - begin + 6, udp_at - begin + 7, bth_at - begin + 4] {
        headers[at] = 0xFF;
    }
    let masked_bytes = 8 + headers.len();
    let crc = update(update(!0, &masked[..masked_bytes]), &frame[bth_at + MASKED_OF_BTH..]);
    (!crc).to_le_bytes()
}
