//! Recorded traces as programs of ranks: [`recorded`] by the recorder of MPI calls, and [`chakra`] execution traces.

#![forbid(unsafe_code)]

pub mod chakra;
pub mod recorded;
