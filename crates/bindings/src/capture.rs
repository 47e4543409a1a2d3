//! Packets recorded in a run of RoCEv2, and the file that other tools read them from.

use std::fs::File;
use std::io::{self, BufWriter};
use std::net::Ipv4Addr;
use std::path::PathBuf;

use eastwest_engine::packet::{Flow, Record};
use eastwest_transport::Framing;
use eastwest_wire::{Conversation, Pcap};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::EngineError;

/// Which links to record: the attributes of `eastwest.engine.packets.Capturing`.
#[derive(FromPyObject)]
pub struct CapturingIn {
    pub links: Vec<u32>,
    pub most: usize,
}

/// Packets that left by chosen links.
#[pyclass(frozen)]
pub struct Capture {
    pub records: Vec<Record>,
    /// How many more left.
    #[pyo3(get)]
    pub missed: u64,
    pub flows: Vec<Flow>,
    pub framing: Framing,
}

#[pymethods]
impl Capture {
    fn __len__(&self) -> usize {
        self.records.len()
    }

    /// Writes the packets as RoCEv2 to a capture file, at most `snap` bytes of each; `address` has each node's IPv4
    /// address. Returns how many were written: those that switches trimmed are not.
    fn write_pcap(
        &self,
        py: Python<'_>,
        path: PathBuf,
        address: PyReadonlyArray1<'_, u32>,
        snap: u32,
    ) -> PyResult<usize> {
        let address = address.as_slice()?;
        let of = |node: u32| address.get(node as usize).map(|&address| Ipv4Addr::from(address));
        let conversations: Option<Vec<Conversation>> = self
            .flows
            .iter()
            .map(|flow| {
                let (source, destination) = (of(flow.from)?, of(flow.to)?);
                Some(Conversation { source, destination, bytes: flow.bytes, framing: self.framing })
            })
            .collect();
        let Some(conversations) = conversations else {
            return Err(EngineError::new_err("there are fewer addresses than nodes"));
        };
        py.detach(|| self.write(path, &conversations, snap)).map_err(PyErr::from)
    }
}

impl Capture {
    fn write(&self, path: PathBuf, conversations: &[Conversation], snap: u32) -> io::Result<usize> {
        let mut file = Pcap::new(BufWriter::new(File::create(path)?), snap)?;
        let (mut frame, mut written) = (Vec::new(), 0);
        for Record { time, packet, .. } in &self.records {
            frame.clear();
            if conversations[packet.flow as usize].write(packet, &mut frame).map_err(io::Error::other)? {
                file.write(*time, &frame)?;
                written += 1;
            }
        }
        file.finish()?;
        Ok(written)
    }
}
