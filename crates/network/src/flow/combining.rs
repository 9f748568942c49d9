//! Operations that routers combine, as flows.
//!
//! The contributions of all members to a segment are one flow, which starts with the last of them. The flow crosses the
//! channel of each member, the channels by which partial sums leave routers, and the channels of the result, all at one
//! rate: a router combines no faster than its slowest input. The operations of a tree pass one after another, as their
//! packets do. Combine units are limits beyond the path ([`Units`]).

use std::collections::btree_map::{BTreeMap, Entry};
use std::sync::Arc;

use fabric::{CombineSpec, Demand, GroupsSpec, Plan, TreePacket, TreeWork};
use routing::trees::Exit;
use topology::{ChannelClass, Endpoint};
use units::{NodeId, PlaneId, RouterId};

use super::paths::{Ends, PathSet, Paths};
use super::rates::{PathPart, Rates};
use super::run::FlowRun;
use super::trees::{Head, TreeEnd, copies_of_result};

/// Limits of the rates of the combine units: for each router, the channel from its units, and then each unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    spec: CombineSpec,
    /// First limit.
    first: u32,
    /// Number of limits of a router.
    each: u32,
    /// Capacities in bytes per picosecond: of the channel, of a unit that takes packets, and of one that takes partial
    /// sums.
    output: f64,
    packets: f64,
    sums: f64,
}

impl Units {
    /// Adds the units of all routers, if packets are combined. `drain`: ratio of the bandwidth at which packets leave an
    /// input of a router to the bandwidth of its channel.
    pub fn add(plan: &Plan, drain: f64, rates: &mut Rates) -> Option<Self> {
        let spec = plan.groups()?.units?;
        let classes = plan.topology().class_names().len() as u8;
        let fastest = (0..classes).map(|class| plan.bandwidth(ChannelClass(class)).0).max()?;
        let output = fastest as f64 / 8e12 * f64::from(spec.output_speedup).min(drain);
        let work = |cycles: u64| f64::from(plan.packet()) / (cycles * spec.cycle.0).max(1) as f64;
        let [packets, sums] = [spec.cycles(plan.packet()), spec.combining_cycles(plan.packet())].map(work);
        let root = if spec.units == 1 { packets } else { sums };
        let leaves = usize::from(spec.units) - 1;
        let of_router = || [output].into_iter().chain(std::iter::repeat_n(packets, leaves)).chain([root]);
        let all = (0..plan.topology().routers()).flat_map(|_| of_router());
        let first = all.map(|capacity| rates.add_limit(capacity)).reduce(u32::min)?;
        Some(Self { spec, first, each: leaves as u32 + 2, output, packets, sums })
    }

    /// Returns the channel from the units of a router. The limits of the units follow.
    fn output(&self, router: RouterId) -> u32 {
        self.first + router.0 * self.each
    }
}

/// Search of the paths of contributions.
struct Gathering<'a> {
    plan: &'a Plan,
    groups: &'a GroupsSpec,
    units: Units,
    of: &'a TreePacket,
    /// Size of a contribution, in bytes.
    bytes: u32,
    /// Size of the last packet in bytes.
    packet: u32,
    set: &'a mut PathSet,
    /// Members that contribute.
    members: Vec<NodeId>,
    /// Longest time for which a unit works on the last packets, in ticks.
    slowest: u64,
}

