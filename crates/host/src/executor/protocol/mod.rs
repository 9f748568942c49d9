//! How messages go from rank to rank: what is sent, what is received, and what passes the interface in between.
//!
//! `docs/concepts/protocols.md` has the protocols one by one, with the times that they take.

mod credits;
mod fetching;
mod flying;
mod light;
mod passing;
mod receiving;
mod sending;
mod within;
mod writing;
