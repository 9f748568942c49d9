//! Planes: disjoint copies of one network, with every node on each of them.
//!
//! A node has one injection and one ejection channel (a *rail*) for each plane. Router r of plane p has the number
//! `p * R + r`, where R is the number of routers of a plane; ports and classes of channels are those of the copied
//! network. A packet stays in the plane that it enters. Distances, diameter and shape are those of one plane; between
//! routers of two planes there is no path. The bisection cuts all planes.

use std::sync::Arc;

use units::{KeyError, NodeId, PortId, RouterId};

use crate::network::{Topology, Views};
use crate::wires::{ChannelClass, Endpoint, MAX_ALL_PORTS, MAX_ROUTERS, NO_PATH, product};

/// Maximum number of planes.
pub const MAX_PLANES: u32 = 16;

/// Several copies of a network.
#[derive(Clone, Debug)]
pub struct Planes {
    plane: Arc<dyn Topology>,
    planes: u32,
    /// Number of routers of a plane.
    routers: u32,
}

impl Planes {
    /// Makes `planes` copies of a network. Fails at `planes` if the number is not in `1..=16`, or if the copies are too
    /// large together.
    pub fn new(plane: Arc<dyn Topology>, planes: u32) -> Result<Self, KeyError> {
        let refuse = |message: String| Err(KeyError::new("planes", message));
        if !(1..=MAX_PLANES).contains(&planes) {
            return refuse(format!("`planes` is {planes}; a network has from 1 to {MAX_PLANES} planes"));
        }
        let routers = plane.routers();
        let ports: u64 = (0..routers).map(|router| u64::from(plane.ports(RouterId(router)))).sum();
        let channels = u64::from(planes) * (ports + u64::from(plane.nodes()));
        if product([routers, planes].map(u64::from), MAX_ROUTERS).is_none() || channels > MAX_ALL_PORTS {
            return refuse(format!(
                "{planes} planes of {routers} routers are too many: together at most {MAX_ROUTERS} routers and \
                 {MAX_ALL_PORTS} channels are allowed"
            ));
        }
        Ok(Self { plane, planes, routers })
    }

    /// Returns the corresponding router of the first plane, and the router's plane.
    fn split(&self, router: RouterId) -> (RouterId, u32) {
        (RouterId(router.0 % self.routers), router.0 / self.routers)
    }
}

impl Topology for Planes {
    fn kind(&self) -> &'static str {
        self.plane.kind()
    }

    fn routers(&self) -> u32 {
        self.planes * self.routers
    }

    fn nodes(&self) -> u32 {
        self.plane.nodes()
    }

    fn ports(&self, router: RouterId) -> u16 {
        self.plane.ports(self.split(router).0)
    }

    fn endpoint(&self, router: RouterId, port: PortId) -> Endpoint {
        let (router, plane) = self.split(router);
        match self.plane.endpoint(router, port) {
            Endpoint::Router(next, port) => Endpoint::Router(RouterId(next.0 + plane * self.routers), port),
            end => end,
        }
    }

    fn attachment(&self, node: NodeId) -> (RouterId, PortId) {
        self.plane.attachment(node)
    }

    fn class_names(&self) -> Vec<&str> {
        self.plane.class_names()
    }

    fn class(&self, router: RouterId, port: PortId) -> ChannelClass {
        self.plane.class(self.split(router).0, port)
    }

    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        let ((from, plane), (to, other)) = (self.split(from), self.split(to));
        if plane == other { self.plane.distance(from, to) } else { NO_PATH }
    }

    fn diameter(&self) -> u32 {
        self.plane.diameter()
    }

    fn bisection_channels(&self) -> Option<u64> {
        self.plane.bisection_channels().map(|channels| channels * u64::from(self.planes))
    }

    fn coordinate_names(&self) -> Vec<String> {
        let mut names = self.plane.coordinate_names();
        names.push("plane".into());
        names
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        let (router, plane) = self.split(router);
        let mut coordinates = self.plane.coordinates(router);
        coordinates.push(plane);
        coordinates
    }

    fn locality(&self, router: RouterId) -> u64 {
        self.plane.locality(self.split(router).0)
    }

    fn views(&self) -> Views<'_> {
        Views { planes: Some((&self.plane, self.planes)), ..self.plane.views() }
    }
}
