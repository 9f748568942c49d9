//! Ranges of a sweep: equidistant values, exact in decimals.

use super::error::ConfigError;
use super::tree::{Node, Table, Value};

/// Maximum number of points of one experiment.
pub const MAX_POINTS: usize = 100_000;

/// Range of equidistant values, with the unit that follows each number (`None` for plain numbers).
pub(crate) struct Range<'a> {
    from: Decimal,
    to: Decimal,
    step: Decimal,
    unit: Option<&'a str>,
    whole: bool,
}

impl<'a> Range<'a> {
    /// Reads `{ from = 0.1, to = 1.0, step = 0.1 }`.
    pub fn read(table: &'a Table, node: &Node, path: &str) -> Result<Self, ConfigError> {
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

    /// Returns the values. The end is included if a whole number of steps leads to it.
    pub fn expand(&self, node: &Node, path: &str) -> Result<Vec<Node>, ConfigError> {
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
            // The double nearest to the decimal number, as if the file had it. Sums of doubles would drift.
            None => Value::Float(text.parse().unwrap_or(f64::NAN)),
        }
    }
}

/// Exact decimal number: `mantissa / 10^scale`.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    mantissa: i128,
    scale: u32,
}

impl Decimal {
    /// Number of decimal digits that a double holds exactly.
    const DIGITS: usize = 15;

    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{fraction}");
        let fits = digits.trim_start_matches(['-', '0']).len() <= Self::DIGITS && fraction.len() <= 2 * Self::DIGITS;
        let mantissa = fits.then(|| digits.parse().ok()).flatten()?;
        Some(Self { mantissa, scale: fraction.len() as u32 })
    }

    /// Returns the mantissa at a larger scale.
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
