//! Ranks of communicators.

use std::io::Read;
use std::sync::Arc;

use super::error::TraceError;
use super::source::{Reader, put, put_all};
use mpi::communicator::Group;

/// Ranks of a communicator, in the order of its members.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Members {
    /// Ranks at equal distances.
    Even {
        /// First rank.
        first: u32,
        /// Difference between consecutive ranks, at least 1.
        stride: u32,
        /// Number of ranks, at least 1.
        count: u32,
    },
    /// Any other ranks.
    List(Vec<u32>),
}

impl Members {
    /// Reads the ranks of a communicator in a program of `ranks` ranks.
    pub fn read<R: Read>(reader: &mut Reader<R>, ranks: u32) -> Result<Self, TraceError> {
        let is_even = reader.number_to(1, "the form of a communicator")? == 1;
        let count = reader.number_32(ranks, "the size of a communicator")?;
        if count == 0 {
            return Err(TraceError::garbled("a communicator has no members"));
        }
        if is_even {
            let first = reader.number_32(ranks - 1, "a rank of a communicator")?;
            let stride = reader.number_32(ranks, "the stride of a communicator")?;
            let last = u64::from(first) + u64::from(stride) * u64::from(count - 1);
            return match stride > 0 && last < u64::from(ranks) {
                true => Ok(Self::Even { first, stride, count }),
                false => Err(TraceError::garbled("a communicator has ranks beyond the last one")),
            };
        }
        // Memory grows with the bytes in the file, not with the number that it states.
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(reader.number_32(ranks - 1, "a rank of a communicator")?);
        }
        let mut sorted = list.clone();
        sorted.sort_unstable();
        match sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            true => Err(TraceError::garbled("a communicator has a rank twice")),
            false => Ok(Self::List(list)),
        }
    }

    /// Writes the ranks in the format that `read` reads.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Even { first, stride, count } => {
                put_all([1, u64::from(*count), u64::from(*first), u64::from(*stride)], bytes);
            }
            Self::List(list) => {
                put(0, bytes);
                put(list.len() as u64, bytes);
                list.iter().for_each(|&rank| put(u64::from(rank), bytes));
            }
        }
    }

    /// Returns the group of these ranks.
    pub fn group(&self) -> Group {
        match self {
            &Self::Even { first, stride, count } => Group::Progression { first, stride, count },
            Self::List(list) => Group::list(Arc::from(&list[..])),
        }
    }
}
