//! The simulators of eastwest, in pure Rust: no Python, no YAML, no money.
//!
//! One direction: [`graph`] -> [`routing`] -> [`lower`] -> symmetry -> [`schedule`] (over [`fluid`]) -> [`outcome`].
//! Rates are payload bytes a second, sizes bytes, clock times integer picoseconds ([`Picoseconds`]).

pub mod demand;
pub mod error;
pub mod fluid;
pub mod graph;
pub mod lower;
pub mod outcome;
pub mod packet;
pub mod program;
pub mod routing;
pub mod schedule;
mod symmetry;

pub use error::{Error, Result};

/// A clock time or a duration, in integer picoseconds.
pub type Picoseconds = u64;

/// Picoseconds in a second.
pub const PS_PER_S: f64 = 1e12;
