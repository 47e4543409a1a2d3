//! A collective described once, lowered twice: to demands for the fluid engine and to a graph of chunks for engines
//! that move data piece by piece. Who sends what to whom is said in one place, as strands of edges, and both lowerings
//! read it there; paths are routing's business and rates the fluid solver's.
//!
//! Closed forms on a network where nothing but the named rate limits, with `n` ranks, `m` servers of `g` ranks,
//! buffer `B`, NIC rate `C` and NVLink rate `N` of a GPU (latencies come on top; sizes as nccl-tests counts them):
//!
//! | collective     | ring, rail ring                   | direct           | hierarchical: inside | between servers    |
//! |----------------|-----------------------------------|------------------|----------------------|--------------------|
//! | all-reduce     | `2(n-1)/n B / C`                  | `2(n-1)/n B / C` | `2(g-1)/g B / N`     | `2(m-1)/m B/g / C` |
//! | all-gather     | `(n-1)/n B / C`                   | `(n-1)/n B / C`  | `(g-1)/g B / N`      | `(m-1)/m B/g / C`  |
//! | reduce-scatter | `(n-1)/n B / C`                   | `(n-1)/n B / C`  | `(g-1)/g B / N`      | `(m-1)/m B/g / C`  |
//! | broadcast      | `B / C`                           | `(n-1) B / C`    | `2(g-1)/g B / N`     | `B/g / C`          |
//! | reduce         | as broadcast                      | as broadcast     | as broadcast         | as broadcast       |
//! | all-to-all     | direct or PXN                     | `(n-1)/n B / C`  | direct or PXN        | direct or PXN      |
//!
//! An all-to-all by PXN of `m` full servers takes the longer of `(n-g)/n B / C` through each NIC, which sends for its
//! server's ranks to its own rail, and `(g-1)/g B / N` over NVLink: a GPU sends `(g-1)/n B` to its neighbours for
//! themselves and `(m-1)(g-1)/n B` for their rails.
//!
//! A tree (`tree`) takes the longer of `2(g-1)/g B / N` over NVLink and `f B / (g C)` through the NICs for an all-reduce,
//! with `f` half the most neighbours of a server in both trees: 1 for two servers, 3/2 for three, 2 for more; `B / N` and
//! `B / (g C)` from or to a root.
//!
//! Halving-doubling (`recursive`) sends what a ring does, and `2 B / C` more of an all-reduce where `n` is no power of two;
//! Bruck's all-to-all sends a block once for each bit that is set in its distance.
//!
//! Where NVLink's switch adds up and copies (`Nvls` and its like) the inside of a pipelined all-reduce takes
//! `(g+1)/g B / N`, of its halves `B / N`; where the scale-out switches do (`Sharp`), the part between servers `B/g / C`.
//!
//! Rings and direct exchange are given for ranks that each sit in a server of their own; ranks that share servers send
//! less through their NICs. A rail ring leaves a server once a channel, so that channels in a multiple of `g` use all
//! `g` NICs: `C` becomes `g C`. Staged hierarchies add the last two columns, pipelined ones take the larger; a
//! broadcast's inside is a scatter from the root and a gather, the root's GPU taking part in both.

mod burden;
mod check;
mod chunks;
mod demands;
mod direct;
mod hierarchical;
mod latency;
mod losses;
mod pxn;
mod queue_pairs;
mod recursive;
mod ring;
mod route;
mod servers;
mod strand;
mod tree;
mod uniform;

pub use burden::{Burden, burden};
pub use check::{check, check_carriage, check_overheads, kinds};
pub use chunks::{ChunkGraph, Lane, WINDOW, chunks, messages, send};
pub use demands::{Lowering, Phase, demands, stream};
pub use losses::{Losses, losses};
pub use strand::{End, hops};
pub(crate) use uniform::Uniform;
