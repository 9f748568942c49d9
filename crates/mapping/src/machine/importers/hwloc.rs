//! Inside of a node, as hwloc writes it in XML (versions 1 to 3 of the format).
//!
//! A core's last-level cache is the outermost cache around it (level 2 or more). Cores without an allowed processor are
//! left out, with a note. Devices (bridges, PCI, misc) do not affect places. Cores and hardware threads that share a
//! processor are refused; processors of the machine that belong to no core and no thread are counted in a note.

use std::collections::BTreeMap;

use units::{LocatedError, Notes, shortened};

use super::cpusets::CpuSet;
use super::xml::{self, line_at, wrong};
use super::{Node, Wiring};

/// Maximum nesting depth of objects.
const MAX_DEPTH: usize = 64;
/// Maximum number of unknown types and attributes that notes name.
const MOST_UNKNOWN: usize = 8;

/// Types of objects of hwloc, besides caches of a level.
const TYPES: [&str; 16] = [
    "Machine", "System", "Node", "NUMANode", "Package", "Socket", "Die", "Group", "Core", "PU", "Cache", "MemCache",
    "Bridge", "PCIDev", "OSDev", "Misc",
];
/// Attributes of objects of hwloc.
const ATTRIBUTES: [&str; 39] = [
    "type",
    "os_index",
    "cpuset",
    "complete_cpuset",
    "allowed_cpuset",
    "online_cpuset",
    "nodeset",
    "complete_nodeset",
    "allowed_nodeset",
    "gp_index",
    "id",
    "name",
    "subtype",
    "os_level",
    "cache_size",
    "depth",
    "cache_linesize",
    "cache_associativity",
    "cache_type",
    "local_memory",
    "memory_kB",
    "huge_page_size_kB",
    "huge_page_free",
    "page_size",
    "kind",
    "subkind",
    "dont_merge",
    "bridge_type",
    "bridge_pci",
    "pci_busid",
    "pci_type",
    "pci_link_speed",
    "osdev_type",
    "dmi_board_vendor",
    "dmi_board_name",
    "logical_index",
    "symmetric_subtree",
    "memory",
    "specific_memory",
];

/// Inside of a node: its sockets, NUMA nodes, cores and threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeShape {
    /// Number of sockets.
    pub packages: u32,
    /// Number of NUMA nodes.
    pub numa_nodes: u32,
    /// Number of cores.
    pub cores: u32,
    /// Number of hardware threads.
    pub threads: u32,
    /// The cores, in hwloc's order.
    pub core_places: Vec<CorePlace>,
    /// The name of the host. Present if the file names it.
    pub host: Option<String>,
    /// Notes on what is left out.
    pub notes: Notes,
}

/// Position of a core in its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorePlace {
    /// Number of the core among all cores of the node, including cores that are not allowed.
    pub core: u32,
    /// Number of the socket, from 0.
    pub package: u32,
    /// Number of the last-level cache, from 0. Absent if the file has no cache around the core.
    pub cache: Option<u32>,
}

/// Returns whether a text seems to be of this format.
pub(crate) fn recognize(text: &str) -> bool {
    text.trim_start().starts_with('<') && text.contains("<topology")
}

/// Context of an object: the objects around it.
#[derive(Clone, Copy, Default)]
struct Around {
    depth: usize,
    package: Option<u32>,
    cache: Option<u32>,
    /// Whether the object lies in a core.
    in_core: bool,
    /// Innermost object with a set of processors, by its number in `Found::around`.
    set: Option<usize>,
}

