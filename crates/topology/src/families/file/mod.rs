//! Topology read from an edge list.
//!
//! The file is UTF-8 text, one wire or node a line; `#` starts a comment, and blank lines are skipped:
//!
//! ```text
//! link 0 1            # a wire between routers 0 and 1: a channel in each direction
//! link 0 1 x2         # two more, in parallel
//! link 1 2 global     # of the class `global`, so that [link.global] sets its bandwidth and delay
//! link 2 0 global x4  # four of them
//! node 0              # a node on router 0
//! node 2 x8           # eight nodes on router 2
//! level 0 0-2         # routers 0 to 2 are leaves; a tree says the level of each router
//! group 1 1 2         # routers 1 and 2 form group 1; a network of groups says the group of each router
//! grid 4x4 wrap=1x0   # the routers fill a grid, numbered first dimension fastest; the first dimension wraps
//! cliques 4x4         # the routers fill a HyperX
//! at 2x0 5            # router 5 is at (2, 0) of the grid, whatever its number is; all routers have this line, or none
//! ```
//!
//! Numbering: routers keep the file's numbers or, if these have gaps, are renumbered in ascending order; nodes are
//! numbered in the order of the file; the ports of a router are numbered in the order in which the file's lines mention
//! it. A wire without a class has the class `link`. Classes are numbered in the order in which they first occur. A
//! class is a word of letters, digits, `-` and `_` that starts with a letter and does not look like a count.
//!
//! Levels, groups or a grid become views ([`labels`]), so that routings and patterns for trees, dragonflies, tori,
//! meshes and HyperX fit. A network that is a dragonfly or a grid, apart from the order of ports, has the ports and
//! classes of that family.
//!
//! Every router must be reachable from every other. Distances are a table from breadth-first search, which limits the
//! number of routers; no bisection is defined.

mod grids;
mod labels;
mod product;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{KeyError, Notes, RouterId, input};

use crate::network::{Topology, Views};
use crate::shorthand::{Settings, short};
use crate::views::{Addresses, GroupTable, Levels};
use crate::wired::{Apart, MAX_WIRED_PORTS, MAX_WIRED_ROUTERS, Shape, WireList, Wired};
use crate::wires::{ChannelClass, MAX_PORTS};
use labels::Labels;

/// Maximum number of routers of a file.
pub const MAX_FILE_ROUTERS: u32 = MAX_WIRED_ROUTERS;
/// Maximum number of ports of all routers of a file together.
pub const MAX_FILE_PORTS: u32 = MAX_WIRED_PORTS;

/// A topology read from an edge list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSpec {
    /// Path of the edge list, relative to the experiment file. Its lines are `link ROUTER ROUTER [CLASS] [xCOUNT]` and
    /// `node ROUTER [xCOUNT]`. Machine files that `map` reads are accepted too: ibnetdiscover's or saquery's output,
    /// Slurm's topology.conf or topology.yaml, a Cray interconnect, GraphML, InfraGraph.
    #[schemars(extend("x-example" = "\"network.edges\""))]
    pub path: PathBuf,
    /// Property of the network to find in its wires. Excludes the lines `level`, `group`, `grid` and `cliques` of the
    /// file. Default: what these lines state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-example" = "\"levels\""))]
    pub recognise: Option<Recognised>,
}

/// Property of a network that is found in its wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recognised {
    /// Levels of a tree of switches: the distance of a router from the nearest router that has nodes.
    Levels,
    /// Groups: routers that are connected by wires of other classes than `global`.
    Groups,
    /// Torus or mesh. Its routers are renumbered unless they are numbered first dimension fastest.
    Grid,
    /// HyperX. Its routers are renumbered unless they are numbered first dimension fastest.
    Cliques,
}

impl FileSpec {
    /// Reads the shorthand, which is the path: it may have any characters, and may end with `,recognise=levels`.
    pub(crate) fn from_shorthand(text: &str) -> Result<Self, KeyError> {
        let Some((path, property)) = text.rsplit_once(",recognise=") else {
            return Ok(Self { path: text.into(), recognise: None });
        };
        let settings = Settings::read(property, &["recognise"])?;
        Ok(Self { path: path.into(), recognise: settings.named("recognise")? })
    }
}

