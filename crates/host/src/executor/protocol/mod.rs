//! Protocols by which ranks exchange messages: sending, receiving, and passing the interface in between.
//!
//! `docs/concepts/protocols.md` describes each protocol, with its times.

mod compact;
mod credits;
mod fetching;
mod hops;
mod in_transit;
mod passing;
mod receiving;
mod relaying;
mod sending;
mod within;
mod writing;

pub(super) use hops::Hop;
