//! Direct paths through a dragonfly, from tables.

use std::hint::select_unpredictable;

use topology::views::Groups;
use topology::{ChannelClass, Endpoint, Topology};
use units::{KeyError, NodeId, PortId, RouterId, VcClass};

use crate::algorithms::detours::Memory;
use crate::{Choice, Route};

/// Largest number of entries of the table of exits of a dragonfly with several wires between groups: 1 GiB.
const MOST_EXITS: u64 = 1 << 27;

/// Largest number of entries of its lists of ports, of two bytes each: 1 GiB.
const MOST_LISTED: usize = 1 << 29;

/// Classes of local channels behind global ones: see the table of the parent module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Classes {
    /// Class on local channels behind the first global one.
    pub behind_first: u8,
    /// Class on local channels behind the second global one.
    pub behind_second: u8,
}

impl Classes {
    /// Returns the class of local channels behind a global channel of a class.
    #[inline]
    fn behind(self, global: u8) -> u8 {
        if global == 0 { self.behind_first } else { self.behind_second }
    }
}

/// Tables of direct paths.
#[derive(Debug)]
pub(super) struct DirectPaths {
    pub topology: Groups,
    pub classes: Classes,
    /// By the class of a global channel, the increment of a packet's memory for taking it (`Memory::cross`).
    behind: [u32; 4],
    /// First local port, by router of a group and another router of it.
    local: Vec<u16>,
    /// Number of local channels, by router of a group and another router of it.
    steps: Vec<u8>,
    exits: Exits,
    /// Begin of the single exits in their table: the number of nodes of a group.
    exits_at: u32,
    /// Largest number of channels from a router to the nearest exit to another group, if exits are several.
    farthest_exit: u32,
    /// Ports of exits with several ports.
    pub lists: Vec<PortId>,
}

#[derive(Debug)]
enum Exits {
    /// One wire between any two groups. By node of a group its router in the group (upper bits) and its port, followed
    /// by the exits, packed in this form, by group and target group.
    Single(Vec<u32>),
    /// Several wires between groups: by router and target group.
    Several(Vec<Exit>),
}

/// Returns a router of a group and a port of it in one number.
fn packed(number: u32, port: PortId) -> u32 {
    number << 16 | u32::from(port.0)
}

/// Returns the least common multiple of two positive numbers, which are small.
fn lcm(one: u64, other: u64) -> u64 {
    let (mut divisor, mut rest) = (one, other);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    one.saturating_mul(other / divisor.max(1))
}

/// Nearest paths from a router out of its group to another.
#[derive(Clone, Copy, Debug)]
struct Exit {
    /// Port, if there is only one. Otherwise the begin of the ports in the lists.
    place: u32,
    count: u16,
    /// Whether the ports are global ones.
    global: bool,
}

impl DirectPaths {
    /// Creates the tables of a dragonfly.
    ///
    /// # Errors
    /// If they would be larger than 1 GiB.
    pub fn new(topology: &Groups, classes: Classes) -> Result<Self, KeyError> {
        let a = topology.size().a;
        let pair = |from, to| topology.group().toward(from, to).map_or(0, |port| topology.local_port(port).0);
        let local = (0..a).flat_map(|from| (0..a).map(move |to| pair(from, to))).collect();
        let distance = |from, to| topology.group().distance(from, to) as u8;
        let steps = (0..a).flat_map(|from| (0..a).map(move |to| distance(from, to))).collect();
        let mut paths = Self {
            topology: topology.clone(),
            classes,
            local,
            steps,
            behind: std::array::from_fn(|global| Memory::crossing(classes.behind(global as u8))),
            exits: Exits::Single(Vec::new()),
            exits_at: topology.nodes_of_group(),
            farthest_exit: 0,
            lists: Vec::new(),
        };
        let size = topology.size();
        let pairs = u64::from(size.g) * u64::from(size.g);
        let routers = u64::from(topology.routers());
        let single = size.a * size.h == size.g - 1 && topology.group().wires() == [1, 1];
        let too_large = || {
            let message = format!("the tables of {} groups of {} routers would be larger than 1 GiB", size.g, size.a);
            KeyError::new("kind", message)
        };
        let too_long = || {
            let message = format!(
                "the routes between {} groups of {} routers would have too many ports: at most {} each and {MOST_LISTED} \
                 in all are allowed",
                size.g,
                size.a,
                u16::MAX
            );
            KeyError::new("kind", message)
        };
        if (if single { pairs } else { routers * u64::from(size.g) }) > MOST_EXITS {
            return Err(too_large());
        }
        paths.exits = match single {
            true => Exits::Single(paths.single_exits()),
            false => Exits::Several(paths.several_exits().ok_or_else(too_long)?),
        };
        Ok(paths)
    }

