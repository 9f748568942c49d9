//! A file as written, and its points: from the text of a file, and the options that override it, to one typed value for
//! each combination of the sweep.

use std::path::Path;

use serde::Serialize;
use toml::de::DeValue;
use units::input;

use super::error::{ConfigError, ExperimentError};
use super::include;
use super::kinds;
use super::language::{Fault, Language};
use super::locate::{Source, Sources, addressed, find};
use super::place::Place;
use super::relations;
use super::schema::{Key, Shape};
use super::seeds;
use super::sweep::{Axis, LABEL, SweptKey, axes, steps};
use super::tree::{Entry, Node, Table, Value, path_of};
use super::validate;

/// A file as written, with the files that it includes and the options that override it.
#[derive(Clone, Debug)]
pub struct File {
    sources: Sources,
    /// All files as one text. `None` if there is only one.
    joined: Option<String>,
    /// The file with its overriding options, without the sweep.
    tree: Table,
    axes: Vec<Axis>,
    settings: Vec<Override>,
}

/// Point of a sweep: one combination of its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Point<T> {
    /// Number of the point, from 0. The last key of the sweep changes fastest.
    pub index: usize,
    /// Swept keys, with their values at this point.
    pub keys: Vec<(String, serde_json::Value)>,
    /// The file at this point.
    pub spec: T,
}

/// A file and its points.
pub type Loaded<T> = Result<(File, Vec<Point<T>>), ExperimentError>;

/// Keys of a sweep that change together, with their values; mostly one key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Swept {
    /// Path of each key, with its values in turn.
    pub keys: Vec<(String, Vec<serde_json::Value>)>,
    /// Names of the steps. `None` if the file has none.
    pub labels: Option<Vec<String>>,
}

/// A key that an option sets.
#[derive(Clone, Debug)]
struct Override {
    path: Vec<String>,
    place: Place,
    node: Node,
}

impl File {
    /// Reads a file and its points from text.
    ///
    /// `name` is the file's name for errors, and `base_dir` the folder that paths in it start from. `overrides` are
    /// pairs of a key's path and a TOML value (or a bare string), which override the file. An overridden key is not
    /// swept. There is at least one point, and exactly one without a sweep.
    ///
    /// # Errors
    /// The first error, in the order of the file.
    pub fn load<L: Language>(
        text: &str,
        name: &str,
        base_dir: &Path,
        overrides: &[(String, String)],
    ) -> Loaded<L::Spec> {
        let options = overrides.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let main = Source { name: name.to_owned(), text: text.to_owned() };
        let mut sources = Sources { files: vec![main], options };
        let written = match include::read(&mut sources.files, base_dir, L::FILE_KEYS) {
            Ok(written) => written,
            Err(error) => return Err(sources.locate(error)),
        };
        let joined = (sources.files.len() > 1).then(|| toml::to_string(&written.to_json())).transpose();
        let joined = joined.map_err(|error| sources.locate(ConfigError::new(None, "", error.to_string())))?;
        match read::<L>(written, overrides, sources.files.len()) {
            Ok((tree, axes, settings, points)) => Ok((Self { sources, joined, tree, axes, settings }, points)),
            Err(error) => Err(sources.locate(error)),
        }
    }

