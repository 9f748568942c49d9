//! Members of a communicator by island of the first of several networks, such as the GPUs of an NVLink domain.
//!
//! Islands have equal numbers of members. The members at one place of all islands are a *rail*. An island and a rail
//! have one member in common, which owns one slice of the data of its island, and one piece of the data of its rail.

use std::sync::Arc;

use super::Group;

/// Reason why the members of a communicator are not in equal islands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IslandError {
    /// There is one network, or nodes are not known.
    #[error("the machine has one network, and no islands of a first network")]
    OneNetwork,
    /// Members share a node.
    #[error("several ranks share an endpoint, and one is allowed")]
    Shared,
    /// A member has no port in the first network.
    #[error("rank {rank} has no port in the first network")]
    NoPort {
        /// Rank of the member.
        rank: u32,
    },
    /// Islands have different numbers of members.
    #[error("islands of the first network have {least} to {most} of its ranks, and equal numbers are allowed")]
    Unequal {
        /// Number of members of the smallest island.
        least: u32,
        /// Number of members of the largest island.
        most: u32,
    },
}

/// Members of a communicator by island and rail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Islands {
    /// Ranks, island by island, in the order of first members and then of members.
    islands: Arc<[u32]>,
    /// Ranks, rail by rail.
    rails: Arc<[u32]>,
    /// Number of islands.
    count: u32,
    /// Place of each member in `islands`.
    places: Vec<u32>,
}

impl Islands {
    /// Returns the islands of members. `ranks` holds the ranks of the members, `nodes` the node of each, and `island_of`
    /// the island of each node of the machine.
    ///
    /// # Errors
    /// [`IslandError`] unless islands have equal numbers of members, one on each node.
    pub(super) fn of((ranks, nodes): (&[u32], &[u32]), island_of: &[Option<u32>]) -> Result<Self, IslandError> {
        if island_of.is_empty() {
            return Err(IslandError::OneNetwork);
        }
        if ranks.len() != nodes.len() {
            return Err(IslandError::Shared);
        }
        let mut sorted = Vec::with_capacity(ranks.len());
        for (member, (&node, &rank)) in (0..).zip(nodes.iter().zip(ranks)) {
            let island = island_of.get(node as usize).copied().flatten().ok_or(IslandError::NoPort { rank })?;
            sorted.push((island, member));
        }
        sorted.sort_unstable();
        let mut all: Vec<&[(u32, u32)]> = sorted.chunk_by(|one, other| one.0 == other.0).collect();
        all.sort_unstable_by_key(|members| members[0].1);
        let sizes = || all.iter().map(|members| members.len() as u32);
        let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
        if least != most {
            return Err(IslandError::Unequal { least, most });
        }
        let members: Vec<u32> = all.iter().flat_map(|own| own.iter().map(|own| own.1)).collect();
        let mut places = vec![0; members.len()];
        (0..).zip(&members).for_each(|(place, &member)| places[member as usize] = place);
        let rank = |place: usize| ranks[members[place] as usize];
        let (count, size) = (all.len(), most as usize);
        let rails = (0..size).flat_map(|own| (0..count).map(move |island| island * size + own)).map(rank).collect();
        Ok(Self { islands: (0..members.len()).map(rank).collect(), rails, count: count as u32, places })
    }

    /// Returns the number of islands.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Returns the number of members of an island, and of rails.
    pub fn size(&self) -> u32 {
        self.islands.len() as u32 / self.count.max(1)
    }

    /// Returns the island of a member, and its place there, which is its rail.
    pub fn place(&self, member: u32) -> (u32, u32) {
        let (place, size) = (self.places[member as usize], self.size());
        (place / size, place % size)
    }

    /// Returns the members of an island.
    pub fn island(&self, island: u32) -> Group {
        let count = self.size();
        Group::List { ranks: Arc::clone(&self.islands), first: island * count, count }
    }

    /// Returns the members of a rail.
    pub fn rail(&self, rail: u32) -> Group {
        Group::List { ranks: Arc::clone(&self.rails), first: rail * self.count, count: self.count }
    }
}
