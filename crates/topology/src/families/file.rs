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
//! ```
//!
//! Numbering: routers keep the file's numbers or, if these have gaps, are renumbered in ascending order; nodes are
//! numbered in the order of the file; the ports of a router are numbered in the order in which the file's lines mention
//! it. A wire without a class has the class `link`. Classes are numbered in the order in which they first occur. A
//! class is a word of letters, digits, `-` and `_` that starts with a letter and does not look like a count.
//!
//! Every router must be reachable from every other. Distances are a table from breadth-first search, which limits the
//! number of routers; no bisection is defined.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{KeyError, NodeId, Notes, PortId, RouterId, input};

use crate::network::{Topology, Views};
use crate::shorthand::short;
use crate::wires::{ChannelClass, Endpoint, MAX_PORTS};

/// Maximum number of routers of a file: their distances are a table of 2 bytes a pair.
pub const MAX_FILE_ROUTERS: u32 = 4096;
/// Maximum number of ports of all routers of a file together.
pub const MAX_FILE_PORTS: u32 = 1 << 20;

/// A topology read from an edge list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSpec {
    /// Path of the edge list, relative to the experiment file. Its lines are `link ROUTER ROUTER [CLASS] [xCOUNT]` and
    /// `node ROUTER [xCOUNT]`. Machine files that `map` reads are accepted too: ibnetdiscover's output, Slurm's
    /// topology.conf or topology.yaml, a Cray interconnect.
    pub path: PathBuf,
}

impl FileSpec {
    /// Reads the shorthand, which is the path: it may have any characters.
    pub(crate) fn from_shorthand(text: &str) -> Result<Self, KeyError> {
        Ok(Self { path: text.into() })
    }
}

/// A topology read from an edge list.
#[derive(Clone, Debug)]
pub struct FileTopology {
    /// First port of each router in the tables of ports, followed by the number of all ports.
    first: Vec<u32>,
    endpoints: Vec<Endpoint>,
    classes: Vec<ChannelClass>,
    attachments: Vec<(RouterId, PortId)>,
    class_names: Vec<String>,
    /// Distances by pair of routers, source-major, in channels.
    distances: Vec<u16>,
    diameter: u32,
    /// Numbers of the routers in the file. Empty if the file uses all numbers from 0 on.
    numbers: Vec<u32>,
    notes: Vec<String>,
}

impl FileTopology {
    /// Adds notes: omissions and assumptions of the reader of another format.
    #[must_use]
    pub fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// Reads the file. A relative path starts from the folder `base`. An error names the file, and the line if known.
    pub fn new(spec: &FileSpec, base: &Path) -> Result<Self, KeyError> {
        let name = spec.path.display().to_string();
        let read = input::MACHINE.read_text(&base.join(&spec.path));
        let text = read.map_err(|problem| error(format!("`{name}` {problem}")))?;
        Self::from_text(&text, &name)
    }

    /// Builds the topology of an edge list. `name` is the file's name in errors.
    pub fn from_text(text: &str, name: &str) -> Result<Self, KeyError> {
        let mut list = EdgeList::new();
        for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            list.read_line(line).map_err(|problem| error(format!("{name}:{number}: {problem}")))?;
        }
        if !list.lines.iter().any(|line| matches!(line.what, What::Node { .. })) {
            return Err(error(format!("`{name}` has no nodes; a line such as `node 0` puts one on router 0")));
        }
        list.build().map_err(|problem| error(format!("`{name}` {problem}")))
    }

    fn place(&self, router: RouterId, port: PortId) -> usize {
        self.first[router.index()] as usize + port.index()
    }

    /// Fills the table of distances. Fails with the name of a router that cannot be reached from router 0.
    fn measure(&mut self) -> Result<(), String> {
        let routers = self.routers();
        let neighbours: Vec<Vec<u32>> = (0..routers).map(|router| self.neighbours(RouterId(router))).collect();
        let mut has_nodes = vec![false; routers as usize];
        for (router, _) in &self.attachments {
            has_nodes[router.index()] = true;
        }
        self.distances.reserve(routers as usize * routers as usize);
        for from in 0..routers {
            let row = search(&neighbours, from);
            if let Some(alone) = row.iter().position(|&distance| distance == UNREACHED) {
                let number = |router: u32| self.number(RouterId(router));
                return Err(format!(
                    "is not connected: router {} cannot be reached from router {}",
                    number(alone as u32),
                    number(from)
                ));
            }
            if has_nodes[from as usize] {
                let with_nodes = row.iter().zip(&has_nodes).filter(|&(_, &has)| has);
                let longest = with_nodes.map(|(&distance, _)| distance).max().unwrap_or(0);
                self.diameter = self.diameter.max(u32::from(longest));
            }
            self.distances.extend(row);
        }
        Ok(())
    }

    /// Returns the number of a router in the file.
    fn number(&self, router: RouterId) -> u32 {
        self.numbers.get(router.index()).copied().unwrap_or(router.0)
    }

    /// Returns the neighbours of a router, each once.
    fn neighbours(&self, router: RouterId) -> Vec<u32> {
        let ports = self.first[router.index()] as usize..self.first[router.index() + 1] as usize;
        let next = |endpoint: &Endpoint| if let Endpoint::Router(next, _) = endpoint { Some(next.0) } else { None };
        let mut neighbours: Vec<u32> = self.endpoints[ports].iter().filter_map(next).collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        neighbours
    }
}

