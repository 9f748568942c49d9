//! Table as given in a file, before it is checked against a topology.

use std::collections::BTreeMap;
use std::fmt;

use units::{KeyError, PortId, RouterId};

use super::limits::MAX_LAYERS;

/// Number of classes of virtual channels that a table may name: the largest number of virtual channels of a router.
const CLASSES: u8 = 64;

/// Index of a missing entry.
pub(super) const NONE: u32 = u32::MAX;

/// Entry: output of packets at a router.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// Ports among which the router chooses, at least one.
    pub ports: Vec<PortId>,
    /// Class of virtual channels on which packets leave.
    pub class: u8,
    /// Layer on which packets arrive at the next router.
    pub next: u16,
}

/// Meaning of the columns of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Columns {
    Routers,
    Nodes,
}

impl Columns {
    /// Returns a destination in words.
    pub fn name(self, number: u32) -> String {
        match self {
            Self::Routers => format!("router {number}"),
            Self::Nodes => format!("node {number}"),
        }
    }
}

/// Error in a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TableError {
    #[error("{0}")]
    Form(String),
    #[error("class {0} is not allowed; classes of virtual channels are 0 to {most}", most = CLASSES - 1)]
    Class(i64),
    #[error("layer {layer} is not allowed; this table has the layers 0 to {}", layers - 1)]
    Layer { layer: i64, layers: usize },
    #[error("router {router} does not exist; routers are 0 to {}", routers - 1)]
    Router { router: u64, routers: u32 },
    #[error("node {node} does not exist; nodes are 0 to {}", nodes - 1)]
    Node { node: u64, nodes: u32 },
    #[error("router {router} has no port {port}; its ports are 0 to {}", ports - 1)]
    Port { router: RouterId, port: PortId, ports: u16 },
    #[error("port {port} of router {router} leads to {end}, not to a router")]
    NoRouter { router: RouterId, port: PortId, end: String },
    #[error("packets for {destination} leave the network at router {router}; leave this entry out (-1 in an array)")]
    Own { router: RouterId, destination: String },
    #[error("this entry is given already in line {0}")]
    Twice(u32),
    #[error("there is no entry at router {at}{layer} for {destination}, where packets from router {from} come")]
    Missing { from: RouterId, at: RouterId, layer: Layer, destination: String },
    #[error("packets from router {from} for {destination} can go in a loop: {path}")]
    Loop { from: RouterId, destination: String, path: String },
}

/// Layer in words, if a table has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layer(pub Option<usize>);

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |layer| write!(f, " on layer {layer}"))
    }
}

/// Returns a class of virtual channels from a number in a file.
pub(super) fn class(number: i64) -> Result<u8, TableError> {
    u8::try_from(number).ok().filter(|&class| class < CLASSES).ok_or(TableError::Class(number))
}

/// Origin of entries, for messages.
#[derive(Debug)]
pub(super) enum Origin {
    /// Line of each entry of the table.
    Lines(Vec<u32>),
    /// Array with this number of dimensions.
    Array(usize),
}

/// Table as given in a file.
#[derive(Debug)]
pub(super) struct TableBuilder {
    /// Name of the file.
    pub name: String,
    pub layers: usize,
    pub routers: usize,
    pub columns: Columns,
    /// Number of columns.
    pub width: usize,
    /// Distinct entries.
    pub entries: Vec<Entry>,
    /// By layer, router and column, an index into `entries` or `NONE`.
    pub index: Vec<u32>,
    pub origin: Origin,
    /// Layer on which packets start, by source router and column. Empty: not assigned.
    pub lanes: Vec<u8>,
}

impl TableBuilder {
    /// Returns the place of an entry.
    pub fn place(&self, layer: usize, router: usize, column: usize) -> usize {
        (layer * self.routers + router) * self.width + column
    }

    /// Returns an error at an entry of the file.
    pub fn error_at(&self, place: usize, error: &TableError) -> KeyError {
        let column = place % self.width;
        let (layer, router) = (place / self.width / self.routers, place / self.width % self.routers);
        let at = match &self.origin {
            Origin::Lines(lines) => format!("{}:{}", self.name, lines[place]),
            Origin::Array(2) => format!("{}: ports[{router}, {column}]", self.name),
            Origin::Array(_) => format!("{}: ports[{layer}, {router}, {column}]", self.name),
        };
        KeyError::new("path", format!("{at}: {error}"))
    }

    /// Returns an error of the file as a whole.
    pub fn error(&self, error: &TableError) -> KeyError {
        KeyError::new("path", format!("{}: {error}", self.name))
    }

    /// Returns a layer, for messages.
    pub fn layer(&self, layer: usize) -> Layer {
        Layer((self.layers > 1).then_some(layer))
    }
}

/// Distinct entries of a table under construction.
#[derive(Debug, Default)]
pub(super) struct Interner {
    pub entries: Vec<Entry>,
    /// Entries with one port, by port, class and next layer.
    single: BTreeMap<(PortId, u8, u16), u32>,
    several: BTreeMap<Entry, u32>,
    /// Last requested entry: neighbouring entries of a table are often equal.
    last: u32,
}

impl Interner {
    /// Returns the index of an entry, and adds it if it is new.
    pub fn index(&mut self, ports: &[PortId], class: u8, next: u16) -> u32 {
        let last = self.entries.get(self.last as usize);
        if last.is_some_and(|last| last.ports == ports && last.class == class && last.next == next) {
            return self.last;
        }
        let fresh = self.entries.len() as u32;
        let entry = || Entry { ports: ports.to_vec(), class, next };
        self.last = match *ports {
            [port] => *self.single.entry((port, class, next)).or_insert(fresh),
            _ => *self.several.entry(entry()).or_insert(fresh),
        };
        if self.last == fresh {
            self.entries.push(entry());
        }
        self.last
    }
}

/// Returns the number of a layer, checked against the limits of a table.
pub(super) fn layer(number: i64, layers: usize) -> Result<u16, TableError> {
    let known = u16::try_from(number).ok().filter(|&layer| usize::from(layer) < layers.min(MAX_LAYERS));
    known.ok_or(TableError::Layer { layer: number, layers })
}