impl Gathering<'_> {
    /// Returns the exit by which a router sends its partial sum. `None`: it sends the result to all members.
    fn direction(&self, entry: u32) -> Option<Exit> {
        let trees = &self.groups.trees;
        match self.of.work {
            TreeWork::CombineFor(node) => trees.toward(self.plan.topology(), entry, node).copied(),
            TreeWork::CombineForAll | TreeWork::Multicast => trees.up(entry).copied(),
        }
    }

    /// Adds the channels of the contributions to the sum of a router. Returns the time at which the sum of the last
    /// packets leaves the router's unit, in ticks since these packets have left their nodes.
    fn gather(&mut self, entry: u32) -> u64 {
        let (plan, trees, topology) = (self.plan, &*self.groups.trees, self.plan.topology());
        let router = trees.entry(entry).router;
        let direction = self.direction(entry);
        let mut arrivals: Vec<(u64, u16)> = Vec::new();
        for exit in trees.exits(entry) {
            if Some(*exit) == direction && !(self.of.owners && exit.next == Exit::NODE) {
                continue;
            }
            let at = match topology.endpoint(router, exit.port) {
                Endpoint::Node(node) => {
                    let plane = trees.plane(self.of.tree);
                    self.members.push(node);
                    self.set.branch(&[plan.channels().injection_on(node, plane).0], 0);
                    plan.link_delay(topology.injection_class(plane))
                }
                Endpoint::Router(next, _) => {
                    let at = self.gather(exit.next);
                    let Some(up) = self.direction(exit.next) else { continue };
                    at + self.send((next, up))
                }
                Endpoint::Unconnected => continue,
            };
            arrivals.push((at + plan.router_delay(router), exit.port.0));
        }
        self.combine(router, &mut arrivals)
    }

    /// Adds the channel by which a sum leaves a router. Returns the time until its tail is at the end of the channel, in
    /// ticks.
    fn send(&mut self, (router, exit): (RouterId, Exit)) -> u64 {
        let class = self.plan.topology().class(router, exit.port);
        let output = self.plan.channels().output(router, exit.port).0;
        self.set.branch(&[self.units.output(router), output], 1);
        self.plan.serialization(class, self.packet) + self.plan.link_delay(class)
    }

    /// Adds the units by which a router combines packets that have arrived, at times in ticks and by ports. Returns the
    /// time at which the sum leaves the last unit.
    fn combine(&mut self, router: RouterId, arrivals: &mut [(u64, u16)]) -> u64 {
        let Units { spec, packets, sums, output, .. } = self.units;
        let (first, cycle) = (self.units.output(router), spec.cycle.0 / self.plan.tick().0);
        let [whole, part] = [spec.cycles(self.packet), spec.combining_cycles(self.packet)].map(|time| time * cycle);
        arrivals.sort_unstable();
        let PathSet { limits, bound, .. } = &mut *self.set;
        // `share`: part of the flow that crosses a limit.
        let mut limit = |place: u16, share: f64, capacity: f64| {
            limits.push((first + u32::from(place), PathPart::Network, share));
            *bound = bound.min(capacity / share);
        };
        let size = self.plan.packet();
        let (full, rest) = (self.bytes / size, self.bytes % size);
        // Short packets take whole cycles, and the time of their headers.
        let work = |cycles: &dyn Fn(u32) -> u64| {
            let rest = if rest > 0 { cycles(rest) } else { 0 };
            (u64::from(full) * cycles(size) + rest) as f64 / cycles(size) as f64 * f64::from(size)
                / f64::from(self.bytes.max(1))
        };
        let pass = |at: u64, arrival: u64, each: u64| arrival.max(at) + each;
        limit(0, 1.0, output);
        let leaves = spec.units - 1;
        if leaves == 0 {
            limit(1, arrivals.len() as f64 * work(&|bytes| spec.cycles(bytes)), packets);
            self.slowest = self.slowest.max(arrivals.len() as u64 * whole);
            return arrivals.iter().fold(0, |at, own| pass(at, own.0, whole)) + cycle;
        }
        let block = self.plan.topology().ports(router).div_ceil(leaves);
        let mut parts: Vec<u64> = Vec::new();
        for leaf in 0..leaves {
            let own = arrivals.iter().filter(|own| own.1 / block == leaf);
            let (at, count) = own.fold((0, 0.0), |(at, count), own| (pass(at, own.0, whole), count + 1.0));
            if count > 0.0 {
                limit(1 + leaf, count * work(&|bytes| spec.cycles(bytes)), packets);
                self.slowest = self.slowest.max(count as u64 * whole);
                parts.push(at + cycle);
            }
        }
        parts.sort_unstable();
        limit(1 + leaves, parts.len() as f64 * work(&|bytes| spec.combining_cycles(bytes)), sums);
        self.slowest = self.slowest.max(parts.len() as u64 * part);
        parts.iter().fold(0, |at, &own| pass(at, own, part)) + cycle
    }
}

/// Path of an operation that routers combine.
#[derive(Debug, Default)]
struct Combined {
    /// Destinations of the result.
    ends: Vec<TreeEnd>,
    /// Window in bytes, and the largest rate of operations that are longer than it, in bytes per picosecond.
    window: (f64, f64),
    /// Bytes that a member may send ahead of the others: the window less those of a round trip.
    ahead: f64,
}

