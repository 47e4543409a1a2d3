//! Which transport the hosts speak.

use eastwest_transport::dctcp::{DctcpContext, DctcpReceiver, DctcpSender, DctcpSettings};
use eastwest_transport::infiniband::{InfiniBandContext, InfiniBandReceiver, InfiniBandSender, InfiniBandSettings};
use eastwest_transport::mrc::{MrcContext, MrcReceiver, MrcSender, MrcSettings};
use eastwest_transport::roce::{Notified, RoceContext, RoceReceiver, RoceSender, RoceSettings};
use eastwest_transport::uet::{CreditSettings, UetContext, UetReceiver, UetSender, UetSettings};
use eastwest_transport::{Receiver, Sender};

use super::contexts::Sharing;
use crate::Picoseconds;

/// A transport: makes both ends of a flow, and what flows share.
pub trait Transport {
    /// The sending side.
    type Sender: Sender;
    /// The receiving side.
    type Receiver: Receiver;

    /// Which flows share a context where what is learnt outlasts a flow.
    const SHARES: Sharing;

    /// How long a context is kept that no flow uses.
    fn keeps(&self) -> Picoseconds;
    /// A context as it begins, the sender's part and the receiver's.
    fn context(&self, seed: u64) -> (<Self::Sender as Sender>::Context, <Self::Receiver as Receiver>::Context);
    /// The sender of a flow of so many bytes.
    fn sender(&self, flow: u32, bytes: u64) -> Self::Sender;
    /// Its receiver.
    fn receiver(&self, bytes: u64) -> Self::Receiver;

    /// Shortest time between two congestion notifications of a NIC, whichever flows they are of.
    fn notifies_every(&self) -> Picoseconds {
        0
    }

    /// How receivers grant credit, where they do.
    fn credits(&self) -> Option<CreditSettings> {
        None
    }
}

impl Transport for UetSettings {
    type Sender = UetSender;
    type Receiver = UetReceiver;

    const SHARES: Sharing = Sharing::Peer;

    fn keeps(&self) -> Picoseconds {
        self.sprayed.keeps
    }

    fn credits(&self) -> Option<CreditSettings> {
        self.credits()
    }

    fn context(&self, seed: u64) -> (UetContext, ()) {
        (self.context(seed), ())
    }

    fn sender(&self, flow: u32, bytes: u64) -> UetSender {
        self.sender(flow, bytes)
    }

    fn receiver(&self, bytes: u64) -> UetReceiver {
        self.receiver(bytes)
    }
}

impl Transport for MrcSettings {
    type Sender = MrcSender;
    type Receiver = MrcReceiver;

    const SHARES: Sharing = Sharing::Peer;

    fn keeps(&self) -> Picoseconds {
        self.sprayed.keeps
    }

    fn context(&self, seed: u64) -> (MrcContext, ()) {
        (self.context(seed), ())
    }

    fn sender(&self, flow: u32, bytes: u64) -> MrcSender {
        self.sender(flow, bytes)
    }

    fn receiver(&self, bytes: u64) -> MrcReceiver {
        self.receiver(bytes)
    }
}

impl Transport for DctcpSettings {
    type Sender = DctcpSender;
    type Receiver = DctcpReceiver;

    const SHARES: Sharing = Sharing::QueuePair;

    fn keeps(&self) -> Picoseconds {
        self.sprayed.keeps
    }

    fn context(&self, seed: u64) -> (DctcpContext, ()) {
        (self.context(seed), ())
    }

    fn sender(&self, flow: u32, bytes: u64) -> DctcpSender {
        self.sender(flow, bytes)
    }

    fn receiver(&self, bytes: u64) -> DctcpReceiver {
        self.receiver(bytes)
    }
}

impl Transport for RoceSettings {
    type Sender = RoceSender;
    type Receiver = RoceReceiver;

    const SHARES: Sharing = Sharing::QueuePair;

    fn notifies_every(&self) -> Picoseconds {
        self.dcqcn.map_or(0, |dcqcn| dcqcn.nic_notify_every)
    }

    fn keeps(&self) -> Picoseconds {
        Picoseconds::MAX // a rate recovers by its own timers
    }

    fn context(&self, seed: u64) -> (RoceContext, Notified) {
        (RoceContext::new(self, seed), Notified::default())
    }

    fn sender(&self, flow: u32, bytes: u64) -> RoceSender {
        RoceSender::new(*self, flow, bytes)
    }

    fn receiver(&self, bytes: u64) -> RoceReceiver {
        RoceReceiver::new(*self, bytes)
    }
}

impl Transport for InfiniBandSettings {
    type Sender = InfiniBandSender;
    type Receiver = InfiniBandReceiver;

    const SHARES: Sharing = Sharing::QueuePair;

    fn keeps(&self) -> Picoseconds {
        Picoseconds::MAX // the throttle recovers by its own timer
    }

    fn context(&self, seed: u64) -> (InfiniBandContext, Notified) {
        (InfiniBandContext::new(self, seed), Notified::default())
    }

    fn sender(&self, flow: u32, bytes: u64) -> InfiniBandSender {
        InfiniBandSender::new(*self, flow, bytes)
    }

    fn receiver(&self, bytes: u64) -> InfiniBandReceiver {
        InfiniBandReceiver::new(*self, bytes)
    }
}
