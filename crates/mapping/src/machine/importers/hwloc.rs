//! The inside of a node, as hwloc writes it in XML (versions 1 to 3 of the format).

use crate::MachineError;

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
    /// By core, in hwloc's order: the socket and the last-level cache, each numbered from 0.
    pub core_places: Vec<(u32, u32)>,
}

/// Whether a text seems to be of this format.
pub(crate) fn recognize(text: &str) -> bool {
    text.trim_start().starts_with('<') && text.contains("<topology")
}

/// Reads a node.
///
/// # Errors
/// If it is no XML, or names no cores and no hardware threads.
pub(crate) fn read(text: &str) -> Result<NodeShape, MachineError> {
    let options =
        roxmltree::ParsingOptions { allow_dtd: true, nodes_limit: 4_000_000, ..roxmltree::ParsingOptions::default() };
    let document = roxmltree::Document::parse_with_options(text, options).map_err(|error| {
        let line = u64::from(error.pos().row);
        MachineError { line: Some(line), ..MachineError::new(format!("it is no XML: {error}")) }
    })?;
    let mut shape = NodeShape::default();
    let mut caches = 0;
    for object in document.descendants().filter(|node| node.has_tag_name("object")) {
        match object.attribute("type").unwrap_or("") {
            "Package" | "Socket" => shape.packages += 1,
            "NUMANode" if is_memory(&object) => shape.numa_nodes += 1,
            "L3Cache" => caches += 1,
            "Cache" if object.attribute("depth") == Some("3") => caches += 1,
            "PU" => shape.threads += 1,
            "Core" => {
                shape.cores += 1;
                shape.core_places.push((shape.packages.saturating_sub(1), u32::max(caches, 1) - 1));
            }
            _ => {}
        }
    }
    if shape.cores == 0 {
        shape.cores = shape.threads;
        shape.core_places = vec![(0, 0); shape.threads as usize];
    }
    if shape.cores == 0 {
        return Err(MachineError::new("it has no objects of type Core or PU"));
    }
    shape.packages = shape.packages.max(1);
    shape.numa_nodes = shape.numa_nodes.max(1);
    Ok(shape)
}

/// Whether a NUMA node is one of processors: memory of devices has an empty set of them.
fn is_memory(object: &roxmltree::Node<'_, '_>) -> bool {
    object
        .attribute("cpuset")
        .is_none_or(|set| set.bytes().any(|byte| byte.is_ascii_hexdigit() && byte != b'0' && byte != b'x'))
}
