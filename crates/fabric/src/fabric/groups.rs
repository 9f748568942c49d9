//! Packets that follow the tree of a group: their tags, their copying in routers, and their combining in combine units.
//!
//! A packet is looked up in the tables of trees by its entry, which comes from the table of the previous switch. Its
//! tag, which describes its operation, lies beside the pool; the tags are empty without groups. Model choice: a
//! multicast leaves out the port of the member that has sent it, by every switch or on its way down from the top
//! switch, unless its sender gets a copy too (`TreePacket::owners`).

use routing::RouteState;
use routing::trees::{Exit, Trees};
use topology::Endpoint;
use units::{NodeId, RouterId};

use super::{Arrival, Fabric};
use crate::event_kind;
use crate::fabric::wakes::notify;
use crate::index::PacketSlot;
use crate::packet::Packet;
use crate::port::FarEnd;
use crate::profile::General;
use crate::stations::combine::{CombineUnits, Contribution, UnitPlace};
use crate::tag::{GroupTag, TreeStage};
use crate::target::{TreePacket, TreeWork};
use crate::traffic::TrafficEvent;

/// Output that a packet on a tree takes, with its entry and stage beyond it.
#[derive(Clone, Copy, Debug)]
struct Branch {
    out: u16,
    class: u8,
    /// Entry at the far end. `Exit::NODE` if the far end is a member.
    next: u32,
    stage: TreeStage,
}

/// Packets of groups' operations. Empty without groups.
#[derive(Clone, Debug)]
pub(super) struct GroupPackets {
    /// Tags of the packets, by place of the pool.
    pub tags: Vec<GroupTag>,
    /// Combine units, if routers have any.
    pub units: Option<CombineUnits>,
    /// Buffer for splitting on a tree, kept to avoid allocation.
    branches: Vec<Branch>,
}
units::state!(GroupPackets { tags; each units; rebuilt branches });

impl GroupPackets {
    /// Creates the state without packets.
    pub fn new(units: Option<CombineUnits>) -> Self {
        Self { tags: Vec::new(), units, branches: Vec::new() }
    }
}

impl Fabric {
    /// Returns the trees of the network's groups, if it has any.
    #[inline]
    fn trees(&self) -> Option<&Trees> {
        self.plan.groups.as_ref().map(|groups| &*groups.trees)
    }

    /// Makes a packet that a node sends follow a tree. A tree that does not pass the node's switch leads to nobody.
    pub(crate) fn send_by_tree(&mut self, packet: PacketSlot, from: NodeId, of: TreePacket) {
        let Some(groups) = &self.plan.groups else { return };
        let (router, _) = groups.trees.attachment(&*self.plan.topology, of.tree, from);
        let tag = GroupTag::new(of, from, groups.turn);
        let entry = groups.trees.entry_at(router, of.tree);
        debug_assert!(entry.is_some(), "a node sends by a tree that does not reach it");
        if let Some(entry) = entry {
            self.pool[packet].set_tree_entry(entry);
            self.tag(packet, tag);
        }
    }

    /// Stores the tag of a packet of a group's operation.
    pub(super) fn tag(&mut self, packet: PacketSlot, tag: GroupTag) {
        if self.groups.tags.len() <= packet.index() {
            self.groups.tags.resize(packet.index() + 1, GroupTag::NONE);
        }
        self.groups.tags[packet.index()] = tag;
    }

    /// Returns the tag of a packet, if it belongs to a group's operation.
    pub(super) fn tag_of(&self, packet: PacketSlot) -> Option<GroupTag> {
        self.pool[packet].is_of_group().then(|| self.groups.tags[packet.index()])
    }

    /// Copies a packet on a tree that has left the pipeline: adds an arrival for each of its outputs, in the order of
    /// ports. The first arrival is the packet itself. There are none if a multicast reaches nobody but the member that
    /// has sent it.
    #[inline(never)]
    pub(super) fn split_on_tree(&mut self, arrival: &Arrival, into: &mut Vec<Arrival>) {
        let packet = arrival.packet;
        let (Some(entry), Some(tag)) = (self.pool[packet].entry(), self.tag_of(packet)) else { return };
        let mut branches = std::mem::take(&mut self.groups.branches);
        self.find_tree_branches(arrival, (entry, &tag), &mut branches);
        self.pool[packet].hops += 1;
        let bytes = self.pool[packet].bytes;
        let (first, ports, now) = (into.len(), self.plan.topology.ports(arrival.id), self.now());
        for &Branch { out, class, next, stage } in &branches {
            let copy = if into.len() == first { packet } else { self.copy(packet) };
            let node = if next == Exit::NODE { self.node_at(arrival.id, out) } else { None };
            match node {
                Some(node) => self.pool[copy].set_tree_end(node),
                None => self.pool[copy].set_tree_entry(next),
            }
            let unit = self.unit_number(arrival, out);
            self.tag(copy, GroupTag { stage, unit, port: arrival.port, ..tag });
            if out >= ports
                && let Some(units) = &mut self.groups.units
            {
                units.comes(unit, now);
            }
            self.pool[copy].leave_by(out, class);
            self.wait::<General>(arrival.base as usize + usize::from(out), class, bytes);
            into.push(Arrival { packet: copy, out, class, bytes, ..*arrival });
        }
        if branches.len() > 1 {
            self.context.counters.split(&self.pool[packet], (branches.len() - 1) as u64);
        }
        branches.clear();
        self.groups.branches = branches;
    }

