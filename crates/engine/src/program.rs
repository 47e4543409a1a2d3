//! What the ranks do in one step: operations, their order and the groups they run over.
//!
//! The program is the same for every rank (SPMD): an operation names the groups that take part, and a rank that is
//! in none of them skips it. The compute queue runs one operation at a time in program order; so does each
//! communicator (an operation's `queue`); operations in different queues overlap unless `after` forbids it.

/// Ranks and their operations.
#[derive(Clone, Debug)]
pub struct Program {
    /// GPU node of each rank.
    pub gpu: Vec<u32>,
    /// Operations in program order; `after` may only name earlier ones.
    pub ops: Vec<Op>,
    /// Factor by which a GPU's compute takes longer while at least one communication runs on it (1.0: not at all).
    pub overlap_slowdown: f64,
    /// What more there is to say where several jobs share the network.
    pub mix: Mix,
}

/// Several jobs on one network, and what else is under way there; by default one job, alone.
#[derive(Clone, Debug, Default)]
pub struct Mix {
    /// Operations with which the run ends, whatever others still do; empty: it ends with all.
    pub until: Vec<u32>,
    /// Each rank's own factor in place of `overlap_slowdown`; empty: all have that one.
    pub slowdown: Vec<f64>,
    /// Traffic that is under way as long as the program runs.
    pub background: Vec<Stream>,
}

/// Background traffic out of one GPU. It never ends and nothing waits for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// GPU node that sends; it need not have a rank.
    pub from: u32,
    /// GPU nodes that receive, each an equal part.
    pub to: Vec<u32>,
    /// Bytes a second that are offered to all of them together; it sends less where the network has less for it, to all
    /// of them alike.
    pub rate: f64,
    /// How its connections are carried.
    pub carriage: Carriage,
}

impl Program {
    /// Factor by which a rank's compute takes longer while it communicates.
    pub fn slowdown(&self, rank: u32) -> f64 {
        self.mix.slowdown.get(rank as usize).copied().unwrap_or(self.overlap_slowdown)
    }
}

/// One operation of the program.
#[derive(Clone, Debug)]
pub struct Op {
    /// Operations that a rank must have finished before it starts this one.
    pub after: Vec<u32>,
    /// Queue that the operation waits in; compute is always queue 0, communicators are 1 and up.
    pub queue: u32,
    /// What it does.
    pub work: Work,
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Ranks compute for this long, seconds.
    Compute {
        /// Duration on an undisturbed GPU, seconds.
        seconds: f64,
        /// The ranks that do; none named: every rank does.
        ranks: Option<Vec<u32>>,
    },
    /// Each group runs this collective, all groups at once.
    Collective {
        /// Ranks of each group, in rank order within the group; groups are disjoint.
        groups: Vec<Vec<u32>>,
        /// What each group runs.
        collective: Collective,
    },
    /// Pairs of ranks, each sending one message; a pair starts when both ranks have arrived.
    SendRecv {
        /// (sender, receiver) ranks.
        pairs: Vec<(u32, u32)>,
        /// Bytes of each message.
        bytes: f64,
        /// How each pair is carried.
        carriage: Carriage,
        /// What the library's protocol adds.
        overheads: Overheads,
    },
    /// Groups of ranks wait while data moves between nodes of theirs, hosts, and storage. Their compute goes on meanwhile
    /// as if nothing moved: what reaches a host's memory takes nothing from GPUs.
    Storage {
        /// Ranks of each group (those of one server); groups are disjoint.
        groups: Vec<Vec<u32>>,
        /// For each group: (sender, receiver) nodes, which need not have a rank.
        flows: Vec<Vec<(u32, u32)>>,
        /// Bytes of each group, in equal parts over its flows.
        bytes: f64,
        /// How each flow is carried.
        carriage: Carriage,
    },
}

impl Work {
    /// Whether compute of those who take part is stretched while it moves data.
    pub fn disturbs(&self) -> bool {
        !matches!(self, Self::Storage { .. })
    }
}

/// The collective operations. Sizes follow nccl-tests: `bytes` is the buffer that its `size` column names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Every rank ends with the sum of all ranks' `bytes`.
    AllReduce,
    /// Every rank ends with `bytes`, of which it gave 1/n.
    AllGather,
    /// Every rank starts with `bytes` and ends with its 1/n of the sum.
    ReduceScatter,
    /// Every rank starts with `bytes` and sends 1/n of them to each rank (itself included, at no cost).
    AllToAll,
    /// The group's first rank sends its `bytes` to all.
    Broadcast,
    /// The group's first rank ends with the sum of all ranks' `bytes`: a broadcast backwards.
    Reduce,
}

