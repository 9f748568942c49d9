//! Errors of systems that cannot be built or run.

/// Error of a system that cannot be built or run: a dotted key of the experiment file, and a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SystemError {
    /// Dotted key, such as `topology.k`.
    pub key: String,
    /// Message: the fault, and the allowed values.
    pub message: String,
}

impl SystemError {
    /// Creates an error of the key `key`.
    pub fn new(key: impl Into<String>, message: impl ToString) -> Self {
        Self { key: key.into(), message: message.to_string() }
    }

    /// Returns this error at a key below another key.
    pub fn below(self, prefix: &str) -> Self {
        Self { key: format!("{prefix}{}", self.key), ..self }
    }
}
