//! How messages go from rank to rank: what is sent, what is received, and what passes the interface in between.

mod flying;
mod passing;
mod receiving;
mod sending;
