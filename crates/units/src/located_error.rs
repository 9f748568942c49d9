//! Error of an input file, or of what generates such input.

use crate::key_error::KeyError;

/// Error of an input that cannot be read or made: the place at fault, and a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", self.place())]
pub struct LocatedError {
    /// File at fault, if any.
    pub file: Option<String>,
    /// Line at fault, from 1, if any.
    pub line: Option<u64>,
    /// Key or option at fault, if any.
    pub key: Option<String>,
    /// Fault, and the allowed values, as one sentence.
    pub message: String,
}

impl LocatedError {
    /// Creates an error of a whole input.
    pub fn new(message: impl Into<String>) -> Self {
        Self { file: None, line: None, key: None, message: message.into() }
    }

    /// Creates an error at a line, from 1.
    pub fn at(line: u64, message: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::new(message) }
    }

    /// Creates an error at a key or an option.
    pub fn key(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..Self::new(message) }
    }

    /// Returns this error with the name of its file.
    #[must_use]
    pub fn in_file(self, file: impl Into<String>) -> Self {
        Self { file: Some(file.into()), ..self }
    }

    /// Returns the prefix `file:line: `, as far as it is known.
    fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: "),
            (Some(file), None) => format!("{file}: "),
            (None, Some(line)) => format!("line {line}: "),
            (None, None) => String::new(),
        }
    }
}

impl From<KeyError> for LocatedError {
    fn from(error: KeyError) -> Self {
        Self::key(error.key, error.message)
    }
}
