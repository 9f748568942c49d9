//! Errors of Chakra traces.

use mpi::program::calls::CallError;

/// Reason why Chakra traces cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChakraError {
    /// There is no file of any rank.
    #[error("there is no `{0}.0.et` or `{0}.0.json`: the file of rank 0")]
    NoFiles(String),
    /// The name of a file does not contain its rank.
    #[error("{0}: traces of Chakra are named PREFIX.RANK.et or PREFIX.RANK.json")]
    NoRank(String),
    /// A rank has no file.
    #[error("`{file}` is missing: {why}")]
    Missing {
        /// Missing file.
        file: String,
        /// Reason why the file is needed.
        why: String,
    },
    /// A rank has two files.
    #[error("`{0}` and `{1}` are of one rank")]
    Twice(String, String),
    /// A file cannot be read.
    #[error("{file}: it cannot be read: {reason}")]
    Unreadable {
        /// File.
        file: String,
        /// Reason.
        reason: String,
    },
    /// Bytes are not a message of the schema.
    #[error("{file}: byte {byte}: {reason}")]
    Garbled {
        /// File.
        file: String,
        /// Offset of the message in bytes, from 0.
        byte: u64,
        /// Description of the error.
        reason: String,
    },
    /// Text is not a trace in JSON.
    #[error("{file}: {reason}")]
    Json {
        /// File.
        file: String,
        /// Description of the error, with the line if known.
        reason: String,
    },
    /// A node cannot be carried out.
    #[error("{file}: node {node}: {reason}")]
    Node {
        /// File.
        file: String,
        /// Number of the node.
        node: u64,
        /// Description of the error.
        reason: String,
    },
    /// A process group contains ranks that do not exist.
    #[error("process group `{name}`: {error}")]
    Group {
        /// Name of the group.
        name: String,
        /// Cause.
        error: CallError,
    },
    /// Traces cannot be scaled.
    #[error("the trace cannot be scaled to {ranks} ranks: {reason}")]
    Scale {
        /// Wanted number of ranks.
        ranks: u32,
        /// Cause.
        reason: String,
    },
    /// An option is out of range.
    #[error("`{key}` is {value}; {allowed} are allowed")]
    Range {
        /// Name of the option.
        key: &'static str,
        /// Its value.
        value: String,
        /// Values allowed.
        allowed: &'static str,
    },
}
