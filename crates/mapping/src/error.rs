//! Errors of mappings.

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