/// Reads a node.
///
/// # Errors
/// If the text is not XML, or has neither an allowed core nor an allowed hardware thread. At its line, if a `cpuset` is
/// not a set, or if a core or hardware thread has a processor of another.
pub(crate) fn read(text: &str) -> Result<NodeShape, LocatedError> {
    let document = xml::parse(text, "hwloc", 0)?;
    let mut found = Found::default();
    let root = document.root_element();
    let machine = root.children().find(|node| node.has_tag_name("object"));
    if let Some(machine) = &machine {
        found.allowed = set_of(machine, "allowed_cpuset")?;
    }
    let named =
        |node: &roxmltree::Node<'_, '_>| node.has_tag_name("info") && node.attribute("name") == Some("HostName");
    // Version 3 of the format writes the name below `topology`, earlier versions below the machine.
    let mut names = machine.into_iter().chain([root]).flat_map(|above| above.children().filter(named));
    let info = names.next();
    if let Some(twice) = names.next() {
        return Err(wrong(&twice, "`HostName` is there twice".to_owned()));
    }
    drop(names);
    found.shape.host = info.and_then(|info| info.attribute("value")).map(str::to_owned);
    let mut open: Vec<(roxmltree::Node<'_, '_>, Around)> = vec![(root, Around::default())];
    while let Some((node, around)) = open.pop() {
        if around.depth > MAX_DEPTH {
            return Err(wrong(&node, format!("objects are nested deeper than {MAX_DEPTH}")));
        }
        let around = if node.has_tag_name("object") { found.object(&node, around)? } else { around };
        let inner = Around { depth: around.depth + 1, ..around };
        let children = node.children().filter(|child| child.has_tag_name("object"));
        let first = open.len();
        open.extend(children.map(|child| (child, inner)));
        // The last of the open objects is taken first.
        open[first..].reverse();
    }
    found.finish()
}

/// Returns the set of processors in an attribute of an object, if the object has this attribute.
///
/// # Errors
/// If the attribute is not a set.
fn set_of(object: &roxmltree::Node<'_, '_>, attribute: &str) -> Result<Option<CpuSet>, LocatedError> {
    let Some(text) = object.attribute(attribute) else { return Ok(None) };
    let set = CpuSet::read(text).ok_or_else(|| {
        let text = shortened(text);
        wrong(object, format!("`{attribute}` is `{text}`, which is no set of processors such as `0x0000000f,,0x1`"))
    })?;
    Ok(Some(set))
}

/// Objects of one type, with their processors.
#[derive(Default)]
struct Holders {
    /// Processors of all these objects.
    taken: CpuSet,
    /// Position of each object in the file, and its processors.
    sets: Vec<(usize, CpuSet)>,
}

impl Holders {
    /// Adds an object called `name` with the processors `set`.
    ///
    /// # Errors
    /// If another object has one of the processors, or the set is infinite.
    fn take(&mut self, object: &roxmltree::Node<'_, '_>, name: &str, set: &CpuSet) -> Result<(), LocatedError> {
        if set.endless {
            return Err(wrong(object, format!("the `cpuset` of a {name} is infinite")));
        }
        if let Some(processor) = set.first_in(&self.taken) {
            let before = self.sets.iter().find(|(_, other)| set.first_in(other) == Some(processor));
            let line = before.map_or(0, |&(start, _)| line_at(object, start));
            return Err(wrong(object, format!("the {name} has processor {processor}, as the {name} of line {line}")));
        }
        self.taken.add(set);
        self.sets.push((object.range().start, set.clone()));
        Ok(())
    }
}

#[derive(Default)]
struct Found {
    shape: NodeShape,
    /// Allowed processors. Absent if the file does not restrict them.
    allowed: Option<CpuSet>,
    caches: u32,
    /// Number of all cores. `forbidden_cores` and `forbidden_threads` are the numbers of those left out.
    cores: u32,
    forbidden_cores: u64,
    forbidden_threads: u64,
    /// Processors outside of cores.
    bare: Vec<CorePlace>,
    /// Processors that the sets of machines, packages and cores state.
    stated: CpuSet,
    /// Processors of the complete sets, which include absent processors.
    complete: CpuSet,
    /// Unknown types and attributes of objects, as they are written.
    unknown: BTreeMap<String, u64>,
    /// Objects with sets of processors: position in the file, and set.
    around: Vec<(usize, CpuSet)>,
    /// Cores by processor. `thread_sets` are hardware threads by processor.
    core_sets: Holders,
    thread_sets: Holders,
}

