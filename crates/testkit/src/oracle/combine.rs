//! Combine units: stations behind a port of each router that combine the packets of a group's allreduce, and the paths
//! of these packets along the group's tree.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use routing::trees::Exit;
use topology::ChannelClass;
use units::{NodeId, PortId, RouterId, VcClass};

use super::packet::{Packet, TreePlace};
use super::{Mutant, Simulator};

/// Combine unit of a router.
#[derive(Debug, Default)]
pub(super) struct Unit {
    /// Number of packets that have come for a partial sum, by entry of the tree and segment.
    partial: BTreeMap<(u32, u64), usize>,
    /// Results to be sent into the router.
    results: VecDeque<Packet>,
}

/// Part of a member in an allreduce.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    tree: u32,
    bytes: u64,
    /// Number of segments sent.
    sent: u64,
    /// First segment whose result has not come, and the later ones whose results have. Results overtake one another on
    /// different virtual channels.
    first: u64,
    later: BTreeSet<u64>,
}

impl Simulator<'_> {
    /// Class of the channels between routers and their units, after those of the topology.
    pub(super) fn internal(&self) -> ChannelClass {
        ChannelClass(self.network.links.len() as u8)
    }

    /// Returns the channel from a router to its unit. The next one leads back.
    pub(super) fn to_unit(&self, router: usize) -> usize {
        self.channels.count() as usize + 2 * router
    }

    /// Gives every member of every group its part of an allreduce, and returns the number of results.
    pub(super) fn begin_allreduce(&mut self, job: usize, bytes: u64) -> u64 {
        let Some(groups) = self.network.groups else { return 0 };
        let mut results = 0;
        for group in 0..groups.trees.groups() {
            for node in groups.trees.members_of(group) {
                let tree = groups.trees.trees_of(group).start;
                self.sources[node.index()].set_part(job, Part { tree, bytes, ..Part::default() });
                results += bytes.div_ceil(self.network.packet);
            }
        }
        results
    }

    /// Returns the next segment of a member's part that the window allows.
    pub(super) fn contribute(&self, node: NodeId, part: &mut Part) -> Option<(u64, TreePlace)> {
        let groups = self.network.groups?;
        let window = u64::from(groups.units.window) + u64::from(self.network.mutant == Some(Mutant::LongGroupWindow));
        let left = part.bytes.saturating_sub(part.sent * self.network.packet);
        if left == 0 || part.sent >= part.first + window {
            return None;
        }
        let segment = part.sent;
        part.sent += 1;
        let entry = groups.trees.entry_at(self.network.topology.attachment(node).0, part.tree)?;
        Some((left.min(self.network.packet), TreePlace { entry, segment, is_result: false }))
    }

    /// Returns the outputs of a packet of a group at a router, each with its class and the packet's place beyond it.
    pub(super) fn tree_branches(
        &self,
        router: usize,
        in_port: PortId,
        place: TreePlace,
    ) -> Vec<(u16, VcClass, TreePlace)> {
        let Some(groups) = self.network.groups else { return Vec::new() };
        let ports = self.network.topology.ports(RouterId(router as u32));
        let is_result = |next: u32, is_result: bool| TreePlace { entry: next, is_result, ..place };
        let go = |exit: &Exit, down: bool| (exit.port.0, exit.vc_class, is_result(exit.next, down));
        let up = groups.trees.up(place.entry);
        if !place.is_result && in_port.0 < ports {
            return vec![(ports, VcClass(0), place)];
        }
        match up.filter(|_| !place.is_result) {
            Some(up) => vec![go(up, false)],
            None => {
                let down = groups.trees.exits(place.entry).iter().filter(|&exit| Some(exit) != up);
                down.map(|exit| go(exit, true)).collect()
            }
        }
    }

    /// Returns the time for which a packet keeps a unit busy once its tail is there.
    pub(super) fn time_in_unit(&self, bytes: u64) -> u64 {
        self.network.groups.map_or(0, |groups| {
            let words = bytes.div_ceil(groups.units.word).div_ceil(groups.units.words_per_cycle);
            (groups.units.header_cycles + words.max(1)) * groups.units.cycle
        })
    }

    /// Adds a packet to its partial sum. A whole sum is a result.
    pub(super) fn combine(&mut self, now: u64, router: usize, packet: Packet) {
        let (Some(groups), Some(place)) = (self.network.groups, packet.tree) else { return };
        let expected = groups.trees.exits(place.entry).len() - usize::from(groups.trees.up(place.entry).is_some());
        let unit = &mut self.units[router];
        let arrived = unit.partial.entry((place.entry, place.segment)).or_insert(0);
        *arrived += 1;
        if *arrived == expected {
            unit.partial.remove(&(place.entry, place.segment));
            unit.results.push_back(packet);
            self.events.visit_unit(now, router);
        }
    }

    /// Sends a unit's next result into its router, if the channel is free and has credit for it.
    pub(super) fn send_result(&mut self, now: u64, router: usize) {
        let channel = self.to_unit(router) + 1;
        let Some(packet) = self.units[router].results.front().cloned() else { return };
        let free_at = self.senders[channel].free_at;
        if free_at > now {
            self.events.visit_unit(free_at, router);
        } else if let Some(vc) = self.vc_with_room(channel, &Packet { class: VcClass(0), ..packet.clone() }) {
            self.units[router].results.pop_front();
            self.transmit(now, channel, vc, Packet { tail: now, class: VcClass(0), ..packet });
            self.events.visit_unit(self.senders[channel].free_at, router);
        } else {
            self.senders[channel].starved = true;
        }
    }
}

impl Part {
    /// Notes that the result of a segment has come.
    pub fn finish(&mut self, segment: u64) {
        self.later.insert(segment);
        while self.later.remove(&self.first) {
            self.first += 1;
        }
    }
}
