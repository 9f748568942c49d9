//! Plan of a run, fixed beforehand and shared by all partitions: the network's topology, its times in ticks, and its
//! buffers.

use std::sync::Arc;

use routing::Routing;
use topology::{ChannelClass, Channels, Topology};
use units::{Bandwidth, Bytes, Capacity, ChannelId, KeyError, RouterId, Time, counted};

use crate::catalogue::{CreditReturn, CreditRule, RouterSpec};
use crate::defaults::{NetworkParameters, max_ports};
use crate::depths::Sizes;
use crate::fabric::Classes;
use crate::groups::{CombineSpec, GroupsSpec};
use crate::link::LinkParameters;
use crate::multicast_keys::refused;
use crate::packet::MAX_ENTRIES;
use crate::port::{FarEnd, OutputPort};
use crate::router_classes::RouterSets;
use crate::router_params::{RouterParams, check_sets};
use crate::stations::ReceiveBuffer;

/// Specification from which a fabric is built.
#[derive(Clone, Debug)]
pub struct FabricSpec {
    /// Topology of the network.
    pub topology: Arc<dyn Topology>,
    /// Routing algorithm.
    pub routing: Arc<dyn Routing>,
    /// Links, by `ChannelClass`.
    pub links: Vec<LinkParameters>,
    /// Architecture of the routers.
    pub router: RouterSpec,
    /// Size of the largest packet.
    pub packet: Bytes,
    /// Other packet sizes. The tick divides their times too.
    pub other_packets: Vec<Bytes>,
    /// Times of the nodes, which the tick divides too: none above 1,000 s.
    pub other_times: Vec<Time>,
    /// Whether sources generate at any time, not only at multiples of a packet's time. Generation times are then kept
    /// in picoseconds, and the tick is at most 1/64 of the smallest packet's time, so that a release at a tick is
    /// hardly late.
    pub continuous: bool,
    /// Receive buffer of every node. `None`: nodes take packets as fast as they come.
    pub receive_buffer: Option<ReceiveBufferSpec>,
    /// Whether multicast packets are sent.
    pub multicasts: bool,
    /// Groups whose operations routers carry out, if there are any.
    pub groups: Option<GroupsSpec>,
    /// Seed of the experiment.
    pub seed: u64,
}

/// Receive buffer of a node's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveBufferSpec {
    /// Depth of the buffer.
    pub depth: Capacity,
    /// Rate at which the buffer is drained.
    pub drain: Bandwidth,
}

/// Bandwidth and times of a link. Times are in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub bandwidth: Bandwidth,
    pub delay: u64,
    /// Serialization time of the largest packet.
    pub full: u64,
}

/// Plan of a run: the immutable data that all partitions share.
#[derive(Debug)]
pub struct Plan {
    pub(crate) topology: Arc<dyn Topology>,
    pub(crate) routing: Arc<dyn Routing>,
    pub(crate) channels: Channels,
    pub(crate) links: Vec<Link>,
    pub(crate) router: RouterSpec,
    pub(crate) packet: u32,
    /// Virtual channels of every link.
    pub(crate) vcs: u8,
    /// Virtual channels in each VC class, by class of channels.
    pub(crate) vcs_per_class: Vec<u8>,
    /// Bits of a virtual channel in an index of (port, virtual channel).
    pub(crate) vc_shift: u32,
    /// Largest number of ports of a router.
    pub(crate) max_ports: u16,
    /// Routers in sets of equal ones.
    pub(crate) sets: RouterSets,
    /// Parameters of the routers, by set.
    pub(crate) routers: Vec<RouterParams>,
    pub(crate) credit_return: CreditReturn,
    pub(crate) receive_buffer: Option<ReceiveBuffer>,
    /// Whether multicast packets are sent.
    pub(crate) multicasts: bool,
    pub(crate) groups: Option<GroupsSpec>,
    /// Class of the channels between a router and its combine units, numbered after the topology's classes. Without
    /// units no channel is of this class.
    pub(crate) internal: ChannelClass,
    pub(crate) tick: Time,
    /// Return value of `Plan::units_per_tick`.
    units_per_tick: u64,
    pub(crate) seed: u64,
}

