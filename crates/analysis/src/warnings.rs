//! Warnings of results that mislead although the experiment is valid: implausibly fast links, small buffers,
//! buses that are slower than links, head-of-line blocking, short runs, time series of a single interval, starving
//! sources, idle paths.

use fabric::MOST_TRANSMISSIONS;
use fabric::catalogue::{Arbitration, HeadOfLine};
use host::{BusOwner, MOST_TRACED};
use routing::algorithms::detours::{ParSpec, UgalLSpec};
use routing::algorithms::dragonfly::MinimalSpec;
use routing::islands::Island;
use routing::{PairPaths, Routing, RoutingSpec};
use topology::families::networks::Networks;
use topology::{ChannelClass, Topology, TopologySpec, View};
use traffic::patterns::adversarial;
use units::{Bandwidth, Bytes, KeyError, NodeId, Time};

use crate::effort;
use crate::idle_paths::{self, IdlePaths};
use crate::router_memory::{self, entered};
use crate::starvation;
use ::experiment::{JoinedNetworkSpec, WarmUp};
use ::network::Feature;
use ::system::{Job, System};
use measure::{PointResult, Warning};

/// Buffer memory of a router that causes a warning, in bytes: more than the largest switches have.
const MUCH_MEMORY: u64 = 256 << 20;

/// Bandwidth of a link that causes a warning, in b/s: twice that of the fastest ports.
const FAST_LINK: u64 = 3_200_000_000_000;

/// Bandwidth of a link from which on it is suspicious in one of several networks.
const FAST_INSIDE: u64 = 16_000_000_000_000;

/// Smallest number of messages that the measured interval should generate.
const FEWEST_MESSAGES: f64 = 200.0;

/// Kind of the warning that a time series may be a single interval.
const COARSE_SERIES: &str = "coarse-series";

/// Kind of the warning that a workload cannot end in time.
const CUT_SHORT: &str = "cut-short";

/// Kind of the warning that a timeline is missing or incomplete.
const NO_TIMELINE: &str = "no-timeline";

/// Returns all warnings of a system.
///
/// # Errors
/// If the routing breaks its contract.
pub fn warnings(system: &System) -> Result<Vec<Warning>, KeyError> {
    if !system.network.has(Feature::Routes) {
        return Ok(fast_link(system).into_iter().chain(cut_short(system)).collect());
    }
    let mut found: Vec<Warning> = fast_link(system).into_iter().collect();
    found.extend(slow_buses(system));
    found.extend(credits(system));
    found.extend(unproven(system));
    found.extend(memory(system));
    found.extend(head_of_line(system));
    found.extend(short_run(system));
    found.extend(cut_short(system));
    found.extend(coarse_series(system));
    found.extend(fine_series(system));
    found.extend(starving(system)?);
    found.extend(idle_paths::of(system)?.map(idle));
    found.extend(shortest_only(system));
    found.extend(other_default(system));
    found.extend(spread_flows(system)?);
    Ok(found)
}

/// Warns of a link so fast that bytes may have been written for bits.
fn fast_link(system: &System) -> Option<Warning> {
    let link = &system.spec.link;
    let of_classes =
        link.classes.iter().filter_map(|(name, class)| Some((format!("link.{name}.bandwidth"), class.bandwidth?)));
    let all = std::iter::once(("link.bandwidth".to_owned(), link.bandwidth)).chain(of_classes);
    let (key, fastest) = all.max_by_key(|(_, bandwidth)| bandwidth.0)?;
    // Inside nodes, all links of an endpoint may be written as one.
    let limit = if system.network.ways.is_some() { FAST_INSIDE } else { FAST_LINK };
    (fastest.0 >= limit).then(|| Warning {
        kind: "fast-link",
        key: "link.bandwidth",
        message: format!(
            "`{key}` is {fastest}, {} GB/s, at least twice the fastest ports: in a unit, B is byte and b is bit",
            fastest.0 / 8_000_000_000
        ),
    })
}

/// Share of the bandwidth of its links below which a bus is slow: less than headers of packets explain.
const SLOW_BUS: f64 = 0.95;

