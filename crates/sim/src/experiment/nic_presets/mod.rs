//! Presets of `[nic]`: kinds named after real interfaces. A preset is a set of values of `loggp`'s parts, in a file
//! that states their sources.
//!
//! Before an experiment is checked, the values of its preset are written into `[nic]` where the experiment has no
//! value. Any value can therefore be overridden, and a resolved experiment shows all of them. A part of a preset cannot
//! be removed.

use toml::de::DeTable;

use super::tree::{Entry, Node, Table, Value};

/// Names and files of the presets. `NicSpec` has a kind for each, in this order.
pub(super) const PRESETS: [(&str, &str); 6] = [
    ("infinipath", include_str!("infinipath.toml")),
    ("rapidarray", include_str!("rapidarray.toml")),
    ("elan4", include_str!("elan4.toml")),
    ("infiniband", include_str!("infiniband.toml")),
    ("ndr", include_str!("ndr.toml")),
    ("slingshot", include_str!("slingshot.toml")),
];

/// Writes the values of the preset into `[nic]` where the experiment has no value.
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

/// Returns the `[nic]` table of preset `kind`; `None` if there is no such preset. Tests read all presets.
fn values(kind: &str) -> Option<Table> {
    let (_, text) = PRESETS.iter().find(|preset| preset.0 == kind)?;
    let parsed = DeTable::parse(text).ok()?;
    let mut file = Table::from_toml(parsed.get_ref(), 0).ok()?;
    match file.remove("nic")?.node.value {
        Value::Table(table) => Some(table),
        _ => None,
    }
}

/// Gives an entry that is not in the experiment file the place of the section's header.
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
        // Would catch a file that is not TOML, which would then be no preset, and a file under another preset's name.
        for (name, _) in PRESETS {
            let values = values(name).unwrap();
            assert_eq!(values.get("kind").and_then(|kind| kind.node.as_text()), Some(name));
        }
    }
}
