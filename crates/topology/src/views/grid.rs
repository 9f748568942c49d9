//! Grid of routers: the coordinates and ports of tori and meshes.

use units::{Boundary, Direction, PortId, RouterId};

use crate::divisor::Divisor;
use crate::wires::ChannelClass;

/// Grid of routers with wires to the neighbours in each dimension. Each dimension wraps or not.
///
/// A router's number is its coordinates in mixed radix, first dimension fastest. Every router has an equal number of
/// nodes, numbered router by router.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Name of its family.
    pub(crate) kind: &'static str,
    pub(crate) sizes: Vec<u32>,
    pub(crate) routers: u32,
    pub(crate) nodes_per_router: u16,
    pub(crate) by_nodes: Divisor,
    pub(crate) axes: Vec<Axis>,
}

/// Dimension, prepared for extracting coordinates from router numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    size: u32,
    boundary: Boundary,
    /// Difference between the numbers of neighbours.
    stride: u32,
    by_size: Divisor,
    by_stride: Divisor,
}

impl Grid {
    /// Creates a grid of checked sizes, each with the boundary of its dimension.
    pub(crate) fn of(
        kind: &'static str,
        sizes: Vec<u32>,
        nodes_per_router: u16,
        boundaries: impl Iterator<Item = Boundary>,
    ) -> Self {
        let mut stride = 1;
        let mut axes = Vec::with_capacity(sizes.len());
        for (&size, boundary) in sizes.iter().zip(boundaries) {
            axes.push(Axis { size, boundary, stride, by_size: Divisor::new(size), by_stride: Divisor::new(stride) });
            stride *= size;
        }
        let by_nodes = Divisor::new(u32::from(nodes_per_router));
        Self { kind, sizes, routers: stride, nodes_per_router, by_nodes, axes }
    }

    /// Returns the number of routers in each dimension.
    #[inline]
    pub fn dims(&self) -> &[u32] {
        &self.sizes
    }

    /// Returns whether a dimension wraps.
    #[inline]
    pub fn wraps(&self, dim: usize) -> bool {
        self.axes[dim].boundary.is_periodic()
    }

    /// Returns whether any dimension wraps.
    pub fn has_rings(&self) -> bool {
        self.axes.iter().any(|axis| axis.boundary.is_periodic())
    }

    /// Returns whether every dimension wraps.
    pub fn is_torus(&self) -> bool {
        self.axes.iter().all(|axis| axis.boundary.is_periodic())
    }

    /// Returns the number of nodes on each router.
    #[inline]
    pub fn nodes_per_router(&self) -> u16 {
        self.nodes_per_router
    }

    /// Returns a router's coordinate in a dimension.
    #[inline]
    pub fn coordinate(&self, router: RouterId, dim: usize) -> u32 {
        let axis = self.axes[dim];
        axis.by_size.remainder(axis.by_stride.quotient(router.0))
    }

    /// Returns the router at `coordinates`; `None` unless there is one for each dimension, below its size.
    pub fn router_at(&self, coordinates: &[u32]) -> Option<RouterId> {
        let inside = |(axis, &coordinate): (&Axis, &u32)| coordinate < axis.size;
        let valid = coordinates.len() == self.axes.len() && self.axes.iter().zip(coordinates).all(inside);
        let number = self.axes.iter().zip(coordinates).map(|(axis, coordinate)| axis.stride * coordinate);
        valid.then(|| RouterId(number.sum()))
    }

    /// Returns the port in the plus direction of a dimension.
    #[inline]
    pub fn plus_port(dim: usize) -> PortId {
        PortId(2 * dim as u16)
    }

    /// Returns the port in the minus direction of a dimension.
    #[inline]
    pub fn minus_port(dim: usize) -> PortId {
        PortId(2 * dim as u16 + 1)
    }

    /// Returns the number of ports towards other routers: twice the number of dimensions. It is also the first port to
    /// a node.
    #[inline]
    pub fn link_ports(&self) -> u16 {
        2 * self.axes.len() as u16
    }

    /// Returns the class of the channels of a dimension.
    #[inline]
    pub fn dim_class(dim: usize) -> ChannelClass {
        ChannelClass(2 + dim as u8)
    }

    /// Returns the neighbour of a router in a dimension; `None` beyond the edge of a dimension that does not wrap.
    pub(crate) fn neighbour(&self, router: RouterId, axis: Axis, direction: Direction) -> Option<RouterId> {
        let coordinate = axis.by_size.remainder(axis.by_stride.quotient(router.0));
        let next = direction.step(coordinate, axis.size, axis.boundary)?;
        Some(RouterId(router.0 - coordinate * axis.stride + next * axis.stride))
    }

    /// Returns the direction that a port between routers leads in.
    pub(crate) fn direction_of(port: PortId) -> Direction {
        if port.0.is_multiple_of(2) { Direction::Plus } else { Direction::Minus }
    }
}
