//! Error at a key of the experiment file.

/// Error of a specification: the key at fault, and a message.
///
/// A crate names the key below the section that it reads. Each caller puts the path of that section before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct KeyError {
    /// Dotted key, such as `topology.k`. Empty if the whole section is at fault.
    pub key: String,
    /// Fault, and the allowed values, as one sentence.
    pub message: String,
}

impl KeyError {
    /// Creates an error at a key.
    pub fn new(key: impl Into<String>, message: impl ToString) -> Self {
        Self { key: key.into(), message: message.to_string() }
    }

    /// Returns this error with the key below a section or table.
    #[must_use]
    pub fn under(self, section: &str) -> Self {
        let key = match (section, &self.key[..]) {
            ("", _) => self.key,
            (_, "") => section.to_owned(),
            (_, key) => format!("{section}.{key}"),
        };
        Self { key, ..self }
    }
}

/// Results that fail with a [`KeyError`].
pub trait KeyResult<T> {
    /// Error of the result.
    type Error;

    /// Puts the path of a section before the key of an error.
    ///
    /// # Errors
    /// The error of the result, with the longer key.
    fn under(self, section: &str) -> Result<T, KeyError>
    where
        Self::Error: Into<KeyError>;

    /// Puts an error at a key.
    ///
    /// # Errors
    /// The message of the result's error, at the key.
    fn at_key(self, key: &str) -> Result<T, KeyError>
    where
        Self::Error: ToString;
}

impl<T, E> KeyResult<T> for Result<T, E> {
    type Error = E;

    fn under(self, section: &str) -> Result<T, KeyError>
    where
        E: Into<KeyError>,
    {
        self.map_err(|error| error.into().under(section))
    }

    fn at_key(self, key: &str) -> Result<T, KeyError>
    where
        E: ToString,
    {
        self.map_err(|error| KeyError::new(key, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_joined_by_one_dot() {
        // Would catch a key without its section, a dot at either end, and two dots.
        let at = |section: &str, key: &str| KeyError::new(key, "no").under(section).key;
        assert_eq!(at("topology", "k"), "topology.k");
        assert_eq!((at("", "k"), at("topology", "")), ("k".to_owned(), "topology".to_owned()));
        let failed: Result<(), _> = Err::<(), _>("no").at_key("k").under("topology").under("job.a");
        assert_eq!(failed, Err(KeyError::new("job.a.topology.k", "no")));
    }
}
