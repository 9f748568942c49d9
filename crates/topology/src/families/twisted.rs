//! Twisted tori: tori whose wraps shift other dimensions (Cámara, Moretó, Vallejo, Beivide, Miguel-Alonso, Martínez and
//! Navaridas, "Twisted torus topologies for enhanced interconnection networks", IEEE TPDS 2010). Camarero, Martínez and
//! Beivide ("Lattice graphs for high-scale interconnection topologies", IEEE TPDS 2015) show how they shorten tori of
//! sizes that differ by a factor of 2. The slices k x k x 2k of TPU v4 are twisted so (Jouppi et al., ISCA 2023).
//!
//! Row d of the twist has the shifts of the wrap of dimension d: the plus wire of a router at the end of dimension d
//! leads to the router at its beginning whose other coordinates are larger by the shifts, modulo the sizes. A dimension
//! that is shifted shifts none itself, so that the network looks alike from every router.
//!
//! Routers and nodes are numbered as in a torus. Ports 2d and 2d + 1 of a router belong to dimension d, in the order in
//! which the wires are listed: from router 0 on the plus wire of each. Distances are a table, which limits the number
//! of routers. The 2a x a torus whose wrap of the second dimension shifts the first by a has the diameter a. Dimension
//! order is no shortest path here, so that the network has no view of a grid.

use units::{KeyError, RouterId};

use super::torus::NAMES;
use crate::views::Grid;
use crate::wired::{Apart, MAX_WIRED_PORTS, MAX_WIRED_ROUTERS, Shape, WireList, Wired};

/// Names of a twisted torus.
#[derive(Clone, Debug)]
pub struct TwistedShape {
    grid: Grid,
}

/// Torus whose wraps shift other dimensions.
pub type TwistedTorus = Wired<TwistedShape>;

impl TwistedTorus {
    /// Builds the torus of a grid of checked sizes. Fails at `twist`, if it does not fit the grid.
    pub(super) fn twisted(grid: &Grid, twist: &[Vec<u64>]) -> Result<Self, KeyError> {
        let shifts = check(grid, twist)?;
        let mut list = WireList::default();
        for dim in 0..grid.dims().len() {
            for router in (0..grid.routers).map(RouterId) {
                if let Some(next) = plus(grid, &shifts, router, dim) {
                    list.wire([router, next], Grid::dim_class(dim), 1);
                }
            }
        }
        for router in (0..grid.routers).map(RouterId) {
            list.nodes(router, grid.nodes_per_router().into());
        }
        list.build(TwistedShape { grid: grid.clone() }, grid.routers).map_err(Apart::error)
    }
}

/// Returns the router at the end of the plus wire of a router. `None` at the end of a dimension that does not wrap.
fn plus(grid: &Grid, shifts: &[Vec<u32>], router: RouterId, dim: usize) -> Option<RouterId> {
    let mut to: Vec<u32> = (0..grid.dims().len()).map(|dim| grid.coordinate(router, dim)).collect();
    to[dim] += 1;
    if to[dim] == grid.dims()[dim] {
        if !grid.wraps(dim) {
            return None;
        }
        to[dim] = 0;
        for ((coordinate, shift), size) in to.iter_mut().zip(&shifts[dim]).zip(grid.dims()) {
            *coordinate = (*coordinate + shift) % size;
        }
    }
    grid.router_at(&to)
}

/// Returns the shifts by dimension that wraps and dimension that is shifted.
fn check(grid: &Grid, twist: &[Vec<u64>]) -> Result<Vec<Vec<u32>>, KeyError> {
    let refuse = |message: String| Err(KeyError::new("twist", message));
    let dims = grid.dims();
    if twist.len() != dims.len() || twist.iter().any(|row| row.len() != dims.len()) {
        return refuse(format!(
            "`twist` must be a table of {0} rows of {0} shifts, one for each of the `dims`",
            dims.len()
        ));
    }
    let shifts_others = |dim: usize| twist[dim].iter().any(|&shift| shift > 0);
    for (dim, row) in twist.iter().enumerate() {
        if shifts_others(dim) && !grid.wraps(dim) {
            return refuse(format!("`twist` has shifts for dimension {dim}, which does not wrap"));
        }
        for (other, (&shift, &size)) in row.iter().zip(dims).enumerate() {
            if shift >= u64::from(size) {
                return refuse(format!(
                    "`twist` shifts dimension {other} by {shift}; less than its size of {size} is allowed"
                ));
            }
            if shift > 0 && shifts_others(other) {
                return refuse(format!(
                    "`twist` shifts dimension {other}, whose own wrap has shifts; a shifted dimension has none"
                ));
            }
            if shift > 0 && !grid.wraps(other) {
                return refuse(format!("`twist` shifts dimension {other}, which does not wrap"));
            }
        }
    }
    let ports = u64::from(grid.routers) * u64::from(grid.link_ports() + grid.nodes_per_router());
    if grid.routers > MAX_WIRED_ROUTERS || ports > MAX_WIRED_PORTS.into() {
        return refuse(format!(
            "`twist` is for at most {MAX_WIRED_ROUTERS} routers and {MAX_WIRED_PORTS} ports, and this torus has {} and {ports}",
            grid.routers
        ));
    }
    // Below the sizes, which are 32 bits wide.
    Ok(twist.iter().map(|row| row.iter().map(|&shift| shift as u32).collect()).collect())
}

impl Shape for TwistedShape {
    fn kind(&self) -> &'static str {
        self.grid.kind
    }

    fn class_names(&self) -> Vec<&str> {
        NAMES[..2 + self.grid.dims().len()].to_vec()
    }

    fn coordinate_names(&self) -> Vec<String> {
        NAMES[2..2 + self.grid.dims().len()].iter().map(ToString::to_string).collect()
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        (0..self.grid.dims().len()).map(|dim| self.grid.coordinate(router, dim)).collect()
    }
}