/// Smallest number of ticks in the smallest packet's time, if sources are continuous in time.
const TICKS_PER_PACKET: u64 = 64;

/// Largest number of routers of a path, as counted by packets (`Packet::hops`).
const MOST_ROUTERS: u32 = u16::MAX as u32;

/// Largest time in picoseconds. Longer ones are taken for mistakes.
pub(crate) const LONGEST: u64 = 1 << 50;

impl FabricSpec {
    /// Returns the number of VC classes that the routing and the trees of groups need.
    fn classes(&self) -> u8 {
        self.groups.as_ref().map_or(0, |groups| groups.trees.classes()).max(self.routing.classes())
    }

    /// Returns the virtual channels of every link: the number in the file, else one for each class.
    pub(crate) fn vcs(&self) -> u8 {
        self.router.common().vcs.unwrap_or(self.classes())
    }

    /// Returns the delay of routers with the given keys, and the depths of their buffers. A router has at most
    /// `max_ports` ports.
    pub(crate) fn sizes(&self, router: &RouterSpec, max_ports: u16) -> Sizes {
        let names = self.topology.class_names();
        router.sizes(&NetworkParameters { names: &names, links: &self.links, packet: self.packet, max_ports })
    }
}

impl Plan {
    /// Computes the plan, or says what does not fit together.
    ///
    /// # Errors
    /// Paths through more routers than packets count, a buffer that does not hold a packet, fewer virtual channels than
    /// the routing needs, a link without delay or bandwidth, times beyond 1,000 s.
    pub fn new(spec: FabricSpec) -> Result<Self, KeyError> {
        let longest = spec.routing.max_routers();
        if longest > MOST_ROUTERS {
            let message = format!(
                "packets of `{}` on this {} may traverse {longest} routers; at most {MOST_ROUTERS} are counted: choose a shape of shorter paths",
                spec.routing.kind(),
                spec.topology.kind()
            );
            return Err(KeyError::new("topology", message));
        }
        let router = spec.router.common();
        let of_trees = |class| spec.groups.as_ref().map_or(0, |groups| groups.trees.classes_on(class));
        let (classes, vcs) = (spec.classes(), spec.vcs());
        if vcs < classes {
            let message = format!(
                "{} too few: `{}`{} on this {} needs at least {classes} to be free of deadlock",
                counted(vcs.into(), ["virtual channel is", "virtual channels are"]),
                spec.routing.kind(),
                if spec.groups.is_some() { " with trees of groups" } else { "" },
                spec.topology.kind()
            );
            return Err(KeyError::new("router.vcs", message));
        }
        let channel_classes = (0..spec.links.len() as u8).map(ChannelClass);
        let vcs_per_class = channel_classes.map(|class| match router.vcs {
            Some(vcs) => vcs / (spec.routing.classes_on(class) + of_trees(class)).max(1),
            None => 1,
        });
        // Channels to and from combine units come last, here and below.
        let vcs_per_class = vcs_per_class.chain([1]).collect();
        if (spec.routing.options().len() > 1 || spec.routing.adaptive_class().is_some())
            && spec.router.counts_crosspoints()
        {
            return Err(KeyError::new(
                "router.credits",
                format!(
                    "\"per-crosspoint\" has the output choose the next router's output, where `{}` decides by that \
                     router's own queues; \"row-minimum\" and \"row-counter\" are allowed with it",
                    spec.routing.kind()
                ),
            ));
        }
        if (spec.multicasts || spec.groups.is_some()) && spec.router.counts_crosspoints() {
            let message = "\"per-crosspoint\" has the output choose one output of the next router, and a multicast packet leaves that by \
                           several; \"row-minimum\" and \"row-counter\" are allowed with multicasts";
            return Err(KeyError::new("router.credits", message));
        }
        let units = spec.groups.as_ref().and_then(|groups| groups.units);
        units.map_or(Ok(()), |units| check_units(&units))?;
        let entries = spec.groups.as_ref().map_or(0, |groups| groups.trees.entries());
        if entries > MAX_ENTRIES {
            let message = format!("the trees of all groups have {entries} table entries; {MAX_ENTRIES} are allowed");
            return Err(KeyError::new("in_switch.trees", message));
        }
        let max_ports = max_ports(&*spec.topology).saturating_add(units.map_or(0, |units| units.units));
        refused(&spec.router, max_ports).map_or(Ok(()), |(key, message)| Err(KeyError::new(key, message)))?;
        let sets = RouterSets::new(&spec.router, &*spec.topology);
        check_sets(&sets, spec.links.len())?;
        let params = sets.iter().map(|set| spec.router_params(set, max_ports)).collect::<Result<Vec<_>, _>>()?;
        let tick = grain(&spec, &params)?;
        let routers = params.into_iter().map(|(own, delay)| RouterParams { delay: delay.0 / tick.0, ..own }).collect();
        let mut links: Vec<_> =
            spec.links.iter().map(|link| in_ticks(*link, spec.packet, tick)).collect::<Result<_, _>>()?;
        links.extend(internal_link(&spec.links, units, spec.packet, tick)?);
        let receive_buffer = spec.receive_buffer.map(|own| receive_buffer(own, spec.packet, tick)).transpose()?;
        let channels = Channels::new(&*spec.topology);
        Ok(Self {
            links,
            channels,
            max_ports,
            packet: spec.packet.0 as u32,
            vcs,
            vcs_per_class,
            vc_shift: u32::from(vcs).next_power_of_two().trailing_zeros(),
            sets,
            routers,
            credit_return: spec.router.common().credit_return,
            receive_buffer,
            internal: ChannelClass(spec.links.len() as u8),
            multicasts: spec.multicasts || spec.groups.is_some(),
            groups: spec.groups,
            tick,
            units_per_tick: if spec.continuous { tick.0 } else { 1 },
            topology: spec.topology,
            routing: spec.routing,
            router: spec.router,
            seed: spec.seed,
        })
    }

