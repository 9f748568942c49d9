//! Copies of multicast packets: the splitting of a packet at a router, and the space that its copies share.

use std::collections::BTreeMap;

use routing::{Hop, Route, RouteState};
use units::{NodeId, RouterId};

use super::Simulator;
use super::packet::Packet;

/// Space that several copies share.
#[derive(Debug)]
struct Share {
    /// Number of copies that have not left.
    left: usize,
    /// Time at which the copies that have left allow the space to be freed.
    free_at: u64,
}

/// Spaces that copies share, by number.
#[derive(Debug, Default)]
pub(super) struct Shares {
    spaces: BTreeMap<u64, Share>,
    /// Number of packets and spaces that have had a number.
    count: u64,
}

impl Shares {
    /// Returns a number that nothing has had.
    pub fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Makes packets share one space.
    pub fn share<'a>(&mut self, copies: impl Iterator<Item = &'a mut Packet>) {
        let number = self.number();
        let mut left = 0;
        for copy in copies {
            copy.share = Some(number);
            left += 1;
        }
        self.spaces.insert(number, Share { left, free_at: 0 });
    }

    /// Removes a packet from its space, which it allows to be freed at `at`. Returns the time at which the space
    /// becomes free, or `None` if other copies are there.
    pub fn leave(&mut self, packet: &Packet, at: u64) -> Option<u64> {
        let Some(number) = packet.share else { return Some(at) };
        let space = self.spaces.get_mut(&number)?;
        space.left -= 1;
        space.free_at = space.free_at.max(at);
        (space.left == 0).then_some(space.free_at)
    }
}

impl Simulator<'_> {
    /// Splits a packet at a router: the destinations with one output and class go on as one copy, in the order of
    /// outputs and classes.
    pub(super) fn split(&mut self, router: usize, packet: &Packet) -> Vec<Packet> {
        if let Some(place) = packet.tree {
            let branches = self.tree_branches(router, packet.in_port, place);
            let copy = |(out, class, place)| {
                let run = self.shares.number();
                Packet { out, class, tree: Some(place), run, share: None, ..packet.clone() }
            };
            return branches.into_iter().map(copy).collect();
        }
        let mut branches: BTreeMap<_, Vec<(NodeId, RouteState)>> = BTreeMap::new();
        let mut outs: BTreeMap<Route, u16> = BTreeMap::new();
        for &(dst, state) in &packet.members {
            let mut hop = Hop { dst, state, in_port: packet.in_port, vc_class: packet.vc_class };
            let route = self.network.routing.route(RouterId(router as u32), &mut hop);
            // Members with one choice go on together.
            let out = *outs.entry(route).or_insert_with(|| self.output_of(router, &route));
            branches.entry((out, route.vc_class)).or_default().push((dst, hop.state));
        }
        let copy = |((out, class), members)| Packet { out, class, members, share: None, ..packet.clone() };
        let mut copies: Vec<Packet> = branches.into_iter().map(copy).collect();
        copies.iter_mut().for_each(|copy| copy.run = self.shares.number());
        copies
    }

    /// Returns the port that a router takes of a route: if there are several, the next in turn.
    fn output_of(&mut self, router: usize, route: &Route) -> u16 {
        if route.count == 1 {
            return route.first().0;
        }
        let turn = &mut self.routers[router].turn;
        let pick = (*turn + router as u64) % u64::from(route.count);
        *turn += 1;
        route.ports(self.network.routing.port_lists()).nth(pick as usize).unwrap_or(route.first()).0
    }
}