/// A topology read from an edge list.
pub type FileTopology = Wired<FileShape>;

/// Names and properties of a topology from an edge list.
#[derive(Clone, Debug, Default)]
pub struct FileShape {
    class_names: Vec<String>,
    /// Numbers of the routers in the file. Empty if the file uses all numbers from 0 on.
    numbers: Vec<u32>,
    notes: Vec<String>,
    /// Whether a grid has given routers or nodes other numbers than the file.
    renumbered: bool,
    levels: Option<Levels>,
    group_table: Option<GroupTable>,
    /// Number of groups of equally many nodes, which are numbered group by group.
    node_groups: Option<u32>,
    /// InfiniBand addresses in the numbering of the file.
    addresses: Option<Arc<Addresses>>,
    /// Network of a family with equal routers, wires and nodes, whose ports the file's network has too.
    family: Option<Arc<dyn Topology>>,
}

impl FileTopology {
    /// Adds notes: omissions and assumptions of the reader of another format.
    #[must_use]
    pub fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.shape.notes.extend(notes);
        self
    }

    /// Adds the InfiniBand addresses of all routers and nodes.
    #[must_use]
    pub fn with_addresses(mut self, addresses: Option<Addresses>) -> Self {
        self.shape.addresses = addresses.map(Arc::new);
        self
    }

    /// Reads the file. A relative path starts from the folder `base`. An error names the file, and the line if known.
    pub fn new(spec: &FileSpec, base: &Path) -> Result<Self, KeyError> {
        let name = spec.path.display().to_string();
        let read = input::MACHINE.read_text(&base.join(&spec.path));
        let text = read.map_err(|problem| error(format!("`{name}` {problem}")))?;
        Self::read(&text, &name, spec.recognise)
    }

    /// Builds the topology of an edge list. `name` is the file's name in errors.
    pub fn from_text(text: &str, name: &str) -> Result<Self, KeyError> {
        Self::read(text, name, None)
    }

    /// Builds the topology of an edge list, with a property that is found in its wires. `name` is the file's name in
    /// errors, which are at `recognise` if the network lacks the property, or if lines of the list state properties.
    pub fn read(text: &str, name: &str, recognise: Option<Recognised>) -> Result<Self, KeyError> {
        let mut list = EdgeList::new();
        for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            list.read_line(line).map_err(|problem| error(format!("{name}:{number}: {problem}")))?;
        }
        if list.lines.is_without_nodes() {
            return Err(error(format!("`{name}` has no nodes; a line such as `node 0` puts one on router 0")));
        }
        let (mut made, labels) = list.build().map_err(|problem| error(format!("`{name}` {problem}")))?;
        match recognise {
            None => labels.apply(&mut made).map_err(|problem| error(format!("`{name}` {problem}")))?,
            Some(_) if !labels.is_empty() => {
                let message = format!(
                    "`{name}` states levels, groups or a grid by its lines `level`, `group`, `grid` and `cliques`; leave out \
                     `recognise`, or these lines"
                );
                return Err(KeyError::new("recognise", message));
            }
            Some(property) => labels::find(&mut made, property)
                .map_err(|problem| KeyError::new("recognise", format!("`{name}` {problem}")))?,
        }
        Ok(made)
    }

    /// Finds a property in the wires of a network that was read from another format.
    ///
    /// # Errors
    /// At `recognise`, if the network lacks the property.
    pub fn recognised(topology: &dyn Topology, property: Recognised) -> Result<Self, KeyError> {
        let shape = FileShape {
            class_names: topology.class_names().into_iter().map(str::to_owned).collect(),
            notes: topology.views().notes.to_vec(),
            addresses: topology.views().addresses.cloned(),
            ..FileShape::default()
        };
        let mut made = Self::copy(shape, topology).map_err(Apart::error)?;
        let refuse = |problem| KeyError::new("recognise", format!("the machine {problem}"));
        labels::find(&mut made, property).map_err(refuse)?;
        Ok(made)
    }
}

