//! Groups of all jobs of a system, and their trees.

mod limits;

use std::sync::Arc;

use ::mpi::communicator::{OffloadLimits, OffloadScope};
use ::mpi::program::Programs;
use fabric::{CombineSpec, Elements, GroupsSpec, LinkParameters, RouterSets};
use host::GroupParams;
use routing::Routing;
use routing::trees::{Trees, TreesSpec};
use topology::{ChannelClass, Topology};
use units::{Arithmetic, Bandwidth, Bytes, KeyError, KeyResult, NodeId, RouterId, Time};

use ::experiment::{CombineUnitsSpec, ExperimentSpec, InSwitchSpec, Overflow};
use ::network::{Feature, NetworkModel};
use limits::Room;
pub(crate) use limits::{Demand, acknowledges, senders};

/// Word of a combine unit of line rate, in bytes.
const WORD: u64 = 8;

/// Builds the trees of some groups of nodes, with combine units if any group combines. `demands` and `senders` hold the
/// demand and the multicasting members of each group. None without groups.
///
/// # Errors
/// If trees cannot be built. The error names the key at fault.
pub(crate) fn build(
    spec: &ExperimentSpec,
    (topology, routing): (&Arc<dyn Topology>, &Arc<dyn Routing>),
    (groups, demands, senders): (&[Vec<NodeId>], &[Demand], &[Vec<NodeId>]),
    packet: u32,
) -> Result<Option<GroupsSpec>, KeyError> {
    if groups.is_empty() {
        return Ok(None);
    }
    let own = &spec.in_switch;
    let wrong = |error: routing::trees::TreeError| KeyError::new("in_switch.trees", error);
    if let Some(operation) = demands.iter().find_map(Demand::combining).filter(|_| own.directed) {
        let message = format!(
            "{} needs an undirected tree, on which all members send: directed trees are for groups that only multicast",
            operation.name()
        );
        return Err(KeyError::new("in_switch.directed", message));
    }
    let trees = trees_spec(own).build_for(topology, &**routing, groups, senders).map_err(wrong)?;
    limits::check(own, &**topology, &trees, demands)?;
    let combining: Vec<bool> = demands.iter().map(Demand::combines).collect();
    let links: Vec<LinkParameters> =
        topology.class_names().into_iter().map(|class| spec.link.parameters(class)).collect();
    let injection = links.get(usize::from(ChannelClass::INJECTION.0)).map_or(Bandwidth(0), |link| link.bandwidth);
    let delays = RouterSets::new(&spec.router, &**topology);
    let delays = delays.iter().map(|(_, own)| own.common().delay.unwrap_or_else(|| fabric::router_delay(injection)));
    let delay = delays.max().unwrap_or_default();
    // Packets of low latency may be smaller than packets of streams. A partial sum holds a packet of either kind, so
    // there have to be enough for both.
    let small = packet.min(limits::params(own, (0, 1)).small_packet);
    let sizes = if own.streaming.is_some() { [small, packet] } else { [small; 2] };
    let acknowledged = demands.iter().any(Demand::is_acknowledged);
    let of_network = |network: usize| {
        let is_own = |class: u8| topology.network_of_class(ChannelClass(class)) == network;
        let own_links: Vec<_> = (0..).zip(&links).filter(|(class, _)| is_own(*class)).map(|(_, link)| *link).collect();
        let depth = deepest(&trees, |tree| is_own(topology.injection_class(trees.plane(tree)).0))?;
        let path = Path { links: &own_links, delay, packets: sizes, depth, acknowledged };
        Some(units(&own.combine, &**topology, &path))
    };
    // All routers have the units of the network that needs most.
    let most = |one: CombineSpec, other: CombineSpec| CombineSpec {
        words_per_cycle: one.words_per_cycle.max(other.words_per_cycle),
        window: one.window.max(other.window),
        ..one
    };
    let needed = (0..routing::islands::networks(&**topology)).filter_map(of_network).reduce(most);
    let units = needed.filter(|_| combining.contains(&true));
    let units = units.map(|units| CombineSpec { elements: elements(own), ..units });
    Ok(Some(GroupsSpec { trees: Arc::new(trees), turn: own.turn, units, combining }))
}

