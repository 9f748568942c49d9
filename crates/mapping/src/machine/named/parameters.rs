//! Parameters of a named machine, and the expressions of its file that depend on them.
//!
//! A text that begins with `$` is a product of factors, separated by `*`: whole numbers, names of parameters, and
//! choices `name[a,b,c]`. A choice has a value for each of the parameter's `sizes`, and stands for that of the smallest
//! size which is not below the parameter.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Value;
use units::shortened;

use super::NameError;

/// A parameter, as the file of a machine declares it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameter {
    /// Meaning.
    pub about: String,
    /// Value of a machine that is named without the parameter. Absent if it has to be given.
    pub default: Option<i64>,
    /// Smallest value.
    pub min: i64,
    /// Largest value.
    pub max: i64,
    /// Sizes among which choices select, in ascending order. The last one is `max`.
    #[serde(default)]
    pub sizes: Vec<i64>,
}

/// Parameters by name.
pub(super) type Parameters = BTreeMap<String, Parameter>;

/// Values of all parameters.
pub(super) struct Values<'a> {
    parameters: &'a Parameters,
    values: BTreeMap<&'a str, i64>,
}

impl<'a> Values<'a> {
    /// Reads the settings of machine `name`: `groups=4,wires=2`, or one bare number if the machine has one parameter.
    ///
    /// # Errors
    /// If a parameter does not exist, is given twice, has an invalid value, or is missing.
    pub fn read(name: &str, settings: &str, parameters: &'a Parameters) -> Result<Self, NameError> {
        let mut values = BTreeMap::new();
        for setting in settings.split(',').map(str::trim).filter(|setting| !setting.is_empty()) {
            let (key, text) = match (setting.split_once('='), parameters.len()) {
                (Some((key, text)), _) => (key.trim(), text.trim()),
                (None, 1) => (parameters.keys().next().map_or("", |only| only), setting),
                (None, _) => (setting, ""),
            };
            let Some((key, parameter)) = parameters.get_key_value(key) else {
                let about = parameters.iter().map(|(key, own)| format!("{key} ({})", own.about)).collect::<Vec<_>>();
                let known = if about.is_empty() { "it has none".to_owned() } else { about.join(", ") };
                let message = format!("`{name}` has no parameter `{}`: {known}", shortened(key));
                return Err(NameError::new(message, key, parameters.keys()));
            };
            let wrong = |what: String| NameError::new(format!("`{key}` of `{name}` {what}"), text, []);
            let Some(value) = text.parse().ok().filter(|value| (parameter.min..=parameter.max).contains(value)) else {
                let range = format!("from {} to {}", parameter.min, parameter.max);
                return Err(wrong(format!("is `{}`; it must be a whole number {range}", shortened(text))));
            };
            if values.insert(key.as_str(), value).is_some() {
                return Err(wrong("is given twice".to_owned()));
            }
        }
        for (key, parameter) in parameters {
            let Some(value) = values.get(key.as_str()).copied().or(parameter.default) else {
                let message =
                    format!("`{name}` needs `{key}` ({}), such as `{name}:{key}={}`", parameter.about, parameter.max);
                return Err(NameError::new(message, "", []));
            };
            values.insert(key, value);
        }
        Ok(Self { parameters, values })
    }

    /// Replaces all expressions in a value.
    ///
    /// # Errors
    /// The first expression that is not of the form.
    pub fn fill(&self, value: &mut Value) -> Result<(), String> {
        match value {
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.fill(item)),
            Value::Table(table) => table.iter_mut().try_for_each(|(_, item)| self.fill(item)),
            Value::String(text) => {
                if let Some(expression) = text.strip_prefix('$') {
                    *value = self.evaluate(expression)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns the value of an expression without its `$`. `None`: it is no number.
    ///
    /// # Errors
    /// If it is not of the form, or too large.
    pub fn product(&self, expression: &str) -> Result<Option<i64>, String> {
        Ok(self.evaluate(expression)?.as_integer())
    }

    fn evaluate(&self, expression: &str) -> Result<Value, String> {
        let factors = expression.split('*').map(|factor| self.factor(factor.trim())).collect::<Result<Vec<_>, _>>()?;
        if let [only] = &factors[..] {
            return Ok(only.clone());
        }
        let product = |product: i64, factor: &Value| product.checked_mul(factor.as_integer()?);
        let product = factors.iter().try_fold(1, product).ok_or_else(|| format!("`${expression}` is no number"))?;
        Ok(Value::Integer(product))
    }

    fn factor(&self, factor: &str) -> Result<Value, String> {
        let unknown = || format!("`{factor}` is no number and no parameter");
        let number = |text: &str| text.parse().map(Value::Integer).ok();
        if let Some((key, choices)) = factor.strip_suffix(']').and_then(|factor| factor.split_once('[')) {
            let (value, sizes) = self
                .values
                .get(key)
                .zip(self.parameters.get(key))
                .map(|(value, own)| (value, &own.sizes))
                .ok_or_else(unknown)?;
            let chosen = sizes.iter().position(|size| size >= value).and_then(|index| choices.split(',').nth(index));
            let chosen = chosen.ok_or_else(unknown)?.trim();
            return Ok(number(chosen).unwrap_or_else(|| Value::String(chosen.to_owned())));
        }
        self.values.get(factor).map(|&value| Value::Integer(value)).or_else(|| number(factor)).ok_or_else(unknown)
    }
}
