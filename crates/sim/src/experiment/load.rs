//! From the text of a file and the options that override it to typed points.

use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, ExperimentError};
use super::kinds;
use super::locate::{Sources, find};
use super::seeds;
use super::span::Place;
use super::spec::ExperimentSpec;
use super::sweep::{Axis, axes};
use super::tree::{Entry, Node, Table, Value};
use super::validate;
use crate::proofs::Proofs;

/// The largest file, in bytes.
pub const MAX_FILE: usize = 4 << 20;

/// An experiment as it was written, and the points that it consists of.
#[derive(Clone, Debug)]
pub struct Experiment {
    sources: Sources,
    base_dir: PathBuf,
    /// The file with its overriding options, without the sweep.
    tree: Table,
    axes: Vec<Axis>,
    settings: Vec<Setting>,
    points: Vec<Point>,
    proofs: Proofs,
}

/// One combination of the values that the sweep gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The number of the point, from 0; the last key of the sweep changes fastest.
    pub index: usize,
    /// The swept keys and their values here.
    pub keys: Vec<(String, serde_json::Value)>,
    /// The experiment here.
    pub spec: ExperimentSpec,
}

impl Point {
    /// The seed of the random streams: the experiment's, the same at all points (common random numbers make the
    /// differences between points clearer), unless the seed itself is swept.
    pub fn seed(&self) -> u64 {
        self.spec.seed
    }
}

/// A key that an option sets.
#[derive(Clone, Debug)]
struct Setting {
    path: Vec<String>,
    place: Place,
    node: Node,
}

impl Experiment {
    /// Reads an experiment from text.
    ///
    /// `name` is the file's name for errors, `base_dir` the folder that paths in it start from, and `overrides` are
    /// pairs of a key's path and a TOML value (or a bare string) that win over the file. An overridden key is not
    /// swept.
    ///
    /// # Errors
    /// The first thing that is wrong, in the order of the file.
    pub fn load(
        text: &str,
        name: &str,
        base_dir: &Path,
        overrides: &[(String, String)],
    ) -> Result<Self, ExperimentError> {
        let options = overrides.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let sources = Sources { name: name.to_owned(), text: text.to_owned(), options };
        match read(text, overrides) {
            Ok((tree, axes, settings, points)) => Ok(Self {
                sources,
                base_dir: base_dir.to_owned(),
                tree,
                axes,
                settings,
                points,
                proofs: Proofs::default(),
            }),
            Err(error) => Err(sources.locate(error)),
        }
    }

