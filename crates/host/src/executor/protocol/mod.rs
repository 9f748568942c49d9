//! Protocols by which ranks exchange messages: sending, receiving, and passing the interface in between.
//!
//! `docs/concepts/protocols.md` describes each protocol, with its times.

mod credits;
mod fetching;
mod flying;
mod light;
mod passing;
mod receiving;
mod sending;
mod within;
mod writing;
