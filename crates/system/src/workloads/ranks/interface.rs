//! Network interface of ranks: from the experiment's section to the parameters of executors.

use std::collections::BTreeSet;

use host::{
    BufferRule, BusParams, ConnectionMode, ConnectionParams, DmaParams, ForwardingParams, GapParams, MatchingParams,
    NicParams, PartParams, PerByte, ProcessorParams, ProgressMode, ProtocolParams, RailParams, RailPolicy,
    RegisteredEnds, RegistrationParams, Rendezvous,
};
use mpi::collectives::RailUse;
use units::{Bandwidth, TaskId, Time};

use super::described::Ranks;
use crate::workloads::Workload;
use ::experiment::{
    BuffersSpec, BusOwner, ChargedBytes, ConnectionModeSpec, ConnectionsSpec, CopyEnds, CopySpec, Directions, HostSpec,
    LoggpNicSpec, Matcher, MatchingSpec, NicSpec, ProgressSpec, RailPolicySpec, RegisteredEndsSpec, RegistrationSpec,
    RendezvousSpec, WithoutCreditSpec,
};
use ::network::Network;

/// Returns the parameters of every executor on a network.
pub(super) fn parameters(ranks: &Ranks, network: &Network) -> NicParams {
    let Ranks { packet, nic, .. } = ranks;
    let host = nic.host();
    let parts = nic.parts();
    NicParams {
        send_overhead: host.send_overhead.0,
        receive_overhead: host.receive_overhead.0,
        poll_overhead: host.poll_overhead.map_or(0, |own| own.0),
        eager_limit: host.eager_limit.map(|limit| limit.0),
        control: host.control().0.min(u64::from(*packet)) as u32,
        packet: *packet,
        pace: network.slot(ranks.packets()),
        tick: network.plan.tick().0,
        overhead_per_byte: parts.map_or(PerByte::FREE, |nic| PerByte::of(nic.overhead_per_byte.0)),
        first_byte_free: parts.is_some_and(is_first_byte_free),
        copy: parts.and_then(|nic| nic.copy.as_ref()).map_or([PerByte::FREE; 2], copy),
        processor: ProcessorParams { noise: ranks.processors.noise(), ..processor(nic) },
        matching: parts.map_or_else(MatchingParams::default, matching),
        registration: parts.map_or_else(RegistrationParams::default, registration),
        connections: parts.map_or(ConnectionParams::NONE, connections),
        parts: parts.map_or(PartParams::NONE, parts_of),
        protocol: protocol(ranks, network),
        rails: rails(host, network.planes()),
    }
}

fn rails(host: &HostSpec, count: u32) -> RailParams {
    let policy = match host.rails.as_ref().map_or(RailPolicySpec::default(), |rails| rails.policy) {
        RailPolicySpec::RoundRobin => RailPolicy::RoundRobin,
        RailPolicySpec::ByRank => RailPolicy::ByRank,
        RailPolicySpec::ByDestination => RailPolicy::ByDestination,
    };
    RailParams { count, policy, stripe_above: host.stripe_above() }
}

/// Returns the rails that messages between ranks may take under the policy.
pub(super) fn rail_use(ranks: &Ranks, network: &Network) -> RailUse {
    let RailParams { count, policy, stripe_above } = rails(ranks.nic.host(), network.planes());
    if count == 1 {
        return RailUse::ONE;
    }
    let (placement, all) = (&ranks.placement, || (0..ranks.programs.ranks()).map(TaskId));
    let place = |rank: TaskId| placement.tasks(placement.node(rank)).partition_point(|&own| own < rank) as u32;
    let from = || all().map(|rank| place(rank) % count).collect();
    let to = || all().map(|rank| placement.node(rank).0 % count).collect();
    RailUse {
        count,
        striped_above: stripe_above,
        from: (policy == RailPolicy::ByRank).then(from),
        to: (policy == RailPolicy::ByDestination).then(to),
    }
}

fn protocol(ranks: &Ranks, network: &Network) -> ProtocolParams {
    let host = ranks.nic.host();
    let rendezvous = match host.rendezvous {
        Some(RendezvousSpec::Read) => Rendezvous::Read,
        Some(RendezvousSpec::Write) | None => Rendezvous::Write,
    };
    let (send, receive, combine) = host.forwarding();
    let forwarding = ForwardingParams { send: send.0, receive: receive.0, combine: combine.0 };
    ProtocolParams {
        rendezvous,
        eager_credits: host.eager_credits,
        asks_without_credit: host.without_credit == Some(WithoutCreditSpec::Rendezvous),
        memory: ranks.memory,
        group: network.group,
        forwarding: ranks.on_nic.then_some(forwarding),
    }
}

fn is_first_byte_free(nic: &LoggpNicSpec) -> bool {
    nic.charged_bytes == ChargedBytes::AllButFirst
}

fn processor(nic: &NicSpec) -> ProcessorParams {
    let progress = match nic.progress() {
        ProgressSpec::Independent => ProgressMode::Independent,
        ProgressSpec::Calls => ProgressMode::Calls,
        ProgressSpec::Interrupt => ProgressMode::Interrupt { cost: nic.host().interrupt_cost.map_or(0, |cost| cost.0) },
    };
    ProcessorParams { host_driven: nic.occupies(), progress, noise: None }
}

