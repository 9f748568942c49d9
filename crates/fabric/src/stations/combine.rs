//! Combine units: stations on dedicated ports that receive the packets of reductions and send the combined results back
//! into their switch (Kumar, Kalé and Stunkel, section 2, figures 2 and 3).
//!
//! A unit sits behind an ordinary output of the switch, numbered after the ports of the topology: packets wait for it
//! in the router's queues and are served by its arbiter. It receives a packet whole, because only the end of a packet
//! says whether it is intact. It then takes `header_cycles` to store the header in the control register and to look up
//! the *partial sum* of the packet's tree and segment, and `ceil(words / words_per_cycle)` cycles to combine both. When
//! all contributions have come, the sum goes back into the switch by the unit's input, and is at the crossbar a cycle
//! later.
//!
//! A switch has one unit, or a tree of them. The last unit is then the root. The others, the leaves, each serve a block
//! of consecutive ports and hand their part to the root by dedicated wires, which takes a cycle. The root takes these
//! parts in order of arrival.
//!
//! A unit accepts packets without waiting for anything: partial sums of a tree are reserved (`window` of them), a
//! result waits in the place of its partial sum, and members keep to the window. So a unit is a sink and a source of
//! the channel dependency graph. No dependency leads through it, and reductions in opposite orders cannot block one
//! another.
//!
//! Model choices:
//! - The paper does not say how long a packet takes from its port into the unit. No time is added, because combining
//!   reads the packet word by word.
//! - Headers are not pipelined with the combining of the previous packet. `header_cycles = 0` stands for units that do
//!   so.
//! - A packet takes the router's delay once in each switch, as it comes in: the unit has looked up where its result
//!   goes, so that the result needs no further delay.
//! - While the tail of a packet comes in, the unit takes no other packet.
//! - A router that no tree passes through has units too.

use std::sync::Arc;

use routing::trees::{Exit, Trees};
use topology::Topology;
use units::{PortId, RouterId};

use crate::footprint::bytes_of;
use crate::groups::{CombineOrder, CombineSpec, GroupsSpec};
use crate::packet::Queue;
use crate::plan::Plan;
use crate::target::{TreePacket, TreeWork};

/// Partial sum: the contributions to a segment that have been combined so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Partial {
    /// Number of packets that have come for it. 0: the partial sum is free.
    arrived: u16,
    segment: u32,
    pub flow_id: u32,
    pub bytes: u32,
    pub contributions: u32,
    pub value: u64,
    /// Combined element of the contributions, if elements are carried.
    pub element: u64,
    /// Earliest generation time of its contributions.
    pub generated_at: u64,
}
units::record!(Partial { arrived, segment, flow_id, bytes, contributions, value, element, generated_at });

/// Packet that arrives at a unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contribution {
    pub entry: u32,
    pub of: TreePacket,
    /// Port, or leaf unit, that the packet comes from.
    pub port: u16,
    pub flow_id: u32,
    pub bytes: u32,
    pub generated_at: u64,
}

/// Unit of a router. The router is numbered in the partition, the unit in its router.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitPlace {
    pub router: u32,
    pub unit: u16,
}

/// Combine units of a partition. The units of a router have consecutive numbers.
#[derive(Clone, Debug)]
pub(crate) struct CombineUnits {
    spec: CombineSpec,
    /// Length of a cycle in ticks.
    cycle: u64,
    trees: Arc<Trees>,
    topology: Arc<dyn Topology>,
    /// By router of the partition: its number in the machine, and the local number of its first entry.
    routers: Vec<(RouterId, u32)>,
    /// By entry, its index among the entries that have partial sums.
    places: Vec<u32>,
    /// Partial sums, by entry index, unit, and segment modulo `window`.
    partials: Vec<Partial>,
    /// By partial sum, the elements that have come for it with their ports, `kept_each` for each. Empty unless units
    /// combine elements in the order of ports.
    kept: Vec<(u16, u64)>,
    kept_each: usize,
    /// By entry of the routers here and leaf unit, the number of exits in the leaf's block.
    in_block: Vec<u16>,
    /// By router, the time at which the root of several units has combined all parts handed to it, in ticks.
    root_free_at: Vec<u64>,
    /// Number of partial sums in use.
    used: usize,
    /// Queue statistics by unit.
    waiting: Vec<Waiting>,
    /// Results to be sent, by unit.
    pub results: Vec<Queue>,
}
units::state!(CombineUnits {
    partials, kept, in_block, root_free_at, used, waiting, results;
    rebuilt spec, cycle, trees, topology, routers, places, kept_each
});

impl GroupsSpec {
    /// Returns the bytes of the tables of all routers, and of the partial sums in their units.
    pub fn bytes(&self, topology: &dyn Topology) -> u64 {
        let Some(spec) = self.units else { return self.trees.bytes() };
        let places = (0..self.trees.entries()).filter(|&entry| self.combines(self.trees.entry(entry).tree)).count();
        let partials = places as u64 * u64::from(spec.units) * u64::from(spec.window);
        let kept = kept_each(&spec, topology, (0..topology.routers()).map(RouterId)) as u64;
        self.trees.bytes() + bytes_of::<Partial>(partials) + bytes_of::<(u16, u64)>(partials * kept)
    }
}

