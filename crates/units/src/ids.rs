//! Identifiers: one type for each kind of component, so that a port is never taken for a router.

use serde::{Deserialize, Serialize};

/// Defines an identifier: `$name($int)`, an index into flat arrays.
#[macro_export]
macro_rules! id {
    ($(#[$attribute:meta])* $name:ident($int:ty)) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $int);

        impl $name {
            /// Returns the identifier as an index into a flat array.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.0)
            }
        }

        $crate::record!($name { 0 });
    };
}

/// `id!`, with the conversion from and to files.
macro_rules! stored_id {
    ($(#[$attribute:meta])* $name:ident($int:ty)) => {
        $crate::id! {
            $(#[$attribute])*
            #[derive(Serialize, Deserialize)]
            #[serde(transparent)]
            $name($int)
        }
    };
}

stored_id! {
    /// A router (switch), numbered from 0 over the whole network.
    RouterId(u32)
}
stored_id! {
    /// A node (host, terminal), numbered from 0 over the whole network.
    NodeId(u32)
}
stored_id! {
    /// A task (process, rank) of a workload, numbered from 0. A placement maps it to a node.
    TaskId(u32)
}
stored_id! {
    /// A port of one router, numbered from 0 within the router. A port is an input and an output.
    PortId(u16)
}
stored_id! {
    /// A class of virtual channels that a routing distinguishes, numbered from 0. A class may have several virtual
    /// channels.
    VcClass(u8)
}
stored_id! {
    /// A directed channel: first the output channels of all router ports (router by router, port by port), then the
    /// injection channels of all nodes.
    ChannelId(u32)
}
stored_id! {
    /// One of the disjoint copies of a network (planes) that nodes are attached to, numbered from 0. A network without
    /// copies has plane 0.
    PlaneId(u8)
}
