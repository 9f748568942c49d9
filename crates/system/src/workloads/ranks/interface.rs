//! Network interface of ranks: from the experiment's section to the parameters of executors.

use std::collections::BTreeSet;

use host::{NicParams, ProcessorParams, ProtocolParams, RailParams, RailPolicy};
use mpi::collectives::RailUse;
use units::{TaskId, Time};

use super::described::Ranks;
use crate::workloads::Workload;
use ::network::{Feature, Network};

/// Returns the parameters of every executor on a network.
pub(super) fn parameters(ranks: &Ranks, network: &Network) -> NicParams {
    let Ranks { packet, nic, .. } = ranks;
    let host = nic.host();
    let free = NicParams::free(*packet, network.slot(ranks.packets()), network.plan.tick().0);
    let own = host.params(nic.parts().map_or(free, |parts| parts.params(free)));
    NicParams {
        processor: ProcessorParams {
            host_driven: nic.occupies(),
            progress: nic.progress(),
            interrupt_cost: host.interrupt_cost.map_or(0, |cost| cost.0),
            noise: ranks.processors.noise(),
        },
        protocol: ProtocolParams {
            memory: ranks.memory,
            group: network.group,
            forwarding: ranks.on_nic.then(|| host.forwarding()),
            ..own.protocol
        },
        rails: host.rails(network.topology.planes()),
        whole: network.has(Feature::Flows) || network.has(Feature::Messages),
        ends: network.has(Feature::Messages),
        ..own
    }
}

/// Returns the rails that messages between ranks may take under the policy.
pub(super) fn rail_use(ranks: &Ranks, network: &Network) -> RailUse {
    let RailParams { count, policy, stripe_above } = ranks.nic.host().rails(network.topology.planes());
    if count == 1 {
        return RailUse::ONE;
    }
    if let Some(ways) = &network.ways {
        // Rates of networks are of all planes together.
        return RailUse { striped_above: ways.striped_above(), ..RailUse::ONE };
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

/// Returns the delays before data are released to the network: a tick that divides them avoids rounding. Times per byte
/// are listed for whole packets and for the partial packets of messages.
pub(super) fn times(ranks: &Ranks) -> Vec<Time> {
    let (nic, packet) = (&ranks.nic, u64::from(ranks.packet));
    let mut times: Vec<Time> =
        nic.times().into_iter().filter(|(key, _)| !key.ends_with("_per_byte")).map(|of| of.1).collect();
    times.extend(ranks.on_nic.then(|| Time(nic.host().forwarding().combine)).filter(|combine| combine.0 > 0));
    let Some(parts) = nic.parts() else { return times };
    let spared = u64::from(parts.is_first_byte_free());
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
