//! What is wrong with traces.

use crate::program::calls::CallError;

/// Why traces cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChakraError {
    /// No file of a rank.
    #[error("there is no `{0}.0.et`: the file of rank 0")]
    NoFiles(String),
    /// A file that cannot be read.
    #[error("{file}: it cannot be read: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// What is no message of the schema.
    #[error("{file}: byte {byte}: {reason}")]
    Garbled {
        /// The file.
        file: String,
        /// Where the message begins, from 0.
        byte: u64,
        /// What is wrong.
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
}