/// Returns the parameters by which members send operations that routers combine. The window of segments matches the
/// partial sums of each group's trees.
pub(crate) fn params(spec: &InSwitchSpec, groups: Option<&GroupsSpec>) -> GroupParams {
    let Some(groups) = groups else { return GroupParams::DEFAULT };
    let trees = || (0..groups.trees.groups()).map(|group| groups.trees.trees_of(group).len() as u32);
    let window = groups.units.map_or(1, |units| units.window);
    let window = window.saturating_mul(trees().min().unwrap_or(1)).max(1);
    limits::params(spec, (window, trees().max().unwrap_or(1).max(1)))
}

/// Groups of a job: nodes, demands, program, and multicasting members.
pub(crate) type JobGroups<'a> = (Vec<Vec<NodeId>>, Vec<Demand>, Option<&'a Arc<dyn Programs>>, Vec<Vec<NodeId>>);

/// Returns, for each job, the groups whose operations do not all fit into routers. Messages carry out the operations
/// that do not fit. `jobs` holds the groups of each job.
///
/// # Errors
/// If trees cannot be built for other reasons.
pub(crate) fn offload_limits(
    spec: &ExperimentSpec,
    (topology, model): (&Arc<dyn Topology>, &dyn NetworkModel),
    jobs: &[JobGroups<'_>],
) -> Result<Vec<OffloadLimits>, KeyError> {
    let own = &spec.in_switch;
    let limited = (own.table_entries.is_some() || own.limits_room()) && own.overflow == Overflow::Software;
    if !limited || !model.has(Feature::Routes) {
        return Ok(vec![OffloadLimits::new(); jobs.len()]);
    }
    let groups: Vec<Vec<NodeId>> = jobs.iter().flat_map(|job| job.0.iter().cloned()).collect();
    let demands: Vec<Demand> = jobs.iter().flat_map(|job| job.1.iter().copied()).collect();
    let senders: Vec<Vec<NodeId>> = jobs.iter().flat_map(|job| job.3.iter().cloned()).collect();
    let mut services = vec![OffloadScope::Nothing; groups.len()];
    let mut room = Room::new(own, topology.routers());
    // A group without any operation left takes no room.
    let mut admits = |group: usize, routers: &[RouterId]| {
        services[group] = room.reserve(&demands[group], routers);
        services[group] != OffloadScope::Nothing
    };
    let fitting = trees_spec(own).fitting(topology, (&groups, &senders), &mut admits);
    fitting.at_key("in_switch.trees")?;
    let mut services = services.into_iter();
    let of = |(groups, _, programs, _): &JobGroups<'_>| {
        let own: Vec<OffloadScope> = services.by_ref().take(groups.len()).collect();
        let all = programs.map_or_else(Vec::new, |programs| programs.groups()).into_iter().zip(own);
        let limited = all.filter(|(_, service)| *service != OffloadScope::All);
        limited.map(|(group, service)| ((group.context, group.ranks[0]), service)).collect()
    };
    Ok(jobs.iter().map(of).collect())
}

fn trees_spec(spec: &InSwitchSpec) -> TreesSpec {
    TreesSpec {
        build: spec.trees,
        count: spec.trees_per_group,
        or_fewer: true,
        classes: spec.classes,
        table_entries: spec.table_entries,
        directed: spec.directed,
    }
}

/// Returns the elements that packets carry. None without verification.
fn elements(spec: &InSwitchSpec) -> Option<Elements> {
    let own = spec.elements.unwrap_or_default();
    let arithmetic = Arithmetic { operator: own.operator, element: own.element };
    spec.verify.then_some(Elements { arithmetic, order: own.order })
}

