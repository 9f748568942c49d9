//! Table routing: the next ports from a file, by layer, router and destination.
//!
//! A packet carries a *layer*. At each router the entry of its layer, the router and its destination gives the ports
//! among which the router chooses, the class of virtual channels on which the packet leaves, and the layer on which it
//! arrives. With one layer this is the forwarding table of a switch. With more, classes of virtual channels can change
//! on the way (datelines, hop counts), and packets can take different paths to a destination (LASH: Skeie, Lysne and
//! Theiss, IPDPS 2002; FatPaths: Besta et al., SC 2020).
//!
//! A table is checked as it is read: ports lead to routers, every packet arrives, no packet can loop. Deadlock freedom
//! is checked as for every routing. At the destination's router packets leave on class 0.
//!
//! The engines of OpenSM (`opensm`) make their tables in memory: one forwarding table, and the layer (lane) on which
//! the packets of each pair of a router and a destination start and stay.
//!
//! Cost: 2 bytes an entry (4 if more than 65,535 entries differ), one look-up a hop. Not modelled: tables that depend
//! on the input port, which layers can express, and choices between ports of different classes.

mod arrays;
mod compiled;
mod draft;
mod limits;
mod npy;
mod paths;
mod text;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{ChannelClass, Topology};
use units::{Draw, KeyError, NodeId, PortId, RouterId, VcClass, input};

use self::compiled::Compiled;
use self::draft::{Columns, Entry, Interner, NONE, Origin, TableBuilder};
pub use self::limits::DestinationKind;
pub(crate) use self::limits::{MAX_ENTRIES, MAX_LAYERS};
use super::shortest_path::TieRule;
use crate::walk::Wiring;
use crate::{Choice, Hop, Route, RouteState, Routing};

/// Any topology: the next ports from a table in a file.
///
/// Text (any extension but those of NumPy) has one entry a line, `#` starts a comment:
///
/// ```text
/// ROUTER DESTINATION PORT... [/CLASS] [>LAYER]
/// 0 3 1            # from router 0 to the nodes of router 3 by port 1; `0 router 3 1` is the same
/// 0 node 5 2 4     # to node 5 by port 2 or 4, whatever the line for its router says
/// 1 * 0            # from router 1 to all destinations that have no line of their own
/// layer 1          # the lines that follow are of layer 1
/// 0 3 1 /1 >2      # on class 1 of virtual channels, and on layer 2 from the next router on
/// ```
///
/// An `.npy` file is an array of ports, -1 for none, of the shape [routers, destinations], [layers, routers,
/// destinations] or [layers, routers, destinations, ports]. An `.npz` archive holds it as `ports`, and may hold
/// `classes` and `next_layers`, a number for each entry. Default of the class: the number of the layer. Default of the
/// next layer: the present one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// File of the table, relative to the experiment file: text, or NumPy's `.npy` or `.npz`.
    pub path: PathBuf,
    /// Rule by which a packet takes one of several ports of an entry.
    #[serde(default = "least_loaded")]
    pub ties: TieRule,
    /// Number of layers on which packets start, from layer 0 on. Each packet draws its layer uniformly at its source.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 4096))]
    pub starts: u16,
    /// Meaning of the columns of an array, if its width is ambiguous, or of numbers of destinations in a text. Default
    /// in a text: `routers`.
    pub destinations: Option<DestinationKind>,
}

fn least_loaded() -> TieRule {
    TieRule::LeastLoaded
}

fn one() -> u16 {
    1
}

/// Router, column and port by which packets for a node leave the network.
#[derive(Clone, Copy, Debug)]
struct Destination {
    router: RouterId,
    column: u32,
    port: PortId,
}

/// Entry numbers by layer, router and column.
#[derive(Debug)]
enum Index {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

impl Index {
    fn new(entries: usize, index: Vec<u32>) -> Self {
        // Missing entries are never read: their number does not matter.
        if entries <= usize::from(u16::MAX) {
            Self::Narrow(index.into_iter().map(|entry| entry as u16).collect())
        } else {
            Self::Wide(index)
        }
    }