impl Paths {
    /// Finds the paths of an operation of `bytes` bytes that routers combine.
    fn find_combined(&mut self, of: &TreePacket, bytes: u32, found: &mut PathSet) -> Combined {
        let plan = self.plan();
        let Some((groups, units)) = plan.groups().zip(self.units) else { return Combined::default() };
        let (trees, topology) = (&*groups.trees, plan.topology());
        found.clear();
        let receiver = match of.work {
            TreeWork::CombineFor(node) => Some(node),
            TreeWork::CombineForAll | TreeWork::Multicast => None,
        };
        let of_receiver = |node| trees.entry_at(trees.attachment(topology, of.tree, node).0, of.tree);
        let top = receiver.and_then(of_receiver).unwrap_or_else(|| trees.root(of.tree));
        let router = trees.entry(top).router;
        let packet = bytes.min(plan.packet());
        let mut walk =
            Gathering { plan: &plan, groups, units, of, bytes, packet, set: found, members: Vec::new(), slowest: 0 };
        let at = walk.gather(top);
        let mut ends = match (receiver, walk.direction(top)) {
            (Some(node), Some(exit)) => vec![TreeEnd { node, delay: at + walk.send((router, exit)), routers: 1 }],
            _ => {
                let class = |exit: &Exit| topology.class(router, exit.port);
                let sent = trees.exits(top).iter().map(|exit| plan.serialization(class(exit), packet)).max();
                let head = Head { at: at + sent.unwrap_or(0), routers: 1 };
                let first = units.output(router);
                if self.crossbars.is_some() {
                    // Copies cross in turn.
                    let copies = trees.exits(top).len() as f64;
                    walk.set.limits.push((first, PathPart::Network, copies - 1.0));
                    walk.set.bound = walk.set.bound.min(units.output / copies);
                }
                copies_of_result((&plan, groups), of, (first, top, head), walk.set)
            }
        };
        let (members, slowest, plane) = (walk.members, walk.slowest, trees.plane(of.tree));
        let (window, ahead) = self.window(of, (receiver, &ends, units.spec.window), bytes);
        // The rate already contains the work of the slowest unit on each packet, instead of the time on the first link.
        let over = slowest.saturating_sub(plan.serialization(topology.injection_class(plane), packet));
        ends.iter_mut().for_each(|end| end.delay = end.delay.saturating_sub(over));
        self.complete_tree(bytes, found);
        members.iter().for_each(|&node| self.buses.cross((node, plane), false, found));
        ends.iter().for_each(|end| self.buses.cross((end.node, plane), true, found));
        Combined { ends, window, ahead }
    }

    /// Returns the values of `Combined::window` and `Combined::ahead`. If all members get the result, a packet is finished
    /// when its result arrives. If one member gets it, a packet is finished when this member acknowledges it: with half a
    /// window of packets, or after the last one.
    fn window(
        &mut self,
        of: &TreePacket,
        (receiver, ends, window): (Option<NodeId>, &[TreeEnd], u32),
        bytes: u32,
    ) -> ((f64, f64), f64) {
        let plan = self.plan();
        let farthest = |ends: &[TreeEnd]| ends.iter().map(|end| end.delay).max().unwrap_or(0);
        let plane = plan.groups().map_or(PlaneId(0), |groups| groups.trees.plane(of.tree));
        let packet = bytes.min(plan.packet()).max(1);
        let sent = plan.serialization(plan.topology().injection_class(plane), packet);
        let mut round_trip = sent + farthest(ends);
        if let Some(from) = receiver {
            let of = TreePacket { work: TreeWork::Multicast, ..*of };
            let ends = Ends { from, plane, to: from, bytes: 0 };
            let back = self.find_copies(&of, &ends, &mut PathSet::default());
            round_trip += u64::from((window / 2).min(bytes / packet)) * sent + farthest(&back);
        }
        let all = f64::from(window) * f64::from(packet);
        let rate = all / (round_trip * plan.tick().0).max(1) as f64;
        ((all, rate), (all - round_trip as f64 / sent as f64 * f64::from(packet)).max(0.0))
    }
}

/// Operation that routers combine, with the contributions that have come.
#[derive(Debug)]
struct Gathered {
    demand: Demand,
    source: usize,
    of: TreePacket,
    /// Number of contributions that are missing.
    left: u32,
}

/// Operations of a tree.
#[derive(Debug, Default)]
struct TreeOperations {
    /// Operations that have not started, by segment.
    waiting: BTreeMap<u32, Gathered>,
    /// Whether an operation is under way.
    is_busy: bool,
    /// By member, the bytes that it has sent ahead of the others. Empty if no operation is under way.
    ahead: Vec<f64>,
}