fn matching(nic: &LoggpNicSpec) -> MatchingParams {
    let of = |part: &MatchingSpec| MatchingParams { per_entry: part.per_entry.0, on_nic: part.on == Matcher::Nic };
    nic.matching.as_ref().map_or_else(MatchingParams::default, of)
}

fn registration(nic: &LoggpNicSpec) -> RegistrationParams {
    let of = |part: &RegistrationSpec| RegistrationParams {
        time: part.time.0,
        per_page: part.per_page.0,
        page: part.page_size.0,
        cached: part.cached,
        buffers: match part.buffers {
            BuffersSpec::ByPeer => BufferRule::ByPeer,
            BuffersSpec::One => BufferRule::One,
            BuffersSpec::ByTag => BufferRule::ByTag,
            BuffersSpec::Fresh => BufferRule::Fresh,
        },
        ends: match part.ends {
            RegisteredEndsSpec::Both => RegisteredEnds::Both,
            RegisteredEndsSpec::Receiver => RegisteredEnds::Receiver,
        },
    };
    nic.registration.as_ref().map_or_else(RegistrationParams::default, of)
}

fn connections(nic: &LoggpNicSpec) -> ConnectionParams {
    let of = |part: &ConnectionsSpec| ConnectionParams {
        mode: match part.mode {
            ConnectionModeSpec::Connectionless => ConnectionMode::Connectionless,
            ConnectionModeSpec::AtStart => ConnectionMode::AtStart,
            ConnectionModeSpec::OnDemand => ConnectionMode::OnDemand,
        },
        setup: part.setup.map_or(0, |time| time.0),
        cached: part.cached,
        miss: part.miss.map_or(0, |time| time.0),
    };
    nic.connections.as_ref().map_or(ConnectionParams::NONE, of)
}

/// Returns the copy time of a byte at the sender and at the receiver.
fn copy(copy: &CopySpec) -> [PerByte; 2] {
    let of = |copies: bool| if copies { per_byte(copy.bandwidth) } else { PerByte::FREE };
    [of(copy.at != CopyEnds::Receiver), of(copy.at != CopyEnds::Sender)]
}

/// Returns the time of a byte at a bandwidth in bits per second.
fn per_byte(bandwidth: Bandwidth) -> PerByte {
    PerByte::ratio(8_000_000_000_000, bandwidth.0)
}

fn parts_of(nic: &LoggpNicSpec) -> PartParams {
    let gap = |per_message: Time, per_byte: Time| GapParams {
        per_message: per_message.0,
        per_byte: PerByte::of(per_byte.0),
        first_byte_free: is_first_byte_free(nic),
    };
    let dma = nic.dma.as_ref().map_or(DmaParams::NONE, |part| DmaParams {
        engines: part.engines,
        setup: part.setup.0,
        per_byte: per_byte(part.bandwidth),
    });
    let bus = nic.bus.as_ref().map_or(BusParams::NONE, |part| BusParams {
        per_byte: per_byte(part.bandwidth),
        per_packet: part.per_packet.0,
        shared: part.directions == Directions::One,
        of_node: part.of == BusOwner::Node,
    });
    PartParams {
        pio: nic.pio.as_ref().map(|part| per_byte(part.bandwidth)),
        pio_room: nic.pio.as_ref().and_then(|part| part.buffer).map(|room| room.0),
        pio_limit: nic.pio.as_ref().and_then(|part| part.limit).map_or(u64::MAX, |limit| limit.0),
        dma,
        bus,
        send_gap: gap(nic.gap, nic.gap_per_byte),
        receive_gap: gap(nic.receive_gap.unwrap_or(nic.gap), nic.receive_gap_per_byte.unwrap_or(nic.gap_per_byte)),
    }
}

/// Returns the delays before data are released to the network: a tick that divides them avoids rounding. Times per byte
/// are listed for whole packets and for the partial packets of messages.
pub(super) fn times(ranks: &Ranks) -> Vec<Time> {
    let (nic, packet) = (&ranks.nic, u64::from(ranks.packet));
    let mut times: Vec<Time> =
        nic.times().into_iter().filter(|(key, _)| !key.ends_with("_per_byte")).map(|of| of.1).collect();
    times.extend(ranks.on_nic.then(|| nic.host().forwarding().2).filter(|combine| combine.0 > 0));
    let Some(parts) = nic.parts() else { return times };
    let spared = u64::from(is_first_byte_free(parts));
    let mut charged = BTreeSet::new();
    for bytes in ranks.sizes.iter().map(|(bytes, _)| bytes.max(1)) {
        charged.extend([bytes - spared, bytes.min(packet) - spared]);
        if bytes > packet {
            charged.extend([packet, bytes % packet]);
        }
    }
    charged.extend(nic.host().has_control().then(|| nic.host().control().0.saturating_sub(spared)));
    // The parts of an operation that routers carry out may have any size.
    charged.extend((!ranks.programs.groups().is_empty()).then_some(1));
    let per_byte = nic.times().into_iter().filter(|(key, _)| key.ends_with("_per_byte")).map(|of| of.1);
    for Time(each) in per_byte.filter(|time| time.0 > 0) {
        times.extend(charged.iter().map(|&bytes| Time(each.saturating_mul(bytes))));
    }
    times
}