    #[inline]
    fn at(&self, place: usize) -> usize {
        match self {
            Self::Narrow(index) => usize::from(index[place]),
            Self::Wide(index) => index[place] as usize,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Narrow(index) => 2 * index.len() as u64,
            Self::Wide(index) => 4 * index.len() as u64,
        }
    }
}

/// Layers on which packets start.
#[derive(Debug)]
enum Starts {
    /// Each packet draws one of this number of layers.
    Drawn(u32),
    /// Layer of each pair of a router and a column.
    Assigned(Vec<u8>),
}

/// One forwarding table for all packets, made in memory.
#[derive(Debug)]
pub(super) struct Forwarding {
    /// Output by router and node. `NO_PORT`: no packet needs one.
    pub ports: Vec<u16>,
    /// Lane by source router and destination node: the layer, and the class of virtual channels, of the packets of the
    /// pair. Empty: all packets use lane 0.
    pub lanes: Vec<u8>,
}

/// Mark of a missing output in `Forwarding`.
pub(super) const NO_PORT: u16 = u16::MAX;

impl Forwarding {
    /// Builds the routing. `kind` is the name of the engine that made the table.
    ///
    /// # Errors
    /// If a packet does not arrive, or if the lanes have more than 2^28 entries together.
    pub fn build(self, kind: &'static str, topology: &dyn Topology) -> Result<impl Routing + use<>, KeyError> {
        let routers = topology.routers() as usize;
        let lanes = self.lanes.iter().max().map_or(1, |&most| usize::from(most) + 1);
        let all = lanes as u64 * self.ports.len() as u64;
        if all > MAX_ENTRIES {
            let message = format!(
                "{kind} needs {lanes} lanes, and a table of {all} entries (lanes times routers times nodes); at most \
                 {MAX_ENTRIES} (2^28) are allowed"
            );
            return Err(KeyError::new("kind", message));
        }
        let mut entries = Interner::default();
        let mut index = Vec::with_capacity(lanes * self.ports.len());
        for lane in 0..lanes {
            index.extend(self.ports.iter().map(|&port| match port {
                NO_PORT => NONE,
                port => entries.index(&[PortId(port)], lane as u8, lane as u16),
            }));
        }
        let draft = TableBuilder {
            name: format!("the table of {kind}"),
            layers: lanes,
            routers,
            columns: Columns::Nodes,
            width: topology.nodes() as usize,
            entries: entries.entries,
            index,
            origin: Origin::Array(if lanes == 1 { 2 } else { 3 }),
            lanes: self.lanes,
        };
        let table = Table::new(draft, topology, (lanes as u32, Choice::Random));
        Ok(Table { kind, ..table.map_err(|error| KeyError::new("kind", error.message))? })
    }
}

#[derive(Debug)]
struct Table {
    kind: &'static str,
    destinations: Vec<Destination>,
    columns: usize,
    routers: usize,
    index: Index,
    /// Distinct entries: a route, and the layer on which packets arrive.
    routes: Vec<(Route, RouteState)>,
    lists: Vec<PortId>,
    starts: Starts,
    adaptive: bool,
    by_router: bool,
    minimal: bool,
    /// Number of VC classes, by class of channels.
    classes: Vec<u8>,
    max_routers: u32,
}

impl TableSpec {
    /// Builds the routing on a topology. A relative path starts from `base`.
    ///
    /// # Errors
    /// If the file cannot be read, names something that does not exist, lacks an entry that packets need, or sends them
    /// in a loop.
    pub fn build(&self, topology: &dyn Topology, base: &Path) -> Result<impl Routing + 'static, KeyError> {
        let name = self.path.display().to_string();
        let read = input::ROUTING_TABLE.read(&base.join(&self.path));
        let bytes = read.map_err(|problem| KeyError::new("path", format!("`{name}` {problem}")))?;
        let network = (topology, self.destinations);
        let draft = match self.path.extension().and_then(|extension| extension.to_str()) {
            Some("npy") => arrays::read_npy(&bytes, &name, network)?,
            Some("npz") => arrays::read_npz(&bytes, &name, network)?,
            _ => {
                let text = std::str::from_utf8(&bytes).map_err(|error| {
                    let at = error.valid_up_to();
                    KeyError::new("path", format!("`{name}` is not a table: it is not text (byte {at})"))
                })?;
                text::read(text.trim_start_matches('\u{feff}'), &name, network)?
            }
        };
        self.table(draft, topology)
    }

    fn table(&self, mut draft: TableBuilder, topology: &dyn Topology) -> Result<Table, KeyError> {
        if !(1..=draft.layers).contains(&usize::from(self.starts)) {
            let message =
                format!("`starts` is {}; {} has the layers 0 to {}", self.starts, draft.name, draft.layers - 1);
            return Err(KeyError::new("starts", message));
        }
        if self.ties == TieRule::First {
            draft.entries.iter_mut().for_each(|entry| entry.ports.truncate(1));
        }
        Table::new(draft, topology, (self.starts.into(), self.ties.choice()))
    }
}

