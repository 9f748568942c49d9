//! Kinds of `[nic]` that are named machines: values of `loggp`'s parts and nothing else, each in a file that says where they come from.
//!
//! The values are written into `[nic]` under those of the experiment before it is checked, so that any of them can be overridden, and a
//! resolved experiment shows all of them. A part that a preset has cannot be taken away.

use toml::de::DeTable;

use super::tree::{Entry, Node, Table, Value};

/// The names and the files. `NicSpec` has a kind for each, in this order.
pub(super) const PRESETS: [(&str, &str); 6] = [
    ("infinipath", include_str!("infinipath.toml")),
    ("rapidarray", include_str!("rapidarray.toml")),
    ("elan4", include_str!("elan4.toml")),
    ("infiniband", include_str!("infiniband.toml")),
    ("ndr", include_str!("ndr.toml")),
    ("slingshot", include_str!("slingshot.toml")),
];

/// Writes the values of a preset into `[nic]` where the experiment has none of its own.
pub(super) fn fill(root: &mut Table) {
    let Some(entry) = root.entries.iter_mut().find(|entry| entry.key == "nic") else { return };
    let Value::Table(written) = &entry.node.value else { return };
    let kind = written.get("kind").and_then(|kind| kind.node.as_text());
    let Some(mut preset) = kind.and_then(values) else { return };
    let place = entry.key_place;
    preset.entries.iter_mut().for_each(|own| put(own, place));
    preset.overlay(written.clone());
    entry.node.value = Value::Table(preset);
}

/// What a preset has in `[nic]`; none of another name. Tests read all of them.
fn values(kind: &str) -> Option<Table> {
    let (_, text) = PRESETS.iter().find(|preset| preset.0 == kind)?;
    let parsed = DeTable::parse(text).ok()?;
    let mut file = Table::from_toml(parsed.get_ref(), 0).ok()?;
    match file.remove("nic")?.node.value {
        Value::Table(table) => Some(table),
        _ => None,
    }
}

/// What is not written stands where the section is.
fn put(entry: &mut Entry, place: super::span::Place) {
    entry.key_place = place;
    put_node(&mut entry.node, place);
}

fn put_node(node: &mut Node, place: super::span::Place) {
    node.place = place;
    if let Value::Table(table) = &mut node.value {
        table.entries.iter_mut().for_each(|entry| put(entry, place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_read_and_names_itself() {
        // Would catch a file that is no TOML, which would be no preset, and one under another's name.
        for (name, _) in PRESETS {
            let values = values(name).unwrap();
            assert_eq!(values.get("kind").and_then(|kind| kind.node.as_text()), Some(name));
        }
    }
}