    /// Reads a file and its points from the bytes of a file; see `load`.
    ///
    /// # Errors
    /// If the bytes are not text, and all errors of `load`.
    pub fn load_bytes<L: Language>(
        bytes: &[u8],
        name: &str,
        base_dir: &Path,
        overrides: &[(String, String)],
    ) -> Loaded<L::Spec> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::load::<L>(text, name, base_dir, overrides),
            Err(error) => {
                let message = format!("not a text file: byte {} is not UTF-8", error.valid_up_to() + 1);
                Err(unreadable(name, message))
            }
        }
    }

    /// Reads a file and its points from a path. Paths in the file start from its folder.
    ///
    /// # Errors
    /// If the file cannot be read, and all errors of `load`.
    pub fn read<L: Language>(path: &Path, overrides: &[(String, String)]) -> Loaded<L::Spec> {
        let name = path.display().to_string();
        let read = input::EXPERIMENT.read(path);
        let bytes = read.map_err(|error| unreadable(&name, format!("the file {error}")))?;
        Self::load_bytes::<L>(&bytes, &name, path.parent().unwrap_or(Path::new("")), overrides)
    }

    /// Returns the name of the file, as errors show it.
    pub fn name(&self) -> &str {
        self.sources.name()
    }

    /// Returns the text of the file. If it includes others, the text is that of all of them as one file.
    pub fn text(&self) -> &str {
        match &self.joined {
            Some(text) => text,
            None => self.sources.files.first().map_or("", |file| &file.text),
        }
    }

    /// Returns the keys that the sweep changes, in order.
    pub fn swept_keys(&self) -> Vec<String> {
        self.axes.iter().flat_map(|axis| &axis.keys).map(SweptKey::key).collect()
    }

    /// Returns the file as written: the tables of the file, and the sweep, whose last group changes fastest.
    /// Options that override the file are in the places of the keys that they set.
    pub fn written(&self) -> (serde_json::Value, Vec<Swept>) {
        let values = |key: &SweptKey| {
            (key.key(), key.values.iter().map(|value| refined(key, value, &self.settings).to_json()).collect())
        };
        let swept = |axis: &Axis| Swept { keys: axis.keys.iter().map(values).collect(), labels: axis.labels.clone() };
        (self.tree.to_json(), self.axes.iter().map(swept).collect())
    }

    /// Returns the keys that distinguish points, in order: the swept keys, and `label` for groups whose steps have
    /// names.
    pub fn axes(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for axis in &self.axes {
            match &axis.labels {
                Some(_) if names.iter().any(|name| name == LABEL) => {}
                Some(_) => names.push(LABEL.into()),
                None => names.extend(axis.keys.iter().map(SweptKey::key)),
            }
        }
        names
    }

    /// Returns an error that is found after loading, such as a shape that cannot be built. Its place is that of the key
    /// `path`, such as `topology.k`, or of the deepest table on the path that was written.
    pub fn error_at(&self, path: &str, message: impl Into<String>) -> ExperimentError {
        let mut keys = self.axes.iter().flat_map(|axis| &axis.keys);
        let swept = keys.find(|swept| swept.key() == path).map(|swept| swept.key_place);
        self.sources.locate(ConfigError::new(swept.or_else(|| find(&self.tree, path)), path, message))
    }

    /// Returns an error of point `index` that is found after loading. A swept key is shown at its value for the point.
    pub fn error_in(&self, index: usize, path: &str, message: impl Into<String>) -> ExperimentError {
        self.sources.locate(self.wrong_in(index, path, message.into()))
    }

    /// Returns an error of point `index`, with the allowed values and the nearest to `written`.
    pub fn unknown_in<'a>(
        &self,
        (index, path): (usize, &str),
        message: String,
        written: &str,
        allowed: impl IntoIterator<Item = &'a str>,
    ) -> ExperimentError {
        self.sources.locate(self.wrong_in(index, path, message).allowing(written, allowed))
    }

    fn wrong_in(&self, index: usize, path: &str, message: String) -> ConfigError {
        let tree = tree_of(&self.tree, &self.axes, &self.settings, index);
        addressed(&tree, ConfigError::new(find(&tree, path), path, message))
    }
}

/// Returns the error of a file that cannot be read as a text.
fn unreadable(name: &str, message: String) -> ExperimentError {
    let main = Source { name: name.to_owned(), text: String::new() };
    Sources { files: vec![main], options: Vec::new() }.locate(ConfigError::new(None, "", message))
}

type Read<T> = (Table, Vec<Axis>, Vec<Override>, Vec<Point<T>>);

/// Returns the points of a tree that was read from `files` files.
fn read<L: Language>(
    mut tree: Table,
    overrides: &[(String, String)],
    files: usize,
) -> Result<Read<L::Spec>, ConfigError> {
    let settings = overrides
        .iter()
        .enumerate()
        .map(|(index, (key, value))| setting(key, value, files + index))
        .collect::<Result<Vec<_>, _>>()?;
    for setting in &settings {
        check_path::<L>(&mut tree, &setting.path, setting.place)?;
        tree.set(&setting.path, setting.place, setting.node.clone());
    }
    let mut axes = axes(tree.remove("sweep"))?;
    let mut keys = axes.iter().flat_map(|axis| &axis.keys);
    keys.try_for_each(|key| check_path::<L>(&mut tree, &key.path, key.key_place))?;
    axes.iter_mut().for_each(|axis| axis.keys.retain(|key| !settings.iter().any(|setting| setting.settles(key))));
    axes.retain(|axis| !axis.keys.is_empty());
    check_labels(&axes, &settings)?;
    seeds::expand(&mut tree, &mut axes)?;
    // Keys that are taken out are validated too.
    let mut points = points_of::<L>(&tree, &axes, &settings)?;
    if L::prune(&mut tree, &mut axes) {
        points = points_of::<L>(&tree, &axes, &settings)?;
    }
    Ok((tree, axes, settings, points))
}

