//! Capture files in libpcap's format with times in nanoseconds (magic 0xA1B23C4D; draft-ietf-opsawg-pcap), as Wireshark
//! and tcpdump read them.

use std::io::{self, Write};

use eastwest_transport::Picoseconds;

const NANOSECONDS: u32 = 0xA1B2_3C4D;
const VERSION: [u16; 2] = [2, 4];
/// LINKTYPE_ETHERNET.
const ETHERNET: u32 = 1;

const PS_PER_NS: Picoseconds = 1_000;
const NS_PER_S: u64 = 1_000_000_000;

/// A capture file as it is written.
pub struct Pcap<W: Write> {
    out: W,
    snap: u32,
}

impl<W: Write> Pcap<W> {
    /// Begins a file that keeps at most `snap` bytes of each packet.
    ///
    /// # Errors
    /// Those of the file.
    pub fn new(mut out: W, snap: u32) -> io::Result<Self> {
        out.write_all(&NANOSECONDS.to_le_bytes())?;
        for part in VERSION {
            out.write_all(&part.to_le_bytes())?;
        }
        // time zone and accuracy, both unused
        for word in [0, 0, snap, ETHERNET] {
            out.write_all(&word.to_le_bytes())?;
        }
        Ok(Self { out, snap })
    }

    /// Adds a packet that left at a time.
    ///
    /// # Errors
    /// Those of the file.
    pub fn write(&mut self, time: Picoseconds, frame: &[u8]) -> io::Result<()> {
        let nanoseconds = time / PS_PER_NS;
        let length = u32::try_from(frame.len()).map_err(io::Error::other)?;
        let kept = length.min(self.snap);
        // 64 bits of picoseconds are 18 million seconds, so that 32 bits of seconds are enough
        for word in [(nanoseconds / NS_PER_S) as u32, (nanoseconds % NS_PER_S) as u32, kept, length] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.out.write_all(&frame[..kept as usize])
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Those of the file.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    #[test]
    fn a_long_packet_is_cut_and_its_length_kept() {
        let mut file = Pcap::new(Vec::new(), 8).unwrap();
        // 3 s, 5 ns and a part of the next
        file.write(3_000_000_005_999, &[7; 100]).unwrap();
        let bytes = file.finish().unwrap();
        assert_eq!(words(&bytes[..24]), [0xA1B2_3C4D, 4 << 16 | 2, 0, 0, 8, 1]);
        assert_eq!(words(&bytes[24..40]), [3, 5, 8, 100]);
        assert_eq!(&bytes[40..], [7; 8]);
    }
}