    /// Returns the number of the unit behind an output of an arrival's router.
    fn unit_number(&self, arrival: &Arrival, out: u16) -> u32 {
        let Some(units) = &self.groups.units else { return 0 };
        let own = out.saturating_sub(self.plan.topology.ports(arrival.id));
        arrival.router * u32::from(units.per_router()) + u32::from(own)
    }

    fn node_at(&self, router: RouterId, out: u16) -> Option<NodeId> {
        match self.plan.topology.endpoint(router, units::PortId(out)) {
            Endpoint::Node(node) => Some(node),
            _ => None,
        }
    }

    /// Decides the outputs of a packet on a tree.
    fn find_tree_branches(&self, arrival: &Arrival, (entry, tag): (u32, &GroupTag), branches: &mut Vec<Branch>) {
        let Some(trees) = self.trees() else { return };
        let go = |stage| move |exit: &Exit| Branch { out: exit.port.0, class: exit.vc_class.0, next: exit.next, stage };
        let ports = self.plan.topology.ports(arrival.id);
        match (tag.stage, trees.up(entry), &self.groups.units) {
            (TreeStage::Flooding, ..) => {
                let returns = |exit: &Exit| tag.of.owners && exit.next == Exit::NODE;
                let others = trees.exits(entry).iter().filter(|exit| exit.port.0 != arrival.port || returns(exit));
                branches.extend(others.map(go(TreeStage::Flooding)));
            }
            (TreeStage::Upward, Some(up), _) => branches.push(go(TreeStage::Upward)(up)),
            (TreeStage::Upward | TreeStage::Downward, up, _) => {
                let sender = |exit: &Exit| {
                    exit.next == Exit::NODE
                        && !tag.of.owners
                        && tag.of.work == TreeWork::Multicast
                        && self.node_at(arrival.id, exit.port.0) == Some(tag.from)
                };
                let down = trees.exits(entry).iter().filter(|&exit| Some(exit) != up && !sender(exit));
                branches.extend(down.map(go(TreeStage::Downward)));
            }
            (TreeStage::Combining, _, Some(units)) => {
                if arrival.port < ports {
                    let out = ports + units.unit_for(arrival.id, arrival.port);
                    branches.push(Branch { out, class: 0, next: entry, stage: TreeStage::Combining });
                    return;
                }
                match units.direction(entry, tag.of.work) {
                    Some(exit) => branches.push(go(TreeStage::Combining)(&exit)),
                    None => branches.extend(trees.exits(entry).iter().map(go(TreeStage::Downward))),
                }
            }
            (TreeStage::Combining, _, None) => debug_assert!(false, "a reduction without combine units"),
        }
    }

    /// Handles the packets that combine units have combined in this instant.
    #[inline(never)]
    pub(crate) fn combine(&mut self, packets: &mut Vec<PacketSlot>) {
        // In the order of units, whatever the order of events.
        packets.sort_unstable_by_key(|&packet| self.groups.tags[packet.index()].unit);
        packets.drain(..).for_each(|packet| self.combined(packet));
    }