/// Distance of an unreached router, in channels. No path is as long, since there are fewer routers.
const UNREACHED: u16 = u16::MAX;

/// Returns the distances from a router to all, in channels.
fn search(neighbours: &[Vec<u32>], from: u32) -> Vec<u16> {
    let mut distances = vec![UNREACHED; neighbours.len()];
    distances[from as usize] = 0;
    let mut queue = VecDeque::from([from]);
    while let Some(router) = queue.pop_front() {
        for &next in &neighbours[router as usize] {
            if distances[next as usize] == UNREACHED {
                distances[next as usize] = distances[router as usize] + 1;
                queue.push_back(next);
            }
        }
    }
    distances
}

fn error(message: String) -> KeyError {
    KeyError::new("path", message)
}

/// Network of an edge list, filled line by line; each line is checked.
struct EdgeList {
    lines: Vec<Line>,
    class_names: Vec<String>,
    /// Number of ports of each router, up to the highest number that has been mentioned.
    ports: Vec<u32>,
    total_ports: u32,
}

struct Line {
    what: What,
    count: u32,
}

enum What {
    Link { ends: [RouterId; 2], class: ChannelClass },
    Node { router: RouterId },
}

impl EdgeList {
    fn new() -> Self {
        let class_names = vec!["injection".into(), "ejection".into()];
        Self { lines: Vec::new(), class_names, ports: Vec::new(), total_ports: 0 }
    }

    fn read_line(&mut self, line: &str) -> Result<(), String> {
        let content = line.split_once('#').map_or(line, |(content, _)| content);
        let mut words: Vec<&str> = content.split_whitespace().collect();
        let Some(&first) = words.first() else { return Ok(()) };
        let count = words.pop_if(|word| is_count(word)).map_or(Ok(1), count)?;
        let what = match (first, &words[..]) {
            ("link", &[_, one, other]) => self.link(one, other, "link")?,
            ("link", &[_, one, other, class]) => self.link(one, other, class)?,
            ("link", _) => return Err("a link is written `link ROUTER ROUTER [CLASS] [xCOUNT]`".into()),
            ("node", &[_, on]) => What::Node { router: router(on)? },
            ("node", _) => return Err("a node is written `node ROUTER [xCOUNT]`".into()),
            _ => return Err(format!("`{}` is neither `link` nor `node`", short(first))),
        };
        match what {
            What::Link { ends, .. } => ends.into_iter().try_for_each(|end| self.add_ports(end, count))?,
            What::Node { router } => self.add_ports(router, count)?,
        }
        self.lines.push(Line { what, count });
        Ok(())
    }

    fn link(&mut self, one: &str, other: &str, class: &str) -> Result<What, String> {
        let ends = [router(one)?, router(other)?];
        if ends[0] == ends[1] {
            return Err(format!("a link from router {} to itself is not allowed", ends[0]));
        }
        Ok(What::Link { ends, class: self.class(class)? })
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
        for line in &mut self.lines {
            match &mut line.what {
                What::Link { ends, .. } => *ends = ends.map(|end| anew[end.index()]),
                What::Node { router } => *router = anew[router.index()],
            }
        }
        let first = (0..).zip(&self.ports).find(|&(_, &ports)| ports == 0).map_or(0, |(own, _): (u32, _)| own);
        self.ports.retain(|&ports| ports > 0);
        let mut notes = Notes::default();
        let rest = format!(
            "not used (the first is {first}): routers are numbered anew, and their coordinates are the file's numbers"
        );
        notes.count(unused, ["number of a router", "numbers of routers"], ["is", "are"], &rest);
        (numbers, notes.sentences().to_vec())
    }

