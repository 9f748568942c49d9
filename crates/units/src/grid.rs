//! Directions and ends of the dimensions of grids.

/// Direction along a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Towards lower coordinates.
    Minus,
    /// Towards higher coordinates.
    Plus,
}

impl Direction {
    /// Both directions, minus first.
    pub const BOTH: [Self; 2] = [Self::Minus, Self::Plus];

    /// Returns the opposite direction.
    #[inline]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Minus => Self::Plus,
            Self::Plus => Self::Minus,
        }
    }

    /// Returns the coordinate one step further in a dimension of `size` coordinates. `None` past the edge of an open
    /// dimension.
    #[inline]
    pub const fn step(self, coordinate: u32, size: u32, boundary: Boundary) -> Option<u32> {
        let (edge, across) = match self {
            Self::Minus => (0, size - 1),
            Self::Plus => (size - 1, 0),
        };
        match (coordinate == edge, boundary, self) {
            (true, Boundary::Open, _) => None,
            (true, Boundary::Periodic, _) => Some(across),
            (false, _, Self::Minus) => Some(coordinate - 1),
            (false, _, Self::Plus) => Some(coordinate + 1),
        }
    }
}

/// Neighbour of the last position of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// There is none: the dimension is a path.
    Open,
    /// It is the first position: the dimension is a ring.
    Periodic,
}

impl Boundary {
    /// Returns the boundary of a dimension that is `periodic` or not, as keys state it.
    pub const fn of(periodic: bool) -> Self {
        if periodic { Self::Periodic } else { Self::Open }
    }

    /// Whether the dimension is a ring.
    #[inline]
    pub const fn is_periodic(self) -> bool {
        matches!(self, Self::Periodic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch: a step that wraps in an open dimension, or to the wrong end.
    #[test]
    fn steps_end_at_the_edge_or_wrap() {
        use Boundary::{Open, Periodic};
        use Direction::{Minus, Plus};
        assert_eq!([Plus.step(1, 3, Open), Minus.step(1, 3, Open)], [Some(2), Some(0)]);
        assert_eq!([Plus.step(2, 3, Open), Minus.step(0, 3, Open)], [None, None]);
        assert_eq!([Plus.step(2, 3, Periodic), Minus.step(0, 3, Periodic)], [Some(0), Some(2)]);
        assert_eq!([Plus.step(0, 1, Periodic), Minus.step(0, 1, Periodic)], [Some(0), Some(0)]);
    }
}
