//! Combine units: stations on ports of their own, which receive the packets of reductions and send what they have made of them back into
//! their switch (Kumar, Kalé and Stunkel, section 2, figures 2 and 3).
//!
//! A unit is behind an output of the switch like any other, after the ports of the topology: packets wait for it in the router's queues
//! and are served by its arbiter. It receives a packet whole, for its end says whether it is intact, takes
//! `header_cycles` to store its header in the control register and to look up the *partial sum* of its tree and segment, and then
//! `ceil(words / words_per_cycle)` cycles to combine both. When all that it waits for has
//! come, the sum goes back into the switch by the unit's input, and is at the crossbar a cycle later. A switch has one
//! unit, or a tree of them: the last is the root, and each of the others, the leaves, serves a block of consecutive ports and hands its
//! part on to the root by wires of their own, which takes a cycle; the root takes what they give it in the order in which it comes.
//!
//! A unit takes what comes without waiting for anything: partial sums of a tree are reserved (`window` of them), what it sends waits in
//! place of the partial sum, and members keep to the window. So a unit is a sink and a source of the channel dependency graph; no
//! dependency leads through it, and reductions in opposite orders cannot block one another.
//!
//! Model choices. The paper does not say how long a packet takes from its port into the unit: combining reads it word by word, so no time
//! is added for that. Headers are not pipelined with the combining of the packet before; `header_cycles = 0` stands for units that
//! do so. A packet takes the router's delay once in each switch, as it comes in: the unit has looked up where its result goes, so that
//! this needs no delay of its own. While the tail of a packet comes in, the unit takes no other one. A router that a tree does not pass through has units too.

use std::sync::Arc;

use routing::trees::{Exit, Trees};
use topology::Topology;
use units::{PortId, RouterId};

use crate::footprint::bytes_of;
use crate::groups::{CombineOrder, CombineSpec, GroupsSpec};
use crate::packet::Queue;
use crate::plan::Plan;
use crate::target::{TreePacket, TreeWork};

/// A packet that has been combined so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Partial {
    /// Packets that have come for it; 0 if it is free.
    arrived: u16,
    segment: u32,
    pub flow_id: u32,
    pub bytes: u32,
    pub contributions: u32,
    pub value: u64,
    /// Their elements combined, where elements are carried.
    pub element: u64,
    /// The earliest of those that it was made of.
    pub generated_at: u64,
}

/// A packet that comes to a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contribution {
    pub entry: u32,
    pub of: TreePacket,
    /// The port, or the leaf unit, that it comes from.
    pub port: u16,
    pub flow_id: u32,
    pub bytes: u32,
    pub generated_at: u64,
}

/// A unit of a router, both by their numbers in the partition and in the router.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitPlace {
    pub router: u32,
    pub unit: u16,
}

/// The combine units of a partition; those of a router have consecutive numbers.
#[derive(Debug)]
pub(crate) struct CombineUnits {
    spec: CombineSpec,
    /// Ticks of a cycle.
    cycle: u64,
    trees: Arc<Trees>,
    topology: Arc<dyn Topology>,
    /// By router of the partition: its number in the machine, and the number here of its first entry.
    routers: Vec<(RouterId, u32)>,
    /// By entry, its place among those that have partial sums.
    places: Vec<u32>,
    /// The partial sums: by place, unit, and segment modulo `window`.
    partials: Vec<Partial>,
    /// By partial sum, the elements that have come for it with where they came from, of units that combine them in the order of ports: so many
    /// of each; else empty.
    kept: Vec<(u16, u64)>,
    kept_each: usize,
    /// By entry of the routers here and leaf unit, the exits in the leaf's block.
    in_block: Vec<u16>,
    /// By router, when the root of several units has combined what it has been handed, in ticks.
    root_free_at: Vec<u64>,
    /// Partial sums that are not free.
    used: usize,
    /// By unit, what waits for it.
    waiting: Vec<Waiting>,
    /// By unit, what it is to send.
    pub results: Vec<Queue>,
}

impl GroupsSpec {
    /// Bytes of the tables of all routers, and of the partial sums in their units.
    pub fn bytes(&self, topology: &dyn Topology) -> u64 {
        let Some(spec) = self.units else { return self.trees.bytes() };
        let places = (0..self.trees.entries()).filter(|&entry| self.combines(self.trees.entry(entry).tree)).count();
        let partials = places as u64 * u64::from(spec.units) * u64::from(spec.window);
        let kept = kept_each(&spec, topology, (0..topology.routers()).map(RouterId)) as u64;
        self.trees.bytes() + bytes_of::<Partial>(partials) + bytes_of::<(u16, u64)>(partials * kept)
    }
}

