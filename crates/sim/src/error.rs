//! Why a system cannot be built or run as asked.

/// Why a system cannot be built or run as asked: a dotted key of the experiment file, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SystemError {
    /// The dotted key, such as `topology.k`.
    pub key: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl SystemError {
    pub(crate) fn new(key: impl Into<String>, message: impl ToString) -> Self {
        Self { key: key.into(), message: message.to_string() }
    }

    /// The same error, at a key below another one.
    pub(crate) fn below(self, prefix: &str) -> Self {
        Self { key: format!("{prefix}{}", self.key), ..self }
    }
}
