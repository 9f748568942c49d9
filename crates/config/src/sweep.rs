//! Sweeps: the values that keys take in turn, and their combinations.

use super::error::ConfigError;
use super::place::Place;
use super::range::{MAX_POINTS, Range};
use super::tree::{Entry, Node, Table, Value};
use super::validate::{expected_axis, expected_labels};

/// Maximum depth of a key of an experiment.
const DEEPEST_KEY: usize = 8;

/// The key of `[sweep]` for the groups of keys that change together.
const ZIP: &str = "zip";

/// The key of a zipped group for the names of its steps. Points carry these names under this key too.
pub(crate) const LABEL: &str = "label";

/// Axis of a sweep: keys that change together, and their values in turn; mostly one key.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Keys that change together, with equal numbers of values.
    pub keys: Vec<SweptKey>,
    /// Names of the steps of zipped keys.
    pub labels: Option<Vec<String>>,
}

/// A key and the values that it takes in turn.
#[derive(Clone, Debug)]
pub struct SweptKey {
    /// Path of the key.
    pub path: Vec<String>,
    /// Place of the key in the sweep.
    pub key_place: Place,
    /// Values in turn.
    pub values: Vec<Node>,
}

impl Axis {
    /// Returns the number of steps of the axis.
    pub fn step_count(&self) -> usize {
        self.keys.first().map_or(1, |key| key.values.len())
    }
}

impl SweptKey {
    /// Returns the path as text.
    pub fn key(&self) -> String {
        self.path.join(".")
    }
}

/// Returns the step of each axis at `point`. The last axis changes fastest.
pub(crate) fn steps(axes: &[Axis], point: usize) -> Vec<(&Axis, usize)> {
    let mut rest = point;
    let mut steps: Vec<(&Axis, usize)> = Vec::with_capacity(axes.len());
    for axis in axes.iter().rev() {
        steps.push((axis, rest % axis.step_count()));
        rest /= axis.step_count();
    }
    steps.reverse();
    steps
}

/// Reads the axes of the `[sweep]` section, zipped keys first, each in the order in which they were written. The path
/// of a key may be quoted (`"workload.load"`) or not (`workload.load`). An axis of an option replaces the file's.
pub(crate) fn axes(section: Option<Entry>) -> Result<Vec<Axis>, ConfigError> {
    let Some(Entry { node, .. }) = section else { return Ok(Vec::new()) };
    let Value::Table(table) = &node.value else {
        let message = format!("`sweep` must be a table, not {}", node.what());
        return Err(ConfigError::new(node.place, "sweep", message));
    };
    let mut axes: Vec<Axis> = Vec::new();
    if let Some(entry) = table.get(ZIP) {
        zipped(entry)?.into_iter().try_for_each(|group| add(group, &mut axes))?;
    }
    for entry in table.entries.iter().filter(|entry| entry.key != ZIP) {
        let mut keys = Vec::new();
        collect(entry, &mut Vec::new(), &mut keys)?;
        for key in keys {
            add(Axis { keys: vec![key], labels: None }, &mut axes)?;
        }
    }
    check_count(&axes, node.place, "sweep")?;
    Ok(axes)
}

/// Refuses axes with too many points together. `key` is the key at fault.
pub(crate) fn check_count(axes: &[Axis], place: Place, key: &str) -> Result<(), ConfigError> {
    let points = axes.iter().try_fold(1_usize, |points, axis| points.checked_mul(axis.step_count()));
    match points.filter(|&points| points <= MAX_POINTS) {
        Some(_) => Ok(()),
        None => Err(ConfigError::new(place, key, format!("the sweep has more than {MAX_POINTS} points"))),
    }
}

/// Reads the groups of `[[sweep.zip]]`.
fn zipped(entry: &Entry) -> Result<Vec<Axis>, ConfigError> {
    let path = format!("sweep.{ZIP}");
    let wrong = |node: &Node| {
        let message = format!("`{path}` must be a list of tables, as [[{path}]] writes them, not {}", node.what());
        ConfigError::new(node.place, &path, message)
    };
    let Value::List(groups) = &entry.node.value else { return Err(wrong(&entry.node)) };
    let table = |node: &Node| match &node.value {
        Value::Table(table) => group(table, node.place),
        _ => Err(wrong(node)),
    };
    groups.iter().map(table).collect()
}

