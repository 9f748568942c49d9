//! Default kinds of sections. A section without a kind has its default kind, like any other missing key. So `--set
//! router.buffer="2 packets"` suffices for a file without `[router]`.

use super::schema::{Choice, Key, Shape, TableShape};
use super::tree::{Entry, Node, Table, Value};

/// Writes the default kinds into the tables that have none.
pub(crate) fn fill(shape: &TableShape, written: &mut Table) {
    for key in &shape.keys {
        let Some(entry) = written.entries.iter_mut().find(|entry| entry.key == key.name) else { continue };
        if let (Shape::List(list), Value::List(items)) = (&key.shape, &mut entry.node.value)
            && let Shape::Table(shape) = &*list.items
        {
            items.iter_mut().filter_map(Node::as_table).for_each(|inner| fill(shape, inner));
            continue;
        }
        let Value::Table(inner) = &mut entry.node.value else { continue };
        match inner_shape(&key.shape) {
            Some(Inner::Table(shape)) => fill(shape, inner),
            Some(Inner::Choice(choice)) => {
                if let (None, Some(kind)) = (inner.get(&choice.tag), default_kind(key, choice)) {
                    let node = Node { place: entry.node.place, value: Value::Text(kind.to_owned()) };
                    inner.entries.push(Entry { key: choice.tag.clone(), key_place: entry.key_place, node });
                }
                let kind = inner.get(&choice.tag).and_then(|entry| entry.node.as_text());
                let kind = choice.kinds.iter().find(|own| kind.is_some_and(|kind| own.name.is(kind)));
                if let Some(kind) = kind {
                    fill(&kind.table, inner);
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