impl Found {
    /// Adds an object. Returns the context of the objects within it.
    fn object(&mut self, object: &roxmltree::Node<'_, '_>, mut around: Around) -> Result<Around, LocatedError> {
        let set = set_of(object, "cpuset")?;
        around.set = self.lies_within(object, around.set, set.as_ref())?;
        if let Some(complete) = set_of(object, "complete_cpuset")?.filter(|set| !set.endless) {
            self.complete.add(&complete);
        }
        let kind = object.attribute("type").unwrap_or("");
        self.note_unknown(object, kind);
        if let (Some(set), "Machine" | "Package" | "Socket" | "Core") = (set.as_ref().filter(|set| !set.endless), kind)
        {
            self.stated.add(set);
        }
        let shape = &mut self.shape;
        match kind {
            "Package" | "Socket" => {
                around.package = Some(shape.packages);
                shape.packages += 1;
            }
            // A NUMA node without processors is memory of a device.
            "NUMANode" if set.as_ref().is_none_or(|set| !set.is_empty()) => shape.numa_nodes += 1,
            kind if around.cache.is_none() && level(kind, object) >= 2 => {
                around.cache = Some(self.caches);
                self.caches += 1;
            }
            "PU" => self.processor(object, around, set)?,
            "Core" => {
                let place = CorePlace { core: self.cores, package: around.package.unwrap_or(0), cache: around.cache };
                self.cores += 1;
                if let Some(set) = &set {
                    self.core_sets.take(object, "core", set)?;
                }
                if is_allowed(self.allowed.as_ref(), set.as_ref()) {
                    self.shape.core_places.push(place);
                } else {
                    self.forbidden_cores += 1;
                }
                around.in_core = true;
            }
            _ => {}
        }
        Ok(around)
    }

    fn note_unknown(&mut self, object: &roxmltree::Node<'_, '_>, kind: &str) {
        let is_cache = kind.starts_with('L') && (kind.ends_with("Cache") || kind.ends_with("iCache"));
        let kind = (!TYPES.contains(&kind) && !is_cache).then(|| format!("type `{}`", shortened(kind)));
        let names = object.attributes().map(|own| own.name()).filter(|name| !ATTRIBUTES.contains(name));
        for unknown in names.map(|name| format!("attribute `{}`", shortened(name))).chain(kind) {
            *self.unknown.entry(unknown).or_default() += 1;
        }
    }

    /// Checks that the object around an object has all its processors. Returns the innermost object with a set.
    fn lies_within(
        &mut self,
        object: &roxmltree::Node<'_, '_>,
        around: Option<usize>,
        set: Option<&CpuSet>,
    ) -> Result<Option<usize>, LocatedError> {
        let Some(set) = set else { return Ok(around) };
        if let Some((start, outer)) = around.map(|at| &self.around[at]).filter(|_| !set.endless)
            && let Some(processor) = set.first_outside(outer)
        {
            let kind = shortened(object.attribute("type").unwrap_or("object"));
            let line = line_at(object, *start);
            let message =
                format!("the {kind} has processor {processor}, and the object around it (line {line}) does not");
            return Err(wrong(object, message));
        }
        self.around.push((object.range().start, set.clone()));
        Ok(Some(self.around.len() - 1))
    }

