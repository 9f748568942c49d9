//! Recorded traces as programs of ranks: [`recorded`] by the recorder of MPI calls, and [`chakra`] execution traces.

pub mod chakra;
pub mod recorded;
