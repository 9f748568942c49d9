//! Python class of topologies.

use std::path::PathBuf;
use std::sync::Arc;

use mapping::NamedMachine;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use topology::families::networks::Part;
use topology::{ChannelSource, Channels, Endpoint, NetworkSpec};
use units::{ChannelId, KeyError, NodeId, PortId, RouterId};

use crate::errors::{wrong_key, wrong_topology};
use crate::watched::interruptible;

/// The topology of a machine, from a shorthand (`torus:8x8x8`) or a table as JSON.
#[pyclass(frozen, module = "cutthrough._core")]
pub struct Topology {
    /// Table of `[topology]`. `None` for a machine that was read from a file of another kind.
    pub spec: Option<NetworkSpec>,
    pub inner: Arc<dyn topology::Topology>,
}

/// Converts floats to bytes in the machine's order, which NumPy uses without a copy.
pub fn doubles<'py>(py: Python<'py>, values: &[f64]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    PyBytes::new(py, &bytes)
}

/// Converts whole numbers to bytes in the machine's order.
fn integers<'py>(py: Python<'py>, values: impl Iterator<Item = i32>) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = values.flat_map(i32::to_ne_bytes).collect();
    PyBytes::new(py, &bytes)
}

/// Converts bytes in the machine's order to 32-bit numbers.
pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect()
}

/// Applies a function to each pair of numbers, which must be below a limit. Numbers are 32-bit.
pub fn for_pairs<'py>(
    py: Python<'py>,
    (one, other): (&[u8], &[u8]),
    limit: u32,
    between: impl Fn(u32, u32) -> u32 + Send + Sync,
) -> PyResult<Bound<'py, PyBytes>> {
    let (one, other) = (words(one), words(other));
    if let Some(number) = one.iter().chain(&other).find(|&&number| number >= limit) {
        return Err(PyIndexError::new_err(format!(
            "there is no {number}; numbers are 0 to {}",
            limit.saturating_sub(1)
        )));
    }
    let found: Vec<u8> =
        py.detach(|| one.iter().zip(&other).flat_map(|(&one, &other)| between(one, other).to_ne_bytes()).collect());
    Ok(PyBytes::new(py, &found))
}

