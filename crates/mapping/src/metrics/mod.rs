//! Figures by which a mapping is judged.

mod channels;
mod messages;
mod paths;

pub use channels::{ChannelUse, channel_use};
pub(crate) use messages::each_message;
pub(crate) use paths::{GridPaths, Paths, TablePaths};

use std::collections::BTreeSet;

use tasks::{Phase, TaskGraph};

use crate::{Machine, Mapping};

/// Distribution of bytes by the distance that they travel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dilation {
    /// Bytes by hops: entry h is the bytes that travel h hops.
    pub bytes_by_hops: Vec<u64>,
}

/// Figures of one phase.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseMeasures {
    /// Name of the phase.
    pub name: String,
    /// Hop-bytes: the sum over messages of bytes times hops. A multicast or reduction counts once for each member.
    pub hop_bytes: f64,
    /// Hop-bytes divided by bytes.
    pub hops_per_byte: f64,
    /// Distribution of bytes by hops.
    pub dilation: Dilation,
    /// Hop-bytes if a multicast reached every node once, and a reduction left it once.
    pub multicast_hop_bytes: f64,
    /// Proxies: pairs of a multicast or reduction and a node other than its root's.
    pub proxies: u64,
}

/// Figures of a mapping.
#[derive(Clone, Debug, PartialEq)]
pub struct Measures {
    /// Hop-bytes: the sum over messages of all phases of bytes times hops.
    pub hop_bytes: f64,
    /// Hop-bytes divided by bytes.
    pub hops_per_byte: f64,
    /// Distribution of bytes by hops.
    pub dilation: Dilation,
    /// Hop-bytes if a multicast reached every node once, and a reduction left it once.
    pub multicast_hop_bytes: f64,
    /// Proxies: pairs of a multicast or reduction and a node other than its root's.
    pub proxies: u64,
    /// Largest load of a node divided by the mean of the nodes that the tasks can fill: all allocated nodes, or the
    /// number of tasks if that is less.
    pub imbalance: f64,
    /// Figures by phase.
    pub phases: Vec<PhaseMeasures>,
}

impl Dilation {
    fn add(&mut self, hops: u32, bytes: u64) {
        let hops = hops as usize;
        if self.bytes_by_hops.len() <= hops {
            self.bytes_by_hops.resize(hops + 1, 0);
        }
        self.bytes_by_hops[hops] += bytes;
    }

    fn add_all(&mut self, other: &Self) {
        other.bytes_by_hops.iter().enumerate().for_each(|(hops, &bytes)| self.add(hops as u32, bytes));
    }

    /// Returns the bytes of all messages.
    pub fn bytes(&self) -> u64 {
        self.bytes_by_hops.iter().sum()
    }

    /// Returns the hop-bytes.
    pub fn hop_bytes(&self) -> f64 {
        // An empty sum would be -0.
        self.bytes_by_hops.iter().enumerate().fold(0.0, |sum, (hops, &bytes)| sum + hops as f64 * bytes as f64)
    }

    /// Returns the mean hops of a byte; 0 if there are no bytes.
    pub fn mean(&self) -> f64 {
        let bytes = self.bytes();
        if bytes == 0 { 0.0 } else { self.hop_bytes() / bytes as f64 }
    }

    /// Returns the hops within which a fraction `share` (0 to 1) of the bytes stays.
    pub fn percentile(&self, share: f64) -> u32 {
        let wanted = share * self.bytes() as f64;
        let mut sum = 0.0;
        for (hops, &bytes) in self.bytes_by_hops.iter().enumerate() {
            sum += bytes as f64;
            if sum >= wanted && sum > 0.0 {
                return hops as u32;
            }
        }
        0
    }

    /// Returns the largest number of hops of a byte.
    pub fn max(&self) -> u32 {
        self.bytes_by_hops.iter().rposition(|&bytes| bytes > 0).unwrap_or(0) as u32
    }
}

/// Measures a mapping, exactly.
pub fn measure(graph: &TaskGraph, machine: &Machine, mapping: &Mapping) -> Measures {
    let phases: Vec<PhaseMeasures> = graph.phases.iter().map(|phase| measure_phase(phase, machine, mapping)).collect();
    let mut dilation = Dilation::default();
    phases.iter().for_each(|phase| dilation.add_all(&phase.dilation));
    Measures {
        hop_bytes: dilation.hop_bytes(),
        hops_per_byte: dilation.mean(),
        multicast_hop_bytes: phases.iter().fold(0.0, |sum, phase| sum + phase.multicast_hop_bytes),
        proxies: phases.iter().map(|phase| phase.proxies).sum(),
        imbalance: imbalance(graph, machine, mapping),
        dilation,
        phases,
    }
}

fn measure_phase(phase: &Phase, machine: &Machine, mapping: &Mapping) -> PhaseMeasures {
    let place = |task: u32| mapping.place_of[task as usize];
    let mut dilation = Dilation::default();
    each_message(phase, &mut |from, to, bytes| dilation.add(machine.hops().hops(place(from), place(to)), bytes));
    let (mut proxies, mut once) = (0, 0.0);
    for (from, to, bytes, _) in phase.arcs.iter() {
        once += f64::from(machine.hops().hops(place(from), place(to))) * bytes as f64;
    }
    for group in &phase.groups {
        let root = place(group.root);
        let nodes: BTreeSet<u32> = group.members.iter().map(|&member| place(member)).filter(|&at| at != root).collect();
        proxies += nodes.len() as u64;
        let hops: u64 = nodes.iter().map(|&at| u64::from(machine.hops().hops(root, at))).sum();
        once += hops as f64 * group.bytes as f64;
    }
    PhaseMeasures {
        name: phase.name.clone(),
        hop_bytes: dilation.hop_bytes(),
        hops_per_byte: dilation.mean(),
        dilation,
        multicast_hop_bytes: once,
        proxies,
    }
}

/// Returns the largest load of a node divided by the mean of the nodes that the tasks can fill; 1 if no task has load.
/// Nodes that must stay idle, because there are fewer tasks than nodes, do not count as imbalance.
fn imbalance(graph: &TaskGraph, machine: &Machine, mapping: &Mapping) -> f64 {
    let mut load = vec![0.0; machine.places() as usize];
    for (&place, &own) in mapping.place_of.iter().zip(&graph.loads) {
        load[place as usize] += own;
    }
    let total: f64 = load.iter().sum();
    let filled = f64::from(machine.places().min(graph.tasks()));
    if total > 0.0 { load.iter().copied().fold(0.0, f64::max) * filled / total } else { 1.0 }
}
