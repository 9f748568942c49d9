//! Kinds of sections without a kind. A section has its default kind, like any other missing key: `--set
//! router.buffer="2 packets"` suffices for a file without `[router]`. If only one kind has all keys of the section, it
//! is of that kind: `--set routing.path=a.routes` is a table.

use super::schema::{Choice, Key, Name, Shape, TableShape};
use super::tree::{Entry, Node, Table, Value};

/// Writes the kinds of the tables that have none: the default kind if it has all keys of the table, or else the only
/// kind that has them.
pub(crate) fn fill(shape: &TableShape, written: &mut Table) {
    shape.keys.iter().for_each(|key| fill_key(key, written));
}

/// Writes the kinds of one section's tables that have none, as all get them later. This is for languages in which other
/// sections depend on the kind.
pub fn fill_section(shape: &TableShape, section: &str, written: &mut Table) {
    shape.keys.iter().filter(|key| key.name == section).for_each(|key| fill_key(key, written));
}

fn fill_key(key: &Key, written: &mut Table) {
    let Some(entry) = written.entries.iter_mut().find(|entry| entry.key == key.name) else { return };
    if let (Shape::List(list), Value::List(items)) = (&key.shape, &mut entry.node.value)
        && let Shape::Table(shape) = &*list.items
    {
        items.iter_mut().filter_map(Node::as_table).for_each(|inner| fill(shape, inner));
        return;
    }
    let Value::Table(inner) = &mut entry.node.value else { return };
    match inner_shape(&key.shape) {
        Some(Inner::Table(shape)) => fill(shape, inner),
        Some(Inner::Choice(choice)) => {
            if let (None, Some(kind)) =
                (inner.get(&choice.tag), only_fitting(choice, inner).or_else(|| default_kind(key, choice)))
            {
                let node = Node { place: entry.node.place, value: Value::Text(kind.to_owned()) };
                inner.entries.push(Entry { key: choice.tag.clone(), key_place: entry.key_place, node });
            }
            let named = inner.get(&choice.tag).and_then(|entry| entry.node.as_text());
            let own = choice.kinds.iter().find(|own| named.is_some_and(|named| own.name.is(named)));
            if let Some(own) = own {
                fill(&own.table, inner);
            }
        }
        None => {}
    }
}

/// Returns the only kind of the section `section` that has all keys of a table without a kind. `None` if there are
/// several, or no keys.
pub fn only_kind<'a>(shape: &'a TableShape, section: &str, table: &Table) -> Option<&'a str> {
    let key = shape.keys.iter().find(|key| key.name == section)?;
    match inner_shape(&key.shape)? {
        Inner::Choice(choice) => only_fitting(choice, table),
        Inner::Table(_) => None,
    }
}

fn only_fitting<'a>(choice: &'a Choice, table: &Table) -> Option<&'a str> {
    match fitting(choice, table)[..] {
        [only] if !table.entries.is_empty() => Some(&only.name),
        _ => None,
    }
}

/// Returns the kinds that have all keys of a table without a kind.
pub(crate) fn fitting<'a>(choice: &'a Choice, table: &Table) -> Vec<&'a Name> {
    let has = |shape: &TableShape, entry: &Entry| shape.keys.iter().any(|key| key.name == entry.key);
    let kinds = choice.kinds.iter().filter(|kind| table.entries.iter().all(|entry| has(&kind.table, entry)));
    kinds.map(|kind| &kind.name).collect()
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
