//! Kinds of sections without a kind. If only one kind has all keys of the section, it is of that kind: `--set
//! routing.path=a.routes` is a table. Otherwise it has its default kind, like any other missing key: `--set
//! router.buffer="2 packets"` suffices for a file without `[router]`.

use super::schema::{Choice, Key, Name, Shape, TableShape};
use super::tree::{Entry, Node, Table, Value};

/// Writes the kinds that the keys of tables determine, where these have none.
pub(crate) fn infer(shape: &TableShape, written: &mut Table) {
    write(shape, written, |_, choice, table| only_fitting(choice, table));
}

/// Writes the kinds that the keys of tables determine, or else the default kinds, where these have none.
pub(crate) fn fill(shape: &TableShape, written: &mut Table) {
    write(shape, written, |key, choice, table| only_fitting(choice, table).or_else(|| default_kind(key, choice)));
}

/// Returns the kinds that have all keys of a table without a kind.
pub(crate) fn fitting<'a>(choice: &'a Choice, table: &Table) -> Vec<&'a Name> {
    let has = |shape: &TableShape, entry: &Entry| shape.keys.iter().any(|key| key.name == entry.key);
    let kinds = choice.kinds.iter().filter(|kind| table.entries.iter().all(|entry| has(&kind.table, entry)));
    kinds.map(|kind| &kind.name).collect()
}

/// Returns the kind of a table with keys, if no other kind has all of them.
fn only_fitting<'a>(choice: &'a Choice, table: &Table) -> Option<&'a str> {
    match fitting(choice, table)[..] {
        [only] if !table.entries.is_empty() => Some(&only.name),
        _ => None,
    }
}

/// Writes the kinds that `kind` returns into the tables that have none.
fn write(shape: &TableShape, written: &mut Table, kind: for<'a> fn(&'a Key, &'a Choice, &Table) -> Option<&'a str>) {
    for key in &shape.keys {
        let Some(entry) = written.entries.iter_mut().find(|entry| entry.key == key.name) else { continue };
        if let (Shape::List(list), Value::List(items)) = (&key.shape, &mut entry.node.value)
            && let Shape::Table(shape) = &*list.items
        {
            items.iter_mut().filter_map(Node::as_table).for_each(|inner| write(shape, inner, kind));
            continue;
        }
        let Value::Table(inner) = &mut entry.node.value else { continue };
        match inner_shape(&key.shape) {
            Some(Inner::Table(shape)) => write(shape, inner, kind),
            Some(Inner::Choice(choice)) => {
                if let (None, Some(kind)) = (inner.get(&choice.tag), kind(key, choice, inner)) {
                    let node = Node { place: entry.node.place, value: Value::Text(kind.to_owned()) };
                    inner.entries.push(Entry { key: choice.tag.clone(), key_place: entry.key_place, node });
                }
                let named = inner.get(&choice.tag).and_then(|entry| entry.node.as_text());
                let own = choice.kinds.iter().find(|own| named.is_some_and(|named| own.name.is(named)));
                if let Some(own) = own {
                    write(&own.table, inner, kind);
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
