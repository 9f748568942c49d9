//! Errors of traces.

/// Error of a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// A file cannot be read or written.
    #[error("{0}")]
    File(String),
    /// The file is not a trace.
    #[error("it is no trace: it does not begin as one does")]
    NoTrace,
    /// The version of the format is unknown.
    #[error("it is a trace of version {version}; version {known} is known here")]
    Version {
        /// Version of the file.
        version: u8,
        /// Version that this program knows.
        known: u8,
    },
    /// The file ends in the middle of an item.
    #[error("it has been cut off: it ends in the middle of {0}")]
    Cut(&'static str),
    /// The content is one that no recorder writes.
    #[error("it is garbled: {0}")]
    Garbled(String),
    /// The calls of a rank are invalid.
    #[error("rank {rank}, byte {byte}: {error}")]
    OfRank {
        /// Rank.
        rank: u32,
        /// Byte offset from the start of the rank's calls.
        byte: u64,
        /// Error at that byte.
        error: Box<Self>,
    },
    /// Members of a communicator do not share its collective operations, so that switches cannot carry them out.
    #[error(
        "{0}; switches need the same operations, in one order, of all members: `collectives = \"software\"` does not"
    )]
    Unshared(String),
    /// The file of a rank is missing.
    #[error("rank {rank} of {ranks} has written nothing")]
    Missing {
        /// Rank.
        rank: u32,
        /// Number of ranks.
        ranks: u32,
    },
}

impl TraceError {
    /// Creates the error for content that no recorder writes.
    pub(super) fn garbled(what: impl Into<String>) -> Self {
        Self::Garbled(what.into())
    }

    /// Creates the error for a file that cannot be read or written.
    pub(super) fn file(error: &std::io::Error) -> Self {
        Self::File(format!("it cannot be read: {}", units::reason(error)))
    }

    /// Adds the rank and the byte offset to an error.
    pub(super) fn of_rank(self, rank: u32, byte: u64) -> Self {
        match self {
            Self::Cut(_) | Self::Garbled(_) => Self::OfRank { rank, byte, error: Box::new(self) },
            other => other,
        }
    }
}
