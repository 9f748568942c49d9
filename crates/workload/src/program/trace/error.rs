//! What is wrong with a trace.

/// What is wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// A file that cannot be read or written.
    #[error("{0}")]
    File(String),
    /// Another file.
    #[error("it is no trace: it does not begin as one does")]
    NoTrace,
    /// A format that this program does not know.
    #[error("it is a trace of version {version}; version {known} is known here")]
    Version {
        /// Its version,
        version: u8,
        /// and that which is known.
        known: u8,
    },
    /// The end of a file in the middle of something.
    #[error("it has been cut off: it ends in the middle of {0}")]
    Cut(&'static str),
    /// What no recorder writes.
    #[error("it is garbled: {0}")]
    Garbled(String),
    /// What is wrong with what a rank has called.
    #[error("rank {rank}, byte {byte}: {error}")]
    OfRank {
        /// The rank.
        rank: u32,
        /// Where, from the begin of what the rank has called.
        byte: u64,
        /// What is wrong.
        error: Box<Self>,
    },
    /// Collective operations that switches cannot carry out, since members do not share them.
    #[error(
        "{0}; switches need the same operations, in one order, of all members: `collectives = \"software\"` does not"
    )]
    Unshared(String),
    /// A file of a rank that is missing.
    #[error("rank {rank} of {ranks} has written nothing")]
    Missing {
        /// The rank.
        rank: u32,
        /// How many there are.
        ranks: u32,
    },
}

impl TraceError {
    /// What no recorder writes.
    pub(super) fn garbled(what: impl Into<String>) -> Self {
        Self::Garbled(what.into())
    }

    /// What cannot be read or written.
    pub(super) fn file(error: &std::io::Error) -> Self {
        Self::File(format!("it cannot be read: {}", units::reason(error)))
    }

    /// The same, of a rank at a byte.
    pub(super) fn of_rank(self, rank: u32, byte: u64) -> Self {
        match self {
            Self::Cut(_) | Self::Garbled(_) => Self::OfRank { rank, byte, error: Box::new(self) },
            other => other,
        }
    }
}
