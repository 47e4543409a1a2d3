//! Weighted max-min fair rates over demands, at one instant ([`max_min`]) and as demands come and go ([`Fluid`]).
//!
//! A demand crosses resources with coefficients and progresses at one rate. The rates are those at which no demand can
//! go faster without slowing one that goes no faster for its weight. Nothing here knows paths, queues or algorithms.

mod completions;
mod components;
mod filling;
mod island;
mod network;
mod run;
mod series;
mod slots;

pub use run::Fluid;

use crate::demand::Demands;
use filling::{Filling, Scratch};
use network::{Network, Row};
use series::Workspace;

/// Weighted max-min rates of all demands at once, by progressive filling.
///
/// `capacity` gives bytes a second of each resource; infinite ones never bind. Returns the rate of each demand (bytes
/// of progress a second) and the resource that froze it: of several in series the one of least capacity, `u32::MAX`
/// where the demand's cap did. A demand that nothing holds has an infinite rate.
///
/// ```
/// use eastwest_engine::{demand::Demands, fluid::max_min};
/// let mut demands = Demands::default();
/// demands.push(&[(0, 1.0)], 1.0, f64::INFINITY, 1e9, 0);
/// demands.push(&[(0, 1.0), (1, 1.0)], 1.0, f64::INFINITY, 1e9, 0);
/// assert_eq!(max_min(&demands, &[10.0, 2.0]), (vec![8.0, 2.0], vec![0, 1]));
/// ```
pub fn max_min(demands: &Demands, capacity: &[f64]) -> (Vec<f64>, Vec<u32>) {
    let count = demands.len();
    let mut workspace = Workspace::new(capacity.len());
    let network = Network::compile(count, |d| row(demands, d), capacity, &mut workspace);
    let filling = Filling::new(&network, &mut Scratch::default());
    (0..count as u32).map(|demand| (filling.rate(&network, demand), filling.limit(&network, demand))).unzip()
}

fn row(demands: &Demands, demand: usize) -> Row<'_> {
    let (resource, coefficient) = demands.row(demand);
    Row { resource, coefficient, weight: demands.weight[demand], cap: demands.cap[demand] }
}