    /// Iterates over the global channels of a group: router, port, and the group that it leads to.
    fn globals(&self, group: u32) -> impl Iterator<Item = (u32, PortId, u32)> + '_ {
        let size = self.topology.size();
        (0..size.a).flat_map(move |number| {
            (0..size.h).filter_map(move |port| {
                let (far, _) = self.topology.across(self.topology.router(group, number), port)?;
                Some((number, self.topology.global_port(port), self.topology.place(far).0))
            })
        })
    }

    fn single_exits(&self) -> Vec<u32> {
        let g = self.topology.size().g;
        let homes = (0..self.exits_at).map(|number| {
            let (router, port) = self.topology.attachment(NodeId(number));
            packed(self.topology.place(router).1, port)
        });
        let mut exits: Vec<u32> = homes.chain(std::iter::repeat_n(0, (g * g) as usize)).collect();
        for group in 0..g {
            for (number, port, far) in self.globals(group) {
                exits[(self.exits_at + group * g + far) as usize] = packed(number, port);
            }
        }
        exits
    }

    /// Returns the table of several exits. `None`: the lists of ports would have more than `MOST_LISTED` entries.
    fn several_exits(&mut self) -> Option<Vec<Exit>> {
        let size = self.topology.size();
        let mut exits = Vec::with_capacity((size.g * size.a * size.g) as usize);
        for group in 0..size.g {
            let mut to: Vec<Vec<(u32, PortId)>> = vec![Vec::new(); size.g as usize];
            for (number, port, far) in self.globals(group) {
                to[far as usize].push((number, port));
            }
            for number in 0..size.a {
                for globals in &to {
                    exits.push(self.nearest(number, globals)?);
                }
                if self.lists.len() > MOST_LISTED {
                    return None;
                }
            }
        }
        Some(exits)
    }

    /// Returns the paths from a router to the nearest of some global channels of its group. `None`: there are more than
    /// a route can have.
    fn nearest(&mut self, number: u32, globals: &[(u32, PortId)]) -> Option<Exit> {
        let distance = |&(exit, _): &(u32, PortId)| self.topology.group().distance(number, exit);
        let least = globals.iter().map(distance).min().unwrap_or(0);
        let near = globals.iter().filter(|global| distance(global) == least);
        // Parallel local wires have consecutive ports.
        let ranges: Vec<(PortId, u16)> = near
            .map(|&(exit, port)| match exit == number {
                true => (port, 1),
                false => self.parallel(self.local_port(number, exit)),
            })
            .collect();
        // A router with two channels to the group counts twice: all channels are equally likely, whatever the numbers of
        // wires toward them. So each has as many entries, the least common multiple of these numbers.
        let each = ranges.iter().fold(1, |each, &(_, wires)| lcm(each, u64::from(wires)));
        if each.saturating_mul(ranges.len() as u64) > u64::from(u16::MAX) {
            return None;
        }
        let ports = ranges.iter().flat_map(|&(first, wires)| {
            let entries =
                (0..wires).flat_map(move |wire| std::iter::repeat_n(wire, each as usize / usize::from(wires)));
            entries.map(move |wire| PortId(first.0 + wire))
        });
        let ports: Vec<PortId> = ports.collect();
        self.farthest_exit = self.farthest_exit.max(least);
        let (global, count) = (least == 0, u16::try_from(ports.len()).ok()?);
        Some(match ports[..] {
            [only] => Exit { place: u32::from(only.0), count, global },
            _ => {
                self.lists.extend(&ports);
                Exit { place: (self.lists.len() - ports.len()) as u32, count, global }
            }
        })
    }

    /// Returns the first port of parallel local wires with their number.
    #[inline]
    fn parallel(&self, first: PortId) -> (PortId, u16) {
        (first, self.topology.group().wires_at(first.0 - self.topology.size().p as u16))
    }

    #[inline]
    fn local_port(&self, from: u32, to: u32) -> PortId {
        PortId(self.local[(from * self.topology.size().a + to) as usize])
    }

    /// Returns the next hop on the direct path to another router, and updates the classes in the memory.
    #[inline]
    pub fn to_router(&self, at: RouterId, target: RouterId, memory: &mut Memory) -> Route {
        let ((group, number), (to_group, to_number)) = (self.topology.place(at), self.topology.place(target));
        if group == to_group {
            let (first, wires) = self.parallel(self.local_port(number, to_number));
            return Route::range(first, wires, VcClass(memory.local()), Choice::Random);
        }
        self.out_of(at, (group, number), to_group, memory)
    }

    /// Returns the next hop on the direct path to a node, which may be one of this router's. The position of a packet
    /// on its path is as random as its destination, so that values are selected instead of branched on: branches would
    /// be mispredicted about once a hop.
    #[inline(always)]
    pub fn to_node(&self, at: RouterId, dst: NodeId, memory: &mut Memory) -> Route {
        let Exits::Single(exits) = &self.exits else {
            // A copy, so that the memory itself need not lie in memory.
            let mut copy = *memory;
            let route = self.to_node_by_several(at, dst, &mut copy);
            *memory = copy;
            return route;
        };
        let ((group, number), (to_group, of_group)) = (self.topology.place(at), self.topology.place_of_node(dst));
        let g = self.topology.size().g;
        let is_inside = group == to_group;
        let place = select_unpredictable(is_inside, of_group, self.exits_at + group * g + to_group);
        let end = exits[place as usize];
        let toward = end >> 16;
        let is_here = toward == number;
        let out = select_unpredictable(is_here, end as u16, self.local_port(number, toward).0);
        let class = memory.class(is_here, is_inside);
        // A packet that leaves the network needs no memory.
        let behind = memory.cross(self.behind[usize::from(memory.global())]);
        *memory = select_unpredictable(is_here, behind, *memory);
        Route::only(PortId(out), VcClass(class))
    }

    /// `to_node` if exits are several.
    #[inline(never)]
    fn to_node_by_several(&self, at: RouterId, dst: NodeId, memory: &mut Memory) -> Route {
        let (home, port) = self.home(dst);
        if home == at { Route::only(port, VcClass(0)) } else { self.to_router(at, home, memory) }
    }

    /// Returns the next hop on the direct path to another group.
    #[inline]
    pub fn to_group(&self, at: RouterId, target: u32, memory: &mut Memory) -> Route {
        self.out_of(at, self.topology.place(at), target, memory)
    }

    #[inline]
    fn out_of(&self, at: RouterId, (group, number): (u32, u32), target: u32, memory: &mut Memory) -> Route {
        let g = self.topology.size().g;
        match &self.exits {
            Exits::Single(exits) => {
                let exit = exits[(self.exits_at + group * g + target) as usize];
                if exit >> 16 == number {
                    Route::only(PortId(exit as u16), self.cross(memory))
                } else {
                    Route::only(self.local_port(number, exit >> 16), VcClass(memory.local()))
                }
            }
            Exits::Several(exits) => {
                let exit = exits[(at.0 * g + target) as usize];
                let vc_class = if exit.global { self.cross(memory) } else { VcClass(memory.local()) };
                match exit.count {
                    1 => Route::only(PortId(exit.place as u16), vc_class),
                    count => Route::listed(exit.place, count, vc_class, Choice::Random),
                }
            }
        }
    }

    /// Notes in the memory that a global channel is taken, and returns its class.
    #[inline]
    fn cross(&self, memory: &mut Memory) -> VcClass {
        let class = memory.global();
        *memory = memory.across(self.classes.behind(class));
        VcClass(class)
    }

    /// Returns the last hop, at the destination's router.
    #[inline]
    pub fn home(&self, dst: NodeId) -> (RouterId, PortId) {
        self.topology.attachment(dst)
    }

    /// Returns the smallest number of channels of any direct path between two routers.
    pub fn fewest(&self, from: RouterId, to: RouterId) -> u32 {
        if from == to {
            return 0;
        }
        let route = self.to_router(from, to, &mut Memory::default());
        let rest = route.ports(&self.lists).map(|port| self.fewest(self.next(from, port), to));
        1 + rest.min().unwrap_or(0)
    }

    /// Returns the number of channels between two routers of a group.
    #[inline]
    fn steps(&self, from: u32, to: u32) -> u32 {
        self.steps[(from * self.topology.size().a + to) as usize].into()
    }

    /// Returns the router in the first group that has the only wire to the second, if there is only one.
    #[inline]
    fn single_exit(&self, group: u32, to: u32) -> Option<u32> {
        match &self.exits {
            Exits::Single(exits) => Some(exits[(self.exits_at + group * self.topology.size().g + to) as usize] >> 16),
            Exits::Several(_) => None,
        }
    }

    /// Returns the number of channels of the direct path between two routers, by the first of equally near ports.
    #[inline]
    pub fn length(&self, from: RouterId, to: RouterId) -> u32 {
        let ((group, number), (to_group, to_number)) = (self.topology.place(from), self.topology.place(to));
        if group == to_group {
            return self.steps(number, to_number);
        }
        match (self.single_exit(group, to_group), self.single_exit(to_group, group)) {
            (Some(exit), Some(entry)) => self.steps(number, exit) + 1 + self.steps(entry, to_number),
            _ => self.walked_length(from, to),
        }
    }

    /// `length`, computed hop by hop.
    fn walked_length(&self, from: RouterId, to: RouterId) -> u32 {
        let (mut at, mut length) = (from, 0);
        let mut memory = Memory::default();
        while at != to {
            let route = self.to_router(at, to, &mut memory);
            at = self.next(at, route.port(0, &self.lists));
            length += 1;
        }
        length
    }

    /// Returns the first router of another group on the direct path, and the number of channels to it.
    #[inline]
    pub fn entry(&self, from: RouterId, group: u32) -> (RouterId, u32) {
        let (own, number) = self.topology.place(from);
        if own == group {
            return (from, 0);
        }
        match (self.single_exit(own, group), self.single_exit(group, own)) {
            (Some(exit), Some(entry)) => (self.topology.router(group, entry), self.steps(number, exit) + 1),
            _ => self.walk_to(from, group),
        }
    }

    /// `entry`, computed hop by hop.
    fn walk_to(&self, from: RouterId, group: u32) -> (RouterId, u32) {
        let (mut at, mut length) = (from, 0);
        let mut memory = Memory::default();
        while self.topology.place(at).0 != group {
            let route = self.to_group(at, group, &mut memory);
            at = self.next(at, route.port(0, &self.lists));
            length += 1;
        }
        (at, length)
    }

    /// Returns the router that a port to a router leads to.
    pub fn next(&self, at: RouterId, port: PortId) -> RouterId {
        match self.topology.endpoint(at, port) {
            Endpoint::Router(next, _) => next,
            // Direct paths lead from router to router.
            Endpoint::Node(_) | Endpoint::Unconnected => at,
        }
    }

    /// Returns the channel by which packets leave a group on the direct path from one of its routers to another group.
    pub fn exit_channel(&self, from: RouterId, group: u32) -> (RouterId, PortId) {
        let (mut at, mut memory) = (from, Memory::default());
        loop {
            let route = self.to_group(at, group, &mut memory);
            let port = route.port(0, &self.lists);
            if memory.global() > 0 {
                return (at, port);
            }
            at = self.next(at, port);
        }
    }

    /// Returns the number of VC classes on a class of channels, for a routing with `local` and `global` classes on
    /// local and global channels.
    pub fn classes_on(class: ChannelClass, local: u8, global: u8) -> u8 {
        match class {
            Groups::GLOBAL => global,
            Groups::LOCAL => local,
            _ => local.max(global),
        }
    }

    /// Returns the largest number of channels from a router out of its group and into another.
    pub fn longest_exit(&self) -> u32 {
        let diameter = self.topology.group().diameter();
        match &self.exits {
            Exits::Single(_) => diameter + 1,
            Exits::Several(_) => self.farthest_exit + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::TopologySpec;

    #[test]
    fn lengths_from_tables_are_those_of_the_walk() {
        // Would catch an exit that is looked up at the wrong end of its wire, and groups whose routers are not all
        // neighbours.
        for shorthand in ["h=1", "h=2", "p=1,a=6,h=1,group=flattened-butterfly", "p=1,a=3,h=2,g=4"] {
            let spec: TopologySpec = format!("dragonfly:{shorthand}").parse().expect("a dragonfly");
            let topology = spec.build(std::path::Path::new(".")).expect("a dragonfly");
            let dragonfly = topology.views().groups.expect("a dragonfly");
            let paths =
                DirectPaths::new(dragonfly, Classes { behind_first: 1, behind_second: 1 }).expect("small tables");
            for from in (0..dragonfly.routers()).map(RouterId) {
                for to in (0..dragonfly.routers()).map(RouterId) {
                    assert_eq!(paths.length(from, to), paths.walked_length(from, to), "{shorthand}: {from} to {to}");
                }
                for group in 0..dragonfly.size().g {
                    assert_eq!(
                        paths.entry(from, group),
                        paths.walk_to(from, group),
                        "{shorthand}: {from} to group {group}"
                    );
                }
            }
        }
    }
}
