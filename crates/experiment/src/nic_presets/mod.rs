//! Presets of `[nic]`: kinds named after real interfaces. A preset is a set of values of `loggp`'s parts, in a file
//! that states their sources.
//!
//! Before an experiment is checked, the values of its preset are written into `[nic]` where the experiment has no
//! value. Any value can therefore be overridden, and a resolved experiment shows all of them. A part of a preset cannot
//! be removed.

use config::{Table, Value};

/// Names and files of the presets. `NicSpec` has a kind for each, in this order.
pub(crate) const PRESETS: [(&str, &str); 6] = [
    ("infinipath", include_str!("infinipath.toml")),
    ("rapidarray", include_str!("rapidarray.toml")),
    ("elan4", include_str!("elan4.toml")),
    ("infiniband", include_str!("infiniband.toml")),
    ("ndr", include_str!("ndr.toml")),
    ("slingshot", include_str!("slingshot.toml")),
];

/// Writes the values of the preset into `[nic]` where the experiment has no value.
pub(crate) fn fill(root: &mut Table) {
    let Some(entry) = root.entries.iter_mut().find(|entry| entry.key == "nic") else { return };
    let header = entry.key_place;
    let Some(written) = entry.node.as_table() else { return };
    let kind = written.get("kind").and_then(|kind| kind.node.as_text());
    if let Some(preset) = kind.and_then(values) {
        written.complete(preset, header);
    }
}

/// Returns the `[nic]` table of preset `kind`; `None` if there is no such preset. Tests read all presets.
fn values(kind: &str) -> Option<Table> {
    let (_, text) = PRESETS.iter().find(|preset| preset.0 == kind)?;
    match Table::parse(text)?.remove("nic")?.node.value {
        Value::Table(table) => Some(table),
        _ => None,
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
