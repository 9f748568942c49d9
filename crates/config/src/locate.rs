//! Maps places in the texts of an experiment to files, lines and columns, and paths of keys to places.

use super::error::{ConfigError, Diagnosis, ExperimentError, Position, shown};
use super::place::Place;
use super::tree::{Entry, Node, Table, Value, path_of};

/// A file that an experiment was read from.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Name of the file, as errors show it.
    pub name: String,
    /// Text of the file.
    pub text: String,
}

/// The texts that an experiment was read from.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    /// The experiment file, then the files that it includes, in the order in which they were read.
    pub files: Vec<Source>,
    /// The options that override the files, as `KEY=VALUE`.
    pub options: Vec<String>,
}

impl Sources {
    /// Returns the error as shown to users, with the line of its place.
    pub fn locate(&self, error: ConfigError) -> ExperimentError {
        let (file, position) = self.position(error.place);
        let ConfigError { key, message, allowed, help, .. } = error;
        Diagnosis { message, key, file, position, allowed, help }.into()
    }

    /// Returns the name of the experiment file.
    pub fn name(&self) -> &str {
        self.files.first().map_or("", |file| &file.name)
    }

    /// Returns the name of a place's source, and the position in the file (`None` for options).
    fn position(&self, place: Option<Place>) -> (String, Option<Position>) {
        let Some(place) = place else { return (self.name().to_owned(), None) };
        let source = place.source as usize;
        let option = source.checked_sub(self.files.len()).and_then(|index| self.options.get(index));
        match (self.files.get(source), option) {
            (Some(file), _) => (file.name.clone(), Some(position_in(&file.text, place))),
            (None, Some(option)) => (shown(&format!("--set {option}")), None),
            (None, None) => (self.name().to_owned(), None),
        }
    }
}

fn position_in(text: &str, place: Place) -> Position {
    let start = floor_boundary(text, place.start as usize);
    let end = floor_boundary(text, (place.end as usize).max(start));
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let line = text[line_start..line_end].trim_end_matches('\r');
    Position {
        line: text[..start].matches('\n').count() + 1,
        column: text[line_start..start].chars().count() + 1,
        width: text[start..end.min(line_end)].trim_end().chars().count().max(1),
        text: line.to_owned(),
    }
}

/// Returns the last character boundary at or before `index`.
fn floor_boundary(text: &str, index: usize) -> usize {
    (0..=index.min(text.len())).rev().find(|&index| text.is_char_boundary(index)).unwrap_or(0)
}

/// A step of a path such as `topology.dims[1]`: a key, or an index of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let (key, indices) = part.split_once('[').unwrap_or((part, ""));
        steps.push(Step::Key(key.to_owned()));
        let indices = indices.split(['[', ']']).filter_map(|index| index.parse().ok());
        steps.extend(indices.map(Step::Index));
    }
    steps
}

/// Returns the place of the value at `path`, or of the deepest part of the path that was written. Returns `None` if not
/// even the first part was written.
pub(crate) fn find(root: &Table, path: &str) -> Option<Place> {
    let steps = steps(path);
    let Some(Step::Key(first)) = steps.first() else { return None };
    let mut node = &root.get(first)?.node;
    for step in &steps[1..] {
        match child(node, step) {
            Some(next) => node = next,
            None => break,
        }
    }
    Some(node.place)
}

/// Returns an error in which a table of a list has its name, as options and sweeps write it: `network.rail.router` for
/// `network[1].router`. A table without a name, or with the name of another, has its number.
pub(crate) fn addressed(root: &Table, error: ConfigError) -> ConfigError {
    let Some((list, rest)) = error.key.split_once('[') else { return error };
    let Some((index, _)) = rest.split_once(']') else { return error };
    let name = || {
        let (node, index) = (&root.get(list)?.node, index.parse().ok()?);
        let name = child(node, &Step::Index(index))?.name()?;
        (node.index_of(name) == Some(index) && path_of(name)? == [name]).then_some(name)
    };
    let Some(name) = name() else { return error };
    let (numbered, named) = (format!("{list}[{index}]"), format!("{list}.{name}"));
    let renamed = |text: &str| text.replace(&numbered, &named);
    let help = error.help.as_deref().map(renamed);
    ConfigError { key: renamed(&error.key), message: renamed(&error.message), help, ..error }
}

fn child<'a>(node: &'a Node, step: &Step) -> Option<&'a Node> {
    match (&node.value, step) {
        (Value::Table(table), Step::Key(key)) => table.get(key).map(|Entry { node, .. }| node),
        (Value::List(items), Step::Index(index)) => items.get(*index),
        (Value::List(items), Step::Key(name)) => node.index_of(name).and_then(|index| items.get(index)),
        _ => None,
    }
}
