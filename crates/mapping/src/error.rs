//! Errors of machines and mappings.

/// Why a machine cannot be read or made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", self.place())]
pub struct MachineError {
    /// The file, if one is at fault.
    pub file: Option<String>,
    /// Its line, from 1, if one is at fault.
    pub line: Option<u64>,
    /// The key or option that is at fault, if one is.
    pub key: Option<&'static str>,
    /// What is wrong and what is allowed, as one sentence.
    pub message: String,
}

impl MachineError {
    /// An error at a key or option.
    pub fn key(key: &'static str, message: impl Into<String>) -> Self {
        Self { file: None, line: None, key: Some(key), message: message.into() }
    }

    /// An error at a line of a file, from 1.
    pub fn at(line: u64, message: impl Into<String>) -> Self {
        Self { file: None, line: Some(line), key: None, message: message.into() }
    }

    /// An error of a file as a whole, or of a machine as a whole.
    pub fn new(message: impl Into<String>) -> Self {
        Self { file: None, line: None, key: None, message: message.into() }
    }

    /// The same, in a file.
    #[must_use]
    pub fn in_file(self, file: impl Into<String>) -> Self {
        Self { file: Some(file.into()), ..self }
    }

    /// `file:line: `, as far as it is known.
    fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: "),
            (Some(file), None) => format!("{file}: "),
            (None, Some(line)) => format!("line {line}: "),
            (None, None) => String::new(),
        }
    }
}

impl From<topology::TopologyError> for MachineError {
    fn from(error: topology::TopologyError) -> Self {
        Self::key(error.key, error.message)
    }
}

/// Why a graph cannot be mapped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// The options and the graph or the machine do not go together.
    #[error("{message}")]
    Unfit {
        /// The option that is at fault: a key of `MapSpec`, `graph`, `machine` or `fixed`.
        key: &'static str,
        /// What is wrong and what is allowed, as one sentence.
        message: String,
    },
    /// The search was stopped before it had found a mapping.
    #[error("the search was stopped before it had found a mapping")]
    Cancelled,
}

impl MappingError {
    /// An error at an option.
    pub fn unfit(key: &'static str, message: impl Into<String>) -> Self {
        Self::Unfit { key, message: message.into() }
    }
}