/// Checks a line of an edge list that a reader of another format writes.
///
/// # Errors
/// The fault of the line.
pub fn check_line(line: &str) -> Result<(), String> {
    EdgeList::new().read_line(line)
}

fn error(message: String) -> KeyError {
    KeyError::new("path", message)
}

/// Network of an edge list, filled line by line; each line is checked.
struct EdgeList {
    lines: WireList,
    class_names: Vec<String>,
    /// Number of ports of each router, up to the highest number that has been mentioned.
    ports: Vec<u32>,
    total_ports: u32,
    labels: Labels,
}

impl EdgeList {
    fn new() -> Self {
        let class_names = vec!["injection".into(), "ejection".into()];
        Self { lines: WireList::default(), class_names, ports: Vec::new(), total_ports: 0, labels: Labels::default() }
    }

    fn read_line(&mut self, line: &str) -> Result<(), String> {
        let content = line.split_once('#').map_or(line, |(content, _)| content);
        let mut words: Vec<&str> = content.split_whitespace().collect();
        let Some(&first) = words.first() else { return Ok(()) };
        if self.labels.read(first, &words[1..])? {
            return Ok(());
        }
        let count = words.pop_if(|word| is_count(word)).map_or(Ok(1), count)?;
        match (first, &words[..]) {
            ("link", &[_, one, other]) => self.link([one, other], "link", count),
            ("link", &[_, one, other, class]) => self.link([one, other], class, count),
            ("link", _) => Err("a link is written `link ROUTER ROUTER [CLASS] [xCOUNT]`".into()),
            ("node", &[_, on]) => {
                let on = router(on)?;
                self.lines.nodes(on, count);
                self.add_ports(on, count)
            }
            ("node", _) => Err("a node is written `node ROUTER [xCOUNT]`".into()),
            _ => Err(format!(
                "`{}` is neither `link`, `node`, `level`, `group`, `grid`, `cliques` nor `at`",
                short(first)
            )),
        }
    }

    fn link(&mut self, [one, other]: [&str; 2], class: &str, count: u32) -> Result<(), String> {
        let ends = [router(one)?, router(other)?];
        if ends[0] == ends[1] {
            return Err(format!("a link from router {} to itself is not allowed", ends[0]));
        }
        let class = self.class(class)?;
        self.lines.wire(ends, class, count);
        ends.into_iter().try_for_each(|end| self.add_ports(end, count))
    }

    /// Returns the class of a name; adds it if it is new.
    fn class(&mut self, name: &str) -> Result<ChannelClass, String> {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(word) || is_count(name) {
            let name = short(name);
            return Err(format!(
                "`{name}` is no class; a class is a word of letters, digits, `-` and `_`, such as `global`"
            ));
        }
        let known = self.class_names.iter().position(|known| known == name);
        let number = known.unwrap_or(self.class_names.len());
        if number < 2 {
            return Err(format!("`{name}` is the class of the channels of nodes; give links another"));
        }
        // The number of classes, injection and ejection included, fits a byte too.
        let class = u8::try_from(number).ok().filter(|&class| class < u8::MAX);
        let Some(class) = class else { return Err("this is the 254th class; 253 are allowed".into()) };
        if known.is_none() {
            self.class_names.push(name.to_owned());
        }
        Ok(ChannelClass(class))
    }

    fn add_ports(&mut self, router: RouterId, count: u32) -> Result<(), String> {
        if router.index() >= self.ports.len() {
            self.ports.resize(router.index() + 1, 0);
        }
        // Neither sum overflows: a count is at most MAX_PORTS, and so is the router's number of ports before.
        self.ports[router.index()] += count;
        self.total_ports += count;
        if self.ports[router.index()] > u32::from(MAX_PORTS) {
            return Err(format!("router {router} has more than {MAX_PORTS} ports, the most that are allowed"));
        }
        if self.total_ports > MAX_FILE_PORTS {
            return Err(format!("the routers have more than {MAX_FILE_PORTS} (2^20) ports together, the most allowed"));
        }
        Ok(())
    }

