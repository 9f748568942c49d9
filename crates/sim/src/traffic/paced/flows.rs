//! The flows of some nodes: a number for each destination that a node has sent to.

use fabric::Target;

use crate::pacers::Pacer;

/// The flows of the nodes of a partition.
#[derive(Debug)]
pub(super) struct Flows {
    /// By node, its destinations in ascending order, and the number of the flow to each.
    by_node: Vec<Vec<(Target, u32)>>,
}

impl Flows {
    /// None yet, of so many nodes.
    pub fn new(nodes: usize) -> Self {
        Self { by_node: vec![Vec::new(); nodes] }
    }

    /// The number of the flow from a node, by its number in the partition, to another.
    pub fn find(&self, node: usize, to: Target) -> Option<u32> {
        let flows = &self.by_node[node];
        flows.binary_search_by_key(&to, |&(to, _)| to).ok().map(|place| flows[place].1)
    }

    /// The same, of a flow that may be new.
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
