//! Traffic patterns, one file each.

pub mod adversarial;
pub mod bit_complement;
pub mod bit_reversal;
mod bits;
pub mod exchange;
mod grid;
mod groups;
pub mod hotspot;
pub mod matrix;
mod matrix_file;
pub mod neighbor;
mod permutation;
pub mod random_permutation;
pub mod shift;
pub mod shuffle;
pub mod tornado;
pub mod transpose;
pub mod uniform;

pub use permutation::Permutation;
