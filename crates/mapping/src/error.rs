//! Errors of machines and mappings.

/// Maximum number of characters of a name in a message.
const LONGEST_WORD: usize = 100;

/// Error of a machine that cannot be read or made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", self.place())]
pub struct MachineError {
    /// File at fault, if any.
    pub file: Option<String>,
    /// Line at fault, from 1, if any.
    pub line: Option<u64>,
    /// Key or option at fault, if any.
    pub key: Option<&'static str>,
    /// Message as one sentence: the fault, and the allowed values.
    pub message: String,
}

impl MachineError {
    /// Creates an error at a key or option.
    pub fn key(key: &'static str, message: impl Into<String>) -> Self {
        Self { key: Some(key), ..Self::new(message) }
    }

    /// Creates an error at a line of a file, from 1.
    pub fn at(line: u64, message: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::new(message) }
    }

    /// Creates an error of a whole file or machine. Long names in its message are shortened.
    pub fn new(message: impl Into<String>) -> Self {
        Self { file: None, line: None, key: None, message: shorten(message.into()) }
    }

    /// Returns this error with the name of its file.
    #[must_use]
    pub fn in_file(self, file: impl Into<String>) -> Self {
        Self { file: Some(file.into()), ..self }
    }

    /// Returns `file:line: `, as far as it is known.
    fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: "),
            (Some(file), None) => format!("{file}: "),
            (None, Some(line)) => format!("line {line}: "),
            (None, None) => String::new(),
        }
    }
}

/// Cuts the words of a message, except paths, to `LONGEST_WORD` characters: a file may have names of any length.
fn shorten(message: String) -> String {
    let is_long = |word: &str| word.len() > LONGEST_WORD && !word.contains('/') && word.chars().count() > LONGEST_WORD;
    if !message.split(char::is_whitespace).any(is_long) {
        return message;
    }
    let cut = |word: &str| match word.char_indices().nth(LONGEST_WORD - 1) {
        Some((end, _)) if is_long(word.trim_end()) => {
            let space = &word[word.trim_end().len()..];
            format!("{}…{space}", &word[..end])
        }
        _ => word.to_owned(),
    };
    message.split_inclusive(char::is_whitespace).map(cut).collect()
}

impl From<topology::TopologyError> for MachineError {
    fn from(error: topology::TopologyError) -> Self {
        Self::key(error.key, error.message)
    }
}

/// Error of a graph that cannot be mapped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// The options do not fit the graph or the machine.
    #[error("{message}")]
    Unfit {
        /// Option at fault: a key of `MapSpec`, `graph`, `machine` or `fixed`.
        key: &'static str,
        /// Message as one sentence: the fault, and the allowed values.
        message: String,
    },
    /// The search was stopped before it found a mapping.
    #[error("the search was stopped before it had found a mapping")]
    Cancelled,
}

impl MappingError {
    /// Creates an error at an option.
    pub fn unfit(key: &'static str, message: impl Into<String>) -> Self {
        Self::Unfit { key, message: message.into() }
    }
}
