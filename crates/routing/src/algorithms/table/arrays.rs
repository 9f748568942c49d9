//! Tables as arrays: see `TableSpec` for their shapes.

use std::io::{Cursor, Read};

use topology::{MAX_PORTS, Topology};
use units::{KeyError, NodeId, PortId, RouterId, shortened};
use zip::ZipArchive;

use super::draft::{Columns, Interner, NONE, Origin, TableBuilder, TableError, class, layer};
use super::limits::{DestinationKind, MAX_ENTRIES, MAX_LAYERS, too_large};
use super::npy::{self, Array};

/// Arrays of a table.
struct Arrays {
    ports: Array,
    classes: Option<Array>,
    next_layers: Option<Array>,
}

/// Names of the arrays in an archive.
const NAMES: [&str; 3] = ["ports", "classes", "next_layers"];

/// Layout of the entries of `ports`.
struct Layout {
    layers: usize,
    routers: usize,
    width: usize,
    candidates: usize,
}

/// Reads the array of ports of an `.npy` file.
pub(super) fn read_npy(
    bytes: &[u8],
    name: &str,
    network: (&dyn Topology, Option<DestinationKind>),
) -> Result<TableBuilder, KeyError> {
    let ports = npy::read(bytes).map_err(|problem| refuse(name, &problem))?;
    draft(&Arrays { ports, classes: None, next_layers: None }, name, network)
}

/// Reads the arrays of an `.npz` archive.
pub(super) fn read_npz(
    bytes: &[u8],
    name: &str,
    network: (&dyn Topology, Option<DestinationKind>),
) -> Result<TableBuilder, KeyError> {
    let refused = |problem: String| refuse(name, &problem);
    let mut archive =
        ZipArchive::new(Cursor::new(bytes)).map_err(|error| refused(format!("is no archive: {error}")))?;
    if archive.has_duplicate_names() {
        return Err(refused("holds an array twice".to_owned()));
    }
    let known = |file: &str| NAMES.iter().any(|name| file.strip_suffix(".npy") == Some(name));
    let mut files = archive.file_names().map(|file| file.map_or_else(|_| "?".to_owned(), |name| name.into_owned()));
    if let Some(file) = files.find(|file| !known(file)) {
        let file = shortened(&file);
        return Err(refused(format!("holds `{file}`; its arrays are ports, classes and next_layers")));
    }
    drop(files);
    let mut arrays = NAMES.map(|name| member(&mut archive, name));
    let [ports, classes, next_layers] =
        arrays.each_mut().map(|array| std::mem::replace(array, Ok(None)).map_err(refused));
    let ports = ports?.ok_or_else(|| refused("holds no array `ports`".to_owned()))?;
    draft(&Arrays { ports, classes: classes?, next_layers: next_layers? }, name, network)
}

/// Returns an array of an archive, if it is there.
fn member(archive: &mut ZipArchive<Cursor<&[u8]>>, name: &str) -> Result<Option<Array>, String> {
    let file = format!("{name}.npy");
    if archive.index_for_name(&file).is_none() {
        return Ok(None);
    }
    let entry = archive.by_name(&file).map_err(|error| format!("cannot be read: `{name}`: {error}"))?;
    let mut bytes = Vec::new();
    let most = units::input::ROUTING_TABLE.most_bytes;
    let read = entry.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot be read: `{name}`: {error}"))?;
    if bytes.len() as u64 > most {
        return Err(format!("is too large: `{name}` has more than {} MiB", most >> 20));
    }
    npy::read(&bytes).map(Some).map_err(|problem| format!("`{name}` {problem}"))
}

fn refuse(name: &str, problem: &str) -> KeyError {
    KeyError::new("path", format!("{name}: {problem}"))
}

fn draft(
    arrays: &Arrays,
    name: &str,
    (topology, destinations): (&dyn Topology, Option<DestinationKind>),
) -> Result<TableBuilder, KeyError> {
    let layout = Layout::of(&arrays.ports.shape, topology.routers()).map_err(|problem| refuse(name, &problem))?;
    let columns = layout.columns(topology, destinations)?;
    let cells = layout.layers * layout.routers * layout.width;
    if cells as u64 > MAX_ENTRIES {
        return Err(too_large(name, cells as u64));
    }
    for (array, name_of) in [(&arrays.classes, NAMES[1]), (&arrays.next_layers, NAMES[2])] {
        array
            .as_ref()
            .map_or(Ok(()), |array| layout.fits(array, name_of, &arrays.ports.shape))
            .map_err(|p| refuse(name, &p))?;
    }
    let mut draft = TableBuilder {
        name: name.to_owned(),
        layers: layout.layers,
        routers: layout.routers,
        columns,
        width: layout.width,
        entries: Vec::new(),
        index: vec![NONE; cells],
        origin: Origin::Array(arrays.ports.shape.len()),
        lanes: Vec::new(),
    };
    let mut entries = Interner::default();
    let mut ports = Vec::new();
    for cell in 0..cells {
        let found = entry(arrays, &layout, cell, &mut ports);
        if let Some((class, next)) = found.map_err(|error| draft.error_at(cell, &error))? {
            draft.index[cell] = entries.index(&ports, class, next);
        }
    }
    draft.entries = entries.entries;
    Ok(draft)
}