    /// Reads an experiment from the bytes of a file; see `load`.
    ///
    /// # Errors
    /// If the bytes are not text, and whatever `load` finds.
    pub fn load_bytes(
        bytes: &[u8],
        name: &str,
        base_dir: &Path,
        overrides: &[(String, String)],
    ) -> Result<Self, ExperimentError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::load(text, name, base_dir, overrides),
            Err(error) => {
                let message = format!("not a text file: byte {} is not UTF-8", error.valid_up_to() + 1);
                Err(Self::file_error(name, message))
            }
        }
    }

    /// Reads an experiment file. Paths in it start from its folder.
    ///
    /// # Errors
    /// If the file cannot be read, and whatever `load` finds.
    pub fn read(path: &Path, overrides: &[(String, String)]) -> Result<Self, ExperimentError> {
        let name = path.display().to_string();
        let cannot = |error: std::io::Error| Self::file_error(&name, format!("cannot read the file: {error}"));
        let size = std::fs::metadata(path).map_err(cannot)?.len();
        if size > MAX_FILE as u64 {
            return Err(Self::file_only(&name).locate(too_large(size as usize)));
        }
        let bytes = std::fs::read(path).map_err(cannot)?;
        Self::load_bytes(&bytes, &name, path.parent().unwrap_or(Path::new("")), overrides)
    }

    fn file_only(name: &str) -> Sources {
        Sources { name: name.to_owned(), text: String::new(), options: Vec::new() }
    }

    fn file_error(name: &str, message: String) -> ExperimentError {
        Self::file_only(name).locate(ConfigError::new(None, "", message))
    }

    /// The points, at least one; without a sweep, exactly one.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The folder that paths in the experiment start from.
    pub fn base_dir(&self) -> &Path {
        &self.base_dir
    }

    /// What is known of its points' freedom from deadlock.
    pub(crate) fn proofs(&self) -> &Proofs {
        &self.proofs
    }

    /// The file's name, as errors show it.
    pub fn name(&self) -> &str {
        &self.sources.name
    }

    /// The file's text.
    pub fn text(&self) -> &str {
        &self.sources.text
    }

    /// The keys that the sweep changes, in order.
    pub fn swept_keys(&self) -> Vec<String> {
        self.axes.iter().map(Axis::key).collect()
    }

    /// A point's whole experiment as TOML, with every default filled in; it loads to an equal experiment.
    pub fn resolved(&self, point: &Point) -> String {
        toml::to_string(&point.spec).unwrap_or_else(|error| format!("# {error}\n"))
    }

    /// An error that is found later, such as a shape that cannot be built, at the place of a key such as `topology.k`
    /// (or of the deepest table on its path that was written).
    pub fn error_at(&self, path: &str, message: impl Into<String>) -> ExperimentError {
        let swept = self.axes.iter().find(|axis| axis.key() == path).map(|axis| axis.key_place);
        self.sources.locate(ConfigError::new(swept.or_else(|| find(&self.tree, path)), path, message))
    }

    /// The same for an error of one point: a swept key is shown where its value there was written.
    pub fn error_in(&self, point: &Point, path: &str, message: impl Into<String>) -> ExperimentError {
        let tree = tree_of(&self.tree, &self.axes, &self.settings, point.index);
        self.sources.locate(ConfigError::new(find(&tree, path), path, message))
    }

    /// Checks the names of the classes of channels that a point's `[link.CLASS]` tables override, against those that
    /// its topology has.
    ///
    /// # Errors
    /// The first class that the topology has not.
    pub fn check_classes(&self, point: &Point, names: &[&str]) -> Result<(), ExperimentError> {
        let Some(class) = point.spec.link.classes.keys().find(|class| !names.contains(&class.as_str())) else {
            return Ok(());
        };
        let tree = tree_of(&self.tree, &self.axes, &self.settings, point.index);
        let path = format!("link.{class}");
        let message = format!("unknown class of channels `{class}` in [link]: the topology has none of that name");
        let allowed = names.iter().copied().chain(["bandwidth", "delay"]);
        Err(self.sources.locate(ConfigError::new(find(&tree, &path), path, message).allowing(class, allowed)))
    }
}

type Parts = (Table, Vec<Axis>, Vec<Setting>, Vec<Point>);

fn read(text: &str, overrides: &[(String, String)]) -> Result<Parts, ConfigError> {
    if text.len() > MAX_FILE {
        return Err(too_large(text.len()));
    }
    let parsed = DeTable::parse(text).map_err(|error| {
        let place = error.span().map(|span| Place::new(0, span));
        ConfigError::new(place, "", format!("not valid TOML: {}", error.message().replace('\n', "; ")))
    })?;
    let mut tree = Table::from_toml(parsed.get_ref(), 0)?;
    let settings = overrides
        .iter()
        .enumerate()
        .map(|(index, (key, value))| setting(key, value, index + 1))
        .collect::<Result<Vec<_>, _>>()?;
    for setting in &settings {
        check_job(&tree, &setting.path, setting.place)?;
        tree.set(&setting.path, setting.place, setting.node.clone());
    }
    let mut axes = axes(tree.remove("sweep"))?;
    axes.iter().try_for_each(|axis| check_job(&tree, &axis.path, axis.key_place))?;
    axes.retain(|axis| !settings.iter().any(|setting| setting.settles(axis)));
    seeds::expand(&mut tree, &mut axes)?;
    let points = (0..axes.iter().map(|axis| axis.values.len()).product())
        .map(|index| point(&tree, &axes, &settings, index))
        .collect::<Result<Vec<_>, _>>()?;
    Ok((tree, axes, settings, points))
}

