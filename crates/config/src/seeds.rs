//! `seeds`: runs every point with several seeds. It is a sweep of `seed` as the innermost axis.

use super::error::ConfigError;
use super::sweep::{Axis, SweptKey, check_count};
use super::tree::{Entry, Node, Table, Value};
use super::validate::expected_key;

const SEEDS: &str = "seeds";
const SEED: &str = "seed";
/// Default of `seed`.
const FIRST: i64 = 1;

/// Takes `seeds` out of the file and adds its axis: `seed`, `seed` + 1 and so on. An option replaces a sweep of `seed`
/// in the file.
pub(crate) fn expand(tree: &mut Table, axes: &mut Vec<Axis>) -> Result<(), ConfigError> {
    let mut keys = axes.iter().flat_map(|axis| &axis.keys);
    if let Some(axis) = keys.find(|key| key.path.first().is_some_and(|first| first == SEEDS)) {
        let message = "`seeds` cannot be swept: it says with how many seeds each point is run";
        return Err(ConfigError::new(axis.key_place, "sweep.seeds", message));
    }
    let Some(entry) = tree.remove(SEEDS) else { return Ok(()) };
    if let Some(fault) = expected_key(SEEDS, &entry.node).into_iter().next() {
        return Err(fault);
    }
    replace_axis(&entry, axes)?;
    let (Value::Integer(count), Some(first)) = (&entry.node.value, first(tree)) else { return Ok(()) };
    if *count < 2 {
        return Ok(());
    }
    let Some(last) = first.checked_add(count - 1) else {
        let message = format!("`seeds` = {count} from `seed` = {first} on goes beyond the largest seed, {}", i64::MAX);
        return Err(ConfigError::new(entry.key_place, SEEDS, message));
    };
    let values = (first..=last).map(|seed| Node { place: entry.node.place, value: Value::Integer(seed) }).collect();
    let seed = SweptKey { path: vec![SEED.to_owned()], key_place: entry.key_place, values };
    axes.push(Axis { keys: vec![seed], labels: None });
    check_count(axes, entry.node.place, SEEDS)
}

/// Removes a sweep of `seed` if `seeds` is in a later source.
fn replace_axis(entry: &Entry, axes: &mut Vec<Axis>) -> Result<(), ConfigError> {
    for axis in axes.iter_mut() {
        let is_replaced = |key: &SweptKey| key.path == [SEED] && entry.key_place.source > key.key_place.source;
        axis.keys.retain(|key| !is_replaced(key));
    }
    axes.retain(|axis| !axis.keys.is_empty());
    if axes.iter().flat_map(|axis| &axis.keys).all(|key| key.path != [SEED]) {
        return Ok(());
    }
    let message = "`seeds` is short for a sweep of `seed`, and [sweep] has one: give only one of them";
    Err(ConfigError::new(entry.key_place, SEEDS, message))
}

/// Returns the first seed; `None` if it is not a whole number, which the validation of the first point reports.
fn first(tree: &Table) -> Option<i64> {
    match tree.get(SEED).map(|entry| &entry.node.value) {
        None => Some(FIRST),
        Some(Value::Integer(seed)) => Some(*seed),
        Some(_) => None,
    }
}