    /// Renumbers the routers if some numbers are unused. Returns the numbers of the file, and a note.
    fn close_gaps(&mut self) -> (Vec<u32>, Vec<String>) {
        let numbers: Vec<u32> = (0..).zip(&self.ports).filter(|&(_, &ports)| ports > 0).map(|(own, _)| own).collect();
        let unused = (self.ports.len() - numbers.len()) as u64;
        if unused == 0 {
            return (Vec::new(), Vec::new());
        }
        let mut anew = vec![RouterId(0); self.ports.len()];
        (0..).zip(&numbers).for_each(|(new, &old)| anew[old as usize] = RouterId(new));
        self.lines.renumber(|router| anew[router.index()]);
        let first = (0..).zip(&self.ports).find(|&(_, &ports)| ports == 0).map_or(0, |(own, _): (u32, _)| own);
        self.ports.retain(|&ports| ports > 0);
        let mut notes = Notes::default();
        let rest = format!(
            "not used (the first is {first}): routers are numbered anew, and their coordinates are the file's numbers"
        );
        notes.count(unused, ["number of a router", "numbers of routers"], ["is", "are"], &rest);
        (numbers, notes.sentences().to_vec())
    }

    /// Builds the network, without the properties of its labels.
    fn build(mut self) -> Result<(FileTopology, Labels), String> {
        let (numbers, notes) = self.close_gaps();
        let routers = self.ports.len() as u32;
        let class_names = self.class_names;
        let shape = FileShape { class_names, numbers: numbers.clone(), notes, ..FileShape::default() };
        let made = self.lines.build(shape, routers).map_err(|Apart { from, to }| {
            let number = |router: RouterId| numbers.get(router.index()).copied().unwrap_or(router.0);
            format!("is not connected: router {} cannot be reached from router {}", number(to), number(from))
        })?;
        Ok((made, self.labels))
    }
}

fn router(word: &str) -> Result<RouterId, String> {
    let below = MAX_FILE_ROUTERS - 1;
    let number = word.parse().ok().filter(|&number| number <= below).map(RouterId);
    number.ok_or_else(|| format!("`{}` is not the number of a router, from 0 to {below}", short(word)))
}

/// Returns whether a word is meant as a count: `x` and the begin of a number.
fn is_count(word: &str) -> bool {
    word.strip_prefix('x').is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)))
}

fn count(word: &str) -> Result<u32, String> {
    let number = word[1..].parse().ok().filter(|number| (1..=u32::from(MAX_PORTS)).contains(number));
    number.ok_or_else(|| format!("`{}` is not a count, from x1 to x{MAX_PORTS}", short(word)))
}

impl Shape for FileShape {
    fn kind(&self) -> &'static str {
        "file"
    }

    fn class_names(&self) -> Vec<&str> {
        match &self.family {
            Some(family) => family.class_names(),
            None => self.class_names.iter().map(String::as_str).collect(),
        }
    }

    fn coordinate_names(&self) -> Vec<String> {
        self.family.as_ref().map_or_else(|| vec!["router".into()], |family| family.coordinate_names())
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        self.family.as_ref().map_or_else(|| vec![self.number(router)], |family| family.coordinates(router))
    }

    fn views(&self) -> Views<'_> {
        let views = self.family.as_ref().map_or_else(Views::default, |family| family.views());
        let node_groups = views.node_groups.or(self.node_groups);
        let group_table = self.group_table.as_ref().filter(|_| views.groups.is_none());
        // A family has other ports than the file.
        let addresses = self.addresses.as_ref().filter(|_| !self.renumbered && self.family.is_none());
        let (renumbered, notes, levels) = (self.renumbered, &self.notes, self.levels.as_ref());
        Views { addresses, renumbered, notes, levels, node_groups, group_table, ..views }
    }
}

impl FileShape {
    /// Returns the number of a router in the file.
    fn number(&self, router: RouterId) -> u32 {
        self.numbers.get(router.index()).copied().unwrap_or(router.0)
    }
}
