//! Ranks divided into groups of equal size.

use crate::communicator::{Communicator, Context, Group};

/// Groups of so many ranks each, a stride apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grouping {
    ranks: u32,
    size: u32,
    stride: u32,
}

impl Grouping {
    /// Groups of so many ranks, every so many.
    ///
    /// # Errors
    /// Ranks that cannot be divided so.
    pub fn new(ranks: u32, size: u32, stride: u32) -> Result<Self, String> {
        let block = u64::from(size) * u64::from(stride);
        if block == 0 || !u64::from(ranks).is_multiple_of(block) {
            let every = if stride > 1 { format!(" every {stride} ranks") } else { String::new() };
            return Err(format!("{ranks} ranks are not whole groups of {size}{every}"));
        }
        Ok(Self { ranks, size, stride })
    }

    /// Ranks of a group.
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// How many groups there are.
    pub const fn groups(&self) -> u32 {
        self.ranks / self.size
    }

    /// The group of a rank.
    pub const fn group_of(&self, rank: u32) -> u32 {
        rank / (self.size * self.stride) * self.stride + rank % self.stride
    }

    /// A rank's place in its group.
    pub const fn place(&self, rank: u32) -> u32 {
        rank / self.stride % self.size
    }

    /// The ranks of a group.
    pub const fn group(&self, group: u32) -> Group {
        let first = group / self.stride * self.size * self.stride + group % self.stride;
        Group::Progression { first, stride: self.stride, count: self.size }
    }

    /// The communicator of a rank's group, of a number below the most.
    pub fn communicator(&self, rank: u32, number: u32) -> Communicator {
        let context = Context::new(number).unwrap_or(Context::WORLD);
        let world = || Communicator::world(rank, self.ranks);
        Communicator::new(context, self.group(self.group_of(rank)), rank).unwrap_or_else(world)
    }
}
