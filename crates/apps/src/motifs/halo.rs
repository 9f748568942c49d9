//! Halo exchange: every rank of a grid calculates, and then exchanges faces with all its neighbours at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Boundary, Bytes, KeyError, Time};

use super::grid::{Grid, Side};
use super::{Motif, calc, recv, send};
use mpi::program::ScriptCall;

/// Halo exchange.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HaloSpec {
    /// Ranks in each dimension, first dimension fastest. Default: the grid closest to a square or a cube, in ascending
    /// order.
    #[schemars(length(min = 2, max = 3), inner(range(min = 1)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dims: Option<Vec<u32>>,
    /// Size of a face in bytes: the message to each neighbour.
    #[schemars(extend("minimum" = 1))]
    pub message_size: Bytes,
    /// Number of consecutive exchanges.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub iterations: u32,
    /// Time that a rank calculates before each exchange.
    pub compute: Time,
    /// Periodic boundaries: ranks at opposite edges are neighbours.
    pub periodic: bool,
}

impl Default for HaloSpec {
    fn default() -> Self {
        Self { dims: None, message_size: Bytes(64 * 1024), iterations: 10, compute: Time(0), periodic: true }
    }
}

/// Halo exchange on a grid.
#[derive(Debug)]
pub(super) struct Halo {
    spec: HaloSpec,
    grid: Grid,
}

impl Halo {
    /// Creates the exchange of `ranks` ranks in two or three dimensions.
    ///
    /// # Errors
    /// An invalid grid.
    pub fn new(spec: &HaloSpec, dimensions: usize, ranks: u32) -> Result<Self, KeyError> {
        Ok(Self { grid: Grid::new(spec.dims.as_deref(), dimensions, ranks)?, spec: spec.clone() })
    }
}

impl Motif for Halo {
    fn rounds(&self) -> u32 {
        self.spec.iterations
    }

    fn repeats(&self) -> bool {
        true
    }

    fn round(&self, rank: u32, _round: u32, calls: &mut Vec<ScriptCall>) {
        let Self { grid, spec } = self;
        calc(spec.compute.0, calls);
        let sides = || (0..grid.dimensions()).flat_map(Side::both);
        // The tag is the side of the sender that the message leaves from.
        let (bytes, boundary) = (spec.message_size.0, Boundary::of(spec.periodic));
        for side in sides() {
            let neighbour = grid.neighbour(rank, side, boundary);
            calls.extend(neighbour.map(|from| recv(from, bytes, side.opposite().number())));
        }
        for side in sides() {
            calls.extend(grid.neighbour(rank, side, boundary).map(|to| send(to, bytes, side.number())));
        }
        calls.push(ScriptCall::WaitAll);
    }
}
