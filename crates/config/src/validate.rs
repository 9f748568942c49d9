//! Validation: compares an experiment as written with the shapes that the schema allows, and reports errors in the
//! user's terms.

use std::fmt::Display;

use units::{Bytes, counted};

use super::error::{ConfigError, shown};
use super::kinds;
use super::place::Place;
use super::schema::{Bound, Bounds, Choice, Key, ListShape, Name, Quantity, Shape, TableShape, own_key};
use super::tree::{Entry, Node, Table, Value};

/// Returns all errors of a file of shape `file`, except for its sweep. The section `missing` is an error too.
pub(crate) fn faults(file: &TableShape, root: &Table, missing: Option<&str>) -> Vec<ConfigError> {
    let mut validator = Validator { file: Some(file), faults: Vec::new() };
    let context = Context { path: "", place: None, kind: None, home: None };
    validator.table(file, root, &context);
    file.keys.iter().filter(|key| missing == Some(&*key.name)).for_each(|key| validator.missing(key, &context));
    validator.faults
}

/// Returns the errors in the value of a key at the top level that is not part of a point.
pub(crate) fn expected_key(name: &str, node: &Node) -> Vec<ConfigError> {
    own_key(name).map_or_else(Vec::new, |key| errors_in(&key.shape, node, name))
}

/// Returns the errors in a value of the sweep: a list of values, or a range.
pub(crate) fn expected_axis(node: &Node, path: &str) -> Vec<ConfigError> {
    match own_key("sweep").map(|key| &key.shape) {
        Some(Shape::Table(TableShape { others: Some(axis), .. })) => errors_in(axis, node, path),
        _ => Vec::new(),
    }
}

/// Returns the errors in the names of a zipped sweep's steps.
pub(crate) fn expected_labels(node: &Node, path: &str) -> Vec<ConfigError> {
    let items = Box::new(Shape::Text);
    errors_in(&Shape::List(ListShape { items, min: 1, max: usize::MAX }), node, path)
}

fn errors_in(shape: &Shape, node: &Node, path: &str) -> Vec<ConfigError> {
    let mut validator = Validator { file: None, faults: Vec::new() };
    validator.value(shape, node, path);
    validator.faults
}

struct Validator<'a> {
    /// The whole file, to whose other sections a key may belong. `None` for keys that are validated by themselves.
    file: Option<&'a TableShape>,
    faults: Vec<ConfigError>,
}

/// The table in validation.
#[derive(Clone, Copy)]
struct Context<'a> {
    path: &'a str,
    /// Place of the table. `None` for the file as a whole.
    place: Option<Place>,
    /// Key that selects the kind of the table, and the kind.
    kind: Option<(&'a str, &'a str)>,
    /// The choice that the table's kind belongs to.
    home: Option<&'a Choice>,
}

impl Context<'_> {
    fn join(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn name(&self) -> String {
        match (self.path, self.kind) {
            ("", _) => "at the top level".into(),
            (path, Some((tag, kind))) => format!("in [{path}] of {tag} \"{kind}\""),
            (path, None) => format!("in [{path}]"),
        }
    }
}

