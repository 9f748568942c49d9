//! The simulator as a whole: against theory, against its own analysis, and against itself on other numbers of threads.

mod bounds;
mod common;
mod determinism;
mod product;
mod theory;
mod zero_load;