/// Elements that a unit of some routers keeps for a partial sum: none but where they are combined in the order of ports.
fn kept_each(spec: &CombineSpec, topology: &dyn Topology, routers: impl Iterator<Item = RouterId>) -> usize {
    if spec.elements.is_none_or(|own| own.order != CombineOrder::Ports) {
        return 0;
    }
    usize::from(routers.map(|router| topology.ports(router)).max().unwrap_or(0).max(spec.units))
}

/// The packets that wait at the port of a unit, in the queues of its router.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    count: u32,
    /// Since when there are any, and for how long there have been any before that, in ticks.
    since: u64,
    total: u64,
}

impl CombineUnits {
    /// The units of some routers, all free; none if the plan has none.
    pub fn new(plan: &Plan, routers: &[u32]) -> Option<Self> {
        let groups = plan.groups.as_ref()?;
        let spec = groups.units?;
        let mut units = Self {
            spec,
            cycle: spec.cycle.0 / plan.tick.0,
            trees: Arc::clone(&groups.trees),
            topology: Arc::clone(&plan.topology),
            routers: Vec::with_capacity(routers.len()),
            places: Vec::new(),
            partials: Vec::new(),
            kept: Vec::new(),
            kept_each: 0,
            in_block: Vec::new(),
            root_free_at: vec![0; routers.len()],
            used: 0,
            waiting: vec![Waiting::default(); routers.len() * usize::from(spec.units)],
            results: vec![Queue::default(); routers.len() * usize::from(spec.units)],
        };
        let mut places = 0;
        for router in routers.iter().map(|&router| RouterId(router)) {
            units.routers.push((router, units.places.len() as u32));
            for entry in units.trees.entries_of(router) {
                units.places.push(places);
                places += u32::from(groups.combines(units.trees.entry(entry).tree));
                let first = units.in_block.len();
                units.in_block.resize(first + units.leaves(), 0);
                for exit in units.trees.exits(entry).iter().filter(|_| spec.units > 1) {
                    let block = units.block(router, exit.port);
                    units.in_block[first + block] += 1;
                }
            }
        }
        units.partials = vec![Partial::default(); places as usize * usize::from(spec.units) * spec.window as usize];
        units.kept_each = kept_each(&spec, &*plan.topology, routers.iter().map(|&router| RouterId(router)));
        units.kept = vec![(0, 0); units.partials.len() * units.kept_each];
        Some(units)
    }

    fn leaves(&self) -> usize {
        usize::from(self.spec.units) - 1
    }

    /// Units of a router.
    pub fn per_router(&self) -> u16 {
        self.spec.units
    }

    /// Time for which a packet keeps a unit busy once its tail is there, in ticks: header and combining.
    pub fn time(&self, bytes: u32) -> u64 {
        self.spec.cycles(bytes) * self.cycle
    }

    /// The leaf unit whose block of ports a port of the topology is in.
    fn block(&self, router: RouterId, port: PortId) -> usize {
        let size = usize::from(self.topology.ports(router)).div_ceil(self.leaves());
        port.index() / size
    }

    /// The unit that a packet goes to that comes by a port of the topology.
    pub fn unit_for(&self, router: RouterId, port: u16) -> u16 {
        if self.spec.units == 1 { 0 } else { self.block(router, PortId(port)) as u16 }
    }

    /// The root of several units that a leaf hands its parts to; none of the root.
    pub fn root_of(&self, place: UnitPlace) -> Option<UnitPlace> {
        let root = self.spec.units - 1;
        (place.unit < root).then_some(UnitPlace { unit: root, ..place })
    }

    /// A leaf hands a part of `bytes` bytes to the root of its router, at tick `now`; returns the tick at which the root has combined
    /// it. A part has no header to store, and its partial sum was looked up by the leaf.
    pub fn hand_over(&mut self, root: UnitPlace, bytes: u32, now: u64) -> u64 {
        let time = self.spec.combining_cycles(bytes) * self.cycle;
        let free_at = &mut self.root_free_at[root.router as usize];
        *free_at = (*free_at).max(now + self.cycle) + time;
        *free_at
    }

    /// The exit by which the result of a segment leaves a switch; none if it turns there, and goes to all members.
    pub fn direction(&self, entry: u32, work: TreeWork) -> Option<Exit> {
        match work {
            TreeWork::CombineFor(node) => self.trees.toward(&*self.topology, entry, node).copied(),
            TreeWork::CombineForAll | TreeWork::Multicast => self.trees.up(entry).copied(),
        }
    }