/// Reads a group of keys that change together.
fn group(table: &Table, place: Place) -> Result<Axis, ConfigError> {
    let path = format!("sweep.{ZIP}");
    let (mut keys, mut labels) = (Vec::new(), None);
    for entry in &table.entries {
        match entry.key.as_str() {
            LABEL => labels = Some(entry),
            _ => collect(entry, &mut Vec::new(), &mut keys)?,
        }
    }
    let Some(first) = keys.first() else {
        return Err(ConfigError::new(place, &path, format!("[[{path}]] names no keys")));
    };
    let differs = |name: &str, place: Place, length: usize| {
        let message = format!(
            "`{name}` has {length} values and `{}` has {}: keys that move together have equally many",
            first.key(),
            first.values.len()
        );
        ConfigError::new(place, format!("{path}.{name}"), message)
    };
    if let Some(key) = keys.iter().find(|key| key.values.len() != first.values.len()) {
        return Err(differs(&key.key(), key.key_place, key.values.len()));
    }
    let labels = labels.map(|entry| Ok((entry, read_labels(entry, &format!("{path}.{LABEL}"))?))).transpose()?;
    if let Some((entry, labels)) = labels.as_ref().filter(|(_, labels)| labels.len() != first.values.len()) {
        return Err(differs(LABEL, entry.key_place, labels.len()));
    }
    Ok(Axis { labels: labels.map(|(_, labels)| labels), keys })
}

/// Reads the names of steps, which must differ.
fn read_labels(entry: &Entry, path: &str) -> Result<Vec<String>, ConfigError> {
    if let Some(fault) = expected_labels(&entry.node, path).into_iter().next() {
        return Err(fault);
    }
    let Value::List(items) = &entry.node.value else { return Ok(Vec::new()) };
    let labels: Vec<String> = items.iter().filter_map(Node::as_text).map(str::to_owned).collect();
    match (1..labels.len()).find(|&index| labels[..index].contains(&labels[index])) {
        Some(twice) => {
            let message = format!("the label `{}` is given twice: results could not be distinguished", labels[twice]);
            Err(ConfigError::new(items[twice].place, path, message))
        }
        None => Ok(labels),
    }
}

/// Reads the keys of an entry: one key, or the keys of a table that is not a range.
fn collect(entry: &Entry, prefix: &mut Vec<String>, keys: &mut Vec<SweptKey>) -> Result<(), ConfigError> {
    let depth = prefix.len();
    prefix.extend(entry.key.split('.').take(DEEPEST_KEY + 1).map(|part| part.trim().to_owned()));
    if prefix.len() > DEEPEST_KEY || prefix.iter().any(String::is_empty) {
        let message = "a key of [sweep] must be the path of a key, such as \"workload.load\"";
        return Err(ConfigError::new(entry.key_place, "sweep", message));
    }
    match &entry.node.value {
        Value::Table(table) if !is_range(table) => {
            table.entries.iter().try_for_each(|entry| collect(entry, prefix, keys))?;
        }
        _ => {
            let (path, values) = (prefix.clone(), values(entry, prefix)?);
            keys.push(SweptKey { path, key_place: entry.key_place, values });
        }
    }
    prefix.truncate(depth);
    Ok(())
}

fn is_range(table: &Table) -> bool {
    table.entries.is_empty() || ["from", "to", "step"].iter().any(|key| table.get(key).is_some())
}

/// Adds an axis. A key that an option sweeps replaces the file's sweep of it. Within one source a key is swept once.
fn add(axis: Axis, axes: &mut Vec<Axis>) -> Result<(), ConfigError> {
    for (index, key) in axis.keys.iter().enumerate() {
        let others = axes.iter().flat_map(|axis| &axis.keys).chain(&axis.keys[..index]);
        let twice = |other: &SweptKey| other.path == key.path && other.key_place.source == key.key_place.source;
        if others.into_iter().any(twice) {
            let message = format!("`{}` is swept twice", key.key());
            return Err(ConfigError::new(key.key_place, format!("sweep.{}", key.key()), message));
        }
    }
    let replaced = |other: &SweptKey| axis.keys.iter().any(|key| key.path == other.path);
    let place = axes.iter().position(|other| matches!(&other.keys[..], [only] if replaced(only)));
    axes.iter_mut().for_each(|other| other.keys.retain(|key| !replaced(key)));
    match place {
        Some(place) => axes[place] = axis,
        None => axes.push(axis),
    }
    axes.retain(|axis| !axis.keys.is_empty());
    Ok(())
}

fn values(entry: &Entry, path: &[String]) -> Result<Vec<Node>, ConfigError> {
    let path = format!("sweep.{}", path.join("."));
    if let Some(fault) = expected_axis(&entry.node, &path).into_iter().next() {
        return Err(fault);
    }
    match &entry.node.value {
        Value::List(values) => Ok(values.clone()),
        Value::Table(table) => Range::read(table, &entry.node, &path)?.expand(&entry.node, &path),
        _ => Ok(Vec::new()),
    }
}
