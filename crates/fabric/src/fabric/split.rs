//! Splitting of multicast packets: each member of the set takes the output that a unicast packet for it would take, and
//! the members with the same output and class go on as one packet.
//!
//! So multicasts work on every topology with every routing, and they wait only for channels that unicast packets wait
//! for too: the proof of freedom from deadlock covers them. Model choice: members that the routing offers the same
//! outputs share one choice among them, adaptive or drawn, which keeps them together for as long as their paths allow
//! it. If a routing weighs the paths of a packet (`Choice::Weighed`), each member is weighed separately.

use routing::{Choice, Hop, Route};
use units::{PortId, VcClass};

use super::reservations::OpenPort;
use super::sets::Sets;
use super::{Arrival, Copies, Fabric};
use crate::index::PacketSlot;
use crate::profile::General;
use crate::target::Member;

/// Member of a set, with its output and class.
#[derive(Clone, Copy, Debug)]
struct Branch {
    out: u16,
    class: u8,
    /// Whether credit of the adaptive class has been reserved for this member (`Choice::Escape`).
    reserved: bool,
    member: Member,
}

impl Branch {
    /// Returns the key of the branch. Members with equal keys go on as one packet.
    #[inline(always)]
    fn key(&self) -> u32 {
        u32::from(self.out) << 8 | u32::from(self.class)
    }

    /// Returns the sort key of the branch: output, class, node.
    #[inline(always)]
    fn order(&self) -> u64 {
        u64::from(self.key()) << 32 | u64::from(self.member.node.0)
    }
}

/// Multicast packets. Empty without multicasts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Multicasts {
    /// Packets that share buffer space.
    pub copies: Copies,
    /// Destination sets.
    pub sets: Sets,
    buffers: Splitting,
}
units::state!(Multicasts { copies, sets; rebuilt buffers });

/// Buffers for splitting, kept to avoid allocation.
#[derive(Clone, Debug, Default)]
struct Splitting {
    branches: Vec<Branch>,
    /// Choices that this packet has made so far: route and output.
    choices: Vec<(Route, u16)>,
    members: Vec<Member>,
}

impl Fabric {
    /// Returns whether an arrival is a multicast packet, which has to be split.
    #[inline(always)]
    pub(crate) fn is_multicast(&self, packet: PacketSlot) -> bool {
        self.pool[packet].is_multicast()
    }

    /// Splits a multicast packet that has left the pipeline: adds an arrival for each output of its members, in the
    /// order of outputs, and counts each as waiting for its output. The first arrival is the packet itself.
    #[inline(never)]
    pub(crate) fn split(&mut self, arrival: &Arrival, into: &mut Vec<Arrival>) {
        let packet = arrival.packet;
        let Some(set) = self.pool[packet].set() else { return self.split_on_tree(arrival, into) };
        let mut splitting = std::mem::take(&mut self.multicasts.buffers);
        self.find_branches(arrival, set, &mut splitting);
        let branches = &mut splitting.branches[..];
        branches.sort_unstable_by_key(Branch::order);
        self.pool[packet].hops += 1;
        let first = into.len();
        if branches.first().map(Branch::key) == branches.last().map(Branch::key) {
            // All members go on together, mostly toward the routers at which they part: the set stays.
            self.multicasts
                .sets
                .get_mut(set)
                .iter_mut()
                .zip(&*branches)
                .for_each(|(member, branch)| *member = branch.member);
            into.push(self.branch_off(arrival, packet, branches));
        } else {
            self.multicasts.sets.free(set);
            for group in branches.chunk_by(|a, b| a.key() == b.key()) {
                let copy = if into.len() == first { packet } else { self.copy(packet) };
                self.address(copy, group.iter().map(|branch| branch.member));
                into.push(self.branch_off(arrival, copy, group));
            }
        }
        self.context.counters.split(&self.pool[packet], (into.len() - first - 1) as u64);
        self.multicasts.buffers = splitting;
    }