impl Validator<'_> {
    fn value(&mut self, shape: &Shape, node: &Node, path: &str) {
        match (shape, &node.value) {
            (Shape::Any, _) | (Shape::Text, Value::Text(_)) | (Shape::Boolean, Value::Boolean(_)) => {}
            (Shape::Table(shape), Value::Table(table)) => {
                self.table(shape, table, &Context { path, place: Some(node.place), kind: None, home: None });
            }
            (Shape::Choice(choice), Value::Table(table)) => self.choice(choice, table, node.place, path),
            (Shape::Names(names), Value::Text(text)) => self.name(names, text, node, path),
            (Shape::Quantity(quantity), _) => self.quantity(quantity, node, path),
            (Shape::Integer(bounds), Value::Integer(number)) => self.bounds(bounds, i128::from(*number), node, path),
            (Shape::Number(bounds), Value::Integer(number)) => self.bounds(bounds, *number as f64, node, path),
            (Shape::Number(bounds), Value::Float(number)) => self.bounds(bounds, *number, node, path),
            (Shape::List(list), Value::List(items)) => self.list(list, items, node, path),
            (Shape::Either(shapes), _) => self.either(shapes, node, path),
            (Shape::List(list), Value::Table(_)) if matches!(*list.items, Shape::Table(_)) => {
                let message = format!("`{path}` is a list of tables: write [[{path}]] for each of them, not [{path}]");
                self.fault(ConfigError::new(node.place, path, message));
            }
            _ => {
                self.wrong_kind(&expected(shape), node, path);
            }
        }
    }

    fn fault(&mut self, fault: ConfigError) {
        self.faults.push(fault);
    }

    /// Reports a value whose type is not that of its key. A list is most often a value meant for the sweep.
    fn wrong_kind(&mut self, expected: &str, node: &Node, path: &str) {
        let mut message = format!("`{path}` must be {expected}, not {}", node.what());
        if matches!(node.value, Value::List(_)) && !path.contains('[') {
            message += &format!("; several values, a point for each, are the value of `sweep.\"{path}\"`");
        }
        let fault = ConfigError::new(node.place, path, message);
        self.fault(match node.as_text().and_then(number_in) {
            Some(number) => fault.with_help(format!("did you mean {number}, without quotes?")),
            None => fault,
        });
    }

    fn table(&mut self, shape: &TableShape, table: &Table, context: &Context<'_>) {
        let mut unknown = None;
        if let (true, true, Some(others)) = (shape.keys.is_empty(), table.entries.is_empty(), &shape.others) {
            let path = context.path;
            let message = format!("`{path}` is an empty table; it must have an entry, {}", expected(others));
            self.fault(ConfigError::new(context.place, path, message));
        }
        for entry in &table.entries {
            let path = context.join(&entry.key);
            match (shape.keys.iter().find(|key| key.name == entry.key), &shape.others) {
                (Some(key), _) => self.value(&key.shape, &entry.node, &path),
                // A word or a number under an unknown name is a misspelt key, if the table has named keys and its
                // other keys hold tables.
                (None, Some(others)) if shape.keys.is_empty() || matches!(entry.node.value, Value::Table(_)) => {
                    self.value(others, &entry.node, &path);
                }
                (None, _) => unknown = unknown.or(Some(entry)),
            }
        }
        // A missing key next to an unknown key is one mistake: a misspelling.
        if let Some(entry) = unknown {
            return self.unknown_key(shape, entry, context);
        }
        for key in shape.keys.iter().filter(|key| key.required && table.get(&key.name).is_none()) {
            self.missing(key, context);
        }
    }

    fn unknown_key(&mut self, shape: &TableShape, entry: &Entry, context: &Context<'_>) {
        let section = context.path.is_empty() && matches!(entry.node.value, Value::Table(_));
        let message = if section {
            format!("unknown section [{}]", entry.key)
        } else {
            format!("unknown key `{}` {}", entry.key, context.name())
        };
        let allowed = shape.keys.iter().map(|key| key.name.as_str());
        let mut fault =
            ConfigError::new(entry.key_place, context.join(&entry.key), message).allowing(&entry.key, allowed);
        if fault.help.is_none() {
            fault.help = self.elsewhere(&entry.key, context);
        }
        self.fault(fault);
    }

    /// Returns a help text for an unknown key that is known elsewhere: in other kinds of the table, or in other sections.
    fn elsewhere(&self, key: &str, context: &Context<'_>) -> Option<String> {
        let has = |table: &TableShape| table.keys.iter().any(|own| own.name == key);
        if let Some(choice) = context.home {
            let kinds: Vec<&Name> =
                choice.kinds.iter().filter(|kind| has(&kind.table)).map(|kind| &kind.name).collect();
            if !kinds.is_empty() {
                return Some(format!("`{key}` goes with {} = {}", choice.tag, one_of(kinds)));
            }
        }
        let section = self.file?.keys.iter().find(|section| match &section.shape {
            Shape::Table(table) => has(table),
            Shape::Choice(choice) => choice.kinds.iter().any(|kind| has(&kind.table)),
            _ => false,
        })?;
        Some(format!("`{key}` belongs to [{0}]: `{0}.{key}`", section.name))
    }

    fn missing(&mut self, key: &Key, context: &Context<'_>) {
        let path = context.join(&key.name);
        let section = context.path.is_empty() && matches!(key.shape, Shape::Table(_) | Shape::Choice(_));
        let message = if section {
            format!("missing section [{}]", key.name)
        } else {
            format!("missing key `{}` {}", key.name, context.name())
        };
        let help = match (&key.shape, section) {
            (Shape::Choice(choice), true) => {
                format!("write [{}] with {} = {}", key.name, choice.tag, one_of(choice.kinds.iter().map(|k| &k.name)))
            }
            (Shape::Table(table), true) => {
                let required = table.keys.iter().filter(|key| key.required).map(|key| key.name.as_str());
                format!("write [{}] with {}", key.name, required.collect::<Vec<_>>().join(", "))
            }
            (Shape::Any, _) => format!("`{}` is {}", key.name, continued(&key.doc)),
            (shape, _) => format!("`{}` is {}: {}", key.name, expected(shape), continued(&key.doc)),
        };
        self.fault(ConfigError::new(context.place, path, message).with_help(help.trim_end_matches(['.', ':', ' '])));
    }

    fn choice(&mut self, choice: &Choice, table: &Table, place: Place, path: &str) {
        let names = || choice.kinds.iter().map(|kind| kind.name.name.as_str());
        let tag_path = format!("{path}.{}", choice.tag);
        let Some(Entry { node, .. }) = table.get(&choice.tag) else {
            let message = format!("missing key `{}` in [{path}]", choice.tag);
            let fault = ConfigError::new(place, tag_path, message).allowing("", names());
            return self.fault(fault.or_help(&fitting(choice, table)));
        };
        let Some(written) = node.as_text() else {
            let message = format!("`{tag_path}` must be a string, not {}", node.what());
            return self.fault(ConfigError::new(node.place, tag_path, message).allowing("", names()));
        };
        let Some(kind) = choice.kinds.iter().find(|kind| kind.name.is(written)) else {
            let message = format!("unknown {} `{written}` in [{path}]", choice.tag);
            let mut fault = ConfigError::new(node.place, tag_path, message).allowing(written, names());
            if fault.help.is_none() {
                // No misspelling: a name from elsewhere.
                fault.message = shown(&format!("the {} `{written}` of [{path}] is not built in", choice.tag));
            }
            return self.fault(fault.or_help(&choice.otherwise));
        };
        let kind_name = Some((choice.tag.as_str(), kind.name.name.as_str()));
        self.table(&kind.table, table, &Context { path, place: Some(place), kind: kind_name, home: Some(choice) });
    }

    fn name(&mut self, names: &[Name], written: &str, node: &Node, path: &str) {
        if !names.iter().any(|name| name.is(written)) {
            let message = format!("unknown value `{written}` for `{path}`");
            let allowed = names.iter().map(|name| name.name.as_str());
            self.fault(ConfigError::new(node.place, path, message).allowing(written, allowed));
        }
    }

    fn quantity(&mut self, quantity: &Quantity, node: &Node, path: &str) {
        let number = match &node.value {
            Value::Text(text) => text.clone(),
            // The parser of the quantity gives the best message about a bare number.
            Value::Integer(_) | Value::Float(_) => node.written(),
            _ => {
                return self.wrong_kind(&quantity_words(quantity), node, path);
            }
        };
        match (quantity.parse)(&number) {
            Err(error) => {
                let fault = ConfigError::new(node.place, path, format!("`{path}`: {error}"));
                self.fault(match error.meant() {
                    Some(meant) => fault.with_help(format!("did you mean \"{meant}\"?")),
                    None => fault,
                });
            }
            Ok(_) if node.as_text().is_none() => {}
            Ok(value) if quantity.bounds.allow(value) => {}
            Ok(_) => {
                let message = format!("`{path}` is \"{number}\"; it must be {}", quantity_range(quantity));
                self.fault(ConfigError::new(node.place, path, message));
            }
        }
    }

    fn bounds<T: PartialOrd + Copy + Display>(&mut self, bounds: &Bounds<T>, value: T, node: &Node, path: &str) {
        if !bounds.allow(value) {
            let message = format!("`{path}` is {value}; it must be {}", range(bounds));
            self.fault(ConfigError::new(node.place, path, message));
        }
    }

    fn list(&mut self, list: &ListShape, items: &[Node], node: &Node, path: &str) {
        if !(list.min..=list.max).contains(&items.len()) {
            let message = format!(
                "`{path}` has {}; it must have {}",
                counted(items.len() as u64, ["entry", "entries"]),
                count(list)
            );
            return self.fault(ConfigError::new(node.place, path, message));
        }
        let before = self.faults.len();
        for (index, item) in items.iter().enumerate() {
            self.value(&list.items, item, &format!("{path}[{index}]"));
            // The first wrong item of a list suffices.
            if self.faults.len() > before {
                break;
            }
        }
    }

    /// Validates a value of several possible shapes against the shape that is meant.
    fn either(&mut self, shapes: &[Shape], node: &Node, path: &str) {
        if let Value::Text(text) = &node.value {
            return self.either_text(shapes, text, node, path);
        }
        match shapes.iter().find(|shape| takes(shape, &node.value)) {
            Some(shape) => self.value(shape, node, path),
            None => {
                self.wrong_kind(&expected_of(shapes), node, path);
            }
        }
    }

    fn either_text(&mut self, shapes: &[Shape], text: &str, node: &Node, path: &str) {
        let mut names = Vec::new();
        let mut otherwise = "";
        for shape in shapes {
            match shape {
                Shape::Names(own) if own.iter().any(|name| name.is(text)) => return,
                Shape::Names(own) => names.extend(own),
                Shape::Choice(choice) if choice.kinds.iter().any(|kind| kind.name.is(text)) => {
                    return self.bare_kind(choice, text, node, path);
                }
                Shape::Choice(choice) => {
                    names.extend(choice.kinds.iter().map(|kind| &kind.name));
                    otherwise = &choice.otherwise;
                }
                Shape::Text => return,
                Shape::Quantity(quantity) if text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()) => {
                    return self.quantity(quantity, node, path);
                }
                _ => {}
            }
        }
        let quantity = shapes.iter().find(|shape| matches!(shape, Shape::Quantity(_)));
        if let (true, Some(shape)) = (names.is_empty(), quantity) {
            return self.value(shape, node, path);
        }
        let message = format!("unknown value `{text}` for `{path}`");
        let mut allowed: Vec<&str> = Vec::new();
        for name in names {
            if !allowed.contains(&name.name.as_str()) {
                allowed.push(&name.name);
            }
        }
        let mut fault = ConfigError::new(node.place, path, message).allowing(text, allowed).or_help(otherwise);
        fault.allowed.extend(quantity.map(expected));
        self.fault(fault);
    }

    /// Validates the bare name of a kind in place of its table: valid if the kind requires no keys.
    fn bare_kind(&mut self, choice: &Choice, name: &str, node: &Node, path: &str) {
        let kind = choice.kinds.iter().find(|kind| kind.name.is(name));
        let required = kind.into_iter().flat_map(|kind| &kind.table.keys).filter(|key| key.required);
        let lacking: Vec<&str> = required.map(|key| key.name.as_str()).filter(|&key| key != choice.tag).collect();
        if let Some(first) = lacking.first() {
            let keys: String = lacking.iter().map(|key| format!(", {key} = ...")).collect();
            let help = format!("write {{ {} = \"{name}\"{keys} }}", choice.tag);
            let message = format!("`{path}` needs the key `{first}` for {} \"{name}\"", choice.tag);
            self.fault(ConfigError::new(node.place, path, message).with_help(help));
        }
    }
}

