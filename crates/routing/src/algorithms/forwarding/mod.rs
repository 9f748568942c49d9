//! Forwarding tables of an InfiniBand fabric, as its switches have them: the output port by LID, the virtual lane by
//! input port, output port and service level.
//!
//! The topology has to keep the GUIDs, LIDs and port numbers of the fabric (`Views::addresses`). A node with LMC m has
//! 2^m LIDs, and `lids` chooses the LID of a packet at its source. The state of a packet is the number of its LID, and
//! its service level. At the destination's router packets leave on class 0.
//!
//! The tables are checked as they are read: the packets of every pair arrive. Cost: 2 bytes for each router and LID, 1
//! byte for each pair of nodes and LID of the destination if paths have service levels, one look-up a hop. Not
//! modelled: virtual lanes of the channels of nodes, adaptive routing groups, LIDs chosen in turn (a routing keeps no
//! counters).

mod check;
mod export;
mod text;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{ChannelClass, Topology};
use units::{Draw, KeyError, NodeId, PortId, RouterId, VcClass, input};

use self::check::Fabric;
pub use self::export::ForwardingFiles;
use self::text::{Fault, Known, LEVELS};
use crate::{Hop, Route, RouteState, Routing};

/// Networks read from ibnetdiscover's or saquery's output: the forwarding tables of the fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForwardingTablesSpec {
    /// File of the forwarding tables, relative to the experiment file: OpenSM's `opensm-lfts.dump` or `opensm.fdbs`, or
    /// the output of `dump_fts` or of `ibroute` for all switches.
    pub path: PathBuf,
    /// File of the SL to VL tables, OpenSM's `opensm-sl2vl.dump`. Default: the virtual lane is the service level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sl2vl: Option<PathBuf>,
    /// File of the service levels of paths, with lines `SOURCE_LID DESTINATION_LID SL`. The source's LID is its base
    /// LID. Default: all packets have service level 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_sl: Option<PathBuf>,
    /// Rule by which a packet takes one of several LIDs of its destination.
    #[serde(default)]
    pub lids: LidRule,
    /// Seed of the hash of `lids = "hash"`.
    #[serde(default)]
    pub seed: u64,
}

/// Rule by which a packet takes one of several LIDs of its destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LidRule {
    /// The base LID.
    #[default]
    First,
    /// Any LID with equal probability, drawn for each packet.
    Random,
    /// One LID for each pair of nodes, by a hash.
    Hash,
}

/// Largest number of entries of a table.
const MAX_ENTRIES: u64 = 1 << 28;

/// File of a key.
struct File {
    key: &'static str,
    name: String,
    text: String,
}

impl File {
    fn read(key: &'static str, path: &Path, base: &Path) -> Result<Self, KeyError> {
        let name = path.display().to_string();
        let text = input::ROUTING_TABLE.read_text(&base.join(path));
        let text = text.map_err(|problem| KeyError::new(key, format!("`{name}` {problem}")))?;
        Ok(Self { key, name, text })
    }

    fn parse<T>(&self, reader: fn(&str, &Known) -> Result<T, Fault>, known: &Known) -> Result<T, KeyError> {
        reader(&self.text, known).map_err(|(line, problem)| self.error(Some(line), &problem))
    }

    /// Returns an error at a line, or of the file as a whole.
    fn error(&self, line: Option<u64>, problem: &str) -> KeyError {
        let place = line.map_or_else(|| self.name.clone(), |line| format!("{}:{line}", self.name));
        KeyError::new(self.key, format!("{place}: {problem}"))
    }
}

impl ForwardingTablesSpec {
    /// Builds the routing on a topology. Relative paths start from `base`.
    ///
    /// # Errors
    /// If a file cannot be read, if the topology lacks addresses, or if packets of a pair of nodes do not arrive.
    pub fn build(&self, topology: &dyn Topology, base: &Path) -> Result<impl Routing + 'static, KeyError> {
        let Some(addresses) = topology.views().addresses else {
            let message = "routing \"forwarding-tables\" requires a network read from ibnetdiscover's or saquery's output, \
                           with the GUIDs, LIDs and ports of the fabric (without `recognise` of a grid or cliques)";
            return Err(KeyError::new("kind", message));
        };
        let known = Known::new(addresses);
        let optional = |key, path: &Option<PathBuf>| path.as_ref().map(|path| File::read(key, path, base)).transpose();
        let tables = File::read("path", &self.path, base)?;
        let lanes = optional("sl2vl", &self.sl2vl)?;
        let levels = optional("path_sl", &self.path_sl)?;
        let levels = levels.map(|file| file.parse(text::levels, &known)).transpose()?;
        let maps = lanes.as_ref().map(|file| file.parse(text::lanes, &known)).transpose()?;
        let fabric = Fabric { topology, addresses, tables: &tables, lanes: lanes.as_ref() };
        let mut made = fabric.compile(&tables.parse(text::tables, &known)?, maps.as_ref(), levels.as_ref())?;
        made.lids = self.lids;
        made.seed = self.seed;
        fabric.check(&mut made)?;
        Ok(made)
    }
}

