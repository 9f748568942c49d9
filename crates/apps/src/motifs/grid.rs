//! Grids of ranks, first dimension fastest.

use traffic::patterns::exchange::near_cube;
use units::KeyError;

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

    /// Returns the neighbour of a rank in a dimension, upwards or downwards. `None` beyond the edge, unless the grid is
    /// `periodic`. `None` in a dimension of size 1.
    pub fn neighbour(&self, rank: u32, (dimension, up): (usize, bool), periodic: bool) -> Option<u32> {
        let (place, size) = (self.place(rank, dimension), self.dims[dimension]);
        let is_edge = if up { place + 1 == size } else { place == 0 };
        if size == 1 || (is_edge && !periodic) {
            return None;
        }
        let next = if up { (place + 1) % size } else { (place + size - 1) % size };
        Some(self.at(rank, dimension, next))
    }
}

/// Returns the two factors of a number that are closest to each other, in ascending order.
fn near_square(number: u32) -> [u32; 2] {
    let root = number.isqrt().max(1);
    let small = (1..=root).rev().find(|factor| number.is_multiple_of(*factor)).unwrap_or(1);
    [small, number / small]
}
