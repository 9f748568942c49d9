//! Programs of applications, and hostile texts of programs and tables.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "a test may fail")]

mod hostile;
mod lammps;
mod programs;