/// Destination of packets.
#[derive(Clone, Copy, Debug)]
struct Target {
    router: RouterId,
    port: PortId,
    /// Column of the base LID.
    column: u32,
    /// Number of LIDs.
    lids: u32,
}

/// Mark of a missing output.
const NONE: u16 = u16::MAX;

/// Forwarding tables of all switches.
#[derive(Debug)]
struct Forwarding {
    targets: Vec<Target>,
    columns: usize,
    /// Output by router and column.
    outputs: Vec<u16>,
    lanes: Lanes,
    /// Service level by source node and column. Empty: 0.
    levels: Vec<u8>,
    lids: LidRule,
    seed: u64,
    /// Number of VC classes, by class of channels.
    classes: Vec<u8>,
    max_routers: u32,
    minimal: bool,
}

/// SL to VL tables.
#[derive(Debug, Default)]
struct Lanes {
    /// First map of each router, by input port, then output port. Empty: the lane is the service level.
    first: Vec<usize>,
    /// Number of ports of each router.
    ports: Vec<u16>,
    /// Number of a distinct map.
    index: Vec<u16>,
    maps: Vec<[u8; LEVELS]>,
}

impl Lanes {
    /// Returns the virtual lane.
    #[inline]
    fn of(&self, at: RouterId, (input, output): (PortId, PortId), level: u8) -> u8 {
        let Some(first) = self.first.get(at.index()) else { return level };
        let place = first + input.index() * usize::from(self.ports[at.index()]) + output.index();
        self.maps[usize::from(self.index[place])][usize::from(level)]
    }
}

/// Bits of the service level in a packet's state, below the number of the LID.
const LEVEL_BITS: u32 = 4;

impl Forwarding {
    fn state(&self, src: NodeId, dst: NodeId, lid: u32) -> RouteState {
        let column = self.targets[dst.index()].column + lid;
        let level = self.levels.get(src.index() * self.columns + column as usize).copied().unwrap_or(0);
        RouteState(lid << LEVEL_BITS | u32::from(level))
    }

    /// Returns the number of the LID that a pair of nodes uses.
    fn hashed(&self, src: NodeId, dst: NodeId) -> u32 {
        let pair = u64::from(src.0) << 32 | u64::from(dst.0);
        let hash = super::ecmp::mixed(super::ecmp::mixed(self.seed) ^ pair);
        // The number of LIDs is a power of two.
        (hash >> 32) as u32 & (self.targets[dst.index()].lids - 1)
    }
}

impl Routing for Forwarding {
    fn kind(&self) -> &'static str {
        "forwarding-tables"
    }

    fn classes(&self) -> u8 {
        self.classes.iter().copied().max().unwrap_or(0).max(1)
    }

    fn classes_on(&self, class: ChannelClass) -> u8 {
        self.classes.get(usize::from(class.0)).copied().unwrap_or(0).max(1)
    }

    fn adaptive(&self) -> bool {
        false
    }

    fn start(&self, src: NodeId, dst: NodeId, draw: &mut dyn Draw) -> RouteState {
        let lids = self.targets[dst.index()].lids;
        let lid = match self.lids {
            LidRule::Random if lids > 1 => draw.below(lids),
            LidRule::First | LidRule::Random => 0,
            LidRule::Hash => self.hashed(src, dst),
        };
        self.state(src, dst, lid)
    }

    fn initial_distribution(&self, src: NodeId, dst: NodeId) -> Vec<(RouteState, f64)> {
        let lids = self.targets[dst.index()].lids;
        match self.lids {
            LidRule::First => vec![(self.state(src, dst, 0), 1.0)],
            LidRule::Hash => vec![(self.state(src, dst, self.hashed(src, dst)), 1.0)],
            LidRule::Random => (0..lids).map(|lid| (self.state(src, dst, lid), 1.0 / f64::from(lids))).collect(),
        }
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let target = &self.targets[hop.dst.index()];
        if target.router == at {
            return Route::only(target.port, VcClass(0));
        }
        let column = target.column + (hop.state.0 >> LEVEL_BITS);
        let output = PortId(self.outputs[at.index() * self.columns + column as usize]);
        let level = (hop.state.0 & (LEVELS as u32 - 1)) as u8;
        Route::only(output, VcClass(self.lanes.of(at, (hop.in_port, output), level)))
    }

    fn uses_input_port(&self) -> bool {
        !self.lanes.first.is_empty()
    }

    fn fixed_by_flow(&self) -> bool {
        self.lids == LidRule::Hash || !self.levels.is_empty()
    }

    fn minimal(&self) -> bool {
        self.minimal
    }

    fn max_routers(&self) -> u32 {
        self.max_routers
    }

    fn table_bytes(&self) -> u64 {
        (2 * self.outputs.len() + 2 * self.lanes.index.len() + self.levels.len()) as u64
    }
}
