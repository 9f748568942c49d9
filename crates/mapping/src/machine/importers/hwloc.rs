//! The inside of a node, as hwloc writes it in XML (versions 1 to 3 of the format).
//!
//! A core's last-level cache is the outermost cache around it (level 2 or more). Cores without an allowed processor are
//! left out, with a note. Devices (bridges, PCI, misc) say nothing of places.

use units::Notes;

use super::{Node, Wiring};
use crate::MachineError;

/// The deepest nesting of objects that is read.
const MAX_DEPTH: usize = 64;
/// The most quotes from one tag to the next: two an attribute.
const MAX_QUOTES: u32 = 1024;

/// What is in a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeShape {
    /// Sockets.
    pub packages: u32,
    /// NUMA nodes.
    pub numa_nodes: u32,
    /// Cores.
    pub cores: u32,
    /// Hardware threads.
    pub threads: u32,
    /// The cores, in hwloc's order.
    pub core_places: Vec<CorePlace>,
    /// The name of the host, if the file has it.
    pub host: Option<String>,
    /// What is left out.
    pub notes: Notes,
}

/// Where a core is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorePlace {
    /// Its number among all cores of the node, those included that are not allowed.
    pub core: u32,
    /// The socket, from 0.
    pub package: u32,
    /// The last-level cache, from 0; none if the file has no cache around the core.
    pub cache: Option<u32>,
}

/// Whether a text seems to be of this format.
pub(crate) fn recognize(text: &str) -> bool {
    text.trim_start().starts_with('<') && text.contains("<topology")
}

/// What lies around an object.
#[derive(Clone, Copy, Default)]
struct Around {
    depth: usize,
    package: Option<u32>,
    cache: Option<u32>,
    /// The core, and whether one of its processors is allowed.
    in_core: bool,
}

/// Reads a node.
///
/// # Errors
/// If it is no XML, or names no cores and no hardware threads that are allowed.
pub(crate) fn read(text: &str) -> Result<NodeShape, MachineError> {
    check_linear(text)?;
    let options =
        roxmltree::ParsingOptions { allow_dtd: true, nodes_limit: 4_000_000, ..roxmltree::ParsingOptions::default() };
    let document = roxmltree::Document::parse_with_options(text, options).map_err(|error| {
        let line = u64::from(error.pos().row);
        MachineError { line: Some(line), ..MachineError::new(format!("it is no XML: {error}")) }
    })?;
    let mut found = Found::default();
    let root = document.root_element();
    let machine = root.children().find(|node| node.has_tag_name("object"));
    found.allowed = machine.and_then(|machine| machine.attribute("allowed_cpuset")).map(bits);
    let named = |node: &roxmltree::Node<'_, '_>| node.attribute("name") == Some("HostName");
    let info = machine.and_then(|machine| machine.children().find(named));
    found.shape.host = info.and_then(|info| info.attribute("value")).map(str::to_owned);
    let mut open: Vec<(roxmltree::Node<'_, '_>, Around)> = vec![(root, Around::default())];
    while let Some((node, around)) = open.pop() {
        if around.depth > MAX_DEPTH {
            let line = u64::from(document.text_pos_at(node.range().start).row);
            return Err(MachineError::at(line, format!("objects are nested deeper than {MAX_DEPTH}")));
        }
        let around = if node.has_tag_name("object") { found.object(&node, around) } else { around };
        let inner = Around { depth: around.depth + 1, ..around };
        let children = node.children().filter(|child| child.has_tag_name("object"));
        let first = open.len();
        open.extend(children.map(|child| (child, inner)));
        // The last is taken first.
        open[first..].reverse();
    }
    found.finish()
}

/// Refuses what hwloc does not write, and what takes a parser the square of its length: entities, namespaces, and
/// thousands of attributes in one tag.
fn check_linear(text: &str) -> Result<(), MachineError> {
    let line_of = |at: usize| 1 + text[..at].bytes().filter(|&byte| byte == b'\n').count() as u64;
    for word in ["<!ENTITY", "xmlns"] {
        if let Some(at) = text.find(word) {
            return Err(MachineError::at(line_of(at), format!("`{word}` is not expected in a file of hwloc")));
        }
    }
    let mut quotes = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'<' => quotes = 0,
            b'"' | b'\'' => quotes += 1,
            _ => {}
        }
        if quotes > MAX_QUOTES {
            let message = format!("a tag has more than {} attributes", MAX_QUOTES / 2);
            return Err(MachineError::at(line_of(at), message));
        }
    }
    Ok(())
}

#[derive(Default)]
struct Found {
    shape: NodeShape,
    /// The processors that may be used, if the file says so.
    allowed: Option<Vec<u64>>,
    caches: u32,
    /// All cores, and those that are left out.
    cores: u32,
    forbidden_cores: u64,
    forbidden_threads: u64,
    /// Processors outside of cores.
    bare: Vec<CorePlace>,
}