/// Returns the number that a text stands for: `0.5` in quotes, or `50%`.
fn number_in(text: &str) -> Option<String> {
    let text = text.trim();
    match text.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| {
            // Whole thousandths of a percent have no digits of rounding.
            let share = (number * 1000.0).round() / 100_000.0;
            share.to_string()
        }),
        None => text.parse::<f64>().ok().filter(|number| number.is_finite()).map(|_| text.to_owned()),
    }
}

/// Returns a help text with the kinds that have all keys of a table without a kind; empty if there is no such kind, or
/// no key.
fn fitting(choice: &Choice, table: &Table) -> String {
    let kinds = kinds::fitting(choice, table);
    match table.entries.first() {
        Some(entry) if !kinds.is_empty() => format!("`{}` goes with {} = {}", entry.key, choice.tag, one_of(kinds)),
        _ => String::new(),
    }
}

/// Returns the first sentence of a doc comment, as the continuation of another sentence.
fn continued(doc: &str) -> String {
    let mut chars = doc.split(". ").next().unwrap_or(doc).chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

fn one_of<'a>(names: impl IntoIterator<Item = &'a Name>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("\"{}\"", name.name)).collect();
    names.join(" | ")
}

/// Returns whether a value that is not text has the type of a shape.
fn takes(shape: &Shape, value: &Value) -> bool {
    match shape {
        Shape::Any => true,
        Shape::Table(_) | Shape::Choice(_) => matches!(value, Value::Table(_)),
        Shape::Integer(_) => matches!(value, Value::Integer(_)),
        // A bare number for a quantity gets the message about its missing unit.
        Shape::Number(_) | Shape::Quantity(_) => matches!(value, Value::Integer(_) | Value::Float(_)),
        Shape::Boolean => matches!(value, Value::Boolean(_)),
        Shape::List(_) => matches!(value, Value::List(_)),
        Shape::Text | Shape::Names(_) => false,
        Shape::Either(shapes) => shapes.iter().any(|shape| takes(shape, value)),
    }
}

