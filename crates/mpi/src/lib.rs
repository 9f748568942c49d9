//! MPI as the simulator sees it: what ranks call, and what they exchange in carrying it out.
//!
//! A [`program`] generates the operations of each rank while it runs. A [`schedule`] has them written out beforehand.
//! [`collectives`] divides collective operations into the messages of each rank, by algorithm.

#![forbid(unsafe_code)]

pub mod collectives;
pub mod communicator;
pub mod program;
pub mod schedule;