    /// Returns the seed of the random streams.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the tick: every time of the run is a multiple of it.
    pub fn tick(&self) -> Time {
        self.tick
    }

    /// Returns the parts of a tick in which generation times and latencies are counted: picoseconds if some source is
    /// continuous in time, else whole ticks.
    pub fn units_per_tick(&self) -> u64 {
        self.units_per_tick
    }

    /// Returns the unit in which generation times and latencies are counted.
    pub fn generation_unit(&self) -> Time {
        Time(self.tick.0 / self.units_per_tick)
    }

    /// Returns the network's topology.
    pub fn topology(&self) -> &dyn Topology {
        &*self.topology
    }

    /// Returns the routing.
    pub fn routing(&self) -> &Arc<dyn Routing> {
        &self.routing
    }

    /// Returns the number of ports of a router, including the ports of its combine units.
    pub(crate) fn ports(&self, router: RouterId) -> u16 {
        self.topology.ports(router) + self.units().map_or(0, |units| units.units)
    }

    /// Returns the groups whose operations routers carry out, if there are any.
    pub fn groups(&self) -> Option<&GroupsSpec> {
        self.groups.as_ref()
    }

    /// Returns the combine units of a router, if it has any.
    pub(crate) fn units(&self) -> Option<CombineSpec> {
        self.groups.as_ref().and_then(|groups| groups.units)
    }

    /// Returns whether nodes have receive buffers.
    pub fn has_receive_buffers(&self) -> bool {
        self.receive_buffer.is_some()
    }

