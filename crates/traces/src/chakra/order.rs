//! Topological order of the nodes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::error::ChakraError;
use super::nodes::File;

/// Returns the indices of the nodes in an order in which each follows its dependencies. Of the possible next nodes, the
/// one with the lowest number comes first.
///
/// # Errors
/// Nodes that depend on one another in a cycle.
pub(super) fn of(file: &File) -> Result<Vec<u32>, ChakraError> {
    let nodes = &file.nodes;
    let mut missing: Vec<u32> = nodes.iter().map(|node| node.after.len() as u32).collect();
    // Dependents of each node: a flat array, with the start of each node's range.
    let mut first = vec![0_usize; nodes.len() + 1];
    let all = || nodes.iter().flat_map(|node| &node.after);
    all().for_each(|&of| first[of as usize + 1] += 1);
    (1..first.len()).for_each(|at| first[at] += first[at - 1]);
    let mut behind = vec![0_u32; first[nodes.len()]];
    let mut next = first.clone();
    for (place, node) in (0..).zip(nodes) {
        for &of in &node.after {
            behind[next[of as usize]] = place;
            next[of as usize] += 1;
        }
    }
    let ready = (0..nodes.len() as u32).filter(|&place| missing[place as usize] == 0).map(Reverse);
    let mut ready: BinaryHeap<Reverse<u32>> = ready.collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(Reverse(place)) = ready.pop() {
        order.push(place);
        for &one in &behind[first[place as usize]..first[place as usize + 1]] {
            missing[one as usize] -= 1;
            if missing[one as usize] == 0 {
                ready.push(Reverse(one));
            }
        }
    }
    match (0..nodes.len()).find(|&place| missing[place] > 0) {
        None => Ok(order),
        Some(place) => {
            let reason =
                "nodes depend on one another in a cycle: it, or one that it comes behind, is among them".to_owned();
            Err(ChakraError::Node { file: file.name.clone(), node: nodes[place].id, reason })
        }
    }
}
