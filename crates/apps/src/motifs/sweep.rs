//! Sweep: wavefronts through a grid of ranks, from each corner in turn, as in transport codes (Sweep3D).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Boundary, Bytes, Direction, KeyError, Time};

use super::grid::{Grid, Side};
use super::{Motif, calc, recv, send};
use mpi::program::ScriptCall;

/// Wavefronts through a grid of ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SweepSpec {
    /// Ranks in both dimensions, first dimension fastest. Default: the grid closest to a square, in ascending order.
    #[schemars(length(min = 2, max = 2), inner(range(min = 1)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dims: Option<Vec<u32>>,
    /// Size in bytes of the message to each of the two next ranks, per block.
    #[schemars(extend("minimum" = 1))]
    pub message_size: Bytes,
    /// Number of sweeps, from the four corners in turn.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub sweeps: u32,
    /// Number of blocks into which a sweep divides a rank's part. They are processed in sequence.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub blocks: u32,
    /// Time that a rank calculates per block.
    pub compute: Time,
}

impl Default for SweepSpec {
    fn default() -> Self {
        Self { dims: None, message_size: Bytes(4 * 1024), sweeps: 8, blocks: 10, compute: Time(0) }
    }
}

/// Sweeps on a grid.
#[derive(Debug)]
pub(super) struct Sweep {
    spec: SweepSpec,
    grid: Grid,
}

impl Sweep {
    /// Creates the sweeps of `ranks` ranks.
    ///
    /// # Errors
    /// An invalid grid.
    pub fn new(spec: &SweepSpec, ranks: u32) -> Result<Self, KeyError> {
        Ok(Self { grid: Grid::new(spec.dims.as_deref(), 2, ranks)?, spec: spec.clone() })
    }
}

impl Motif for Sweep {
    fn rounds(&self) -> u32 {
        self.spec.sweeps
    }

    fn repeats(&self) -> bool {
        false
    }

    fn round(&self, rank: u32, round: u32, calls: &mut Vec<ScriptCall>) {
        let Self { grid, spec } = self;
        // Corners in the order (low, low), (high, low), (low, high), (high, high).
        let towards = |low: bool| if low { Direction::Plus } else { Direction::Minus };
        let sides = [(0, round & 1 == 0), (1, round & 2 == 0)]
            .map(|(dimension, low)| Side { dimension, direction: towards(low) });
        let bytes = spec.message_size.0;
        for _ in 0..spec.blocks {
            for side in sides {
                let before = grid.neighbour(rank, side.opposite(), Boundary::Open);
                calls.extend(before.map(|from| recv(from, bytes, side.dimension as u32)));
            }
            calls.push(ScriptCall::WaitAll);
            calc(spec.compute.0, calls);
            for side in sides {
                let next = grid.neighbour(rank, side, Boundary::Open);
                calls.extend(next.map(|to| send(to, bytes, side.dimension as u32)));
            }
            calls.push(ScriptCall::WaitAll);
        }
    }
}