    /// Returns the numbering of the channels.
    pub fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Returns the period with which the routing samples the network's congestion, in ticks. `None`: it takes no
    /// samples.
    pub fn snapshot_period(&self) -> Option<u64> {
        self.routing.snapshot_period().map(|period| period.0 / self.tick.0)
    }

    /// Returns the number of output channels of all routers.
    pub fn output_channels(&self) -> usize {
        self.channels.ports() as usize
    }

    /// Returns the time of a packet on a class of channels, in ticks, rounded up.
    #[inline]
    pub fn serialization(&self, class: ChannelClass, bytes: u32) -> u64 {
        let link = self.links[class.0 as usize];
        if bytes == self.packet {
            return link.full;
        }
        self.odd_serialization(link, bytes)
    }

    /// Returns the time of a packet that is not of the largest size, in ticks, rounded up.
    #[cold]
    fn odd_serialization(&self, link: Link, bytes: u32) -> u64 {
        let time = link.bandwidth.serialization(Bytes(u64::from(bytes))).map_or(0, |(time, _)| time.0);
        time.div_ceil(self.tick.0).max(1)
    }

    /// Returns the delay of a class of channels, in ticks.
    pub fn link_delay(&self, class: ChannelClass) -> u64 {
        self.links[class.0 as usize].delay
    }

    /// Returns the bandwidth of a class of channels.
    pub fn bandwidth(&self, class: ChannelClass) -> Bandwidth {
        self.links[class.0 as usize].bandwidth
    }

    /// Returns the size of the largest packet in bytes.
    pub fn packet(&self) -> u32 {
        self.packet
    }

    /// Returns the number of virtual channels that packets use on a class of channels.
    pub fn vcs_on(&self, class: ChannelClass) -> u8 {
        let of_trees = self.groups.as_ref().map_or(0, |groups| groups.trees.classes_on(class));
        self.vcs_per_class[class.0 as usize] * (self.routing.classes_on(class) + of_trees)
    }

    /// Returns the number of VC classes, of the routing and of the trees of groups together.
    pub(crate) fn classes(&self) -> u8 {
        self.groups.as_ref().map_or(0, |groups| groups.trees.classes()).max(self.routing.classes())
    }

    /// Returns the virtual channels of a link: the maximum over all classes of channels.
    pub fn vcs(&self) -> u8 {
        self.vcs
    }

    /// Returns the largest distance of an event from the present, in ticks, except for sources that idle.
    pub(crate) fn horizon(&self) -> u64 {
        self.links.iter().map(|link| link.full + link.delay).max().unwrap_or(1) + self.longest_router_delay()
    }

    /// Returns what a credit stands for: one counter a link, except for some settings of the output-queued router.
    pub(crate) fn credit_rule(&self) -> CreditRule {
        match &self.router {
            RouterSpec::OutputQueued(spec) => spec.credits,
            _ => CreditRule::RowCounter,
        }
    }

    /// Returns whether every buffer is freed as the head leaves: no incoming channel is faster than an outgoing one, and
    /// no combine unit, which may take a packet in for longer, is attached.
    pub(crate) fn frees_at_head(&self) -> bool {
        self.credit_return == CreditReturn::Head && !self.has_mixed_rates() && self.units().is_none()
    }

    /// Returns whether a packet may leave an input before its tail has come: by a faster channel or over a faster
    /// crossbar.
    pub(crate) fn tracks_tails(&self) -> bool {
        let late = self.credit_return == CreditReturn::Tail && self.routers.iter().any(|own| own.speedup > 1);
        // A combine unit waits for the tail.
        self.has_mixed_rates() || late || self.units().is_some()
    }