/// Returns the depth of the deepest of some trees. None if there are none.
fn deepest(trees: &Trees, counts: impl Fn(u32) -> bool) -> Option<u64> {
    (0..trees.len()).filter(|&tree| counts(tree)).map(|tree| u64::from(trees.depth(tree))).max()
}

/// Longest path of a packet up a tree and down again.
struct Path<'a> {
    links: &'a [LinkParameters],
    delay: Time,
    /// Sizes of the smallest and the largest full packet that is combined, in bytes.
    packets: [u32; 2],
    depth: u64,
    /// Whether a member acknowledges results that only it receives.
    acknowledged: bool,
}

/// Number of round trips that a window covers if results are acknowledged: the round trip itself, the
/// acknowledgement's, and half a window of results until an acknowledgement is sent.
const ACKNOWLEDGED: u64 = 4;

impl Path<'_> {
    /// Returns the number of packets that a member sends at link rate until the first result is back, plus one. The
    /// maximum over packet sizes. `combining` returns the combining time of a packet size.
    fn window(&self, combining: impl Fn(u32) -> u64) -> u32 {
        self.packets.map(|packet| self.window_of(packet, combining(packet))).into_iter().max().unwrap_or(1)
    }

    /// Returns the window for packets of `packet` bytes that take `combining` picoseconds to combine.
    fn window_of(&self, packet: u32, combining: u64) -> u32 {
        let slowest = self.links.iter().map(|link| link.bandwidth).min().unwrap_or(Bandwidth(1));
        let fastest = self.links.iter().map(|link| link.bandwidth).max().unwrap_or(Bandwidth(1));
        let time = |bandwidth: Bandwidth| {
            bandwidth.serialization(Bytes(u64::from(packet))).map_or(1, |(time, _)| time.0.max(1))
        };
        let link = self.links.iter().map(|link| link.delay.0).max().unwrap_or(0);
        // Each switch is crossed twice on the way up, into its unit and out of it, and once on the way down.
        let switch = 3 * self.delay.0 + time(slowest) + combining;
        let round = (self.depth + 1).saturating_mul(switch + 2 * link) + 2 * link;
        let times = if self.acknowledged { ACKNOWLEDGED } else { 1 };
        (round.saturating_mul(times) / time(fastest) + 2).clamp(1, 1 << 16) as u32
    }
}

fn units(spec: &CombineUnitsSpec, topology: &dyn Topology, path: &Path<'_>) -> CombineSpec {
    let own = match spec {
        CombineUnitsSpec::LineRate(own) => {
            let fastest = path.links.iter().map(|link| link.bandwidth.0).max().unwrap_or(1);
            let ports = (0..topology.routers()).map(|router| topology.ports(RouterId(router))).max().unwrap_or(1);
            let bits = u128::from(fastest) * u128::from(ports) * u128::from(own.cycle.0);
            let words = bits.div_ceil(1_000_000_000_000 * 8 * u128::from(WORD)).clamp(1, 1 << 30);
            CombineSpec {
                units: 1,
                cycle: own.cycle,
                header_cycles: 0,
                word: Bytes(WORD),
                words_per_cycle: words as u32,
                output_speedup: u32::from(ports),
                window: 0,
                elements: None,
            }
        }
        CombineUnitsSpec::WordSerial(own) => CombineSpec {
            units: own.units,
            cycle: own.cycle,
            header_cycles: own.header_cycles,
            word: own.word,
            words_per_cycle: own.words_per_cycle,
            output_speedup: 1,
            window: 0,
            elements: None,
        },
    };
    let window = match spec {
        CombineUnitsSpec::LineRate(own) => own.window,
        CombineUnitsSpec::WordSerial(own) => own.window,
    };
    let combining = |packet| own.cycles(packet).saturating_mul(own.cycle.0);
    CombineSpec { window: window.unwrap_or_else(|| path.window(combining)), ..own }
}