    /// Lets a packet leave by the output and on the class of a group of branches, and counts it as waiting for the
    /// output.
    #[inline(always)]
    fn branch_off(&mut self, arrival: &Arrival, packet: PacketSlot, group: &[Branch]) -> Arrival {
        let Branch { out, class, .. } = group[0];
        let place = &mut self.pool[packet];
        place.leave_by(out, class);
        let bytes = place.bytes;
        let output = arrival.base as usize + usize::from(out);
        self.wait::<General>(output, class, bytes);
        if let Some(reservations) = &mut self.reservations {
            // One packet needs one reservation.
            let reserved = group.iter().filter(|branch| branch.reserved).count() as u32;
            reservations.packets[output] -= reserved.saturating_sub(1);
        }
        Arrival { packet, out, class, bytes, ..*arrival }
    }

    /// Sets the destination nodes of a packet. Not inlined, so that sources of unicast packets do not spill registers
    /// for it.
    #[inline(never)]
    pub(crate) fn address(&mut self, packet: PacketSlot, mut members: impl ExactSizeIterator<Item = Member>) {
        if members.len() != 1 {
            let set = self.multicasts.sets.put(members);
            return self.pool[packet].set_destinations(set);
        }
        if let Some(Member { node, state }) = members.next() {
            self.pool[packet].set_node(node, state);
        }
    }

    /// Returns the destinations of a multicast packet. Empty for a unicast packet.
    pub(crate) fn members_of(&self, packet: PacketSlot) -> &[Member] {
        self.pool[packet].set().map_or(&[], |set| self.multicasts.sets.get(set))
    }

    /// Frees the slot of a packet that is not delivered here, and its set.
    pub(crate) fn discard(&mut self, packet: PacketSlot) {
        if let Some(set) = self.pool[packet].set() {
            self.multicasts.sets.free(set);
        }
        self.pool.free(packet);
    }

    /// Decides the output of each member of a set.
    fn find_branches(&mut self, arrival: &Arrival, set: u32, splitting: &mut Splitting) {
        let Splitting { branches, choices, members } = splitting;
        branches.clear();
        choices.clear();
        members.clear();
        members.extend_from_slice(self.multicasts.sets.get(set));
        let vc_class = VcClass(if self.params.reads_class {
            self.class_of(arrival.base, arrival.port, arrival.vc)
        } else {
            arrival.vc
        });
        for &Member { node, state } in &*members {
            let mut hop = Hop { dst: node, state, in_port: PortId(arrival.port), vc_class };
            let before = hop.state;
            let route = self.routing.route(arrival.id, &mut hop);
            let member = Member { node, state: hop.state };
            branches.push(if route.count == 1 && route.choice != Choice::Escape {
                Branch { out: route.first().0, class: route.vc_class.0, reserved: false, member }
            } else {
                self.branch(arrival, &route, (Hop { state: before, ..hop }, member), choices)
            });
        }
    }

    /// Returns the output of a member for which the routing offers a choice. `before` is the hop with the state of the
    /// member's arrival.
    fn branch(
        &mut self,
        arrival: &Arrival,
        route: &Route,
        (before, member): (Hop, Member),
        choices: &mut Vec<(Route, u16)>,
    ) -> Branch {
        let class = route.vc_class.0;
        if route.choice.is_weighed() {
            let best = self.best_path(arrival, route, before);
            let member = Member { state: best.hop.state, ..member };
            return Branch { out: best.out, class: best.class.0, reserved: false, member };
        }
        if let Some(&(_, out)) = choices.iter().find(|(other, _)| other == route) {
            return Branch { out, class, reserved: false, member };
        }
        if route.choice == Choice::Escape {
            let OpenPort { out, class, reserved } = self.open_port_or_escape(arrival, route, &before);
            if reserved {
                choices.push((*route, out));
            }
            return Branch { out, class, reserved, member };
        }
        let out = self.choose(arrival.router as usize, arrival.base as usize, route);
        choices.push((*route, out));
        Branch { out, class, reserved: false, member }
    }
}