    fn processor(
        &mut self,
        object: &roxmltree::Node<'_, '_>,
        around: Around,
        set: Option<CpuSet>,
    ) -> Result<(), LocatedError> {
        // A processor without a set has the number that the operating system gives it.
        let number = || object.attribute("os_index").and_then(|number| number.parse().ok()).map(CpuSet::of);
        let set = set.or_else(number);
        if let Some(set) = &set {
            self.thread_sets.take(object, "hardware thread", set)?;
        }
        if !is_allowed(self.allowed.as_ref(), set.as_ref()) {
            self.forbidden_threads += 1;
            return Ok(());
        }
        if !around.in_core {
            let core = self.bare.len() as u32;
            self.bare.push(CorePlace { core, package: around.package.unwrap_or(0), cache: around.cache });
        }
        self.shape.threads += 1;
        Ok(())
    }

    /// Returns the number of allowed processors that the file states without an object for them: a hardware thread, or
    /// a core if the file has no hardware threads. Returns 0 if an object has no set, since it may stand for any
    /// processor.
    fn missing(&self) -> u64 {
        let threads = u64::from(self.shape.threads) + self.forbidden_threads;
        let (holders, count) =
            if threads > 0 { (&self.thread_sets, threads) } else { (&self.core_sets, self.cores.into()) };
        let all = holders.sets.len() as u64 == count;
        if all { self.stated.count(self.allowed.as_ref(), &holders.taken) } else { 0 }
    }

    fn finish(self) -> Result<NodeShape, LocatedError> {
        let missing = self.missing();
        let mut present = self.thread_sets.taken.clone();
        self.around.iter().filter(|(_, set)| !set.endless).for_each(|(_, set)| present.add(set));
        let absent = self.complete.count(None, &present);
        let mut shape = self.shape;
        let (is, out) = (["is", "are"], "left out: not allowed");
        if self.cores == 0 {
            shape.core_places = self.bare;
            let things = ["processor", "processors"];
            let rest = "in no object of type Core: each is taken for a core";
            shape.notes.count(shape.core_places.len() as u64, things, is, rest);
        } else {
            let bare = self.bare.len() as u32;
            shape.threads -= bare;
            let things = ["hardware thread outside of cores", "hardware threads outside of cores"];
            shape.notes.count(u64::from(bare), things, is, "left out");
        }
        shape.cores = shape.core_places.len() as u32;
        if shape.cores == 0 {
            let what =
                if self.cores > 0 { "no core whose processors are allowed" } else { "no objects of type Core or PU" };
            return Err(LocatedError::new(format!("it has {what}")));
        }
        shape.notes.count(self.forbidden_cores, ["core", "cores"], is, out);
        if self.forbidden_cores == 0 {
            let things = ["hardware thread", "hardware threads"];
            shape.notes.count(self.forbidden_threads, things, is, out);
        }
        let things = ["processor of a `complete_cpuset`", "processors of a `complete_cpuset`"];
        shape.notes.count(absent, things, is, "left out: in no `cpuset`");
        let things = ["processor of the sets of packages and cores", "processors of the sets of packages and cores"];
        shape.notes.count(missing, things, is, "left out: no object of the file stands for it");
        for (what, count) in self.unknown.iter().take(MOST_UNKNOWN) {
            let things = ["object", "objects"].map(|thing| format!("{thing} with the unknown {what}"));
            let [one, several] = &things;
            shape.notes.count(*count, [one, several], ["is", "are"], "of no effect on places");
        }
        shape.packages = shape.packages.max(1);
        shape.numa_nodes = shape.numa_nodes.max(1);
        Ok(shape)
    }
}

/// Returns the level of a data cache; 0 of any other object.
fn level(kind: &str, object: &roxmltree::Node<'_, '_>) -> u32 {
    let text = match kind {
        "Cache" => object.attribute("depth"),
        _ => kind.strip_prefix('L').and_then(|rest| rest.strip_suffix("Cache")),
    };
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Returns whether one of an object's processors is allowed.
fn is_allowed(allowed: Option<&CpuSet>, own: Option<&CpuSet>) -> bool {
    let (Some(allowed), Some(own)) = (allowed, own) else { return true };
    own.first_in(allowed).is_some()
}

/// Converts a single node to a machine whose places are its cores: a tree of sockets and last-level caches.
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
