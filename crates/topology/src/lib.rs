#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod bisection;
mod catalogue;
mod disjoint_sets;
mod divisor;
pub mod families;
mod galois;
mod network;
mod places;
mod router_classes;
mod shorthand;
mod stream;
pub mod views;
mod ways;
mod wired;
mod wires;

pub use bisection::{BisectionBounds, bisection_bounds};
pub use catalogue::{Family, NetworkSpec, TopologySpec};
pub use network::{ChannelSource, Channels, Topology, View, Views};
pub use places::{Order, Places, PlacesRule};
pub use router_classes::RouterClasses;
pub use ways::{Leg, RelayRule, WayRule};
pub use wires::{ChannelClass, Endpoint, MAX_NODES, MAX_PORTS, MAX_ROUTERS, NO_PATH};
