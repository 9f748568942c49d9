//! Single switch for all nodes: copies and combines packets of groups, and checks each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use host::{GroupArrival, GroupPacket, GroupWork, Groups};

/// Segment: group and number.
type Key = (u32, u32);

/// Partial result of a segment: contributing nodes, time, and operation.
#[derive(Debug, Default)]
struct Partial {
    sources: BTreeSet<u32>,
    at: u64,
    value: u64,
    bytes: u32,
    work: Option<GroupWork>,
}

/// A switch that all nodes are connected to.
pub struct Switch {
    groups: Arc<Groups>,
    node_of: Arc<[u32]>,
    window: u32,
    partials: BTreeMap<Key, Partial>,
    /// Arrivals at nodes, by time.
    arrivals: BTreeMap<u64, Vec<(u32, GroupArrival)>>,
    /// Numbers of packets sent to the switch: multicasts, acknowledgements and contributions.
    pub sent: [u64; 3],
    /// Maximum number of segments of a group held at a time.
    pub most_held: usize,
    /// Injected fault: the contributions of this node are counted this number of times.
    pub wrong: Option<(u32, u32)>,
}

impl Switch {
    pub fn new(groups: Arc<Groups>, node_of: Arc<[u32]>, window: u32) -> Self {
        let (partials, arrivals) = (BTreeMap::new(), BTreeMap::new());
        Self { groups, node_of, window, partials, arrivals, sent: [0; 3], most_held: 0, wrong: None }
    }

    /// Returns whether nothing is held or in flight.
    pub fn is_empty(&self) -> bool {
        self.partials.is_empty() && self.arrivals.is_empty()
    }

    /// Returns the time of the next arrival.
    pub fn next(&self) -> Option<u64> {
        self.arrivals.keys().next().copied()
    }

    /// Removes and returns the arrivals at a time.
    pub fn take(&mut self, now: u64) -> Vec<(u32, GroupArrival)> {
        let mut arrived = self.arrivals.remove(&now).unwrap_or_default();
        arrived.sort_by_key(|(node, own)| (*node, own.group, own.segment));
        arrived
    }

    fn nodes(&self, group: u32) -> Vec<u32> {
        self.groups.get(group).ranks.iter().map(|&rank| self.node_of[rank as usize]).collect()
    }

    fn arrive(&mut self, nodes: &[u32], arrival: GroupArrival, at: u64) {
        self.arrivals.entry(at).or_default().extend(nodes.iter().map(|&node| (node, arrival)));
    }

    /// Sends a packet of a node, which would arrive at the other nodes at time `at`.
    pub fn send(&mut self, (source, bytes, rail): (u32, u32, u32), packet: GroupPacket, at: u64) {
        let GroupPacket { group, segment, work, owners, value, element } = packet;
        let nodes = self.nodes(group);
        assert!(nodes.contains(&source), "a packet of a node that is no member");
        let copied = GroupArrival { group, segment, work, contributions: 1, value, element, bytes, rail };
        let wanted = match work {
            GroupWork::Multicast | GroupWork::Acknowledge | GroupWork::Return => {
                self.sent[usize::from(work == GroupWork::Acknowledge)] += 1;
                let others: Vec<u32> = nodes.into_iter().filter(|&node| owners || node != source).collect();
                return self.arrive(&others, copied, at);
            }
            GroupWork::CombineForAll => nodes.len(),
            GroupWork::CombineFor { node } => {
                let gives = owners || node != source;
                assert!(gives && nodes.contains(&node), "a contribution of the node that gets the result");
                nodes.len() - usize::from(!owners)
            }
        };
        self.sent[2] += 1;
        let copies = if self.wrong.is_some_and(|(node, _)| node == source) { self.wrong.unwrap().1 } else { 1 };
        let partial = self.partials.entry((group, segment)).or_default();
        let is_first = partial.sources.is_empty();
        assert!(is_first || (partial.bytes, partial.work) == (bytes, Some(work)), "members do not agree");
        assert!(partial.sources.insert(source), "a contribution that comes twice");
        (partial.bytes, partial.work, partial.at) = (bytes, Some(work), partial.at.max(at));
        partial.value = partial.value.wrapping_add(value.wrapping_mul(u64::from(copies)));
        let is_whole = partial.sources.len() == wanted;
        let held = self.partials.range((group, 0)..=(group, u32::MAX));
        let numbers: Vec<u32> = held.map(|(key, _)| key.1).collect();
        self.most_held = self.most_held.max(numbers.len());
        assert!(numbers.last().unwrap() - numbers[0] < self.window, "a window that is not kept: {numbers:?}");
        if !is_whole {
            return;
        }
        let Some(Partial { at, value, .. }) = self.partials.remove(&(group, segment)) else { return };
        let result = GroupArrival { contributions: wanted as u32, value, ..copied };
        match work {
            GroupWork::CombineFor { node } => self.arrive(&[node], result, at),
            _ => self.arrive(&self.nodes(group), result, at),
        }
    }
}
