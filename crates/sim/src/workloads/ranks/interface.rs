//! The network interface of ranks, from the section of the experiment to the parameters of executors.

use std::collections::BTreeSet;

use host::{GapParams, NicParams, PartParams, PerByte, ProcessorParams, ProgressMode};
use units::Time;
use workload::program::Messages;

use super::described::Ranks;
use crate::experiment::{ChargedBytes, LoggpNicSpec, NicSpec, ProgressSpec};
use crate::network::Network;
use crate::workloads::Workload;

/// The parameters of every executor on a network.
pub(super) fn parameters(ranks: &Ranks, network: &Network) -> NicParams {
    let Ranks { packet, nic, .. } = ranks;
    let host = nic.host();
    let parts = nic.parts();
    NicParams {
        send_overhead: host.send_overhead.0,
        receive_overhead: host.receive_overhead.0,
        eager_limit: host.eager_limit.map(|limit| limit.0),
        control: host.control().0.min(u64::from(*packet)) as u32,
        packet: *packet,
        pace: network.slot(ranks.packets()),
        tick: network.plan.tick().0,
        overhead_per_byte: parts.map_or(PerByte::FREE, |nic| PerByte::of(nic.overhead_per_byte.0)),
        spares_first: parts.is_some_and(spares_first),
        processor: processor(nic),
        parts: parts.map_or(PartParams::NONE, gaps),
    }
}

fn spares_first(nic: &LoggpNicSpec) -> bool {
    nic.charged_bytes == ChargedBytes::AllButFirst
}

fn processor(nic: &NicSpec) -> ProcessorParams {
    let progress = match nic.progress() {
        ProgressSpec::Independent => ProgressMode::Independent,
        ProgressSpec::Calls => ProgressMode::Calls,
        ProgressSpec::Interrupt => ProgressMode::Interrupt { cost: nic.host().interrupt_cost.map_or(0, |cost| cost.0) },
    };
    ProcessorParams { occupied: nic.occupies(), progress }
}

fn gaps(nic: &LoggpNicSpec) -> PartParams {
    let gap = |per_message: Time, per_byte: Time| GapParams {
        per_message: per_message.0,
        per_byte: PerByte::of(per_byte.0),
        spares_first: spares_first(nic),
    };
    PartParams {
        send_gap: gap(nic.gap, nic.gap_per_byte),
        receive_gap: gap(nic.receive_gap.unwrap_or(nic.gap), nic.receive_gap_per_byte.unwrap_or(nic.gap_per_byte)),
    }
}

/// The times after which something is released to the network: with a tick that divides them, nothing is rounded. Those per byte
/// are of whole packets and of the rests of messages.
pub(super) fn times(ranks: &Ranks) -> Vec<Time> {
    let (nic, packet) = (&ranks.nic, u64::from(ranks.packet));
    let mut times: Vec<Time> =
        nic.times().into_iter().filter(|(key, _)| !key.ends_with("_per_byte")).map(|of| of.1).collect();
    let Some(parts) = nic.parts() else { return times };
    let spared = u64::from(spares_first(parts));
    let mut charged = BTreeSet::new();
    ranks.programs.each_message(&mut |Messages { bytes, .. }: Messages| {
        let bytes = bytes.max(1);
        charged.extend([bytes - spared, bytes.min(packet) - spared]);
        if bytes > packet {
            charged.extend([packet, bytes % packet]);
        }
    });
    charged.extend(nic.host().eager_limit.map(|_| nic.host().control().0.saturating_sub(spared)));
    let per_byte = nic.times().into_iter().filter(|(key, _)| key.ends_with("_per_byte")).map(|of| of.1);
    for Time(each) in per_byte.filter(|time| time.0 > 0) {
        times.extend(charged.iter().map(|&bytes| Time(each.saturating_mul(bytes))));
    }
    times
}
