//! Default kinds of sections. A section without a kind has its default kind, like any other missing key. So `--set
//! router.buffer="2 packets"` suffices for a file without `[router]`.

use routing::RoutingSpec;

use super::schema::{Choice, Key, Shape, TableShape, file_shape};
use super::tree::{Entry, Node, Table, Value};

/// Writes the default kinds into the tables that have none.
pub(super) fn fill(root: &mut Table) {
    routing(root);
    table(file_shape(), root);
}

/// Writes the default routing of the topology into a `[routing]` section without a kind.
fn routing(root: &mut Table) {
    let kind = match root.get("topology").map(|entry| &entry.node.value) {
        Some(Value::Table(topology)) => topology.get("kind").and_then(|entry| entry.node.as_text()),
        _ => None,
    };
    let Some(default) = kind.map(RoutingSpec::default_of) else { return };
    let Some(entry) = root.entries.iter_mut().find(|entry| entry.key == "routing") else { return };
    let (key_place, place) = (entry.key_place, entry.node.place);
    let Some(written) = entry.node.as_table().filter(|written| written.get("kind").is_none()) else { return };
    let keys = serde_json::to_value(default).ok();
    for (key, value) in keys.iter().filter_map(serde_json::Value::as_object).flatten() {
        if let (Some(text), None) = (value.as_str(), written.get(key)) {
            let node = Node { place, value: Value::Text(text.to_owned()) };
            written.entries.push(Entry { key: key.clone(), key_place, node });
        }
    }
}

fn table(shape: &TableShape, written: &mut Table) {
    for key in &shape.keys {
        let Some(entry) = written.entries.iter_mut().find(|entry| entry.key == key.name) else { continue };
        if let (Shape::List(list), Value::List(items)) = (&key.shape, &mut entry.node.value)
            && let Shape::Table(shape) = &*list.items
        {
            items.iter_mut().filter_map(Node::as_table).for_each(|inner| table(shape, inner));
            continue;
        }
        let Value::Table(inner) = &mut entry.node.value else { continue };
        match inner_shape(&key.shape) {
            Some(Inner::Table(shape)) => table(shape, inner),
            Some(Inner::Choice(choice)) => {
                if let (None, Some(kind)) = (inner.get(&choice.tag), default_kind(key, choice)) {
                    let node = Node { place: entry.node.place, value: Value::Text(kind.to_owned()) };
                    inner.entries.push(Entry { key: choice.tag.clone(), key_place: entry.key_place, node });
                }
                let kind = inner.get(&choice.tag).and_then(|entry| entry.node.as_text());
                let kind = choice.kinds.iter().find(|own| kind.is_some_and(|kind| own.name.is(kind)));
                if let Some(kind) = kind {
                    table(&kind.table, inner);
                }
            }
            None => {}
        }
    }
}

enum Inner<'a> {
    Table(&'a TableShape),
    Choice(&'a Choice),
}

fn inner_shape(shape: &Shape) -> Option<Inner<'_>> {
    match shape {
        Shape::Table(table) => Some(Inner::Table(table)),
        Shape::Choice(choice) => Some(Inner::Choice(choice)),
        Shape::Either(shapes) => shapes.iter().find_map(inner_shape),
        _ => None,
    }
}

/// Returns the kind of a key's default, which is a table or a bare name.
fn default_kind<'a>(key: &'a Key, choice: &Choice) -> Option<&'a str> {
    let default = key.default.as_ref()?;
    default.get(&choice.tag).unwrap_or(default).as_str()
}