    /// Packets that a unit combines for a segment whose result leaves by an exit: one by each other exit of its ports, or, of the root
    /// of several units, one of each leaf that has any.
    fn expected(&self, place: UnitPlace, entry: u32, direction: Option<Exit>) -> u16 {
        let (router, first_entry) = self.routers[place.router as usize];
        let leaves = self.leaves();
        if leaves == 0 {
            return self.trees.exits(entry).len() as u16 - u16::from(direction.is_some());
        }
        let offset = (first_entry + entry - self.trees.entries_of(router).start) as usize;
        let left_out = direction.map(|exit| self.block(router, exit.port));
        let of_leaf = |leaf: usize| self.in_block[offset * leaves + leaf] - u16::from(left_out == Some(leaf));
        match usize::from(place.unit) {
            leaf if leaf < leaves => of_leaf(leaf),
            _ => (0..leaves).filter(|&leaf| of_leaf(leaf) > 0).count() as u16,
        }
    }

    /// Combines a packet that has come to a unit; returns what goes on, once all has come.
    pub fn combine(&mut self, place: UnitPlace, packet: &Contribution) -> Option<Partial> {
        let (router, first_entry) = self.routers[place.router as usize];
        let Contribution { entry, of, .. } = *packet;
        let offset = first_entry + entry - self.trees.entries_of(router).start;
        let unit = self.places[offset as usize] as usize * usize::from(self.spec.units) + usize::from(place.unit);
        let number = unit * self.spec.window as usize + (of.segment % self.spec.window) as usize;
        let expected = self.expected(place, entry, self.direction(entry, of.work));
        let partial = &mut self.partials[number];
        if partial.arrived == 0 {
            let Contribution { flow_id, bytes, generated_at, .. } = *packet;
            *partial = Partial { segment: of.segment, flow_id, bytes, generated_at, ..Partial::default() };
            self.used += 1;
        }
        debug_assert_eq!(partial.segment, of.segment, "a partial sum for two segments: a member has left the window");
        partial.arrived += 1;
        partial.contributions += of.contributions;
        partial.value = partial.value.wrapping_add(of.value);
        partial.generated_at = partial.generated_at.min(packet.generated_at);
        partial.flow_id = partial.flow_id.min(packet.flow_id);
        partial.bytes = partial.bytes.max(packet.bytes);
        debug_assert!(partial.arrived <= expected, "more contributions than there are contributors");
        let is_whole = partial.arrived == expected;
        self.combine_elements(number, packet, is_whole);
        is_whole.then(|| {
            self.used -= 1;
            std::mem::take(&mut self.partials[number])
        })
    }

    /// Combines the element of a packet, which may be the last one, with those of a partial sum.
    fn combine_elements(&mut self, number: usize, packet: &Contribution, is_last: bool) {
        let Some(elements) = self.spec.elements else { return };
        let partial = &mut self.partials[number];
        let arrived = usize::from(partial.arrived);
        let combine = |one, other| elements.arithmetic.combine(one, other);
        match elements.order {
            CombineOrder::Arrival if arrived == 1 => partial.element = packet.of.element,
            CombineOrder::Arrival => partial.element = combine(partial.element, packet.of.element),
            CombineOrder::Ports => {
                let kept = &mut self.kept[number * self.kept_each..][..arrived];
                kept[arrived - 1] = (packet.port, packet.of.element);
                if is_last {
                    kept.sort_unstable();
                    partial.element = kept.iter().map(|own| own.1).reduce(combine).unwrap_or(0);
                }
            }
        }
    }

    /// A packet comes to the queue of a unit, by its number in the partition.
    pub fn comes(&mut self, unit: u32, now: u64) {
        let own = &mut self.waiting[unit as usize];
        if own.count == 0 {
            own.since = now;
        }
        own.count += 1;
    }

    /// A packet leaves the queue of a unit for it.
    pub fn goes(&mut self, unit: u32, now: u64) {
        let own = &mut self.waiting[unit as usize];
        debug_assert!(own.count > 0, "a packet that has not come to the unit's queue");
        own.count = own.count.saturating_sub(1);
        if own.count == 0 {
            own.total += now - own.since;
        }
    }

    /// For how many ticks packets have waited at the unit where they have waited for longest; those that wait still are left out.
    pub fn longest_wait(&self) -> u64 {
        self.waiting.iter().map(|own| own.total).max().unwrap_or(0)
    }

    /// Whether every partial sum is free and nothing is to be sent.
    pub fn is_empty(&self) -> bool {
        self.used == 0 && self.results.iter().all(Queue::is_empty)
    }
}
