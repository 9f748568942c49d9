//! Process groups that traces describe themselves: `METADATA_NODE`s of PyTorch with a list of groups as text.

use std::collections::BTreeMap;

use serde::Deserialize;
use units::shortened;

/// Group as written by PyTorch.
#[derive(Debug, Deserialize)]
struct Written {
    pg_name: GroupLabel,
    #[serde(default)]
    backend_id: Option<u64>,
    #[serde(default)]
    ranks: Option<Vec<u32>>,
    #[serde(default)]
    group_size: Option<u64>,
}

/// Name, which may be a number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum GroupLabel {
    Text(String),
    Number(u64),
}

impl GroupLabel {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
        }
    }
}

/// Described group: its ranks, or the group of all ranks with its size if known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Described {
    Ranks(Vec<u32>),
    All(Option<u64>),
}

/// Whether a node with this name describes process groups.
pub(super) fn describes(name: &str) -> bool {
    name.contains("process_group:init")
}

/// Adds the groups that the values of a node describe, by name.
///
/// # Errors
/// If they are not a list of groups, or describe a group otherwise than before.
pub(super) fn read(values: &str, found: &mut BTreeMap<String, Described>) -> Result<(), String> {
    for own in written(values)? {
        let ranks = own.ranks.filter(|ranks| !ranks.is_empty());
        let described = ranks.map_or(Described::All(own.group_size), Described::Ranks);
        let name = own.pg_name.text();
        if let Some(before) = found.insert(name.clone(), described)
            && found.get(&name) != Some(&before)
        {
            return Err(format!("the process group `{}` is described twice, with other ranks", shortened(&name)));
        }
    }
    Ok(())
}

/// Adds the names of groups by the numbers of their communication backends.
pub(super) fn backends(values: &str, found: &mut BTreeMap<u64, String>) -> Result<(), String> {
    found.extend(written(values)?.into_iter().filter_map(|own| Some((own.backend_id?, own.pg_name.text()))));
    Ok(())
}

/// Returns the list within the values, which may be a list with a single text as written by Python.
fn written(values: &str) -> Result<Vec<Written>, String> {
    let (Some(begin), Some(end)) = (values.find("[{"), values.rfind("}]")) else { return Ok(Vec::new()) };
    let list = values.get(begin..end + 2).unwrap_or_default();
    serde_json::from_str(list).map_err(|error| format!("its list of process groups cannot be read: {error}"))
}
