//! How switches choose among the links that lead a hop nearer.

/// Load balancing of the scale-out fabric; links inside servers and to NICs leave no choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Balancing {
    /// Each switch hashes the 5-tuple of each queue pair onto one of its candidate links, for good.
    Ecmp,
    /// As [`Balancing::Ecmp`], in proportion to the capacity that leads on towards the destination: each link's rate, or
    /// its part of what leads on from the next switch if that is less.
    Wcmp,
    /// As [`Balancing::Ecmp`], but a flow that pauses is hashed anew: in the fluid limit equal parts of it take so many
    /// paths, each hashed by itself.
    Flowlet {
        /// Paths that a flow is spread over, 1 or more.
        flowlets: u32,
    },
    /// Each switch deals packets evenly over its candidate links, whatever their rates.
    Spray,
    /// Each packet takes the least-loaded of the switch's candidate links.
    ///
    /// In the fluid limit the shortest of several queues keeps them equally long only if each is fed as fast as it
    /// drains, so a switch splits traffic in proportion to its candidates' rates; with equal rates that is
    /// [`Balancing::Spray`]. Left out: load that other traffic leaves on one candidate and not on another, and congestion
    /// further on, which a switch that looks at its own queues cannot see.
    Adaptive,
    /// Static routes by destination, as an InfiniBand forwarding table that D-mod-k routing fills: the ports of one leaf
    /// are dealt in turn to the uplinks below them, so that any shift permutation on a non-blocking Clos is free of
    /// conflicts (Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat
    /// trees", Technion CCIT 776, 2010).
    Pinned,
    /// The sender chooses whole paths, one a packet, evenly over ports and shortest paths, as MRC's entropy values and
    /// their source routes do.
    Source {
        /// Paths of each connection, drawn so that they lie evenly among all; none: all of them.
        paths: Option<u32>,
    },
}
