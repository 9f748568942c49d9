//! What is wrong with traces.

use crate::program::calls::CallError;

/// Why traces cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChakraError {
    /// No file of any rank.
    #[error("there is no `{0}.0.et` or `{0}.0.json`: the file of rank 0")]
    NoFiles(String),
    /// A file whose name does not say its rank.
    #[error("{0}: traces of Chakra are named PREFIX.RANK.et or PREFIX.RANK.json")]
    NoRank(String),
    /// A rank without a file.
    #[error("`{file}` is missing: {why}")]
    Missing {
        /// The file that is not there.
        file: String,
        /// Why it has to be.
        why: String,
    },
    /// Two files of one rank.
    #[error("`{0}` and `{1}` are of one rank")]
    Twice(String, String),
    /// A file that cannot be read.
    #[error("{file}: it cannot be read: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// Bytes that are no message of the schema.
    #[error("{file}: byte {byte}: {reason}")]
    Garbled {
        /// The file.
        file: String,
        /// Where the message begins, from 0.
        byte: u64,
        /// What is wrong.
        reason: String,
    },
    /// Text that is no JSON of a trace.
    #[error("{file}: {reason}")]
    Json {
        /// The file.
        file: String,
        /// What is wrong, with the line if it is known.
        reason: String,
    },
    /// A node that cannot be carried out.
    #[error("{file}: node {node}: {reason}")]
    Node {
        /// The file.
        file: String,
        /// The node's number.
        node: u64,
        /// What is wrong.
        reason: String,
    },
    /// A process group with ranks that do not exist.
    #[error("process group `{name}`: {error}")]
    Group {
        /// The group.
        name: String,
        /// What is wrong.
        error: CallError,
    },
    /// An option out of range.
    #[error("`{key}` is {value}; {allowed} are allowed")]
    Range {
        /// The option.
        key: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
}