/// Warns of each of several networks whose links are faster, in one direction, than the bus of the interface that feeds
/// them.
fn slow_buses(system: &System) -> Vec<Warning> {
    let (network, spec) = (&system.network, &system.spec);
    let of_all = spec.nic.parts().and_then(|nic| nic.bus.as_ref());
    let links_of = |part: usize| {
        let own = network.on(part);
        network.plan.bandwidth(own.injection()).0.saturating_mul(u64::from(own.planes()))
    };
    let of = |(part, own): (usize, &JoinedNetworkSpec)| {
        let (key, bus) = match &own.nic {
            Some(nic) => ("network.nic.bus", nic.bus.as_ref()?),
            None => ("nic.bus", of_all?),
        };
        // Networks without interfaces that differ share the bus of a node.
        let shares = |&other: &usize| other == part || own.nic.is_none() && spec.networks[other].nic.is_none();
        let links = match bus.of {
            BusOwner::Rail => links_of(part) / u64::from(network.on(part).planes()).max(1),
            BusOwner::Node => (0..spec.networks.len()).filter(shares).map(links_of).fold(0, u64::saturating_add),
        };
        ((bus.bandwidth.0 as f64) < SLOW_BUS * links as f64).then(|| Warning {
            kind: "slow-bus",
            key,
            message: format!(
                "network `{}`: the bus of an interface carries {}, and its links {}: messages get no more than the bus has",
                own.name,
                bus.bandwidth,
                Bandwidth(links)
            ),
        })
    };
    spec.networks.iter().enumerate().filter_map(of).collect()
}

/// Warns of each class of channels whose credits do not cover the round trip.
fn credits(system: &System) -> Vec<Warning> {
    const KEY: &str = "router.buffer";
    let (plan, names) = (&system.network.plan, system.network.topology.class_names());
    let packet = system.network.packet;
    let of = |(class, name, set): (ChannelClass, &str, usize)| {
        let round_trip = plan.credit_round_trip(class, set, class);
        let full = plan.serialization(class, packet);
        let vcs = u64::from(plan.vcs_per_class_on(class));
        let depth = plan.buffer_bytes(class, set);
        let packets = u64::from(depth / packet) * vcs;
        // The buffer needs a whole number of packets; the percentage is of the time.
        let needed = round_trip.div_ceil(full).div_ceil(vcs.max(1)) * u64::from(packet);
        let path = plan.router_sets().path_in(set, "buffer");
        let written = if path == KEY { String::new() } else { format!(" (`{path}`)") };
        (!system.network.topology.is_ejection(class) && packets * full < round_trip).then(|| Warning {
            kind: "credits",
            key: KEY,
            message: format!(
                "a buffer{} of {}{written} covers {:.1} % of the credit round trip of {name} channels, and a flow gets no more of their \
                 bandwidth; {} cover all of it",
                plan.router_sets().label(set),
                Bytes(u64::from(depth)),
                100.0 * (packets * full) as f64 / round_trip as f64,
                Bytes(needed),
            ),
        })
    };
    let classes = (0..).map(ChannelClass).zip(names);
    let entered = |(class, name)| entered(system, class).into_iter().map(move |set| (class, name, set));
    classes.flat_map(entered).filter_map(of).collect()
}

/// Warns of a run without a proof of deadlock freedom.
fn unproven(system: &System) -> Option<Warning> {
    system.spec.measure.unproven.then(|| Warning {
        kind: "unproven",
        key: "measure.unproven",
        message: "that no packets wait for one another for ever was not proven before the run".into(),
    })
}

/// Warns of routers with more memory than any real one has.
fn memory(system: &System) -> Option<Warning> {
    let largest = router_memory::of(system).into_iter().max_by_key(|router| router.bytes)?;
    (largest.bytes > MUCH_MEMORY).then(|| Warning {
        kind: "memory",
        key: "router.buffer",
        message: format!(
            "a router of {} ports has {:.0} MB of buffers, more than switches have (256 MB is taken for much); crosspoints grow \
             with the square of the ports, `shared-buffer` and FIFOs do not",
            largest.ports,
            largest.bytes as f64 / 1e6
        ),
    })
}