impl Found {
    /// Takes an object; returns what lies around those within it.
    fn object(&mut self, object: &roxmltree::Node<'_, '_>, mut around: Around) -> Around {
        let shape = &mut self.shape;
        match object.attribute("type").unwrap_or("") {
            "Package" | "Socket" => {
                around.package = Some(shape.packages);
                shape.packages += 1;
            }
            "NUMANode" if is_memory(object) => shape.numa_nodes += 1,
            kind if around.cache.is_none() && level(kind, object) >= 2 => {
                around.cache = Some(self.caches);
                self.caches += 1;
            }
            "PU" => self.processor(object, around),
            "Core" => {
                let place = CorePlace { core: self.cores, package: around.package.unwrap_or(0), cache: around.cache };
                self.cores += 1;
                if is_allowed(self.allowed.as_deref(), object) {
                    shape.core_places.push(place);
                } else {
                    self.forbidden_cores += 1;
                }
                around.in_core = true;
            }
            _ => {}
        }
        around
    }

    fn processor(&mut self, object: &roxmltree::Node<'_, '_>, around: Around) {
        if !is_allowed(self.allowed.as_deref(), object) {
            self.forbidden_threads += 1;
            return;
        }
        if !around.in_core {
            let core = self.bare.len() as u32;
            self.bare.push(CorePlace { core, package: around.package.unwrap_or(0), cache: around.cache });
        }
        self.shape.threads += 1;
    }

    fn finish(self) -> Result<NodeShape, MachineError> {
        let mut shape = self.shape;
        if self.cores == 0 {
            shape.core_places = self.bare;
            let things = ["processor", "processors"];
            let rest = "in no object of type Core: each is taken for a core";
            shape.notes.count(shape.core_places.len() as u64, things, ["is", "are"], rest);
        }
        shape.cores = shape.core_places.len() as u32;
        if shape.cores == 0 {
            let what =
                if self.cores > 0 { "no core whose processors are allowed" } else { "no objects of type Core or PU" };
            return Err(MachineError::new(format!("it has {what}")));
        }
        let (is, out) = (["is", "are"], "left out: no processor of it is allowed");
        shape.notes.count(self.forbidden_cores, ["core", "cores"], is, out);
        if self.forbidden_cores == 0 {
            let things = ["hardware thread", "hardware threads"];
            shape.notes.count(self.forbidden_threads, things, is, "left out: not allowed");
        }
        shape.packages = shape.packages.max(1);
        shape.numa_nodes = shape.numa_nodes.max(1);
        Ok(shape)
    }
}

/// The level of a cache of data; 0 of what is none.
fn level(kind: &str, object: &roxmltree::Node<'_, '_>) -> u32 {
    let text = match kind {
        "Cache" => object.attribute("depth"),
        _ => kind.strip_prefix('L').and_then(|rest| rest.strip_suffix("Cache")),
    };
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Whether one of an object's processors is allowed.
fn is_allowed(allowed: Option<&[u64]>, object: &roxmltree::Node<'_, '_>) -> bool {
    let (Some(allowed), Some(own)) = (allowed, object.attribute("cpuset")) else { return true };
    bits(own).iter().zip(allowed).any(|(own, allowed)| own & allowed != 0)
}

/// The bits of a set as hwloc writes it, the lowest first: words of 32 bits between commas, the highest first.
fn bits(set: &str) -> Vec<u64> {
    let word = |word: &str| u64::from_str_radix(word.trim().trim_start_matches("0x"), 16).unwrap_or(0);
    // An infinite set begins so.
    let full = set.starts_with("0xf...f");
    let rest = set.trim_start_matches("0xf...f");
    let rest = if full { rest.strip_prefix(',').unwrap_or(rest) } else { rest };
    // A word of zeros may be written as nothing.
    let mut words: Vec<u64> = if rest.is_empty() { Vec::new() } else { rest.split(',').map(word).collect() };
    words.reverse();
    if full {
        words.resize(words.len().max(1 << 10), u64::MAX);
    }
    words
}

/// Whether a NUMA node is one of processors: memory of devices has an empty set of them.
fn is_memory(object: &roxmltree::Node<'_, '_>) -> bool {
    object.attribute("cpuset").is_none_or(|set| bits(set).iter().any(|&bits| bits != 0))
}

/// A single node as a machine whose places are its cores: a tree of sockets and last-level caches.
pub(crate) fn cores_as_nodes(shape: &NodeShape) -> Wiring {
    let mut wiring = Wiring::default();
    let top = wiring.router("node");
    for place in &shape.core_places {
        let socket = format!("package {}", place.package);
        let cache = place.cache.map(|cache| format!("cache {cache}"));
        let mut above = top;
        for name in [Some(socket), cache].into_iter().flatten() {
            let known = wiring.known(&name);
            let below = wiring.router(&name);
            if known.is_none() {
                wiring.wires.push((above, below, "link".to_owned()));
            }
            above = below;
        }
        let (name, host) = (format!("core{}", place.core), shape.host.clone());
        wiring.nodes.push(Node { router: above, name, host, slot: place.core });
    }
    wiring.notes.add("the places are the cores of one node");
    wiring
}
