//! Flow numbers: one for each destination that a node has sent to, by whatever links.

use fabric::Target;

use ::traffic::pacers::Pacer;

/// Flow numbers of the nodes of a partition.
#[derive(Debug)]
pub(super) struct Flows {
    /// Flows of each node: destinations in ascending order, with flow numbers.
    by_node: Vec<Vec<(Target, u32)>>,
}
units::state!(Flows { by_node });

impl Flows {
    /// Creates an empty table for `nodes` nodes.
    pub fn new(nodes: usize) -> Self {
        Self { by_node: vec![Vec::new(); nodes] }
    }

    /// Returns the flow number from `node`, an index in the partition, to `to`. None for an unknown flow.
    pub fn find(&self, node: usize, to: Target) -> Option<u32> {
        let flows = &self.by_node[node];
        flows.binary_search_by_key(&to, |&(to, _)| to).ok().map(|place| flows[place].1)
    }

    /// Returns the flow number from `node` to `to`, and adds the flow if it is new.
    pub fn find_or_add(&mut self, node: usize, to: Target, pacer: &mut dyn Pacer) -> u32 {
        let flows = &mut self.by_node[node];
        match flows.binary_search_by_key(&to, |&(to, _)| to) {
            Ok(place) => flows[place].1,
            Err(place) => {
                let flow = pacer.add_flow();
                flows.insert(place, (to, flow));
                flow
            }
        }
    }
}
