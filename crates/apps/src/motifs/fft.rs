//! Transposes of a three-dimensional fast Fourier transform with pencil decomposition: all-to-all exchanges within each
//! row of ranks, then within each column.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, KeyError, Time};

use super::grid::Grid;
use super::{Motif, calc, recv, send};
use mpi::program::ScriptCall;

/// Transposes of a three-dimensional FFT.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FftSpec {
    /// Ranks per row and per column. Ranks of a row are numbered consecutively. Default: the grid closest to a square,
    /// in ascending order.
    #[schemars(length(min = 2, max = 2), inner(range(min = 1)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dims: Option<Vec<u32>>,
    /// Size in bytes of the message from a rank to each other rank of its row, and of its column.
    #[schemars(extend("minimum" = 1))]
    pub message_size: Bytes,
    /// Number of consecutive transforms.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub iterations: u32,
    /// Time that a rank calculates before each of the two transposes.
    pub compute: Time,
}

impl Default for FftSpec {
    fn default() -> Self {
        Self { dims: None, message_size: Bytes(16 * 1024), iterations: 1, compute: Time(0) }
    }
}

/// Transposes on a grid.
#[derive(Debug)]
pub(super) struct Fft {
    spec: FftSpec,
    grid: Grid,
}

impl Fft {
    /// Creates the transposes of `ranks` ranks.
    ///
    /// # Errors
    /// An invalid grid.
    pub fn new(spec: &FftSpec, ranks: u32) -> Result<Self, KeyError> {
        Ok(Self { grid: Grid::new(spec.dims.as_deref(), 2, ranks)?, spec: spec.clone() })
    }
}

impl Motif for Fft {
    fn rounds(&self) -> u32 {
        self.spec.iterations
    }

    fn repeats(&self) -> bool {
        true
    }

    fn round(&self, rank: u32, _round: u32, calls: &mut Vec<ScriptCall>) {
        let Self { grid, spec } = self;
        let bytes = spec.message_size.0;
        for dimension in 0..2 {
            calc(spec.compute.0, calls);
            let (place, size, tag) = (grid.place(rank, dimension), grid.size(dimension), dimension as u32);
            // Each rank first sends to its successor, so that no rank is the first target of all.
            for step in 1..size {
                calls.push(recv(grid.at(rank, dimension, (place + size - step) % size), bytes, tag));
            }
            for step in 1..size {
                calls.push(send(grid.at(rank, dimension, (place + step) % size), bytes, tag));
            }
            calls.push(ScriptCall::WaitAll);
        }
    }
}
