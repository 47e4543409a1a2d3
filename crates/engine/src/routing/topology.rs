//! What routing knows before any seed is drawn.

use std::sync::OnceLock;

use super::candidates::Candidates;
use super::endpoint::Endpoints;
use super::paths::Paths;
use super::pinned::Pinned;
use super::spread::Spread;
use super::tables::{Route, rows};
use super::weights::{by_capacity, by_paths};
use super::{Balancing, Resources};
use crate::Result;
use crate::graph::Graph;

/// Distances, candidate links and the GPUs' ways out of a [`Graph`]; shared by all [`Router`](super::Router)s over it.
pub struct Topology {
    pub(super) graph: Graph,
    pub(super) paths: Paths,
    pub(super) endpoints: Endpoints,
    pub(super) pinned: Pinned,
    pub(super) single_links: Resources,
    sprayed: OnceLock<Spread>,
    adaptive: OnceLock<Spread>,
    by_sender: OnceLock<Spread>,
    weighted: OnceLock<Option<Candidates>>,
    even: OnceLock<Option<Candidates>>,
}

impl Topology {
    /// Finds the shortest paths of a graph. Takes time in proportion to attachment switches x links.
    ///
    /// # Errors
    /// [`Error::Graph`](crate::Error::Graph) where a GPU has more than one NVLink link, or where a link between a GPU,
    /// NVLink switch, PCIe node, NIC and switch has no link back. Switches that no path joins are no error until a
    /// connection needs one.
    pub fn new(graph: Graph) -> Result<Self> {
        let paths = Paths::new(&graph);
        Self::over(graph, paths)
    }

    /// Takes routes from forwarding tables in place of the shortest paths.
    ///
    /// # Errors
    /// As [`Topology::new`], and where the tables loop, have holes, or name what is not there.
    pub fn with_routes(graph: Graph, routes: &[Route]) -> Result<Self> {
        let paths = Paths::from_tables(&graph, routes)?;
        Self::over(graph, paths)
    }

    fn over(graph: Graph, paths: Paths) -> Result<Self> {
        Ok(Self {
            endpoints: Endpoints::new(&graph, &paths)?,
            pinned: Pinned::new(&graph, &paths),
            paths,
            single_links: Resources::grouped(&graph, |link| link),
            graph,
            sprayed: OnceLock::new(),
            adaptive: OnceLock::new(),
            by_sender: OnceLock::new(),
            weighted: OnceLock::new(),
            even: OnceLock::new(),
        })
    }

    /// The graph that this is about.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Hops over switches only from one switch node to another that NICs plug into; none where no path joins them, or
    /// where the nodes are not such switches.
    pub fn hops(&self, from: u32, to: u32) -> Option<u16> {
        let from = self.paths.switch(from)?;
        let to = self.paths.attachment_of[self.paths.switch(to)? as usize];
        (to != super::NONE && self.paths.reaches(from, to)).then(|| self.paths.hops(from, to))
    }

    /// NVLink domain of a GPU: the node of its NVLink switch, or its own node where it has none.
    ///
    /// # Errors
    /// [`Error::Graph`](crate::Error::Graph) where the node is no GPU.
    pub fn domain(&self, gpu: u32) -> Result<u32> {
        self.endpoints.domain(gpu).map(|(domain, _)| domain)
    }

    /// Place of a GPU among those of its NVLink domain, in node order.
    ///
    /// # Errors
    /// [`Error::Graph`](crate::Error::Graph) where the node is no GPU.
    pub fn local_index(&self, gpu: u32) -> Result<u32> {
        self.endpoints.domain(gpu).map(|(_, local_index)| local_index)
    }

    /// The forwarding tables with which hashing or spraying by weight comes to what this balancing does; none where no
    /// table can say it, for paths that senders draw. By destination: a switch that NICs plug into, or for pinned routes
    /// each NIC.
    pub fn routes(&self, balancing: Balancing) -> Option<Vec<Route>> {
        let Self { paths, endpoints, .. } = self;
        match balancing {
            Balancing::Ecmp | Balancing::Flowlet { .. } | Balancing::Spray => Some(rows(paths, &paths.candidates)),
            Balancing::Wcmp => Some(rows(paths, self.weighted())),
            Balancing::Source { paths: None } => Some(rows(paths, self.even())),
            Balancing::Adaptive => {
                let mut routes = rows(paths, &paths.candidates);
                routes.iter_mut().for_each(|route| route.weight = self.graph.rate[route.link as usize]);
                Some(routes)
            }
            Balancing::Pinned => Some(self.pinned.routes(paths, endpoints)),
            Balancing::Source { paths: Some(_) } => None,
        }
    }

    pub(super) fn sprayed(&self) -> &Spread {
        self.sprayed.get_or_init(|| Spread::by_weight(&self.graph, &self.paths, &self.endpoints, None))
    }

    pub(super) fn adaptive(&self) -> &Spread {
        self.adaptive.get_or_init(|| Spread::by_rate(&self.graph, &self.paths, &self.endpoints))
    }

    /// What senders make of it that choose evenly among all shortest paths.
    pub(super) fn by_sender(&self) -> &Spread {
        let own = || by_paths(&self.graph, &self.paths);
        self.by_sender.get_or_init(|| Spread::by_weight(&self.graph, &self.paths, &self.endpoints, own()))
    }

    /// Candidates weighed by the capacity that leads on.
    pub(super) fn weighted(&self) -> &Candidates {
        let weighed = self.weighted.get_or_init(|| by_capacity(&self.graph, &self.paths));
        weighed.as_ref().unwrap_or(&self.paths.candidates)
    }

    /// Candidates weighed by the paths that lead on.
    pub(super) fn even(&self) -> &Candidates {
        let weighed = self.even.get_or_init(|| by_paths(&self.graph, &self.paths));
        weighed.as_ref().unwrap_or(&self.paths.candidates)
    }
}