/// Operations that routers combine, by tree.
#[derive(Debug, Default)]
pub(super) struct Operations(Vec<TreeOperations>);

impl Operations {
    /// Returns the operations of a tree.
    fn of(&mut self, tree: u32) -> &mut TreeOperations {
        if self.0.len() <= tree as usize {
            self.0.resize_with(tree as usize + 1, TreeOperations::default);
        }
        &mut self.0[tree as usize]
    }
}

impl FlowRun {
    /// Adds the contribution of a member to an operation. The operation starts with the last contribution.
    pub(super) fn contribute(&mut self, source: usize, demand: &Demand, of: TreePacket) {
        let plan = Arc::clone(&self.plan);
        let Some(groups) = plan.groups() else { return };
        let others = matches!(of.work, TreeWork::CombineFor(_)) && !of.owners;
        match self.operations.of(of.tree).waiting.entry(of.segment) {
            Entry::Vacant(free) => {
                let left = (groups.trees.members(of.tree).len() as u32).saturating_sub(u32::from(others) + 1);
                free.insert(Gathered { demand: *demand, source, of, left });
            }
            Entry::Occupied(mut known) => {
                let own = known.get_mut();
                own.left = own.left.saturating_sub(1);
                own.of.contributions += of.contributions;
                own.of.value = own.of.value.wrapping_add(of.value);
                if let Some(elements) = groups.units.and_then(|units| units.elements) {
                    own.of.element = elements.arithmetic.combine(own.of.element, of.element);
                }
                let (first, later) = (&mut own.demand, demand);
                first.flow_id = first.flow_id.min(later.flow_id);
                first.bytes = first.bytes.max(later.bytes);
                (first.generated_at, first.part) =
                    (first.generated_at, first.part).min((later.generated_at, later.part));
            }
        }
        self.start_operation(of.tree, false);
    }

    /// Starts the next operation of a tree, if all of its contributions have come and no other operation is under way.
    /// `follows`: another one has just ended.
    fn start_operation(&mut self, tree: u32, follows: bool) {
        let own = self.operations.of(tree);
        let is_ready = !own.is_busy && own.waiting.first_key_value().is_some_and(|(_, next)| next.left == 0);
        let next = if is_ready { own.waiting.pop_first() } else { None };
        let Some((_, Gathered { demand, source, of, .. })) = next else { return };
        let found = &mut self.found;
        let Combined { ends, window: (most, rate), ahead } = self.paths.find_combined(&of, demand.bytes, found);
        if follows || f64::from(demand.bytes) > most {
            found.bound = found.bound.min(rate);
        }
        let Some(&first) = ends.first() else { return };
        self.operations.of(tree).is_busy = true;
        let copies = self.trees.add(Some(of), ends);
        let message = self.launch(source, &Demand { mark: 0, ..demand }, first, copies);
        let sent = self.send_ahead(&of, demand.bytes.into(), ahead);
        self.messages[message as usize].flows[0].left -= sent;
    }

    /// Lets the member that does not contribute to an operation of `bytes` bytes send up to `most` bytes of the next one.
    /// Returns the bytes of this operation that all contributors have sent before.
    fn send_ahead(&mut self, of: &TreePacket, bytes: f64, most: f64) -> f64 {
        let TreeWork::CombineFor(receiver) = of.work else { return 0.0 };
        let (plan, own) = (Arc::clone(&self.plan), self.operations.of(of.tree));
        if of.owners || own.waiting.is_empty() && own.ahead.is_empty() {
            return 0.0;
        }
        let members = plan.groups().map_or(&[][..], |groups| groups.trees.members(of.tree));
        own.ahead.resize(members.len(), 0.0);
        let others = members.iter().zip(&own.ahead).filter(|own| *own.0 != receiver);
        let sent = others.map(|own| *own.1).fold(bytes, f64::min);
        for (&node, ahead) in members.iter().zip(&mut own.ahead) {
            *ahead = if node == receiver { (*ahead + bytes - sent).min(most) } else { *ahead - sent };
        }
        sent
    }

    /// Ends an operation whose flow has left, and starts the next one of its tree.
    pub(super) fn end_operation(&mut self, copies: u32) {
        let Some(of) = self.trees.packet(copies).filter(|of| of.work != TreeWork::Multicast) else { return };
        self.operations.of(of.tree).is_busy = false;
        self.start_operation(of.tree, true);
        let own = self.operations.of(of.tree);
        if !own.is_busy {
            own.ahead.clear();
        }
    }
}