fn points_of<L: Language>(
    tree: &Table,
    axes: &[Axis],
    settings: &[Override],
) -> Result<Vec<Point<L::Spec>>, ConfigError> {
    (0..axes.iter().map(Axis::step_count).product()).map(|index| point::<L>(tree, axes, settings, index)).collect()
}

/// Refuses the path of a key that options and sweeps cannot change.
fn check_path<L: Language>(tree: &mut Table, path: &[String], place: Place) -> Result<(), ConfigError> {
    if let Some(key) = path.first().filter(|key| include::KEYS.contains(&key.as_str())) {
        let message = format!("`{key}` is read where a file begins: options and sweeps cannot change it");
        return Err(ConfigError::new(place, path.join("."), message));
    }
    check_quantity(tree, path, place)?;
    check_name::<L>(tree, path, place)
}

/// Refuses the path of a key within a quantity, such as one class of `router.buffer` where the file has one depth for
/// all. The depths of the other classes would be undefined.
fn check_quantity(tree: &Table, path: &[String], place: Place) -> Result<(), ConfigError> {
    let (mut table, mut below) = (tree, path);
    while let [key, rest @ ..] = below
        && !rest.is_empty()
        && let Some(Entry { node, .. }) = table.get(key)
    {
        match &node.value {
            Value::Table(inner) => (table, below) = (inner, rest),
            Value::Text(text) if text.starts_with(|c: char| c.is_ascii_digit()) => {
                let whole = path[..path.len() - rest.len()].join(".");
                let message = format!("`{}`: `{whole}` is \"{text}\" here, not a table", path.join("."));
                let help = format!("set it as a whole, as in {whole}={{ {} = \"{text}\" }}", rest.join("."));
                return Err(ConfigError::new(place, path.join("."), message).with_help(help));
            }
            _ => break,
        }
    }
    Ok(())
}

/// Refuses the path of a key of a table that does not exist, such as of a job in a list of jobs. A table that is
/// implied is added to the list.
fn check_name<L: Language>(tree: &mut Table, path: &[String], place: Place) -> Result<(), ConfigError> {
    let [section, name, ..] = path else { return Ok(()) };
    let is_list = |key: &Key| key.name == *section && matches!(key.shape, Shape::List(_));
    if !L::shape().keys.iter().any(is_list) {
        return Ok(());
    }
    let implied = L::implied(tree, section);
    if implied.contains(name) {
        tree.add_named(section, name, place);
        return Ok(());
    }
    let Some(Entry { node: tables, .. }) = tree.get(section) else {
        let message = format!("there are no {section}s: the key is for files with [[{section}]] tables");
        return Err(ConfigError::new(place, path.join("."), message));
    };
    if tables.index_of(name).is_some() {
        return Ok(());
    }
    let names = if let Value::List(tables) = &tables.value {
        tables.iter().filter_map(Node::name).collect()
    } else {
        Vec::new()
    };
    let names = names.into_iter().chain(implied.iter().map(String::as_str));
    Err(ConfigError::new(place, path.join("."), format!("there is no {section} `{name}`")).allowing(name, names))
}

/// Reads an option: the path of a key and its value, which is TOML or a bare string.
fn setting(key: &str, value: &str, source: usize) -> Result<Override, ConfigError> {
    let place = Place::new(source, 0..0);
    let wrong = || ConfigError::new(place, key, format!("`{key}` is not the path of a key, such as workload.load"));
    let path = path_of(key).ok_or_else(wrong)?;
    let text = Node { place, value: Value::Text(value.to_owned()) };
    let node = match DeValue::parse(value) {
        Ok(parsed) => Node::from_toml(&parsed, source)?,
        Err(_) => text,
    };
    Ok(Override { path, place, node })
}

impl Override {
    /// Returns whether the option fixes a key that the sweep would change. The later of the two applies.
    fn settles(&self, key: &SweptKey) -> bool {
        self.place.source > key.key_place.source && key.path.starts_with(&self.path)
    }

    /// Returns whether the option sets a part of a value that the sweep changes.
    fn refines(&self, key: &SweptKey) -> bool {
        let is_part = self.path.len() > key.path.len() && self.path.starts_with(&key.path);
        self.place.source > key.key_place.source && is_part
    }
}

