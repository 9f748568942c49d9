//! Grids of ranks, first dimension fastest.

use traffic::patterns::exchange::near_cube;
use units::{Boundary, Direction, KeyError};

/// Side of a rank in a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Side {
    pub dimension: usize,
    pub direction: Direction,
}

impl Side {
    /// Returns both sides of a dimension, the lower first.
    pub fn both(dimension: usize) -> [Self; 2] {
        Direction::BOTH.map(|direction| Self { dimension, direction })
    }

    /// Returns the opposite side.
    pub fn opposite(self) -> Self {
        Self { direction: self.direction.opposite(), ..self }
    }

    /// Returns the number of the side: twice its dimension, plus 1 for the upper one.
    pub fn number(self) -> u32 {
        2 * self.dimension as u32 + u32::from(self.direction == Direction::Plus)
    }
}

/// Grid of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    dims: Vec<u32>,
}

impl Grid {
    /// Creates a grid of the given sizes. Default: the grid of `dimensions` dimensions closest to a square or a cube.
    ///
    /// # Errors
    /// A wrong number of dimensions, or a product that differs from the number of ranks.
    pub fn new(dims: Option<&[u32]>, dimensions: usize, ranks: u32) -> Result<Self, KeyError> {
        let near = if dimensions == 2 { near_square(ranks).to_vec() } else { near_cube(ranks).to_vec() };
        let Some(dims) = dims else { return Ok(Self { dims: near }) };
        let product = dims.iter().map(|&size| u64::from(size)).try_fold(1, u64::checked_mul);
        if dims.len() != dimensions || product != Some(u64::from(ranks)) {
            let message = format!(
                "{dims:?} is no grid of {dimensions} dimensions for {ranks} ranks: for example {near:?} is allowed"
            );
            return Err(KeyError::new("dims", message));
        }
        Ok(Self { dims: dims.to_vec() })
    }

    /// Returns the size of a dimension.
    pub fn size(&self, dimension: usize) -> u32 {
        self.dims[dimension]
    }

    /// Returns the number of dimensions.
    pub fn dimensions(&self) -> usize {
        self.dims.len()
    }

    /// Returns the difference between the ranks of neighbours in a dimension.
    fn stride(&self, dimension: usize) -> u32 {
        self.dims[..dimension].iter().product()
    }

    /// Returns a rank's coordinate in a dimension.
    pub fn place(&self, rank: u32, dimension: usize) -> u32 {
        rank / self.stride(dimension) % self.dims[dimension]
    }

    /// Returns the rank with coordinate `place` in a dimension and the other coordinates of `rank`.
    pub fn at(&self, rank: u32, dimension: usize, place: u32) -> u32 {
        let stride = self.stride(dimension);
        rank - self.place(rank, dimension) * stride + place * stride
    }

    /// Returns the neighbour of a rank on a side. `None` past the edge of an open grid, and in a dimension of size 1.
    pub fn neighbour(&self, rank: u32, side: Side, boundary: Boundary) -> Option<u32> {
        let size = self.dims[side.dimension];
        let next = side.direction.step(self.place(rank, side.dimension), size, boundary)?;
        (size > 1).then(|| self.at(rank, side.dimension, next))
    }
}

/// Returns the two factors of a number that are closest to each other, in ascending order.
fn near_square(number: u32) -> [u32; 2] {
    let root = number.isqrt().max(1);
    let small = (1..=root).rev().find(|factor| number.is_multiple_of(*factor)).unwrap_or(1);
    [small, number / small]
}
