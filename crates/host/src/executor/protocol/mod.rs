//! How messages go from rank to rank: what is sent, what is received, and what passes the interface in between.

mod passing;
mod receiving;
mod sending;
