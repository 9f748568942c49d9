//! Ends and classes of channels, and limits of sizes.

use units::{NodeId, PortId, RouterId};

/// Maximum number of nodes of a machine.
pub const MAX_NODES: u32 = 1 << 24;
/// Maximum number of routers of a machine.
pub const MAX_ROUTERS: u32 = 1 << 24;
/// Maximum number of ports of a router.
pub const MAX_PORTS: u16 = u16::MAX;

/// Maximum number of ports of all routers together, so that channels are numbered in 32 bits. A family checks it unless
/// its limits of nodes and routers imply it.
pub const MAX_ALL_PORTS: u64 = 1 << 30;

/// Far end of a router's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// The port of another router (or of the same router).
    Router(RouterId, PortId),
    /// The node that is attached to the port.
    Node(NodeId),
    /// No wire: the edge of a mesh, the up ports of a fat-tree's top level.
    Unconnected,
}

/// Class of channels: a named set of channels that play the same part, such as `up`, `local` or `dim0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChannelClass(pub u8);

impl ChannelClass {
    /// Class 0 of every topology: channels from nodes into their routers.
    pub const INJECTION: Self = Self(0);
    /// Class 1 of every topology: channels from routers to nodes.
    pub const EJECTION: Self = Self(1);

    /// Returns whether a class is one of channels to nodes, by its name: `ejection`, in several networks behind the name
    /// of one.
    pub fn is_ejection_name(name: &str) -> bool {
        name.rsplit('.').next() == Some("ejection")
    }
}

/// Distance of routers without a path between them.
pub const NO_PATH: u32 = u32::MAX;

/// Returns the product of sizes, or `None` if it is above a limit.
pub(crate) fn product(sizes: impl IntoIterator<Item = u64>, limit: u32) -> Option<u32> {
    let product = sizes.into_iter().try_fold(1_u64, u64::checked_mul)?;
    u32::try_from(product).ok().filter(|&product| product <= limit)
}