/// Warns of shortest paths alone under adversarial traffic, if the topology has detours.
fn shortest_only(system: &System) -> Option<Warning> {
    let routing = &system.network.routing;
    let is_adversarial = |job: &Job| job.workload.demand().pattern.kind() == adversarial::KIND;
    let detours = RoutingSpec::UgalL(UgalLSpec::default());
    let is_direct = routing.minimal() || routing.kind() == RoutingSpec::Minimal(MinimalSpec::default()).kind();
    let topology = &*system.network.topology;
    // On a grid the detours of adversarial traffic may be no better than its short paths.
    let has_gain = detours.fits(topology) && topology.views().grid.is_none();
    (is_direct && has_gain && system.jobs.iter().any(is_adversarial)).then(|| Warning {
        kind: "shortest-only",
        key: "routing.kind",
        message: format!(
            "`{}` sends adversarial traffic by shortest paths only, which share few channels; a routing with detours, such as `{}` \
             or `{}`, may accept several times as much",
            routing.kind(),
            detours.kind(),
            RoutingSpec::Par(ParSpec::default()).kind(),
        ),
    })
}

/// Destinations of which all sources are examined for spread paths, and largest number of these sources.
const SPREAD_SAMPLE: usize = 16;

/// Warns of flows that a routing spreads over several paths: their times may be too short.
fn spread_flows(system: &System) -> Result<Option<Warning>, KeyError> {
    if !system.network.has(Feature::Flows) {
        return Ok(None);
    }
    for Island { topology, routing, .. } in Island::first(&*system.network.topology, &*system.network.routing) {
        if is_spread(topology, routing)? {
            return Ok(Some(Warning {
                kind: "spread-flows",
                key: "routing.kind",
                message: format!(
                    "`{}` spreads the packets of a message over several paths, which the flow model does in fixed shares: times may be up \
                     to half too short; routings with one path, such as `ecmp`, are nearer those of packets",
                    routing.kind()
                ),
            }));
        }
    }
    Ok(None)
}

/// Returns whether a routing spreads the packets of a message over several paths, between some pair of a sample.
fn is_spread(topology: &dyn Topology, routing: &dyn Routing) -> Result<bool, KeyError> {
    let nodes: Vec<NodeId> = (0..topology.nodes()).map(NodeId).collect();
    let sample: Vec<NodeId> = nodes.iter().copied().step_by(nodes.len().div_ceil(SPREAD_SAMPLE).max(1)).collect();
    let paths = PairPaths::new(topology, routing);
    let (mut follower, mut is_spread) = (paths.follower(), false);
    for &dst in &sample {
        let sources: Vec<NodeId> = sample.iter().copied().filter(|&source| source != dst).collect();
        follower
            .follow(&sources, dst, &mut |_, shares| is_spread |= shares.iter().any(|&(_, share)| share < 0.999))
            .map_err(|error| KeyError::new("routing.kind", error.to_string()))?;
    }
    Ok(is_spread)
}

/// Warns of a default routing that is not the family's: the wires of a tree, a dragonfly or a grid are other ones.
fn other_default(system: &System) -> Option<Warning> {
    let topology = &*system.network.topology;
    let networks = topology.views().networks;
    if networks.is_some_and(|networks| networks.only().is_none()) {
        return None;
    }
    let only = networks.and_then(Networks::only);
    let topology = only.map_or(topology, |part| &*part.island);
    let own = RoutingSpec::default_of(topology.kind());
    let is_of = |view| TopologySpec::kinds_with(view).any(|kind| kind == topology.kind());
    let is_family = [View::Levels, View::Groups, View::Grid, View::Cliques].into_iter().any(is_of);
    let is_silent = system.spec.routing.is_none() && is_family && !own.fits(topology);
    is_silent.then(|| {
        let routing = system.network.routing.kind();
        let better = if topology.views().has(Some(View::AnyGroups)) {
            "; `par` or `ugal-g` with `detour` = \"group\" spread uneven traffic over all groups"
        } else if is_of(View::Levels) {
            "; `up-down` needs one class of virtual channels"
        } else {
            ""
        };
        Warning {
            kind: "default-routing",
            key: if system.spec.topology.wires.is_empty() { "topology.group_sizes" } else { "topology.wires" },
            message: format!(
                "`{}`, the default routing of a {}, does not fit the wires of this one (`wires`, `group_sizes`), whose default is \
                 `{routing}`{better}",
                own.kind(),
                topology.kind(),
            ),
        }
    })
}

