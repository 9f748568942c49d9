//! Strongly connected components of nodes.

/// Node without a number or a component.
const NONE: u32 = u32::MAX;

/// Returns the number of each node's strongly connected component. `after` holds the nodes that each node depends on.
/// Tarjan's algorithm (*Depth-first search and linear graph algorithms*, SIAM J. Comput. 1(2), 1972), linear in nodes
/// and dependencies.
pub(super) fn of(after: &[Vec<u32>]) -> Vec<u32> {
    let count = after.len();
    let (mut number, mut low, mut component) = (vec![NONE; count], vec![NONE; count], vec![NONE; count]);
    let (mut numbered, mut components, mut open) = (0, 0, Vec::new());
    // Stack of the search: nodes, each with the index of its next dependency.
    let mut path: Vec<(u32, usize)> = Vec::new();
    for root in 0..count as u32 {
        if number[root as usize] == NONE {
            path.push((root, 0));
        }
        while let Some((node, place)) = path.pop() {
            let own = node as usize;
            if place == 0 {
                (number[own], low[own]) = (numbered, numbered);
                numbered += 1;
                open.push(node);
            } else {
                let searched = after[own][place - 1] as usize;
                low[own] = low[own].min(low[searched]);
            }
            // Visited nodes count only while they have no component.
            let mut next = place;
            while let Some(&other) = after[own].get(next) {
                if number[other as usize] == NONE {
                    break;
                }
                if component[other as usize] == NONE {
                    low[own] = low[own].min(number[other as usize]);
                }
                next += 1;
            }
            if let Some(&other) = after[own].get(next) {
                path.push((node, next + 1));
                path.push((other, 0));
            } else if low[own] == number[own] {
                while let Some(member) = open.pop() {
                    component[member as usize] = components;
                    if member == node {
                        break;
                    }
                }
                components += 1;
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_a_cycle_are_of_one_component() {
        // Would catch a node of a cycle that is left out, and a node on the path from one cycle to another that is
        // included.
        let after = vec![vec![1], vec![2], vec![0, 3], vec![4], vec![5], vec![4], vec![6], vec![]];
        let found = of(&after);
        let alike = |one: usize, other: usize| found[one] == found[other];
        assert!(alike(0, 1) && alike(1, 2) && alike(4, 5));
        assert!(!alike(2, 3) && !alike(3, 4) && !alike(6, 7) && !alike(6, 0));
        // A path as long as a trace does not overflow the stack.
        let long: Vec<Vec<u32>> =
            (0..1_000_000_u32).map(|node| if node > 0 { vec![node - 1] } else { vec![] }).collect();
        assert_eq!(of(&long).len(), 1_000_000);
    }
}
