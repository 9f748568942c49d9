//! Routings on grids of routers whose lines are cliques (HyperX): dimension order, and the adaptive routings that leave
//! it.
//!
//! A *direct* hop sets a coordinate to that of the destination. A *deroute* sets it to another one. A dimension is
//! *open* while the coordinate differs from the destination's. Parallel wires are separate candidates.

mod dal;
mod dim_war;
mod dimension_order;
mod loads;

use topology::views::Cliques;
use units::{NodeId, PortId, RouterId};

pub use dal::DalSpec;
pub use dim_war::DimWarSpec;
pub(super) use dimension_order::CliqueOrder;

/// Packet at a router, by coordinates.
#[derive(Clone, Copy)]
struct Position<'a> {
    cliques: &'a Cliques,
    at: RouterId,
    home: RouterId,
}

impl<'a> Position<'a> {
    #[inline]
    fn new(cliques: &'a Cliques, at: RouterId, dst: NodeId) -> Self {
        Self { cliques, at, home: cliques.home(dst).0 }
    }

    /// Returns the coordinates of the router and of the destination in a dimension.
    #[inline]
    fn coordinates(&self, dim: usize) -> (u32, u32) {
        (self.cliques.coordinate(self.at, dim), self.cliques.coordinate(self.home, dim))
    }

    /// Returns whether a dimension is open.
    #[inline]
    fn is_open(&self, dim: usize) -> bool {
        let (own, wanted) = self.coordinates(dim);
        own != wanted
    }

    /// Returns the number of open dimensions: the distance.
    #[inline]
    fn distance(&self) -> u32 {
        (0..self.cliques.lines().len()).filter(|&dim| self.is_open(dim)).count() as u32
    }

    /// Returns whether a port of a dimension is a direct hop.
    #[inline]
    fn is_direct(&self, dim: usize, port: PortId) -> bool {
        let (own, wanted) = self.coordinates(dim);
        self.cliques.lines()[dim].peer(own, port) == wanted
    }
}
