//! A packet for several nodes is split: each of its members goes where a packet for that node alone would go, and those that leave by
//! the same output on the same class go on as one packet.
//!
//! So multicasts work on every topology with every routing, and what they wait for are channels that packets for one node wait for
//! too: the proof of freedom from deadlock covers them. Model choice: members that the routing offers the same outputs share one
//! choice among them, adaptive or drawn, which keeps them together for as long as their paths allow it; where a routing weighs two
//! paths of a packet (`Choice::Ugal`), each member is weighed by itself.

use routing::{Choice, Hop, Route};
use units::{PortId, VcClass};

use super::{Arrival, Fabric};
use crate::target::Member;

/// A member and where it leaves.
#[derive(Clone, Copy, Debug)]
struct Branch {
    out: u16,
    class: u8,
    /// It is the one for which credit of the adaptive class has been promised (`Choice::Escape`).
    promised: bool,
    member: Member,
}

/// What splitting needs, kept for its memory.
#[derive(Debug, Default)]
pub(crate) struct Splitting {
    branches: Vec<Branch>,
    /// The choices that this packet has made so far: route, output.
    choices: Vec<(Route, u16)>,
    members: Vec<Member>,
}

impl Fabric {
    /// Whether a packet that has arrived is for several nodes, so that it has to be split.
    #[inline(always)]
    pub(crate) fn is_for_many(&self, packet: u32) -> bool {
        self.pool[packet].is_for_many()
    }

    /// Splits a packet for several nodes that is through the pipeline: adds an arrival for each output by which members leave, in the
    /// order of outputs, and counts each as waiting for its output. The first is the packet itself.
    #[inline(never)]
    pub(crate) fn split(&mut self, arrival: &Arrival, into: &mut Vec<Arrival>) {
        let packet = arrival.packet;
        let Some(set) = self.pool[packet].set() else { return self.split_on_tree(arrival, into) };
        let mut splitting = std::mem::take(&mut self.splitting);
        self.find_branches(arrival, set, &mut splitting);
        let Splitting { branches, members, .. } = &mut splitting;
        branches.sort_unstable_by_key(|branch| (branch.out, branch.class, branch.member.node));
        self.sets.free(set);
        self.pool[packet].hops += 1;
        let bytes = self.pool[packet].bytes;
        let first = into.len();
        for group in branches.chunk_by(|a, b| (a.out, a.class) == (b.out, b.class)) {
            let copy = if into.len() == first { packet } else { self.copy(packet) };
            members.clear();
            members.extend(group.iter().map(|branch| branch.member));
            self.address(copy, members);
            let Branch { out, class, .. } = group[0];
            self.pool[copy].leave_by(out, class);
            let output = arrival.base as usize + usize::from(out);
            self.outputs[output].queued += u64::from(bytes);
            let promised = group.iter().filter(|branch| branch.promised).count();
            if promised > 1 {
                // One packet needs one promise.
                self.promised[output] -= promised as u32 - 1;
            }
            into.push(Arrival { packet: copy, out, class, bytes, ..*arrival });
        }
        self.context.counters.split(&self.pool[packet], (into.len() - first - 1) as u64);
        self.splitting = splitting;
    }

    /// Has a packet be for some nodes.
    pub(crate) fn address(&mut self, packet: u32, members: &[Member]) {
        if let [Member { node, state }] = *members {
            self.pool[packet].be_for_node(node, state);
        } else {
            let set = self.sets.put(members);
            self.pool[packet].be_for_set(set);
        }
    }

    /// The members that a packet is for; none if it is for one node.
    pub(crate) fn members_of(&self, packet: u32) -> &[Member] {
        self.pool[packet].set().map_or(&[], |set| self.sets.get(set))
    }

    /// Frees the place of a packet that is not delivered here, and its set.
    pub(crate) fn discard(&mut self, packet: u32) {
        if let Some(set) = self.pool[packet].set() {
            self.sets.free(set);
        }
        self.pool.free(packet);
    }

    /// Decides by which output each member of a set leaves.
    fn find_branches(&mut self, arrival: &Arrival, set: u32, splitting: &mut Splitting) {
        let Splitting { branches, choices, .. } = splitting;
        branches.clear();
        choices.clear();
        let vc_class =
            VcClass(if self.reads_class { self.class_of(arrival.base, arrival.port, arrival.vc) } else { arrival.vc });
        for index in 0..self.sets.get(set).len() {
            let Member { node, state } = self.sets.get(set)[index];
            let mut hop = Hop { dst: node, state, in_port: PortId(arrival.port), vc_class };
            let before = hop.state;
            let route = self.routing.route(arrival.id, &mut hop);
            let branch = self.branch(arrival, &route, (Hop { state: before, ..hop }, hop), choices);
            branches.push(branch);
        }
    }

    /// Where a member leaves that a routing gives a route, `hops` before and after.
    fn branch(
        &mut self,
        arrival: &Arrival,
        route: &Route,
        (before, after): (Hop, Hop),
        choices: &mut Vec<(Route, u16)>,
    ) -> Branch {
        let member = Member { node: after.dst, state: after.state };
        let class = route.vc_class.0;
        let made = choices.iter().find(|(other, _)| other == route).map(|&(_, out)| out);
        match route.choice {
            Choice::Ugal => {
                let best = self.best_path(arrival, before);
                let member = Member { state: best.hop.state, ..member };
                return Branch { out: best.out, class: best.class.0, promised: false, member };
            }
            _ if made.is_some() => {}
            Choice::Escape => {
                let (port, vc_class, promised) = self.open_port_or_escape(arrival, route, &before);
                if promised {
                    choices.push((*route, port));
                }
                return Branch { out: port, class: vc_class, promised, member };
            }
            Choice::Random | Choice::LeastLoaded if route.count > 1 => {
                let out = self.choose(arrival.router as usize, arrival.base as usize, route);
                choices.push((*route, out));
                return Branch { out, class, promised: false, member };
            }
            Choice::Random | Choice::LeastLoaded => {}
        }
        Branch { out: made.unwrap_or(route.first.0), class, promised: false, member }
    }
}
