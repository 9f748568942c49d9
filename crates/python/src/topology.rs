//! Shapes of machines, as Python asks them.

use std::path::Path;
use std::sync::Arc;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use topology::{Endpoint, TopologySpec};
use units::{NodeId, PortId, RouterId};

use crate::errors::ExperimentError;

/// A machine's shape, from a shorthand (`torus:8x8x8`) or a table as JSON.
#[pyclass(frozen, module = "cutthrough._core")]
pub struct Topology {
    spec: TopologySpec,
    inner: Arc<dyn topology::Topology>,
}

impl Topology {
    fn router(&self, router: u32) -> PyResult<RouterId> {
        let missing = || PyIndexError::new_err(format!("no router {router}; there are {}", self.inner.routers()));
        (router < self.inner.routers()).then_some(RouterId(router)).ok_or_else(missing)
    }

    fn node(&self, node: u32) -> PyResult<NodeId> {
        let missing = || PyIndexError::new_err(format!("no node {node}; there are {}", self.inner.nodes()));
        (node < self.inner.nodes()).then_some(NodeId(node)).ok_or_else(missing)
    }
}

#[pymethods]
impl Topology {
    #[new]
    fn new(shape: &str, base_dir: &str) -> PyResult<Self> {
        let wrong = |message: String| ExperimentError::new_err(format!("error: topology: {message}"));
        let spec: TopologySpec = if shape.starts_with('{') {
            serde_json::from_str(shape).map_err(|error| wrong(error.to_string()))?
        } else {
            shape.parse().map_err(|error: topology::TopologyError| wrong(error.to_string()))?
        };
        let inner = spec.build(Path::new(base_dir)).map_err(|error| wrong(error.to_string()))?;
        Ok(Self { spec, inner })
    }

    /// JSON: the table of `[topology]`.
    fn spec(&self) -> String {
        serde_json::json!(self.spec).to_string()
    }

    /// The family's name.
    #[getter]
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    /// The number of routers.
    #[getter]
    fn routers(&self) -> u32 {
        self.inner.routers()
    }

    /// The number of nodes.
    #[getter]
    fn nodes(&self) -> u32 {
        self.inner.nodes()
    }

    /// The largest distance between two routers that have nodes, in channels.
    #[getter]
    fn diameter(&self) -> u32 {
        self.inner.diameter()
    }

    /// Directed channels that cross the natural bisection in one direction.
    #[getter]
    fn bisection_channels(&self) -> Option<u64> {
        self.inner.bisection_channels()
    }

    /// Channels on a shortest path between two routers.
    fn distance(&self, router: u32, other: u32) -> PyResult<u32> {
        Ok(self.inner.distance(self.router(router)?, self.router(other)?))
    }

    /// Channels between routers on a shortest path between two nodes.
    fn hops(&self, node: u32, other: u32) -> PyResult<u32> {
        let router = |node: u32| Ok::<_, PyErr>(self.inner.attachment(self.node(node)?).0);
        Ok(self.inner.distance(router(node)?, router(other)?))
    }

    /// The router that a node hangs on.
    fn router_of(&self, node: u32) -> PyResult<u32> {
        Ok(self.inner.attachment(self.node(node)?).0.0)
    }

    /// A router's coordinates.
    fn coordinates(&self, router: u32) -> PyResult<Vec<u32>> {
        Ok(self.inner.coordinates(self.router(router)?))
    }

    /// What a router's coordinates are called.
    fn coordinate_names(&self) -> Vec<String> {
        self.inner.coordinate_names()
    }

    /// Every channel between routers: from, to, and its class.
    fn channels(&self) -> Vec<(u32, u32, &str)> {
        let topology = &*self.inner;
        let ports =
            |router: u32| (0..topology.ports(RouterId(router))).map(move |port| (RouterId(router), PortId(port)));
        let channel = |(router, port): (RouterId, PortId)| match topology.endpoint(router, port) {
            Endpoint::Router(to, _) => {
                let class = topology.class(router, port);
                Some((router.0, to.0, topology.class_names()[usize::from(class.0)]))
            }
            _ => None,
        };
        (0..topology.routers()).flat_map(ports).filter_map(channel).collect()
    }
}
