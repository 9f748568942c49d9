//! Which way a packet may go: routing algorithms, their virtual-channel rules, the proof that they cannot deadlock, and
//! the exact load that they put on every channel.

pub mod algorithms;
mod route;

pub use route::{Choice, Hop, Route, RouteState, Routing, RoutingError};