/// Returns the text of an error of a table, without its position in the text that Python has written.
pub fn unplaced(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

/// Value for an absent entry in a table of numbers.
const NOTHING: i32 = -1;

/// Routing as a table: its dimensions, its words, its arrays.
type Tabled<'py> =
    ((usize, usize, usize), (String, String), (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>));

/// Row of the table of channels: class; router, port and node at the channel's start; router, port and node at its end.
type Line = [i32; 7];

/// Columns of the table of channels.
const COLUMNS: [&str; 7] =
    ["class", "source_router", "source_port", "source_node", "target_router", "target_port", "target_node"];

impl Topology {
    /// Wraps a topology without a table.
    pub fn shared(inner: Arc<dyn topology::Topology>) -> PyResult<Self> {
        Ok(Self { spec: None, inner })
    }

    /// Builds a machine of the catalogue with several networks.
    pub fn joined(py: Python<'_>, name: &str) -> PyResult<Self> {
        let experiment = sim::Experiment::of_machine(name).map_err(|error| wrong_topology("", &error))?;
        let inner = interruptible(py, move || experiment.topology(&experiment.points()[0]))?;
        Self::shared(inner.map_err(|error| wrong_topology(&error.key, &error))?)
    }

    fn line(&self, channels: &Channels, channel: ChannelId) -> Line {
        let (class, from, to) = match channels.source(channel) {
            ChannelSource::Node(node, plane) => {
                let Some((router, port)) = self.inner.attachment_on(node, plane) else { return [NOTHING; 7] };
                (
                    self.inner.injection_class(plane),
                    [NOTHING, NOTHING, node.0 as i32],
                    [router.0 as i32, port.0.into(), NOTHING],
                )
            }
            ChannelSource::Router(router, port) => {
                let to = match self.inner.endpoint(router, port) {
                    Endpoint::Unconnected => return [NOTHING; 7],
                    Endpoint::Node(node) => [NOTHING, NOTHING, node.0 as i32],
                    Endpoint::Router(next, in_port) => [next.0 as i32, in_port.0.into(), NOTHING],
                };
                (self.inner.class(router, port), [router.0 as i32, port.0.into(), NOTHING], to)
            }
        };
        [class.0.into(), from[0], from[1], from[2], to[0], to[1], to[2]]
    }

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
    fn new(py: Python<'_>, shape: &str, base_dir: PathBuf) -> PyResult<Self> {
        let spec: NetworkSpec = if shape.starts_with('{') {
            serde_json::from_str(shape).map_err(|error| wrong_topology("", &unplaced(&error)))?
        } else if NamedMachine::find(shape).is_ok_and(|machine| machine.is_joined()) {
            return Self::joined(py, shape);
        } else if NamedMachine::is_name(shape) {
            let named = NamedMachine::find(shape).and_then(|machine| machine.topology());
            named.map_err(|error| wrong_topology("", &error))?
        } else {
            shape.parse().map_err(|error: KeyError| wrong_topology(&error.key, &error))?
        };
        let own = spec.clone();
        let inner = interruptible(py, move || mapping::build_topology(&own, &base_dir))?;
        Ok(Self { spec: Some(spec), inner: inner.map_err(|error| wrong_topology(&error.key, &error))? })
    }

    /// JSON: the table of `[topology]`; null for a machine that was read from a file of another kind.
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

    /// The number of planes, disjoint copies of a network with every node on each.
    #[getter]
    fn planes(&self) -> u32 {
        self.inner.planes()
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

    /// Bounds of the bisection, below and above, if the nodes can be halved with their routers.
    fn bisection_bounds(&self, py: Python<'_>) -> Option<(u64, u64)> {
        py.detach(|| topology::bisection_bounds(&*self.inner)).map(|bounds| (bounds.least, bounds.most))
    }

    /// Channels on a shortest path, for pairs of routers: 32-bit numbers in and out.
    fn distances<'py>(&self, py: Python<'py>, routers: &[u8], others: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let between = |one, other| self.inner.distance(RouterId(one), RouterId(other));
        for_pairs(py, (routers, others), self.inner.routers(), between)
    }

    /// Hops, as `mapping::Hops` counts them, for pairs of nodes: 32-bit numbers in and out.
    fn hops<'py>(&self, py: Python<'py>, nodes: &[u8], others: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let hops = mapping::NodeHops::new(&*self.inner)
            .map_err(|error| wrong_topology(error.key.as_deref().unwrap_or_default(), &error))?;
        let between = |one, other| hops.between(NodeId(one), NodeId(other));
        for_pairs(py, (nodes, others), self.inner.nodes(), between)
    }

    /// The router of every node, as 32-bit numbers.
    fn attachments<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let nodes = (0..self.inner.nodes()).map(NodeId);
        integers(py, nodes.map(|node| self.inner.attachment(node).0.0 as i32))
    }

    /// The router that a node is attached to.
    fn router_of(&self, node: u32) -> PyResult<u32> {
        Ok(self.inner.attachment(self.node(node)?).0.0)
    }

    /// A router's coordinates.
    fn coordinates(&self, router: u32) -> PyResult<Vec<u32>> {
        Ok(self.inner.coordinates(self.router(router)?))
    }

    /// The names of a router's coordinates.
    fn coordinate_names(&self) -> Vec<String> {
        self.inner.coordinate_names()
    }

    /// Every channel between routers: source, target, and class.
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

    /// The names of the classes of channels.
    fn class_names(&self) -> Vec<&str> {
        self.inner.class_names()
    }

    /// The number of groups, if the machine consists of equal groups of routers.
    #[getter]
    fn groups(&self) -> Option<u32> {
        self.inner.views().node_groups
    }

    /// The sizes of the dimensions, if the routers fill a grid.
    #[getter]
    fn grid(&self) -> Option<Vec<u32>> {
        self.inner.views().grid.map(|grid| grid.dims().to_vec())
    }

    /// Each of several networks: name, number of planes, number of islands, topology of an island. Their routers are
    /// numbered network by network, plane by plane and island by island. Empty for a machine with one network.
    fn networks(&self) -> Vec<(String, u32, u32, Self)> {
        let several = self.inner.views().networks.filter(|several| several.only().is_none());
        let parts = several.map_or(&[][..], |several| several.parts());
        let island = |part: &Part| Self { spec: None, inner: part.island.clone() };
        parts.iter().map(|part| (part.name.clone(), part.planes, part.places.islands(), island(part))).collect()
    }

    /// A routing of this topology as a table: layers, columns, ports of an entry, meaning of the columns, tie-breaking;
    /// and 32-bit integers: the ports, the classes and the next layers by layer, router and destination.
    fn routing_table<'py>(&self, py: Python<'py>, routing: String, base_dir: PathBuf) -> PyResult<Tabled<'py>> {
        let own = self.inner.clone();
        let table = interruptible(py, move || sim::routing_table(&*own, &routing, &base_dir))?;
        let table = table.map_err(|error| wrong_key(&error))?;
        let arrays = [&table.ports, &table.classes, &table.next_layers];
        let [ports, classes, next_layers] = arrays.map(|values| integers(py, values.iter().copied()));
        let words = (serde_json::json!(table.destinations), serde_json::json!(table.ties));
        let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let shape = (table.layers, table.columns, table.candidates);
        Ok((shape, (word(&words.0), word(&words.1)), (ports, classes, next_layers)))
    }

    /// Every channel by its number, injection channels and unconnected ports included: columns of 32-bit integers, -1
    /// for absent entries (all entries of an unconnected port).
    fn channel_table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let lines: Vec<Line> = py.detach(|| {
            let channels = Channels::new(&*self.inner);
            (0..channels.count()).map(|channel| self.line(&channels, ChannelId(channel))).collect()
        });
        let columns = PyDict::new(py);
        for (place, name) in COLUMNS.into_iter().enumerate() {
            columns.set_item(name, integers(py, lines.iter().map(|line| line[place])))?;
        }
        Ok(columns)
    }

    /// The coordinates of every router, as 32-bit integers: a row for each router.
    fn coordinate_table<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let routers = (0..self.inner.routers()).map(RouterId);
        integers(py, routers.flat_map(|router| self.inner.coordinates(router)).map(|value| value as i32))
    }
}