/// Returns the number of elements that a unit keeps for a partial sum. 0 unless elements are combined in the order of
/// ports.
fn kept_each(spec: &CombineSpec, topology: &dyn Topology, routers: impl Iterator<Item = RouterId>) -> usize {
    if spec.elements.is_none_or(|own| own.order != CombineOrder::Ports) {
        return 0;
    }
    usize::from(routers.map(|router| topology.ports(router)).max().unwrap_or(0).max(spec.units))
}

/// Statistics of the packets that wait at the port of a unit, in the queues of its router. Times are in ticks.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    count: u32,
    /// Start of the present waiting period, in ticks.
    since: u64,
    /// Length of all earlier waiting periods, in ticks.
    total: u64,
}
units::record!(Waiting { count, since, total });

impl CombineUnits {
    /// Creates the units of some routers, with all partial sums free. `None`: the plan has no units.
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

    /// Returns the number of units of a router.
    pub fn per_router(&self) -> u16 {
        self.spec.units
    }

    /// Returns the time for which a packet keeps a unit busy once its tail is there, in ticks: header and combining.
    pub fn time(&self, bytes: u32) -> u64 {
        self.spec.cycles(bytes) * self.cycle
    }

    /// Returns the leaf unit whose block contains a port of the topology.
    fn block(&self, router: RouterId, port: PortId) -> usize {
        let size = usize::from(self.topology.ports(router)).div_ceil(self.leaves());
        port.index() / size
    }

    /// Returns the unit that a packet from a port of the topology goes to.
    pub fn unit_for(&self, router: RouterId, port: u16) -> u16 {
        if self.spec.units == 1 { 0 } else { self.block(router, PortId(port)) as u16 }
    }

    /// Returns the root that a leaf hands its parts to. `None` for the root itself.
    pub fn root_of(&self, place: UnitPlace) -> Option<UnitPlace> {
        let root = self.spec.units - 1;
        (place.unit < root).then_some(UnitPlace { unit: root, ..place })
    }

    /// Hands a part of `bytes` bytes from a leaf to the root of its router, at tick `now`. Returns the tick at which
    /// the root has combined it. A part has no header to store, and the leaf has already looked up its partial sum.
    pub fn hand_over(&mut self, root: UnitPlace, bytes: u32, now: u64) -> u64 {
        let time = self.spec.combining_cycles(bytes) * self.cycle;
        let free_at = &mut self.root_free_at[root.router as usize];
        *free_at = (*free_at).max(now + self.cycle) + time;
        *free_at
    }

    /// Returns the exit by which the result of a segment leaves a switch. `None`: the result turns there, and goes to
    /// all members.
    pub fn direction(&self, entry: u32, work: TreeWork) -> Option<Exit> {
        match work {
            TreeWork::CombineFor(node) => self.trees.toward(&*self.topology, entry, node).copied(),
            TreeWork::CombineForAll | TreeWork::Multicast => self.trees.up(entry).copied(),
        }
    }

    /// Returns the number of packets that a unit combines for a segment whose result leaves by `direction`: one for
    /// each other exit among its ports, and one for the exit of an owner that contributes too. For the root of several
    /// units: one for each leaf that combines any.
    fn expected(&self, place: UnitPlace, (entry, owners): (u32, bool), direction: Option<Exit>) -> u16 {
        let direction = direction.filter(|exit| !owners || exit.next != Exit::NODE);
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

    /// Combines a packet that has arrived at a unit. Returns the result once all contributions have come.
    pub fn combine(&mut self, place: UnitPlace, packet: &Contribution) -> Option<Partial> {
        let (router, first_entry) = self.routers[place.router as usize];
        let Contribution { entry, of, .. } = *packet;
        let offset = first_entry + entry - self.trees.entries_of(router).start;
        let unit = self.places[offset as usize] as usize * usize::from(self.spec.units) + usize::from(place.unit);
        let number = unit * self.spec.window as usize + (of.segment % self.spec.window) as usize;
        let expected = self.expected(place, (entry, of.owners), self.direction(entry, of.work));
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

    /// Combines the element of a packet with those of a partial sum. `is_last` says whether it is the last
    /// contribution.
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

    /// Counts a packet that enters the queue of a unit, numbered in the partition.
    pub fn comes(&mut self, unit: u32, now: u64) {
        let own = &mut self.waiting[unit as usize];
        if own.count == 0 {
            own.since = now;
        }
        own.count += 1;
    }

    /// Counts a packet that leaves the queue of a unit.
    pub fn goes(&mut self, unit: u32, now: u64) {
        let own = &mut self.waiting[unit as usize];
        debug_assert!(own.count > 0, "a packet that has not come to the unit's queue");
        own.count = own.count.saturating_sub(1);
        if own.count == 0 {
            own.total += now - own.since;
        }
    }

    /// Returns the longest time for which packets have waited at any one unit, in ticks. Packets that still wait are
    /// left out.
    pub fn longest_wait(&self) -> u64 {
        self.waiting.iter().map(|own| own.total).max().unwrap_or(0)
    }

    /// Returns whether every partial sum is free and no result is to be sent.
    pub fn is_empty(&self) -> bool {
        self.used == 0 && self.results.iter().all(Queue::is_empty)
    }
}