    fn build(mut self) -> Result<FileTopology, String> {
        let (numbers, notes) = self.close_gaps();
        let mut first = vec![0];
        first.extend(self.ports.iter().scan(0, |total, &ports| {
            *total += ports;
            Some(*total)
        }));
        let total = self.total_ports as usize;
        let mut topology = FileTopology {
            first,
            endpoints: vec![Endpoint::Unconnected; total],
            classes: vec![ChannelClass::EJECTION; total],
            attachments: Vec::new(),
            class_names: self.class_names,
            distances: Vec::new(),
            diameter: 0,
            numbers,
            notes,
        };
        let mut used = vec![0_u16; self.ports.len()];
        let mut next_port = |router: RouterId| {
            used[router.index()] += 1;
            PortId(used[router.index()] - 1)
        };
        for line in &self.lines {
            for _ in 0..line.count {
                match line.what {
                    What::Link { ends, class } => topology.wire(ends.map(|end| (end, next_port(end))), class),
                    What::Node { router } => topology.attach(router, next_port(router)),
                }
            }
        }
        topology.measure()?;
        Ok(topology)
    }
}

impl FileTopology {
    fn wire(&mut self, [one, other]: [(RouterId, PortId); 2], class: ChannelClass) {
        for ((router, port), (to, to_port)) in [(one, other), (other, one)] {
            let place = self.place(router, port);
            self.endpoints[place] = Endpoint::Router(to, to_port);
            self.classes[place] = class;
        }
    }

    fn attach(&mut self, router: RouterId, port: PortId) {
        let place = self.place(router, port);
        self.endpoints[place] = Endpoint::Node(NodeId(self.attachments.len() as u32));
        self.attachments.push((router, port));
    }
}

fn router(word: &str) -> Result<RouterId, String> {
    let below = MAX_FILE_ROUTERS - 1;
    let number = word.parse().ok().filter(|&number| number <= below).map(RouterId);
    number.ok_or_else(|| format!("`{}` is not the number of a router, from 0 to {below}", short(word)))
}

/// Returns whether a word is meant as a count: `x` and a digit.
fn is_count(word: &str) -> bool {
    word.strip_prefix('x').is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
}

fn count(word: &str) -> Result<u32, String> {
    let number = word[1..].parse().ok().filter(|number| (1..=u32::from(MAX_PORTS)).contains(number));
    number.ok_or_else(|| format!("`{}` is not a count, from x1 to x{MAX_PORTS}", short(word)))
}

impl Topology for FileTopology {
    fn kind(&self) -> &'static str {
        "file"
    }

    fn routers(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    fn nodes(&self) -> u32 {
        self.attachments.len() as u32
    }

    fn ports(&self, router: RouterId) -> u16 {
        (self.first[router.index() + 1] - self.first[router.index()]) as u16
    }

    fn endpoint(&self, router: RouterId, port: PortId) -> Endpoint {
        self.endpoints[self.place(router, port)]
    }

    fn attachment(&self, node: NodeId) -> (RouterId, PortId) {
        self.attachments[node.index()]
    }

    fn class_names(&self) -> Vec<&str> {
        self.class_names.iter().map(String::as_str).collect()
    }

    fn class(&self, router: RouterId, port: PortId) -> ChannelClass {
        self.classes[self.place(router, port)]
    }

    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        u32::from(self.distances[from.index() * self.routers() as usize + to.index()])
    }

    fn diameter(&self) -> u32 {
        self.diameter
    }

    fn bisection_channels(&self) -> Option<u64> {
        None
    }

    fn coordinate_names(&self) -> Vec<String> {
        vec!["router".into()]
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        vec![self.number(router)]
    }

    fn views(&self) -> Views<'_> {
        Views { notes: &self.notes, ..Views::default() }
    }
}