/// Returns an entry's ports, and its class and next layer. `None`: it has no port.
fn entry(
    arrays: &Arrays,
    layout: &Layout,
    cell: usize,
    ports: &mut Vec<PortId>,
) -> Result<Option<(u8, u16)>, TableError> {
    ports.clear();
    for &number in &arrays.ports.values[cell * layout.candidates..][..layout.candidates] {
        // Negative numbers fill up the lists of ports.
        if number >= 0 {
            let port = u16::try_from(number).map_err(|_| TableError::Form(format!("{number} is not a port")))?;
            ports.push(PortId(port));
        }
    }
    if ports.is_empty() {
        return Ok(None);
    }
    let own = cell / (layout.routers * layout.width);
    let value = |array: &Option<Array>| array.as_ref().map_or(own as i64, |array| i64::from(array.values[cell]));
    Ok(Some((class(value(&arrays.classes))?, layer(value(&arrays.next_layers), layout.layers)?)))
}

impl Layout {
    /// Returns the layout of an array of 2 to 4 dimensions: routers and destinations, preceded by layers, followed by
    /// ports.
    fn of(shape: &[usize], routers: u32) -> Result<Self, String> {
        let (layers, rows, width, candidates) = match *shape {
            [rows, width] => (1, rows, width, 1),
            [layers, rows, width] => (layers, rows, width, 1),
            [layers, rows, width, candidates] => (layers, rows, width, candidates),
            _ => {
                return Err(format!(
                    "`ports` has the shape {shape:?}; allowed are [routers, destinations], [layers, routers, destinations] and \
                     [layers, routers, destinations, ports]"
                ));
            }
        };
        if rows != routers as usize {
            return Err(format!("`ports` has rows of {rows} routers (shape {shape:?}); this network has {routers}"));
        }
        if !(1..=MAX_LAYERS).contains(&layers) || !(1..=usize::from(MAX_PORTS)).contains(&candidates) {
            return Err(format!(
                "`ports` has the shape {shape:?}; it needs 1 to {MAX_LAYERS} layers, and 1 to {MAX_PORTS} ports"
            ));
        }
        Ok(Self { layers, routers: rows, width, candidates })
    }

    /// Returns the meaning of the columns, by their number if the file does not say.
    fn columns(&self, topology: &dyn Topology, given: Option<DestinationKind>) -> Result<Columns, KeyError> {
        let (routers, nodes) = (topology.routers(), topology.nodes());
        let fits = |number: u32| self.width == number as usize;
        // If routers and nodes are numbered alike, either is right.
        let alike = || (0..nodes).all(|node| topology.attachment(NodeId(node)).0 == RouterId(node));
        match given {
            Some(DestinationKind::Routers) if fits(routers) => Ok(Columns::Routers),
            Some(DestinationKind::Nodes) if fits(nodes) => Ok(Columns::Nodes),
            None if fits(routers) && (!fits(nodes) || alike()) => Ok(Columns::Routers),
            None if fits(nodes) && !fits(routers) => Ok(Columns::Nodes),
            None if fits(nodes) => {
                let message = format!(
                    "this network has {nodes} nodes and as many routers, numbered differently: say whether the table's columns \
                     are \"routers\" or \"nodes\""
                );
                Err(KeyError::new("destinations", message))
            }
            _ => {
                let message = format!(
                    "`ports` has {} columns; this network has {routers} routers and {nodes} nodes{}",
                    self.width,
                    if given.is_some() { ", and `destinations` says which are meant" } else { "" }
                );
                Err(KeyError::new("path", message))
            }
        }
    }

    /// Checks that an array has a number for each entry.
    fn fits(&self, array: &Array, name: &str, ports: &[usize]) -> Result<(), String> {
        let expected = &ports[..ports.len().min(3)];
        if array.shape == expected {
            return Ok(());
        }
        Err(format!("`{name}` has the shape {:?}; with `ports` of {ports:?} it has to be {expected:?}", array.shape))
    }
}