/// How a collective is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Ring over the group's ranks in the order given, all channels alike.
    Ring,
    /// Ring that enters and leaves every server through a rail of the channel's own: it walks the group server by server
    /// (in order of first appearance), inside a server over NVLink, and alternates direction so that each hop between
    /// servers stays on one rail.
    RailRing,
    /// Every rank sends straight to every other that needs its data.
    Direct,
    /// All-to-all that first passes data over NVLink to the sender's neighbour on the receiver's rail, as NCCL's PXN does,
    /// and sends it from that GPU's NIC.
    Pxn,
    /// Reduce inside each server over NVLink, between servers on the rails, and share inside again; phases add up.
    HierarchicalStaged,
    /// The same phases, pipelined: the slowest rules.
    HierarchicalPipelined,
    /// Double binary tree between servers, a chain inside each: up to a root and down again, pipelined, half of each
    /// channel on either tree.
    Tree,
    /// Exchanges with partners at distances that double, of parts that halve, step by step.
    HalvingDoubling,
    /// The NVLink switch adds up and copies inside each server (NVLink SHARP); pipelined rings on the rails between them.
    Nvls,
    /// NVLink SHARP inside each server, a double binary tree on each rail between them.
    NvlsTree,
    /// Ranks of a server reduce on each rail's GPU; the scale-out switches add up and copy between servers (SHARP).
    Sharp,
    /// NVLink SHARP inside each server, SHARP between them.
    NvlsSharp,
    /// Bruck's algorithms: shifts by distances that double, step by step, for any number of ranks.
    Bruck,
}

/// A collective: what, how, how much.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// What the ranks end up with.
    pub kind: Kind,
    /// Who sends what to whom.
    pub algorithm: Algorithm,
    /// Buffer bytes of a rank, as nccl-tests' `size` column.
    pub bytes: f64,
    /// Uneven all-to-all: bytes from each rank of a group to each other, n x n row-major, in place of `bytes`.
    pub matrix: Option<Vec<f64>>,
    /// Parallel channels, each carrying an equal part.
    pub channels: u32,
    /// How each connection is carried.
    pub carriage: Carriage,
    /// What the protocol costs beyond paths and bytes.
    pub overheads: Overheads,
    /// Part of NVLink's rate that is reached where its switch adds up or copies (1: all of it).
    pub nvlink_sharp: f64,
}

/// What a collective library's protocol adds to what the network itself takes.
///
/// A strand of a collective takes `base_s`, and for each hop after another `intra_s` inside a server or `inter_s` between
/// servers, on top of the latency of the hop's path. These two are below zero where what a hop takes in all is less than
/// the path as the network has it; a hop never takes less than nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overheads {
    /// Once a collective, seconds.
    pub base_s: f64,
    /// Each hop inside a server, seconds.
    pub intra_s: f64,
    /// Each hop between servers, seconds.
    pub inter_s: f64,
    /// Bytes on the wire for each byte of payload, 1 or more: flags beside data in low-latency protocols.
    pub wire: f64,
    /// Payload that one channel cannot exceed, bytes a second; infinite where nothing but links holds it.
    pub channel_rate: f64,
    /// How many collectives this one stands for, of equal parts of its bytes, one after another: what it waits for counts
    /// as often.
    pub repeats: u32,
}

impl Overheads {
    /// No cost beyond the network's.
    pub const NONE: Self =
        Self { base_s: 0.0, intra_s: 0.0, inter_s: 0.0, wire: 1.0, channel_rate: f64::INFINITY, repeats: 1 };
}

/// How one connection between two ranks uses the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carriage {
    /// Queue pairs (flows) of each connection and channel.
    pub qps: u32,
    /// How bytes are spread over the queue pairs.
    pub qp_use: QpUse,
    /// Bytes of one message, for [`QpUse::RoundRobin`].
    pub message_bytes: f64,
}

/// How a connection's bytes are spread over its queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QpUse {
    /// Each message is split evenly over all queue pairs.
    Split,
    /// Whole messages take turns (NCCL's default): with fewer messages than queue pairs some stay idle.
    RoundRobin,
}