/// Returns the values that a shape accepts, in words, for messages of the form "must be ...".
pub(crate) fn expected(shape: &Shape) -> String {
    match shape {
        Shape::Table(_) => "a table".into(),
        Shape::Choice(choice) => format!("a table with `{}`", choice.tag),
        Shape::Quantity(quantity) => quantity_words(quantity),
        Shape::Text => "a string".into(),
        Shape::Names(names) => one_of(names),
        Shape::Integer(bounds) => format!("a whole number {}", range(bounds)).trim_end().to_owned(),
        Shape::Number(bounds) => format!("a number {}", range(bounds)).trim_end().to_owned(),
        Shape::Boolean => "true or false".into(),
        Shape::List(list) => format!("a list of {}, each {}", count(list), expected(&list.items)),
        Shape::Either(shapes) => expected_of(shapes),
        Shape::Any => "a value".into(),
    }
}

fn expected_of(shapes: &[Shape]) -> String {
    shapes.iter().map(expected).collect::<Vec<_>>().join(", or ")
}

fn quantity_words(quantity: &Quantity) -> String {
    format!("{} as a string with its unit, such as \"{}\"", quantity.what, quantity.example)
}

pub(crate) fn quantity_range(quantity: &Quantity) -> String {
    match (quantity.bounds.min, quantity.bounds.max) {
        (Some(Bound { value: 1, inclusive: true }), None) => "greater than 0".into(),
        (min, max) => {
            let written = |Bound { value, inclusive }| Bound { value: (quantity.written)(value), inclusive };
            range(&Bounds { min: min.map(written), max: max.map(written) })
        }
    }
}

/// Returns bounds in words, for messages of the form "it must be ...".
pub(crate) fn range<T: Display>(Bounds { min, max }: &Bounds<T>) -> String {
    if let (Some(Bound { value: min, inclusive: true }), Some(Bound { value: max, inclusive: true })) = (min, max) {
        return format!("from {min} to {max}");
    }
    let words = |bound: &Option<Bound<T>>, inclusive: &str, exclusive: &str| {
        let words = |own: &Bound<T>| format!("{} {}", if own.inclusive { inclusive } else { exclusive }, own.value);
        bound.as_ref().map(words)
    };
    let both = [words(min, "at least", "greater than"), words(max, "at most", "less than")];
    both.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

fn count(list: &ListShape) -> String {
    match (list.min, list.max) {
        (0, usize::MAX) => "any number of entries".into(),
        (min, usize::MAX) => format!("at least {min}"),
        (min, max) if min == max => format!("exactly {min}"),
        (min, max) => format!("from {min} to {max}"),
    }
}

/// Returns the size of a file, as in errors.
pub(crate) fn size(bytes: usize) -> String {
    Bytes(bytes as u64).to_string()
}