/// Returns a value of a swept key, with the options that set parts of it.
fn refined(key: &SweptKey, value: &Node, settings: &[Override]) -> Node {
    let mut value = value.clone();
    for setting in settings.iter().filter(|setting| setting.refines(key)) {
        value.set(&setting.path[key.path.len()..], setting.place, setting.node.clone());
    }
    value
}

/// Refuses an option that sets a part of the values for which the steps of a sweep are named.
fn check_labels(axes: &[Axis], settings: &[Override]) -> Result<(), ConfigError> {
    let named = || axes.iter().filter(|axis| axis.labels.is_some()).flat_map(|axis| &axis.keys);
    for setting in settings {
        if let Some(key) = named().find(|key| setting.refines(key)) {
            let (path, whole) = (setting.path.join("."), key.key());
            let message = format!(
                "`{path}` is a part of `{whole}`, whose values [[sweep.zip]] names by labels; set `{whole}` as a whole, which \
                 takes it out of the group"
            );
            return Err(ConfigError::new(setting.place, path, message));
        }
    }
    Ok(())
}

/// Returns the tree of one point: the file's tree with the swept values.
fn tree_of(tree: &Table, axes: &[Axis], settings: &[Override], index: usize) -> Table {
    let mut tree = tree.clone();
    // The first key is set last: it overrides parts of it that are swept too.
    for (axis, step) in steps(axes, index).into_iter().rev() {
        for key in axis.keys.iter().rev() {
            tree.set(&key.path, key.key_place, key.values[step].clone());
        }
    }
    let refines = |setting: &&Override| axes.iter().flat_map(|axis| &axis.keys).any(|key| setting.refines(key));
    for setting in settings.iter().filter(refines) {
        tree.set(&setting.path, setting.place, setting.node.clone());
    }
    tree
}

fn point<L: Language>(
    tree: &Table,
    axes: &[Axis],
    settings: &[Override],
    index: usize,
) -> Result<Point<L::Spec>, ConfigError> {
    let mut tree = tree_of(tree, axes, settings, index);
    let spec = spec_of::<L>(&mut tree).map_err(|error| addressed(&tree, error))?;
    Ok(Point { index, keys: keys(axes, settings, index), spec })
}

/// Completes a point's tree, and returns its typed value.
fn spec_of<L: Language>(tree: &mut Table) -> Result<L::Spec, ConfigError> {
    L::fill_kinds(tree).map_err(|Fault { path, message, written, allowed }| {
        let allowed = allowed.iter().map(String::as_str);
        ConfigError::new(find(tree, &path), path, message).allowing(&written, allowed)
    })?;
    kinds::fill(L::shape(), tree);
    L::fill(tree);
    // Faults of the file are in the order of its lines, before faults of options and of missing keys.
    let first = |fault: &ConfigError| fault.place.map_or((u32::MAX, 0), |place| (place.source, place.start));
    if let Some(fault) = validate::faults(L::shape(), tree, L::missing(tree)).into_iter().min_by_key(first) {
        return Err(fault);
    }
    let wrong = |error: serde_json::Error| ConfigError::new(None, "", error.to_string());
    let spec: L::Spec = serde_json::from_value(tree.to_json()).map_err(wrong)?;
    let values = serde_json::to_value(&spec).map_err(wrong)?;
    if let Some(fault) = relations::faults::<L>(&spec, &values, tree).into_iter().min_by_key(first) {
        return Err(fault);
    }
    match L::contradiction(&spec) {
        Some((path, message)) => Err(ConfigError::new(find(tree, &path), path, message)),
        None => Ok(spec),
    }
}

/// Returns the swept keys and their values at a point, preceded by the names of its steps.
fn keys(axes: &[Axis], settings: &[Override], index: usize) -> Vec<(String, serde_json::Value)> {
    let steps = steps(axes, index);
    let label = |(axis, step): &(&Axis, usize)| Some(axis.labels.as_ref()?[*step].clone());
    let labels: Vec<String> = steps.iter().filter_map(label).collect();
    let label = (!labels.is_empty()).then(|| (LABEL.to_owned(), labels.join(", ").into()));
    let values = |(axis, step): (&Axis, usize)| {
        axis.keys.iter().map(|key| (key.key(), refined(key, &key.values[step], settings).to_json())).collect::<Vec<_>>()
    };
    label.into_iter().chain(steps.into_iter().flat_map(values)).collect()
}
