//! `lash`: layered shortest paths (Skeie, Lysne and Theiss, "Layered shortest path (LASH) routing in irregular system
//! area networks", IPDPS 2002), as OpenSM makes them.
//!
//! Router by router, a breadth-first tree gives the paths to all routers below each of its branches, unless an earlier
//! tree has given them. The paths of both directions of a pair of routers then go to the first lane in which no cycle
//! of waiting channels forms. OpenSM afterwards moves pairs to even out the lanes; here pairs stay.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;
use units::{KeyError, RouterId};

use super::Subnet;
use super::lanes::{Dependencies, too_many_lanes};
use crate::Routing;
use crate::algorithms::shortest_path::MAX_CLASSES;
use crate::algorithms::table::{Forwarding, NO_PORT};
use crate::algorithms::tables::refuse_too_many;

/// Any topology: OpenSM's `lash`, one shortest path for each pair of routers, on as many lanes as keep it free of
/// deadlock. The traffic of all nodes on a router to those on another shares this path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LashSpec {}

/// Mark of a missing step.
const NONE: u32 = u32::MAX;

impl LashSpec {
    /// Builds the routing on a topology.
    ///
    /// # Errors
    /// If routers cannot reach one another, if more than 64 lanes are needed, if there are more than 2^28 pairs of
    /// routers, or if the table would have more than 2^28 entries.
    pub fn build(&self, topology: &dyn Topology) -> Result<impl Routing + use<>, KeyError> {
        let subnet = Subnet::new(topology, "lash")?;
        refuse_too_many(topology, "lash", (topology.routers(), "router"))?;
        subnet.check_connected()?;
        let links = Links::new(&subnet);
        let steps = steps(&links, subnet.nodes.len());
        let by_router = layers(&links, &steps)?;
        let lanes = by_router.iter().flat_map(|row| subnet.homes.iter().map(|&(home, _)| row[home.index()])).collect();
        Forwarding { ports: outputs(&subnet, &links, &steps), lanes }.build("lash", topology)
    }
}

/// Neighbours of routers. Of several wires to a neighbour the first is used.
struct Links {
    /// First link of each router, followed by the number of all.
    first: Vec<u32>,
    /// Router at the end of each link.
    ends: Vec<RouterId>,
    /// Port of each link.
    ports: Vec<u16>,
}

impl Links {
    fn new(subnet: &Subnet<'_>) -> Self {
        let mut made = Self { first: vec![0], ends: Vec::new(), ports: Vec::new() };
        for router in subnet.routers() {
            let first = made.ends.len();
            for &(port, next) in subnet.wires.of(router).iter().filter(|&&(_, next)| next != router) {
                if !made.ends[first..].contains(&next) {
                    made.ends.push(next);
                    made.ports.push(port.0);
                }
            }
            made.first.push(made.ends.len() as u32);
        }
        made
    }

    fn of(&self, router: RouterId) -> std::ops::Range<u32> {
        self.first[router.index()]..self.first[router.index() + 1]
    }

    fn end(&self, link: u32) -> RouterId {
        self.ends[link as usize]
    }
}

/// Returns the link by which each router sends to each destination, by router and destination.
fn steps(links: &Links, routers: usize) -> Vec<Vec<u32>> {
    let mut steps = vec![vec![NONE; routers]; routers];
    let mut by = vec![NONE; routers];
    for root in (0..routers as u32).map(RouterId) {
        // By router, the link and the router from which the search came.
        let mut came = vec![root; routers];
        by.fill(NONE);
        let mut queue = VecDeque::from([root]);
        while let Some(router) = queue.pop_front() {
            for link in links.of(router) {
                let end = links.end(link);
                if end != root && by[end.index()] == NONE {
                    (by[end.index()], came[end.index()]) = (link, router);
                    queue.push_back(end);
                }
            }
        }
        for to in (0..routers as u32).map(RouterId) {
            let mut at = to;
            while by[at.index()] != NONE {
                let (link, before) = (by[at.index()], came[at.index()]);
                let step = &mut steps[before.index()][to.index()];
                *step = if *step == NONE { link } else { *step };
                at = before;
            }
        }
    }
    steps
}

/// Returns the lane of each pair of routers.
fn layers(links: &Links, steps: &[Vec<u32>]) -> Result<Vec<Vec<u8>>, KeyError> {
    let routers = steps.len();
    let mut lanes = vec![vec![0_u8; routers]; routers];
    let mut layers = vec![Dependencies::new(links.ends.len())];
    let mut added = Vec::new();
    for from in 0..routers {
        for to in (0..from).filter(|&to| steps[from][to] != NONE) {
            added.clear();
            follow(links, steps, (from, to), &mut added);
            follow(links, steps, (to, from), &mut added);
            let lane = match layers.iter_mut().position(|layer| layer.add_all(&added)) {
                Some(lane) => lane,
                None => {
                    layers.push(Dependencies::new(links.ends.len()));
                    // A shortest path and its way back never wait for themselves.
                    layers.last_mut().map(|layer| layer.add_all(&added));
                    layers.len() - 1
                }
            };
            (lanes[from][to], lanes[to][from]) = (lane as u8, lane as u8);
        }
        if layers.len() > MAX_CLASSES as usize {
            return Err(too_many_lanes("lash"));
        }
    }
    Ok(lanes)
}

/// Adds the dependencies of a path, between consecutive links.
fn follow(links: &Links, steps: &[Vec<u32>], (from, to): (usize, usize), added: &mut Vec<(u32, u32)>) {
    let mut held = steps[from][to];
    loop {
        let at = links.end(held).index();
        if at == to {
            return;
        }
        added.push((held, steps[at][to]));
        held = steps[at][to];
    }
}

/// Returns the outputs.
fn outputs(subnet: &Subnet<'_>, links: &Links, steps: &[Vec<u32>]) -> Vec<u16> {
    let port = |&link: &u32| links.ports.get(link as usize).copied().unwrap_or(NO_PORT);
    steps.iter().flat_map(|row| subnet.homes.iter().map(move |&(home, _)| port(&row[home.index()]))).collect()
}