    /// Handles a packet that a combine unit has received whole and combined: the packet ends here, and a completed
    /// result is queued for sending.
    #[inline(never)]
    fn combined(&mut self, packet: PacketSlot) {
        let now = self.now();
        let (Some(tag), Some(entry)) = (self.tag_of(packet), self.pool[packet].entry()) else { return };
        let Packet { flow_id, bytes, generated_at, .. } = self.pool[packet];
        self.context.counters.combined(&self.pool[packet]);
        self.pool.free(packet);
        let Some(units) = &mut self.groups.units else { return };
        let per_router = u32::from(units.per_router());
        let place = UnitPlace { router: tag.unit / per_router, unit: (tag.unit % per_router) as u16 };
        let contribution = Contribution { entry, of: tag.of, port: tag.port, flow_id, bytes, generated_at };
        let Some(sum) = units.combine(place, &contribution) else { return };
        let root = units.root_of(place).map(|root| (root, units.hand_over(root, sum.bytes, now)));
        let mut result = Packet::new(sum.generated_at, sum.flow_id, NodeId(0), (RouteState::default(), sum.bytes));
        result.set_tree_entry(entry);
        let result = self.admit(result, 0);
        let of = TreePacket { contributions: sum.contributions, value: sum.value, element: sum.element, ..tag.of };
        let unit = root.map_or(tag.unit, |(root, _)| root.router * per_router + u32::from(root.unit));
        self.tag(result, GroupTag { of, from: NodeId(0), stage: TreeStage::Combining, unit, port: place.unit });
        self.mark_packet(result, 0);
        self.context.counters.made(&self.pool[result]);
        if let Some((_, at)) = root {
            return self.wheel.insert(at, event_kind::TRAFFIC, result.0, notify::COMBINED);
        }
        if let Some(units) = &mut self.groups.units {
            units.results[tag.unit as usize].push(&mut self.pool, result);
        }
        self.work.nodes.mark(self.nodes.len() + tag.unit as usize);
    }

    /// Returns the time, in ticks, for which a packet whose tail comes in after `tail_in` ticks keeps the combine unit
    /// behind an output busy. `None` for other outputs.
    #[inline(always)]
    pub(crate) fn time_in_unit(&self, output: usize, bytes: u32, tail_in: u64) -> Option<u64> {
        match (&self.groups.units, self.outputs[output].far_end) {
            (Some(units), FarEnd::Unit) => Some(tail_in + units.time(bytes)),
            _ => None,
        }
    }

    /// Sends the next result of a combine unit, if it can be sent. `unit` is numbered in the partition.
    #[inline(never)]
    pub(crate) fn send_result(&mut self, unit: usize, now: u64) {
        let Some(packet) =
            self.groups.units.as_ref().map(|units| units.results[unit].head()).filter(|&head| head != PacketSlot::NONE)
        else {
            return;
        };
        let output = self.ports() + self.nodes.len() + unit;
        let free_at = self.outputs[output].free_at;
        if free_at > now {
            return self.wake_at(output, free_at);
        }
        let bytes = self.pool[packet].bytes;
        let Some(vc) = self.ready_vc(output, packet, (0, bytes)) else { return self.block(output) };
        if let Some(units) = &mut self.groups.units {
            units.results[unit].pop(&self.pool);
        }
        self.send_from_unit(output, super::Outgoing { packet, bytes, vc }, now);
        if self.groups.units.as_ref().is_some_and(|units| !units.results[unit].is_empty()) {
            let free_at = self.outputs[output].free_at;
            self.wake_at(output, free_at);
        }
    }

    /// Returns the delivery event of a packet whose tail has reached its node at the end of a tree.
    pub(super) fn collected(&mut self, packet: PacketSlot, tag: &GroupTag) -> TrafficEvent {
        let Packet { flow_id, bytes, .. } = self.pool[packet];
        let node = self.pool[packet].dst();
        let mark = self.mark_of(packet);
        self.pool.free(packet);
        TrafficEvent::Collected { flow_id, node, of: tag.of, bytes, mark }
    }

    /// Ends a packet at a router because nobody behind it is to receive it, and frees its space.
    #[inline(never)]
    pub(crate) fn end_here(&mut self, arrival: &Arrival, now: u64) {
        let packet = arrival.packet;
        let bytes = self.pool[packet].bytes;
        self.context.counters.combined(&self.pool[packet]);
        self.pool.free(packet);
        let input = arrival.input(self.params.vc_shift);
        self.return_credit::<General>(super::Space { input, part: 0 }, bytes, now);
    }

    /// Notes that a combine unit begins to receive a packet.
    pub(super) fn enter_unit(&mut self, packet: PacketSlot) {
        let (unit, now) = (self.groups.tags[packet.index()].unit, self.now());
        if let Some(units) = &mut self.groups.units {
            units.goes(unit, now);
        }
    }

    /// Returns the longest time for which packets have waited at any one combine unit, in ticks.
    pub(crate) fn longest_wait(&self) -> u64 {
        self.groups.units.as_ref().map_or(0, CombineUnits::longest_wait)
    }

    /// Returns whether no combine unit holds anything.
    pub(crate) fn has_idle_units(&self) -> bool {
        self.groups.units.as_ref().is_none_or(CombineUnits::is_empty)
    }

    /// Returns the number of combine units of this partition.
    pub(crate) fn unit_count(&self) -> usize {
        self.groups.units.as_ref().map_or(0, |units| units.results.len())
    }
}
