//! Grid of routers in which the routers of every line are a clique: the coordinates and ports of HyperX.

use units::{Boundary, NodeId, PortId, RouterId};

use super::Grid;

/// Routers with coordinates, wired to every router whose coordinates differ in one dimension.
///
/// A router's number is its coordinates in mixed radix, first dimension fastest. Every router has an equal number of
/// nodes, numbered router by router, on its first ports. The ports of the dimensions follow in ascending order, each
/// ordered by the peer's coordinate (the router's own is left out), then by wire.
#[derive(Clone, Debug)]
pub struct Cliques {
    /// Numbering of the routers and their nodes. It is no view: the ports are those of cliques.
    pub(crate) grid: Grid,
    pub(crate) lines: Vec<Line>,
}

/// Lines of a dimension.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Number of routers of a line.
    pub size: u32,
    /// Difference between the numbers of routers with consecutive coordinates.
    pub stride: u32,
    /// Number of parallel wires between two routers of a line.
    pub wires: u16,
    /// First port of the dimension.
    pub first_port: u16,
}

impl Line {
    /// Returns the number of ports of the dimension.
    #[inline]
    pub fn ports(&self) -> u16 {
        (self.size - 1) as u16 * self.wires
    }

    /// Returns the first of the ports that lead from a coordinate to another.
    #[inline]
    pub fn port_to(&self, own: u32, other: u32) -> PortId {
        PortId(self.first_port + (other - u32::from(other > own)) as u16 * self.wires)
    }

    /// Returns the coordinate to which a port of the dimension leads from a coordinate.
    #[inline]
    pub fn peer(&self, own: u32, port: PortId) -> u32 {
        // Each router leaves itself out of the order of its peers.
        let place = u32::from((port.0 - self.first_port) / self.wires);
        place + u32::from(place >= own)
    }
}

impl Cliques {
    /// Creates the view of checked sizes and numbers of wires.
    pub(crate) fn of(kind: &'static str, sizes: Vec<u32>, wires: &[u64], nodes_per_router: u16) -> Self {
        let (mut stride, mut first_port) = (1, nodes_per_router);
        let mut lines = Vec::with_capacity(sizes.len());
        for (&size, &wires) in sizes.iter().zip(wires) {
            let line = Line { size, stride, wires: wires as u16, first_port };
            lines.push(line);
            stride *= size;
            first_port += line.ports();
        }
        Self { grid: Grid::of(kind, sizes, nodes_per_router, std::iter::repeat(Boundary::Open)), lines }
    }

    /// Returns the lines by dimension.
    #[inline]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Returns the number of nodes on each router.
    #[inline]
    pub fn nodes_per_router(&self) -> u16 {
        self.grid.nodes_per_router
    }

    /// Returns the number of ports of a router.
    #[inline]
    pub fn ports(&self) -> u16 {
        self.lines.last().map_or(self.nodes_per_router(), |line| line.first_port + line.ports())
    }

    /// Returns a router's coordinate in a dimension.
    #[inline]
    pub fn coordinate(&self, router: RouterId, dim: usize) -> u32 {
        self.grid.coordinate(router, dim)
    }

    /// Returns the dimension of a port; `None` for the port of a node.
    #[inline]
    pub fn dim_of(&self, port: PortId) -> Option<usize> {
        self.lines.iter().rposition(|line| line.first_port <= port.0)
    }

    /// Returns the router and the port of a node.
    #[inline]
    pub fn home(&self, node: NodeId) -> (RouterId, PortId) {
        let (router, place) = self.grid.by_nodes.split(node.0);
        (RouterId(router), PortId(place as u16))
    }
}