/// Warns of head-of-line blocking in FIFOs.
fn head_of_line(system: &System) -> Option<Warning> {
    let blocked = system.head_of_line()?;
    if blocked == HeadOfLine::Crosspoint {
        let message = "inputs are FIFOs, with one virtual channel for each class of packets: a head blocks what is behind it while its \
                       crosspoint is full; set `router.queueing` = \"virtual-output\", or `router.crosspoint_buffer` deeper";
        return Some(Warning { kind: "head-of-line", key: "router.queueing", message: message.to_owned() });
    }
    Some(Warning {
        kind: "head-of-line",
        key: "router.vcs",
        message: format!(
            "inputs of `{}` routers are FIFOs, with one virtual channel for each class of packets: their heads block what is \
             behind them, and a port carries about 0.59 of its bandwidth under uniform traffic (Karol et al. 1987), whatever the \
             topology; set `router.vcs` to {} or more, `router.speedup` = 2 of input-output-queued routers, or take \
             `virtual-output-queued` or `shared-buffer`",
            system.spec.router.kind(),
            2 * u16::from(system.network.routing.classes()),
        ),
    })
}

/// Warns of a run that ends before there is enough to measure.
fn short_run(system: &System) -> Option<Warning> {
    let measure = &system.spec.measure;
    let end = measure.max_time?;
    let job = system.jobs.iter().find(|job| job.workload.is_open() && !job.background)?;
    let warm_up = match measure.warm_up {
        WarmUp::Fixed(time) => time,
        // The transient may take half of a run.
        WarmUp::Auto => Time(end.0 / 2),
    };
    let measured = end.0.saturating_sub(warm_up.0) as f64;
    let slot = system.picoseconds(system.network.slot(job.workload.packets())) as f64;
    let nodes = (0..system.network.topology.nodes()).map(units::NodeId);
    let demand = job.workload.demand();
    let rate = nodes.map(|node| demand.weight(node)).sum::<f64>() * demand.load / slot;
    let path = system.picoseconds(system.network.longest_path()) as f64;
    let least = (FEWEST_MESSAGES / rate).max(path);
    (rate > 0.0 && measured < least).then(|| Warning {
        kind: "short-run",
        key: "measure.max_time",
        message: format!(
            "`measure.max_time` = {} leaves {} to measure, in which about {:.0} messages are generated, and a packet takes up to {}: \
             chance decides the results; set it to {} or more",
            shown(end),
            shown(Time(measured as u64)),
            measured * rate,
            shown(Time(path as u64)),
            shown(Time((10.0 * least + warm_up.0 as f64).max(20.0 * least) as u64)),
        ),
    })
}

/// Warns of a workload that cannot end before `measure.max_time`.
fn cut_short(system: &System) -> Option<Warning> {
    let limit = system.spec.measure.max_time?;
    let (job, end) = effort::latest_end(system)?;
    let end = Time(system.picoseconds(end));
    let name = if system.jobs.len() > 1 { format!("job {}", job.name) } else { "the workload".into() };
    (end > limit).then(|| Warning {
        kind: CUT_SHORT,
        key: "measure.max_time",
        message: format!(
            "{name} takes until {} at least, and `measure.max_time` ends it at {}: it is not finished",
            shown(end),
            shown(limit),
        ),
    })
}

/// Formats a time with up to four digits, in a suitable unit.
fn shown(time: Time) -> String {
    let ns = time.as_ns();
    let units = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];
    let (unit, size) = units.into_iter().find(|&(_, size)| ns >= size).unwrap_or(("ns", 1.0));
    let value = ns / size;
    let digits = if value >= 1000.0 {
        0
    } else if value >= 100.0 {
        1
    } else if value >= 10.0 {
        2
    } else {
        3
    };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

/// Warns of a time series whose first interval is longer than the run, as far as that is known in advance.
fn coarse_series(system: &System) -> Option<Warning> {
    let period = system.spec.measure.series?;
    let end = Time(system.picoseconds(effort::usual_end(system)));
    // The length is unknown for programs that are called back, and for operations in switches.
    (end.0 > 0 && period > end).then(|| Warning {
        kind: COARSE_SERIES,
        key: "measure.series",
        message: format!(
            "`measure.series` = {} is longer than the run, which may end after {}: then the series is a single interval; {} would make \
             about 100",
            shown(period),
            shown(end),
            shown(Time(end.0 / 100)),
        ),
    })
}

