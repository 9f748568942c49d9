//! Dragonflies (Kim, Dally, Scott & Abts, ISCA 2008): groups of routers, each group a small network, all groups a full
//! mesh of global wires.
//!
//! Numbering:
//!
//! - Node x is attached to router `x / p`; router r is number `r mod a` of group `r / a`.
//! - Ports 0 to p-1 of a router lead to its nodes, the next to the routers of its group (`GroupNetwork`), the last h to
//!   other groups (`wiring`). Global port m of router x of a group is the group's global port `x h + m`.
//!
//! With g = ah + 1 groups there is one wire between any two; with fewer groups there are more. Parallel local wires
//! have consecutive ports. Groups of unequal size ([`unequal`]) are a network of tables.
//!
//! The bisection separates the first half of the groups, as they are numbered, from the rest (which has one group more
//! if g is odd), and counts the wires between them.

mod spec;
mod unequal;
mod wiring;

use std::sync::Arc;

use units::{KeyError, NodeId, PortId, RouterId};

use crate::network::{Topology, Views};
use crate::views::{GroupNetwork, Groups, GroupsSize};
use crate::wires::{ChannelClass, Endpoint, MAX_ALL_PORTS, MAX_PORTS};
pub use spec::{Arrangement, DragonflySpec, GroupKind};

/// Dragonfly.
pub type Dragonfly = Groups;

impl Dragonfly {
    /// Builds the network of a dragonfly's keys.
    ///
    /// # Errors
    /// As [`Self::new`], and if groups of unequal size do not fit the other keys.
    pub fn network(spec: &DragonflySpec) -> Result<Arc<dyn Topology>, KeyError> {
        match &spec.group_sizes {
            Some(sizes) => unequal::build(spec, sizes),
            None => Ok(Arc::new(Self::new(spec)?)),
        }
    }

    /// Builds a dragonfly of equal groups; `group_sizes` is not read.
    ///
    /// # Errors
    /// If a size is out of range, if there are more groups than global ports reach, or if `group_dims` does not fit.
    pub fn new(spec: &DragonflySpec) -> Result<Self, KeyError> {
        let size = GroupsSize::new(spec)?;
        let group = GroupNetwork::new(spec, size.a)?;
        let lines = group.dims().into_iter().zip(group.wires());
        let local: u64 = lines.map(|(routers, wires)| (u64::from(routers) - 1) * u64::from(wires)).sum();
        let ports = u64::from(size.p) + local + u64::from(size.h);
        if ports > u64::from(MAX_PORTS) {
            let message = format!("a router would have {ports} ports; at most {MAX_PORTS} are allowed");
            return Err(KeyError::new("a", message));
        }
        let routers = u64::from(size.a) * u64::from(size.g);
        if routers * ports > MAX_ALL_PORTS {
            let message = format!(
                "{routers} routers of {ports} ports have {} together; at most {MAX_ALL_PORTS} (2^30) are allowed",
                routers * ports
            );
            return Err(KeyError::new("h", message));
        }
        Ok(Self::of(size, group, wiring::wires(size, spec)))
    }

