//! Balanced outputs: of the wires that a search allows toward a router, each node of the router takes the wire that has
//! the fewest of the nodes before it.

use units::RouterId;

use super::Subnet;
use crate::algorithms::table::{Forwarding, NO_PORT};

/// Number of destination routers whose searches are kept at a time.
const AT_A_TIME: usize = 256;

/// Makes the table of a subnet. `allowed` marks the wires that lead on to a destination router. Of these a packet takes
/// the one that has the fewest of the nodes assigned before, and of equal ones the lowest port.
pub(super) fn by_nodes(subnet: &Subnet<'_>, allowed: impl Fn(RouterId) -> Vec<bool> + Sync) -> Forwarding {
    let nodes = subnet.homes.len();
    let mut ports = vec![NO_PORT; subnet.nodes.len() * nodes];
    let mut assigned = vec![0_u32; subnet.wires.len()];
    for targets in subnet.by_load().chunks(AT_A_TIME) {
        let found = workers::map(targets, |&target| allowed(target));
        for (target, allowed) in targets.iter().zip(found) {
            for router in subnet.routers().filter(|router| router != target) {
                let wires = subnet.wires.range(router);
                for node in &subnet.nodes[target.index()] {
                    let open = wires.clone().filter(|&wire| allowed[wire]);
                    if let Some(wire) = open.min_by_key(|&wire| (assigned[wire], wire)) {
                        assigned[wire] += 1;
                        ports[router.index() * nodes + node.index()] = subnet.wires.at(wire).0.0;
                    }
                }
            }
        }
    }
    Forwarding { ports, lanes: Vec::new() }
}
