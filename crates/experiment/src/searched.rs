//! `measure.search`: removes the loads of a sweep, because a search varies the load. Every combination of the other
//! keys is searched once.

use config::{Axis, Node, SweptKey, Table, Value};

/// Path of the key that starts a search.
const SEARCH: [&str; 2] = ["measure", "search"];

/// Removes the loads from the sweep of an experiment that searches. A load that only the sweep gives keeps its first
/// value, since the key is required. Returns whether the axes have changed.
pub(crate) fn leave_out_loads(tree: &mut Table, axes: &mut Vec<Axis>) -> bool {
    let mut keys = axes.iter().flat_map(|axis| &axis.keys);
    if !holds(tree, &SEARCH) && !keys.any(|key| key.path == SEARCH) {
        return false;
    }
    let loads: Vec<SweptKey> = axes.iter().flat_map(|axis| &axis.keys).filter(|key| is_load(key)).cloned().collect();
    for load in &loads {
        if !holds(tree, &load.path) {
            tree.set(&load.path, load.key_place, load.values[0].clone());
        }
    }
    for axis in axes.iter_mut().filter(|axis| axis.keys.iter().any(is_load)) {
        axis.keys.retain(|key| !is_load(key));
        if axis.labels.is_none() {
            keep_distinct(axis);
        }
    }
    axes.retain(|axis| !axis.keys.is_empty());
    !loads.is_empty()
}

/// Returns whether a key is the load of the workload or of a job's workload.
fn is_load(key: &SweptKey) -> bool {
    match &key.path[..] {
        [workload, load] => workload == "workload" && load == "load",
        [job, _, workload, load] => job == "job" && workload == "workload" && load == "load",
        _ => false,
    }
}

/// Removes the steps that are equal to an earlier step.
fn keep_distinct(axis: &mut Axis) {
    let step = |axis: &Axis, step: usize| axis.keys.iter().map(|key| key.values[step].to_json()).collect::<Vec<_>>();
    let all: Vec<_> = (0..axis.step_count()).map(|index| step(axis, index)).collect();
    let is_first: Vec<bool> = (0..all.len()).map(|index| !all[..index].contains(&all[index])).collect();
    for key in &mut axis.keys {
        let mut first = is_first.iter();
        key.values.retain(|_| first.next().copied().unwrap_or(true));
    }
}

/// Returns whether there is a value at `path`.
fn holds<T: AsRef<str>>(table: &Table, path: &[T]) -> bool {
    let Some((key, rest)) = path.split_first() else { return true };
    let Some(entry) = table.get(key.as_ref()) else { return false };
    node_holds(&entry.node, rest)
}

fn node_holds<T: AsRef<str>>(node: &Node, path: &[T]) -> bool {
    match (&node.value, path) {
        (_, []) => true,
        (Value::Table(table), _) => holds(table, path),
        (Value::List(items), [name, rest @ ..]) => {
            node.index_of(name.as_ref()).is_some_and(|index| node_holds(&items[index], rest))
        }
        _ => false,
    }
}