    /// Iterates over the routers wired to a router.
    fn neighbours(&self, router: RouterId) -> impl Iterator<Item = RouterId> + '_ {
        let (group, number) = self.place(router);
        let local = (0..self.group.ports()).map(move |port| self.router(group, self.group.far(number, port).0));
        local.chain((0..self.size.h).filter_map(move |port| self.across(router, port).map(|(far, _)| far)))
    }

    /// Returns the least number of channels of a path with at most one global wire. Any two groups have at least one
    /// such wire.
    pub fn direct_distance(&self, from: RouterId, to: RouterId) -> u32 {
        let ((from_group, start), (to_group, end)) = (self.place(from), self.place(to));
        if from_group == to_group {
            return self.group.distance(start, end);
        }
        let exits = (0..self.size.a).flat_map(|exit| (0..self.size.h).map(move |port| (exit, port)));
        let by_exit = |(exit, port)| {
            let (entry, _) = self.across(self.router(from_group, exit), port)?;
            let (group, entry) = self.place(entry);
            (group == to_group).then(|| self.group.distance(start, exit) + 1 + self.group.distance(entry, end))
        };
        exits.filter_map(by_exit).min().unwrap_or(2 * self.group.diameter() + 1)
    }

    /// Returns whether a path of at most `channels` channels leads from one router to another. Searches from both ends.
    fn reaches(&self, from: RouterId, to: RouterId, channels: u32) -> bool {
        let ball = |center: RouterId, radius: u32| {
            let mut ball = vec![center];
            for _ in 0..radius {
                let next: Vec<RouterId> = ball.iter().flat_map(|&router| self.neighbours(router)).collect();
                ball.extend(next);
                ball.sort_unstable();
                ball.dedup();
            }
            ball
        };
        let (ahead, behind) = (ball(from, channels / 2), ball(to, channels.div_ceil(2)));
        ahead.iter().any(|router| behind.binary_search(router).is_ok())
    }

    fn find_diameter(&self) -> u32 {
        let routers = self.routers();
        let farthest = |from: u32| {
            let mut distances = vec![u32::MAX; routers as usize];
            let (mut level, mut distance) = (vec![RouterId(from)], 0);
            distances[from as usize] = 0;
            while !level.is_empty() {
                distance += 1;
                let next: Vec<RouterId> = level.iter().flat_map(|&router| self.neighbours(router)).collect();
                level.clear();
                for router in next {
                    if distances[router.index()] == u32::MAX {
                        distances[router.index()] = distance;
                        level.push(router);
                    }
                }
            }
            distance - 1
        };
        // No path is longer than one pass through both groups' networks; one such pair ends the search.
        let longest = 2 * self.group.diameter() + 1;
        let mut diameter = 0;
        for router in 0..routers {
            diameter = diameter.max(farthest(router));
            if diameter == longest {
                break;
            }
        }
        diameter
    }
}

impl Topology for Dragonfly {
    fn kind(&self) -> &'static str {
        "dragonfly"
    }

    fn routers(&self) -> u32 {
        self.size.a * self.size.g
    }

    fn nodes(&self) -> u32 {
        self.routers() * self.size.p
    }

    fn ports(&self, _router: RouterId) -> u16 {
        (self.size.p + u32::from(self.group.ports()) + self.size.h) as u16
    }

    fn endpoint(&self, router: RouterId, port: PortId) -> Endpoint {
        let (p, local) = (self.size.p as u16, self.group.ports());
        let (group, number) = self.place(router);
        if port.0 < p {
            Endpoint::Node(NodeId(router.0 * self.size.p + u32::from(port.0)))
        } else if port.0 < p + local {
            let (far, far_port) = self.group.far(number, port.0 - p);
            Endpoint::Router(self.router(group, far), self.local_port(far_port))
        } else {
            match self.across(router, u32::from(port.0 - p - local)) {
                Some((far, far_port)) => Endpoint::Router(far, self.global_port(far_port)),
                None => Endpoint::Unconnected,
            }
        }
    }

    fn attachment(&self, node: NodeId) -> (RouterId, PortId) {
        let (router, number) = self.by_p.split(node.0);
        (RouterId(router), self.node_port(number))
    }

    fn class_names(&self) -> Vec<&str> {
        vec!["injection", "ejection", "local", "global"]
    }

    fn class(&self, _router: RouterId, port: PortId) -> ChannelClass {
        let (p, local) = (self.size.p as u16, self.group.ports());
        match port.0 {
            port if port < p => ChannelClass::EJECTION,
            port if port < p + local => Self::LOCAL,
            _ => Self::GLOBAL,
        }
    }

    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        let direct = self.direct_distance(from, to);
        // A path through a third group, over two or more global wires, may be shorter.
        (2..direct).find(|&channels| self.reaches(from, to, channels)).unwrap_or(direct)
    }

    fn diameter(&self) -> u32 {
        *self.diameter.get_or_init(|| self.find_diameter())
    }

    fn bisection_channels(&self) -> Option<u64> {
        let half = self.size.g / 2;
        let crosses = |&(router, port): &(u32, u32)| {
            let far = self.across(RouterId(router), port).map(|(far, _)| self.place(far).0);
            far.is_some_and(|group| group >= half)
        };
        let ports = (0..half * self.size.a).flat_map(|router| (0..self.size.h).map(move |port| (router, port)));
        Some(ports.filter(crosses).count() as u64)
    }

    fn coordinate_names(&self) -> Vec<String> {
        vec!["group".into(), "number".into()]
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        let (group, number) = self.place(router);
        vec![group, number]
    }

    fn views(&self) -> Views<'_> {
        Views { groups: Some(self), node_groups: Some(self.size().g), ..Views::default() }
    }
}