/// Refuses the path of a key of a job that is not there.
fn check_job(tree: &Table, path: &[String], place: Place) -> Result<(), ConfigError> {
    let [section, name, ..] = path else { return Ok(()) };
    let Some(Entry { node: jobs, .. }) = tree.get("job") else {
        let message = "there are no jobs: the key is for files with [[job]] tables";
        return if section == "job" { Err(ConfigError::new(place, path.join("."), message)) } else { Ok(()) };
    };
    if section != "job" || jobs.index_of(name).is_some() {
        return Ok(());
    }
    let names =
        if let Value::List(jobs) = &jobs.value { jobs.iter().filter_map(Node::name).collect() } else { Vec::new() };
    Err(ConfigError::new(place, path.join("."), format!("there is no job `{name}`")).allowing(name, names))
}

fn too_large(size: usize) -> ConfigError {
    let (size, limit) = (validate::size(size), validate::size(MAX_FILE));
    ConfigError::new(None, "", format!("the file has {size}; an experiment has at most {limit}"))
}

/// Reads an option: the path of a key and its value, TOML or else a bare string.
fn setting(key: &str, value: &str, source: usize) -> Result<Setting, ConfigError> {
    let place = Place::new(source, 0..0);
    let wrong = || ConfigError::new(place, key, format!("`{key}` is not the path of a key, such as workload.load"));
    if key.contains(['\n', '\r', '=', '#', '[', ']']) {
        return Err(wrong());
    }
    let line = format!("{key} = 0");
    let parsed = DeTable::parse(&line).map_err(|_| wrong())?;
    let mut path = Vec::new();
    let mut table = parsed.get_ref();
    while let Some((key, value)) = table.iter().next() {
        path.push(key.get_ref().to_string());
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    let text = Node { place, value: Value::Text(value.to_owned()) };
    let node = match DeValue::parse(value) {
        Ok(parsed) => Node::from_toml(&parsed, source)?,
        Err(_) => text,
    };
    Ok(Setting { path, place, node })
}

impl Setting {
    /// Whether the option fixes what an axis would change; the later one wins.
    fn settles(&self, axis: &Axis) -> bool {
        self.place.source > axis.key_place.source && axis.path.starts_with(&self.path)
    }

    /// Whether the option sets a part of what an axis changes.
    fn refines(&self, axis: &Axis) -> bool {
        self.place.source > axis.key_place.source && self.path.starts_with(&axis.path)
    }
}

/// The tree of one point: the file's, with the swept values in place.
fn tree_of(tree: &Table, axes: &[Axis], settings: &[Setting], index: usize) -> Table {
    let mut tree = tree.clone();
    let mut rest = index;
    for axis in axes.iter().rev() {
        let value = &axis.values[rest % axis.values.len()];
        rest /= axis.values.len();
        tree.set(&axis.path, axis.key_place, value.clone());
    }
    for setting in settings.iter().filter(|setting| axes.iter().any(|axis| setting.refines(axis))) {
        tree.set(&setting.path, setting.place, setting.node.clone());
    }
    tree
}

fn point(tree: &Table, axes: &[Axis], settings: &[Setting], index: usize) -> Result<Point, ConfigError> {
    let mut tree = tree_of(tree, axes, settings, index);
    kinds::fill(&mut tree);
    // Faults of the file come in the order of its lines, before those of options and of what is not written at all.
    let first = |fault: &ConfigError| fault.place.map_or((u32::MAX, 0), |place| (place.source, place.start));
    if let Some(fault) = validate::faults(&tree).into_iter().min_by_key(first) {
        return Err(fault);
    }
    let spec: ExperimentSpec =
        serde_json::from_value(tree.to_json()).map_err(|error| ConfigError::new(None, "", error.to_string()))?;
    if let Some((path, message)) = spec.contradiction() {
        return Err(ConfigError::new(find(&tree, &path), path, message));
    }
    Ok(Point { index, keys: keys(axes, index), spec })
}

fn keys(axes: &[Axis], index: usize) -> Vec<(String, serde_json::Value)> {
    let mut keys = Vec::with_capacity(axes.len());
    let mut rest = index;
    for axis in axes.iter().rev() {
        keys.push((axis.key(), axis.values[rest % axis.values.len()].to_json()));
        rest /= axis.values.len();
    }
    keys.reverse();
    keys
}
