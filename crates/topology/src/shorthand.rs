//! Shorthand of a machine on the command line: `kind:VALUE` or `kind:key=value,key=value`.

use units::KeyError;

/// Settings after a kind's colon, by key.
pub(crate) struct Settings<'a> {
    values: Vec<(&'static str, &'a str)>,
}

impl<'a> Settings<'a> {
    /// Reads `key=value,key=value`. A first setting without a key belongs to the first of `keys`.
    pub(crate) fn read(text: &'a str, keys: &[&'static str]) -> Result<Self, KeyError> {
        let mut values: Vec<(&'static str, &str)> = Vec::new();
        for (place, setting) in text.split(',').enumerate() {
            let (key, value) = match setting.split_once('=') {
                Some((key, value)) => (key.trim(), value.trim()),
                None if place == 0 => (keys[0], setting.trim()),
                None => ("", setting.trim()),
            };
            let Some(&key) = keys.iter().find(|&&known| known == key) else {
                let message = format!("`{}` is not one of the settings {}", short(setting), keys.join("=, ") + "=");
                return Err(KeyError::new(keys[0], message));
            };
            if values.iter().any(|&(given, _)| given == key) {
                return Err(KeyError::new(key, format!("`{key}` is given twice")));
            }
            values.push((key, value));
        }
        Ok(Self { values })
    }

    /// Returns the text of a setting, if given.
    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.values.iter().find(|&&(given, _)| given == key).map(|&(_, value)| value)
    }

    /// Returns a required whole number.
    pub(crate) fn number(&self, key: &'static str) -> Result<u64, KeyError> {
        let missing = || KeyError::new(key, format!("`{key}` is missing, as in {key}=4"));
        number(key, self.text(key).ok_or_else(missing)?)
    }

    /// Returns a whole number, or `default` if it is not given.
    pub(crate) fn number_or(&self, key: &'static str, default: u64) -> Result<u64, KeyError> {
        self.text(key).map_or(Ok(default), |text| number(key, text))
    }

    /// Returns a whole number, if it is given.
    pub(crate) fn number_if_given(&self, key: &'static str) -> Result<Option<u64>, KeyError> {
        self.text(key).map(|text| number(key, text)).transpose()
    }

    /// Returns a setting whose values are the names of type `T`, if given.
    pub(crate) fn named<T: serde::de::DeserializeOwned>(&self, key: &'static str) -> Result<Option<T>, KeyError> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let name = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(text);
        T::deserialize(name).map(Some).map_err(|error| KeyError::new(key, format!("`{key}`: {error}")))
    }

    /// Returns a list of whole numbers separated by `x`, such as `8x8x8`.
    pub(crate) fn numbers(&self, key: &'static str) -> Result<Vec<u64>, KeyError> {
        numbers(key, self.text(key).unwrap_or(""))
    }

    /// Returns whether each dimension has a property, from the numbers 1 and 0 separated by `x`, such as `1x0`.
    pub(crate) fn truths(&self, key: &'static str) -> Result<Vec<bool>, KeyError> {
        let numbers = self.numbers(key)?;
        match numbers.iter().find(|&&number| number > 1) {
            Some(number) => {
                Err(KeyError::new(key, format!("`{key}` has {number}; it is 1 or 0 for each dimension, as 1x1x0")))
            }
            None => Ok(numbers.into_iter().map(|number| number == 1).collect()),
        }
    }

    /// Returns lists of whole numbers, separated by `/`, such as `0x0/4x0`.
    pub(crate) fn rows(&self, key: &'static str) -> Result<Vec<Vec<u64>>, KeyError> {
        self.text(key).unwrap_or("").split('/').map(|text| numbers(key, text)).collect()
    }
}

fn numbers(key: &'static str, text: &str) -> Result<Vec<u64>, KeyError> {
    text.split('x').map(|text| number(key, text)).collect()
}

fn number(key: &'static str, text: &str) -> Result<u64, KeyError> {
    let message = || format!("`{key}` has `{}`, which is not a whole number (below 2^64)", short(text));
    text.parse().map_err(|_| KeyError::new(key, message()))
}

/// Returns a piece of the user's text for an error: printable and of limited length.
pub(crate) fn short(text: &str) -> String {
    const MOST: usize = 40;
    let start: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() { start + "..." } else { start }
}
