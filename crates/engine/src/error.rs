//! What can be wrong with an engine's input, said in the words of the caller.

use thiserror::Error;

/// A mistake in what the engine was given; if the engine itself is at fault, it says so ([`Error::Internal`]).
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Arrays that do not fit together, an index out of range, a rate that is not positive.
    #[error("{0}")]
    Graph(String),
    /// Two nodes that must talk have no path between them.
    #[error("no path from node {from} to node {to}")]
    Unreachable {
        /// Node index where the path starts.
        from: u32,
        /// Node index where it should end.
        to: u32,
    },
    /// A program that cannot run: a dependency cycle, an empty group, an unknown rank.
    #[error("{0}")]
    Program(String),
    /// The engine broke one of its own laws, such as the conservation of bytes: a fault of the engine, worth reporting.
    #[error("internal error: {0}")]
    Internal(String),
    /// The caller asked the run to stop (Ctrl-C).
    #[error("interrupted")]
    Interrupted,
}

/// The engine's result type.
pub type Result<T> = std::result::Result<T, Error>;