/// Warns of a time series whose intervals are too short for a packet.
fn fine_series(system: &System) -> Option<Warning> {
    let period = system.spec.measure.series?;
    let (topology, plan) = (&system.network.topology, &system.network.plan);
    let to_nodes =
        (0..topology.class_names().len() as u8).map(ChannelClass).filter(|&class| topology.is_ejection(class));
    let ticks = to_nodes.map(|class| plan.serialization(class, system.network.packet)).max().unwrap_or(0);
    let packet = system.picoseconds(ticks);
    (period.0 < packet).then(|| Warning {
        kind: "fine-series",
        key: "measure.series",
        message: format!(
            "`measure.series` = {} is shorter than the time of a packet of {} on a channel to a node, {}: an interval has a part of a packet \
             or nothing",
            shown(period),
            Bytes(u64::from(system.network.packet)),
            shown(Time(packet)),
        ),
    })
}

/// Removes warnings that the measurements of a finished run disprove.
pub fn settle(warnings: &mut Vec<Warning>, point: &PointResult) {
    let is_series = |point: &PointResult| point.series.as_ref().is_some_and(|series| series.time_ns.len() > 1);
    let has_series = is_series(point) || point.jobs.iter().any(|job| is_series(&job.point));
    warnings.retain(|warning| !(has_series && warning.kind == COARSE_SERIES));
}

/// Warns of a missing or incomplete timeline after a run with `measure.timeline`.
pub fn unexplained(system: &System, point: &PointResult) -> Option<Warning> {
    let of_jobs = point.jobs.iter().map(|job| &job.point);
    let points: Vec<&PointResult> = if point.jobs.is_empty() { vec![point] } else { of_jobs.collect() };
    let has_ranks = system.jobs.iter().map(|job| job.workload.programs().is_some());
    let closed = has_ranks.zip(points).filter(|(has_ranks, _)| *has_ranks).filter_map(|(_, point)| point.closed());
    let (mut missing, mut unresolved) = (false, false);
    for closed in closed.filter(|_| system.spec.measure.timeline) {
        missing |= closed.explained.is_none();
        unresolved |= closed.explained.as_ref().is_some_and(|found| found.critical_path.unresolved_ns > 0.0);
    }
    let message = if missing {
        format!("not all ranks have ended, or there are more than {MOST_TRACED} operations: there is no timeline")
    } else {
        format!(
            "channels have sent more than {MOST_TRANSMISSIONS} times: what the critical path does in the network is not resolved"
        )
    };
    (missing || unresolved).then_some(Warning { kind: NO_TIMELINE, key: "measure.timeline", message })
}

/// Warns of sources that get a far smaller share of an oversubscribed channel than others.
///
/// # Errors
/// If the routing breaks its contract.
fn starving(system: &System) -> Result<Option<Warning>, KeyError> {
    let by_age = system.spec.router.input_arbitration() == Some(Arbitration::OldestFirst);
    let least = if by_age { None } else { starvation::least_share(system)? };
    Ok(least.map(|least| Warning {
        kind: "starvation",
        key: "router.arbitration",
        message: format!(
            "{} is asked for {:.2} times its bandwidth, and arbitration gives each of its inputs a turn, however many sources \
             are behind it: {} gets at most {:.4} of what it offers, where an equal division gives all {:.4}; \
             `oldest-first` of routers that have it divides equally",
            least.channel, least.demand, least.source, least.share, least.equal,
        ),
    }))
}

/// Warns of channels that one fixed path for each pair of nodes leaves idle.
fn idle(found: IdlePaths) -> Warning {
    let IdlePaths { idle, of, bounds: (fixed, spread) } = found;
    let gain = match spread > fixed {
        true => format!(", and raise the bound of uniform traffic from {fixed:.4} to {spread:.4}"),
        false => String::new(),
    };
    Warning {
        kind: "idle-paths",
        key: "routing.ties",
        message: format!(
            "`routing.ties` = \"first\" gives each pair of nodes one fixed path, which leaves {idle} of {of} channels between routers \
             idle; \"random\" and \"least-loaded\" use them{gain}"
        ),
    }
}
