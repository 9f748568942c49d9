//! Topology Manager (paper, section 3.2): queries of an application about the machine that it runs on.
//!
//! | here | in the paper |
//! |---|---|
//! | `extents` | getDimNX, getDimNY, getDimNZ |
//! | `cores` | getDimNT |
//! | `is_torus` | isTorusX, isTorusY, isTorusZ |
//! | `coordinates_of_rank`, `rank_at` | rankToCoordinates, coordinatesToRank |
//! | `hops_between_ranks` | getHopsBetweenRanks |
//! | `closest_rank`, `ranks_by_hops` | pickClosestRank, sortRanksByHops |
//!
//! As in the paper, the extents are those of the allocation, found from the coordinates of its nodes. A dimension is a
//! torus if it wraps in the machine and the allocation spans all of it. Coordinates count from the allocation's corner.

use units::RouterId;

use super::{Home, Machine, RankOrder};
use crate::Hops;

/// Position of a rank in the allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankPlace {
    /// Coordinates of its node from the allocation's corner. If the machine is not a grid, the index of its place.
    pub coordinates: Vec<u32>,
    /// Number of the core on the node.
    pub core: u32,
}

impl Machine {
    /// Returns the place (index of a node in the allocation) and the core of a rank; `None` if there is no such rank.
    pub fn place_of_rank(&self, rank: u64) -> Option<(u32, u32)> {
        if rank >= self.ranks() {
            return None;
        }
        let (places, cores) = (u64::from(self.places()), u64::from(self.cores()));
        let (place, core) = match self.rank_order() {
            RankOrder::CoresFirst => (rank / cores, rank % cores),
            RankOrder::NodesFirst => (rank % places, rank / places),
        };
        Some((place as u32, core as u32))
    }

    /// Returns the rank on a core of a place; `None` if there is no such core.
    pub fn rank_of_place(&self, place: u32, core: u32) -> Option<u64> {
        if place >= self.places() || core >= self.cores() {
            return None;
        }
        let (place, core) = (u64::from(place), u64::from(core));
        Some(match self.rank_order() {
            RankOrder::CoresFirst => place * u64::from(self.cores()) + core,
            RankOrder::NodesFirst => core * u64::from(self.places()) + place,
        })
    }

    /// Returns the corner and the extent of the smallest box around the allocation, by dimension. A machine that is not
    /// a grid has one dimension, whose extent is the number of places.
    pub fn bounds(&self) -> Vec<(u32, u32)> {
        let Hops::Grid(grid) = self.hops() else { return vec![(0, self.places())] };
        let along = |dim: usize| (0..self.places()).map(move |place| u32::from(grid.of(place)[dim]));
        let bound = |dim: usize| {
            let low = along(dim).min().unwrap_or(0);
            (low, along(dim).max().unwrap_or(0) - low + 1)
        };
        (0..grid.dims.len()).map(bound).collect()
    }

    /// Returns the extents of the allocation.
    pub fn extents(&self) -> Vec<u32> {
        self.bounds().into_iter().map(|(_, extent)| extent).collect()
    }

    /// Returns whether the allocation fills its box.
    pub fn is_contiguous(&self) -> bool {
        let Hops::Grid(_) = self.hops() else { return self.places() == self.topology().nodes() };
        let points: u64 = self.extents().into_iter().map(u64::from).product();
        let routers = self.topology().routers() / self.topology().planes();
        let per_router = u64::from(self.topology().nodes()) / u64::from(routers.max(1));
        points * per_router == u64::from(self.places())
    }

    /// Returns whether the allocation wraps around, by dimension: it spans the machine's dimension, which wraps.
    pub fn is_torus(&self) -> Vec<bool> {
        let Hops::Grid(grid) = self.hops() else { return vec![false] };
        let extents = self.extents();
        (0..grid.dims.len()).map(|dim| grid.wraps[dim] && extents[dim] == grid.dims[dim]).collect()
    }

    /// Returns the position of a rank; `None` if there is no such rank.
    pub fn coordinates_of_rank(&self, rank: u64) -> Option<RankPlace> {
        let (place, core) = self.place_of_rank(rank)?;
        let coordinates = match self.hops() {
            Hops::Grid(grid) => {
                grid.of(place).iter().zip(self.bounds()).map(|(&at, (low, _))| u32::from(at) - low).collect()
            }
            Hops::Table(_) => vec![place],
        };
        Some(RankPlace { coordinates, core })
    }

    /// Returns the rank at coordinates from the allocation's corner, on a core; `None` if there is none. If several
    /// nodes share a router, returns the rank on the first.
    pub fn rank_at(&self, coordinates: &[u32], core: u32) -> Option<u64> {
        let place = match self.hops() {
            Hops::Table(_) => *coordinates.first().filter(|_| coordinates.len() == 1)?,
            Hops::Grid(grid) => {
                let bounds = self.bounds();
                if coordinates.len() != bounds.len() {
                    return None;
                }
                let here = |place: u32| {
                    let wanted = coordinates.iter().zip(&bounds).map(|(&at, &(low, _))| at.checked_add(low));
                    grid.of(place).iter().zip(wanted).all(|(&at, wanted)| wanted == Some(u32::from(at)))
                };
                (0..self.places()).find(|&place| here(place))?
            }
        };
        self.rank_of_place(place, core)
    }

    /// Returns the hops between two ranks: 0 within a node; `None` if one does not exist.
    pub fn hops_between_ranks(&self, one: u64, other: u64) -> Option<u32> {
        Some(self.hops().hops(self.place_of_rank(one)?.0, self.place_of_rank(other)?.0))
    }

    /// Returns the rank of `others` that is closest to `rank`, the first of equals. `None` if the list is empty or a
    /// rank does not exist.
    pub fn closest_rank(&self, rank: u64, others: &[u64]) -> Option<u64> {
        let hops: Option<Vec<u32>> = others.iter().map(|&other| self.hops_between_ranks(rank, other)).collect();
        let hops = hops?;
        (0..others.len()).min_by_key(|&at| (hops[at], at)).map(|at| others[at])
    }

    /// Returns the ranks of `others` sorted by their hops from `rank`. Equals keep their order. `None` if a rank does
    /// not exist.
    pub fn ranks_by_hops(&self, rank: u64, others: &[u64]) -> Option<Vec<u64>> {
        let hops: Option<Vec<u32>> = others.iter().map(|&other| self.hops_between_ranks(rank, other)).collect();
        let hops = hops?;
        let mut order: Vec<usize> = (0..others.len()).collect();
        order.sort_by_key(|&at| (hops[at], at));
        Some(order.into_iter().map(|at| others[at]).collect())
    }

    /// Returns the name of a place's node from the machine's source, or else the node's number.
    pub fn place_name(&self, place: u32) -> String {
        let node = self.nodes()[place as usize];
        self.about().names.as_ref().map_or_else(|| node.to_string(), |names| names[node.index()].clone())
    }

    /// Returns the host of a place's node from the machine's source, or else the node's name with slot 0.
    pub fn place_home(&self, place: u32) -> Home {
        let node = self.nodes()[place as usize];
        let named = || Home { host: Some(self.place_name(place)), slot: 0 };
        self.about().homes.as_ref().map_or_else(named, |homes| homes[node.index()].clone())
    }

    /// Returns the router of a place.
    pub fn router_of(&self, place: u32) -> RouterId {
        self.topology().attachment(self.nodes()[place as usize]).0
    }
}