    /// Returns the full credit of an output's channel on a virtual channel, in bytes: the depth of the buffer at its
    /// far end.
    pub(crate) fn depth_beyond(&self, output: &OutputPort, classes: &Classes) -> i32 {
        match (output.far_end, self.receive_buffer) {
            (FarEnd::Station(_), Some(buffer)) => buffer.depth as i32,
            (FarEnd::Node | FarEnd::Unit, _) => i32::MAX,
            _ => classes[usize::from(output.class.0)].depth as i32,
        }
    }

    /// Returns whether some channels are faster than others.
    pub(crate) fn has_mixed_rates(&self) -> bool {
        self.links.iter().any(|link| link.bandwidth != self.links[0].bandwidth)
    }

    /// Returns the class of links of a channel. Class 0 for an unconnected port.
    pub fn class_of(&self, channel: ChannelId) -> ChannelClass {
        match self.channels.source(channel) {
            topology::ChannelSource::Router(router, port) => self.topology.class(router, port),
            topology::ChannelSource::Node(_, plane) => self.topology.injection_class(plane),
        }
    }
}

pub(crate) fn holds_a_packet(key: &str, buffer: Capacity, packet: Bytes) -> Result<u32, KeyError> {
    let depth = buffer
        .in_bytes(packet)
        .ok_or_else(|| KeyError::new(key, format!("{buffer} is too deep: at most 2 GiB are allowed")))?;
    if u64::from(depth) < packet.0 {
        return Err(KeyError::new(
            key,
            format!("{buffer} is less than one packet of {packet}: virtual cut-through needs room for a whole packet"),
        ));
    }
    Ok(depth)
}

/// Returns the greatest common divisor of all times.
fn grain(spec: &FabricSpec, routers: &[(RouterParams, Time)]) -> Result<Time, KeyError> {
    let mut smallest = u64::MAX;
    let delays = routers.iter().map(|(_, delay)| delay);
    let mut grain = delays.chain(&spec.other_times).fold(0, |grain, time| gcd(grain, time.0));
    if let Some(units) = spec.groups.as_ref().and_then(|groups| groups.units) {
        grain = gcd(grain, units.cycle.0);
    }
    if let Some(period) = spec.routing.snapshot_period() {
        grain = gcd(grain, period.0);
    }
    for &size in std::iter::once(&spec.packet).chain(&spec.other_packets) {
        for link in &spec.links {
            let time = serialization(*link, size)?;
            smallest = smallest.min(time);
            let crossings = routers.iter().map(|(own, _)| time.div_ceil(own.speedup.into()));
            grain = crossings.fold(gcd(grain, time), gcd);
        }
        if let Some(buffer) = &spec.receive_buffer {
            grain = gcd(grain, drain_time(buffer.drain, size)?);
        }
    }
    grain = spec.links.iter().fold(grain, |grain, link| gcd(grain, link.delay.0));
    Ok(Time(if spec.continuous { divisor_up_to(grain, smallest / TICKS_PER_PACKET) } else { grain.max(1) }))
}

/// Returns the largest divisor of a number that is not above a limit. It is searched among the quotients by numbers of
/// moderate size. If none divides, it is 1.
fn divisor_up_to(number: u64, limit: u64) -> u64 {
    const ATTEMPTS: u64 = 1 << 12;
    let least = number.div_ceil(limit.max(1)).max(1);
    (least..least.saturating_add(ATTEMPTS))
        .find(|&parts| number.is_multiple_of(parts))
        .map_or(1, |parts| number / parts)
}

fn in_ticks(link: LinkParameters, packet: Bytes, tick: Time) -> Result<Link, KeyError> {
    if link.delay.0 == 0 {
        return Err(KeyError::new(
            "link.delay",
            "a link without delay joins its ends into one instant, which is refused; write at least \"1 ps\"",
        ));
    }
    if link.delay.0 > LONGEST {
        return Err(KeyError::new("link.delay", format!("{} is too long: at most 1000 s", link.delay)));
    }
    let full = serialization(link, packet)?.div_ceil(tick.0);
    Ok(Link { bandwidth: link.bandwidth, delay: link.delay.0 / tick.0, full })
}