impl Table {
    /// Checks a table. Packets start on its first `starts` layers, unless it assigns lanes.
    fn new(
        mut draft: TableBuilder,
        topology: &dyn Topology,
        (starts, choice): (u32, Choice),
    ) -> Result<Self, KeyError> {
        let wiring = Wiring::new(topology);
        let compiled = Compiled::new(&mut draft, topology, &wiring)?;
        let paths = paths::follow(&draft, &compiled, (topology, &wiring), starts as usize)?;
        let (routes, lists) = routes(&draft.entries, choice);
        let destination = |(node, &column): (u32, &u32)| {
            let (router, port) = topology.attachment(NodeId(node));
            Destination { router, column, port }
        };
        Ok(Self {
            kind: "table",
            destinations: (0..).zip(&compiled.of_node).map(destination).collect(),
            columns: compiled.targets.len(),
            routers: draft.routers,
            adaptive: choice == Choice::LeastLoaded && draft.entries.iter().any(|entry| entry.ports.len() > 1),
            index: Index::new(draft.entries.len(), compiled.index),
            routes,
            lists,
            starts: if compiled.lanes.is_empty() { Starts::Drawn(starts) } else { Starts::Assigned(compiled.lanes) },
            by_router: compiled.by_router,
            minimal: !paths.detours,
            classes: paths.classes,
            max_routers: paths.longest + 1,
        })
    }

    /// Returns the layer on which the packets of a pair of nodes start, if it is assigned.
    fn assigned(&self, lanes: &[u8], src: NodeId, dst: NodeId) -> RouteState {
        let (from, to) = (self.destinations[src.index()].router, self.destinations[dst.index()].column);
        RouteState(lanes[from.index() * self.columns + to as usize].into())
    }
}

/// Returns the routes of entries, and the lists of ports that are not consecutive.
fn routes(entries: &[Entry], choice: Choice) -> (Vec<(Route, RouteState)>, Vec<PortId>) {
    let mut lists = Vec::new();
    let mut route = |entry: &Entry| {
        let (ports, count, class) = (&entry.ports, entry.ports.len() as u16, VcClass(entry.class));
        let route = if ports.windows(2).any(|pair| u32::from(pair[1].0) != u32::from(pair[0].0) + 1) {
            let place = lists.len() as u32;
            lists.extend_from_slice(ports);
            Route::listed(place, count, class, choice)
        } else {
            Route::range(ports[0], count, class, choice)
        };
        (route, RouteState(entry.next.into()))
    };
    let routes = entries.iter().map(&mut route).collect();
    (routes, lists)
}

impl Routing for Table {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn classes(&self) -> u8 {
        self.classes.iter().copied().max().unwrap_or(0).max(1)
    }

    fn classes_on(&self, class: ChannelClass) -> u8 {
        self.classes.get(usize::from(class.0)).copied().unwrap_or(0).max(1)
    }

    fn adaptive(&self) -> bool {
        self.adaptive
    }

    /// The state is the layer.
    fn start(&self, src: NodeId, dst: NodeId, draw: &mut dyn Draw) -> RouteState {
        match &self.starts {
            // No draw without need, so that a stream is read as little as possible.
            Starts::Drawn(1) => RouteState(0),
            Starts::Drawn(layers) => RouteState(draw.below(*layers)),
            Starts::Assigned(lanes) => self.assigned(lanes, src, dst),
        }
    }

    fn initial_distribution(&self, src: NodeId, dst: NodeId) -> Vec<(RouteState, f64)> {
        match &self.starts {
            &Starts::Drawn(layers) => {
                let probability = 1.0 / f64::from(layers);
                (0..layers).map(|layer| (RouteState(layer), probability)).collect()
            }
            Starts::Assigned(lanes) => vec![(self.assigned(lanes, src, dst), 1.0)],
        }
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let destination = self.destinations[hop.dst.index()];
        if destination.router == at {
            return Route::only(destination.port, VcClass(0));
        }
        let row = hop.state.0 as usize * self.routers + at.index();
        let (route, next) = self.routes[self.index.at(row * self.columns + destination.column as usize)];
        hop.state = next;
        route
    }

    fn port_lists(&self) -> &[PortId] {
        &self.lists
    }

    fn uses_input_port(&self) -> bool {
        false
    }

    fn same_for_router(&self) -> bool {
        self.by_router
    }

    fn minimal(&self) -> bool {
        self.minimal
    }

    fn max_routers(&self) -> u32 {
        self.max_routers
    }

    fn table_bytes(&self) -> u64 {
        let lanes = match &self.starts {
            Starts::Drawn(_) => 0,
            Starts::Assigned(lanes) => lanes.len() as u64,
        };
        self.index.bytes() + lanes
    }
}
