//! The values that keys take in turn, and their combinations.

use super::error::ConfigError;
use super::span::Place;
use super::tree::{Entry, Node, Table, Value};
use super::validate::expected_axis;

/// The most points of one experiment.
pub const MAX_POINTS: usize = 100_000;

/// No key of an experiment is nested deeper.
const DEEPEST_KEY: usize = 8;

/// A key, and the values that it takes in turn.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub path: Vec<String>,
    pub key_place: Place,
    pub values: Vec<Node>,
}

impl Axis {
    pub fn key(&self) -> String {
        self.path.join(".")
    }
}

/// Reads the axes of the `[sweep]` section, in the order in which they were written. A key's path may be quoted
/// (`"workload.load"`) or not (`workload.load`). An axis that an option gives replaces the file's.
pub(super) fn axes(section: Option<Entry>) -> Result<Vec<Axis>, ConfigError> {
    let Some(Entry { node, .. }) = section else { return Ok(Vec::new()) };
    let Value::Table(table) = &node.value else {
        let message = format!("`sweep` must be a table, not {}", node.what());
        return Err(ConfigError::new(node.place, "sweep", message));
    };
    let mut axes = Vec::new();
    collect(table, &mut Vec::new(), &mut axes)?;
    check_count(&axes, node.place, "sweep")?;
    Ok(axes)
}

/// Refuses axes that have too many points together; `key` is what is at fault.
pub(super) fn check_count(axes: &[Axis], place: Place, key: &str) -> Result<(), ConfigError> {
    let points = axes.iter().try_fold(1_usize, |points, axis| points.checked_mul(axis.values.len()));
    match points.filter(|&points| points <= MAX_POINTS) {
        Some(_) => Ok(()),
        None => Err(ConfigError::new(place, key, format!("the sweep has more than {MAX_POINTS} points"))),
    }
}

fn collect(table: &Table, prefix: &mut Vec<String>, axes: &mut Vec<Axis>) -> Result<(), ConfigError> {
    let depth = prefix.len();
    for entry in &table.entries {
        prefix.extend(entry.key.split('.').take(DEEPEST_KEY + 1).map(|part| part.trim().to_owned()));
        if prefix.len() > DEEPEST_KEY || prefix.iter().any(String::is_empty) {
            let message = "a key of [sweep] must be the path of a key, such as \"workload.load\"";
            return Err(ConfigError::new(entry.key_place, "sweep", message));
        }
        match &entry.node.value {
            Value::Table(table) if !is_range(table) => collect(table, prefix, axes)?,
            _ => {
                let axis = Axis { path: prefix.clone(), key_place: entry.key_place, values: values(entry, prefix)? };
                add(axis, axes)?;
            }
        }
        prefix.truncate(depth);
    }
    Ok(())
}

fn is_range(table: &Table) -> bool {
    table.entries.is_empty() || ["from", "to", "step"].iter().any(|key| table.get(key).is_some())
}

fn add(axis: Axis, axes: &mut Vec<Axis>) -> Result<(), ConfigError> {
    match axes.iter_mut().find(|other| other.path == axis.path) {
        Some(other) if other.key_place.source == axis.key_place.source => {
            let message = format!("`{}` is swept twice", axis.key());
            Err(ConfigError::new(axis.key_place, format!("sweep.{}", axis.key()), message))
        }
        Some(other) => {
            *other = axis;
            Ok(())
        }
        None => {
            axes.push(axis);
            Ok(())
        }
    }
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

/// Values at equal distances, with what follows each number (the unit, or nothing).
struct Range<'a> {
    from: Decimal,
    to: Decimal,
    step: Decimal,
    unit: Option<&'a str>,
    whole: bool,
}

impl<'a> Range<'a> {
    fn read(table: &'a Table, node: &Node, path: &str) -> Result<Self, ConfigError> {
        let end = |key: &str| -> Result<(Decimal, Option<&'a str>, bool), ConfigError> {
            let key_path = format!("{path}.{key}");
            let missing = || ConfigError::new(node.place, &key_path, format!("missing key `{key}` in `{path}`"));
            let node = &table.get(key).ok_or_else(missing)?.node;
            let whole = matches!(node.value, Value::Integer(_));
            let not_one = || {
                let message = format!("`{key_path}` must be a decimal number, or a quantity, of at most 15 digits");
                ConfigError::new(node.place, &key_path, message)
            };
            let (number, unit) = match &node.value {
                Value::Integer(number) => (number.to_string(), None),
                Value::Float(number) => (number.to_string(), None),
                Value::Text(text) => {
                    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
                    (text[..split].to_owned(), Some(text[split..].trim()))
                }
                _ => return Err(not_one()),
            };
            Ok((Decimal::parse(&number).ok_or_else(not_one)?, unit, whole))
        };
        let (from, to, step) = (end("from")?, end("to")?, end("step")?);
        if from.1 != to.1 || from.1 != step.1 {
            let message = format!("`from`, `to` and `step` of `{path}` must have the same unit");
            return Err(ConfigError::new(node.place, path, message));
        }
        Ok(Self { from: from.0, to: to.0, step: step.0, unit: from.1, whole: from.2 && to.2 && step.2 })
    }

    fn expand(&self, node: &Node, path: &str) -> Result<Vec<Node>, ConfigError> {
        let fault = |message: String| ConfigError::new(node.place, path, message);
        let scale = self.from.scale.max(self.to.scale).max(self.step.scale);
        let (from, to, step) = (self.from.at(scale), self.to.at(scale), self.step.at(scale));
        if step <= 0 {
            return Err(fault(format!("`step` of `{path}` must be greater than 0")));
        }
        if from > to {
            return Err(fault(format!("`from` of `{path}` must not be above `to`")));
        }
        let steps = (to - from) / step;
        if steps >= MAX_POINTS as i128 {
            return Err(fault(format!("`{path}` has more than {MAX_POINTS} values")));
        }
        let value = |index: i128| Node { place: node.place, value: self.value(from + index * step, scale) };
        Ok((0..=steps).map(value).collect())
    }

    fn value(&self, mantissa: i128, scale: u32) -> Value {
        let text = Decimal { mantissa, scale }.write();
        match self.unit {
            Some(unit) => Value::Text(format!("{text} {unit}")),
            None if self.whole => i64::try_from(mantissa).map_or(Value::Float(f64::NAN), Value::Integer),
            // The nearest double to the decimal number, as if it had been written: sums of doubles would drift.
            None => Value::Float(text.parse().unwrap_or(f64::NAN)),
        }
    }
}

/// A decimal number, exactly: `mantissa / 10^scale`.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    mantissa: i128,
    scale: u32,
}

impl Decimal {
    /// Digits that a double holds exactly.
    const DIGITS: usize = 15;

    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{fraction}");
        let fits = digits.trim_start_matches(['-', '0']).len() <= Self::DIGITS && fraction.len() <= 2 * Self::DIGITS;
        let mantissa = fits.then(|| digits.parse().ok()).flatten()?;
        Some(Self { mantissa, scale: fraction.len() as u32 })
    }

    /// The mantissa at a larger scale.
    fn at(self, scale: u32) -> i128 {
        self.mantissa * 10_i128.pow(scale - self.scale)
    }

    fn write(self) -> String {
        let (sign, scale) = (if self.mantissa < 0 { "-" } else { "" }, self.scale as usize);
        let digits = format!("{:0>width$}", self.mantissa.unsigned_abs(), width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
    }
}
