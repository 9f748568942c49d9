//! Network inside a group of a dragonfly: a full mesh, or a flattened butterfly of two dimensions.
//!
//! In each dimension, a router is wired to every other router of its line. A full mesh has one dimension.

use super::spec::{DragonflySpec, GroupKind};
use units::KeyError;

/// Network inside every group. Routers are numbered first dimension fastest. A router's ports lead first to the other
/// routers of its line in the first dimension, in ascending order, then to those in the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupNetwork {
    dims: [u32; 2],
}

impl GroupNetwork {
    /// Builds the network of `a` routers from its spec.
    pub(super) fn new(spec: &DragonflySpec, a: u32) -> Result<Self, KeyError> {
        let error = |message: String| Err(KeyError::new("group_dims", message));
        match (spec.group, spec.group_dims) {
            (GroupKind::FullMesh, None) => Ok(Self { dims: [a, 1] }),
            (GroupKind::FullMesh, Some(_)) => {
                error("`group_dims` goes with group = \"flattened-butterfly\"; a full mesh has no dimensions".into())
            }
            (GroupKind::FlattenedButterfly, None) => {
                let rows = (1..=a.isqrt()).rev().find(|rows| a.is_multiple_of(*rows)).unwrap_or(1);
                Ok(Self { dims: [a / rows, rows] })
            }
            (GroupKind::FlattenedButterfly, Some([x, y])) if x.checked_mul(y) == Some(u64::from(a)) => {
                Ok(Self { dims: [x as u32, y as u32] })
            }
            (GroupKind::FlattenedButterfly, Some([x, y])) => {
                error(format!("`group_dims` is [{x}, {y}]; their product must be the {a} routers of a group"))
            }
        }
    }

    /// Returns the sizes of the dimensions; the second is 1 in a full mesh.
    pub fn dims(&self) -> [u32; 2] {
        self.dims
    }

    /// Returns the number of a router's ports that lead into its group.
    #[inline]
    pub fn ports(&self) -> u16 {
        (self.dims[0] - 1 + self.dims[1] - 1) as u16
    }

    /// Returns the router at the other end of a port, and its port there.
    pub fn far(&self, router: u32, port: u16) -> (u32, u16) {
        let (x, y) = (router % self.dims[0], router / self.dims[0]);
        let first = self.dims[0] as u16 - 1;
        if port < first {
            let other = across(x, port);
            return (other + self.dims[0] * y, port_to(other, x));
        }
        let other = across(y, port - first);
        (x + self.dims[0] * other, first + port_to(other, y))
    }

    /// Returns the port of the next hop from a router to another, in the first dimension in which they differ; `None`
    /// if the routers are equal.
    pub fn toward(&self, from: u32, to: u32) -> Option<u16> {
        let (x, y) = (from % self.dims[0], from / self.dims[0]);
        let (to_x, to_y) = (to % self.dims[0], to / self.dims[0]);
        if x != to_x {
            Some(port_to(x, to_x))
        } else if y != to_y {
            Some(self.dims[0] as u16 - 1 + port_to(y, to_y))
        } else {
            None
        }
    }

    /// Returns the number of channels on a shortest path between two routers.
    pub fn distance(&self, from: u32, to: u32) -> u32 {
        u32::from(from % self.dims[0] != to % self.dims[0]) + u32::from(from / self.dims[0] != to / self.dims[0])
    }

    /// Returns the largest distance, in channels.
    pub fn diameter(&self) -> u32 {
        self.dims.iter().filter(|&&size| size > 1).count() as u32
    }
}

/// Returns the router that a port of a line leads to. The ports of a line skip the router itself.
fn across(own: u32, port: u16) -> u32 {
    u32::from(port) + u32::from(u32::from(port) >= own)
}

/// Returns the port of a line that leads to another router of it.
fn port_to(own: u32, other: u32) -> u16 {
    (if other < own { other } else { other - 1 }) as u16
}
