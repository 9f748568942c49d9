//! `node.name`: a node of the catalogue.
//!
//! Before an experiment is checked, the networks inside the node are written before those of the file, and the keys
//! that its interfaces imply into the networks of the file. A key of the file is never overridden: a network of the
//! file that has the name of a network of the node overrides its keys. A link of the interfaces is left out if the file
//! has `[link]`.

use config::{Entry, Fault, Node, Place, Table, Value};
use mapping::NamedNode;

use crate::machine;

/// Key of the list of networks.
const NETWORK: &str = "network";

/// Sections of a named node, as its file has them.
struct Preset {
    /// Networks inside the node.
    networks: Vec<Table>,
    /// Keys of networks to which its interfaces lead.
    interface: Option<Table>,
    /// Other sections.
    sections: Table,
}

impl Preset {
    fn read(node: &NamedNode) -> Self {
        let mut sections = Table::parse(&node.text()).unwrap_or_default();
        let networks = match sections.remove(NETWORK).map(|entry| entry.node.value) {
            Some(Value::List(networks)) => networks.into_iter().filter_map(table).collect(),
            _ => Vec::new(),
        };
        let interface = sections.remove("interface").and_then(|entry| table(entry.node));
        Self { networks, interface, sections }
    }
}

/// Writes the values of the named node where the experiment has none.
pub(crate) fn fill(root: &mut Table) -> Result<(), Fault> {
    let Some((header, name)) = name_of(root) else { return Ok(()) };
    let node = NamedNode::find(&name).map_err(|error| machine::fault("node.name".into(), error))?;
    let Preset { networks: inside, interface, sections } = Preset::read(&node);
    root.complete(sections, header);
    let has_link = root.get("link").is_some();
    let Some(networks) = list(root, header) else { return Ok(()) };
    let others = join(networks, inside, header);
    for mut written in others {
        let mut keys = interface.clone().unwrap_or_default();
        if has_link && written.as_table().is_some_and(|own| own.get("link").is_none()) {
            keys.remove("link");
        }
        networks.push(completed(written, keys));
    }
    Ok(())
}

/// Writes the networks of a named machine where the experiment has none of their names.
pub(crate) fn fill_networks(root: &mut Table, presets: Node, header: Place) {
    let (Value::List(presets), Some(networks)) = (presets.value, list(root, header)) else { return };
    let others = join(networks, presets.into_iter().filter_map(table).collect(), header);
    networks.extend(others);
}

/// Returns the list of networks, empty if it is missing. None if it is no list, which the check of the section reports.
fn list(root: &mut Table, header: Place) -> Option<&mut Vec<Node>> {
    if root.get(NETWORK).is_none() {
        let empty = Node { place: header, value: Value::List(Vec::new()) };
        root.entries.push(Entry { key: NETWORK.into(), key_place: header, node: empty });
    }
    let entry = root.entries.iter_mut().find(|entry| entry.key == NETWORK)?;
    if let Value::List(networks) = &mut entry.node.value { Some(networks) } else { None }
}

/// Leaves networks with the names of `presets`, completed by these. Returns the others.
fn join(networks: &mut Vec<Node>, presets: Vec<Table>, header: Place) -> Vec<Node> {
    let mut others = std::mem::take(networks);
    for preset in presets {
        let name = text_of(&preset, "name");
        let written = others.iter().position(|own| own.name() == name).map(|index| others.remove(index));
        let empty = Node { place: header, value: Value::Table(Table::default()) };
        networks.push(completed(written.unwrap_or(empty), preset));
    }
    others
}

/// Returns the names of the networks of the named machine and inside the named node. Empty if there are none.
pub(crate) fn networks(root: &Table) -> Vec<String> {
    let mut sections = machine::sections_of(root).unwrap_or_default();
    let node = name_of(root).or_else(|| name_of(&sections)).and_then(|(_, name)| NamedNode::find(&name).ok());
    let inside = node.map(|node| Preset::read(&node).networks).unwrap_or_default();
    let outside = match sections.remove(NETWORK).map(|entry| entry.node.value) {
        Some(Value::List(networks)) => networks.into_iter().filter_map(table).collect(),
        _ => Vec::new(),
    };
    inside.iter().chain(&outside).filter_map(|own| text_of(own, "name").map(str::to_owned)).collect()
}

/// Returns the place of the section and the name of the node.
fn name_of(root: &Table) -> Option<(Place, String)> {
    let Entry { key_place, node: Node { value: Value::Table(section), .. }, .. } = root.get("node")? else {
        return None;
    };
    Some((*key_place, text_of(section, "name")?.to_owned()))
}

/// Returns a table with the entries of `preset` that it does not have.
fn completed(mut written: Node, preset: Table) -> Node {
    let place = written.place;
    if let Some(own) = written.as_table() {
        own.complete(preset, place);
    }
    written
}

fn table(node: Node) -> Option<Table> {
    if let Value::Table(table) = node.value { Some(table) } else { None }
}

fn text_of<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key)?.node.as_text()
}
