//! Traffic of ranks along the trees of their groups, for analyses.

use host::{SegmentWork, group_items};
use mpi::program::{GroupCall, ProgramGroup, Programs};
use routing::trees::TreeVolumes;
use traffic::Placement;
use units::{NodeId, TaskId};

use super::volumes::SentBytes;

/// Traffic of ranks that call operations in switches. Volumes are relative to the node that sends most, or to one
/// message.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationVolumes {
    /// Traffic sent by each node.
    pub sent: Vec<f64>,
    /// Message traffic of a node whose weight in the pattern is 1.
    pub messages: f64,
    /// Traffic that arrives at all nodes together.
    pub delivered: f64,
    /// Traffic along the trees of each group of the job. Members are in the order of their nodes.
    pub groups: Vec<TreeVolumes>,
    /// Whether the volumes are complete. They lack the acknowledgements of results for one member, whose number depends
    /// on the times at which results arrive; and they take owners of results to have equal parts.
    pub exact: bool,
}

impl OperationVolumes {
    /// Returns the volumes of programs of placed ranks. An item without bytes is a packet of `control` bytes. None if
    /// switches carry out none of their operations.
    pub(crate) fn of(programs: &dyn Programs, placement: &Placement, control: u64) -> Option<Self> {
        if programs.groups().is_empty() || programs.is_called_back() {
            return None;
        }
        let (own, most) = Self::counted(programs, placement, control);
        (most > 0.0).then(|| own.relative_to(most))
    }

    /// Returns the volumes of programs whose ranks call each operation once, relative to a message of `message` bytes.
    pub(crate) fn of_one(programs: &dyn Programs, placement: &Placement, (control, message): (u64, u64)) -> Self {
        Self::counted(programs, placement, control).0.relative_to(message.max(1) as f64)
    }

    fn relative_to(mut self, bytes: f64) -> Self {
        self.sent.iter_mut().for_each(|own| *own /= bytes);
        self.messages /= bytes;
        self.delivered /= bytes;
        self.groups.iter_mut().for_each(|own| own.scale(bytes.recip()));
        self
    }

    /// Returns the volumes of programs in bytes, and the volume of the node that sends most.
    fn counted(programs: &dyn Programs, placement: &Placement, control: u64) -> (Self, f64) {
        let groups = programs.groups();
        let node = |rank: u32| placement.node(TaskId(rank));
        let members: Vec<Vec<NodeId>> = groups.iter().map(|group| nodes_of(group, &node)).collect();
        let mut volumes: Vec<TreeVolumes> = members.iter().map(|nodes| TreeVolumes::none(nodes.len())).collect();
        let (mut exact, mut delivered) = (true, 0.0);
        programs.each_group_call(&mut |place, call, count| {
            let member = |rank: u32| members[place].binary_search(&node(rank)).unwrap_or(0);
            exact &= add(&mut volumes[place], (call, &groups[place]), (count, control), &member);
        });
        let mut messages = SentBytes::new(placement);
        programs.each_message(&mut |own| messages.add(&own));
        let most_messages = messages.by_node.iter().copied().max().unwrap_or(0) as f64;
        delivered += messages.by_node.iter().map(|&bytes| bytes as f64).sum::<f64>();
        let mut sent: Vec<f64> = messages.by_node.iter().map(|&bytes| bytes as f64).collect();
        for (nodes, volumes) in members.iter().zip(&volumes) {
            nodes.iter().enumerate().for_each(|(member, node)| sent[node.index()] += volumes.sent(member));
            delivered += volumes.delivered();
        }
        let most = sent.iter().copied().fold(0.0, f64::max);
        (Self { sent, messages: most_messages, delivered, groups: volumes, exact }, most)
    }
}

/// Returns the nodes of a group, in ascending order.
fn nodes_of(group: &ProgramGroup, node: &dyn Fn(u32) -> NodeId) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = group.ranks.iter().map(|&rank| node(rank)).collect();
    nodes.sort_unstable();
    nodes
}

/// Adds `count` calls. Returns whether all of their traffic is counted.
fn add(
    volumes: &mut TreeVolumes,
    (call, group): (&GroupCall, &ProgramGroup),
    (count, control): (u64, u64),
    member: &dyn Fn(u32) -> usize,
) -> bool {
    let (work, items) = group_items(call, group);
    for (rank, bytes) in items {
        let bytes = count as f64 * if bytes == 0 { control } else { bytes } as f64;
        if work == SegmentWork::ForAll {
            volumes.for_all += bytes;
            continue;
        }
        let (own, owned) = (member(rank), if call.owners { bytes } else { 0.0 });
        if work != SegmentWork::Copy {
            volumes.for_one[own] += bytes;
            volumes.own_combined[own] += owned;
        }
        if work != SegmentWork::ForOne {
            volumes.copied[own] += bytes;
            volumes.own_copied[own] += owned;
        }
    }
    matches!(work, SegmentWork::Copy | SegmentWork::ForAll)
}