/// Returns the link between a router and its combine units: as fast as the fastest link, or a multiple of that, and a
/// cycle long. A packet takes whole ticks there, rounded up.
fn internal_link(
    links: &[LinkParameters],
    units: Option<CombineSpec>,
    packet: Bytes,
    tick: Time,
) -> Result<Option<Link>, KeyError> {
    let Some(fastest) = links.iter().map(|link| link.bandwidth).max() else { return Ok(None) };
    let (speedup, delay) = units.map_or((1, tick), |units| (units.output_speedup, units.cycle));
    let bandwidth = Bandwidth(fastest.0.saturating_mul(u64::from(speedup.max(1))));
    in_ticks(LinkParameters { bandwidth, delay }, packet, tick).map(Some)
}

/// Checks the parameters of combine units.
fn check_units(units: &CombineSpec) -> Result<(), KeyError> {
    let wrong = |key: &str, message: String| Err(KeyError::new(format!("in_switch.combine.{key}"), message));
    match units {
        CombineSpec { units: count @ (0 | 2), .. } => wrong(
            "units",
            format!(
                "{count} is out of range: 1 is allowed, or 3 and more, of which one combines what the others give it"
            ),
        ),
        CombineSpec { cycle, .. } if cycle.0 == 0 || cycle.0 > LONGEST => {
            wrong("cycle", format!("{cycle} is out of range: more than 0 and at most 1000 s is allowed"))
        }
        CombineSpec { word, .. } if word.0 == 0 => wrong("word", "a word has at least 1 B".to_owned()),
        CombineSpec { words_per_cycle: 0, .. } => {
            wrong("words_per_cycle", "0 is out of range: at least 1 is needed".to_owned())
        }
        CombineSpec { window: 0, .. } => wrong("window", "0 is out of range: at least 1 is needed".to_owned()),
        _ => Ok(()),
    }
}

/// Returns a receive buffer. Checks that it holds a packet and is drained at a rate that the clock can represent.
fn receive_buffer(spec: ReceiveBufferSpec, packet: Bytes, tick: Time) -> Result<ReceiveBuffer, KeyError> {
    let depth = holds_a_packet("node.receive_buffer", spec.depth, packet)?;
    drain_time(spec.drain, packet)?;
    Ok(ReceiveBuffer { depth, drain: spec.drain, tick })
}

/// Returns the time for which a packet of a size is drained, in picoseconds.
fn drain_time(drain: Bandwidth, size: Bytes) -> Result<u64, KeyError> {
    match drain.serialization(size) {
        Some((time, _)) if time.0 <= LONGEST && time.0 > 0 => Ok(time.0),
        _ => Err(KeyError::new(
            "node.drain",
            format!("{drain} is too slow: a packet of {size} would be drained for more than 1000 s"),
        )),
    }
}

fn serialization(link: LinkParameters, size: Bytes) -> Result<u64, KeyError> {
    match link.bandwidth.serialization(size) {
        Some((time, _)) if time.0 <= LONGEST && time.0 > 0 => Ok(time.0),
        _ => Err(KeyError::new(
            "link.bandwidth",
            format!("{} is too slow: a packet of {size} would take more than 1000 s", link.bandwidth),
        )),
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_divisor_is_the_largest_up_to_the_limit() {
        // Would catch a tick that does not divide the other times, one above the limit, and one finer than needed.
        for number in 1..=600_u64 {
            for limit in 0..=number + 1 {
                let naive = (1..=limit.max(1)).rev().find(|&divisor| number.is_multiple_of(divisor));
                assert_eq!(Some(divisor_up_to(number, limit)), naive, "{number} up to {limit}");
            }
        }
        // A prime that is longer than the search: there is no other divisor.
        assert_eq!(divisor_up_to(1_000_000_007, 15_625_000), 1);
    }
}
