//! How switches choose among the links that lead a hop nearer.

/// Load balancing of the scale-out fabric; links inside servers and to NICs leave no choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Balancing {
    /// Each switch hashes the 5-tuple of each queue pair onto one of its candidate links, for good.
    Ecmp,
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
}
