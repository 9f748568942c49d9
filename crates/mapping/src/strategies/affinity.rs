//! Affinity: the weights between pairs of tasks, the form of the graph that strategies use.

use tasks::{Phase, TaskGraph};

/// End of an edge, at the other task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// The other task.
    pub target: u32,
    /// Bytes in both directions, weighted by phase.
    pub weight: f32,
}

/// Symmetric weights between tasks, in compressed rows: the sum over phases of weight times bytes in both directions. A
/// member of a multicast or reduction counts as a partner of its root.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Affinity {
    first: Vec<u32>,
    edges: Vec<Edge>,
}

impl Affinity {
    /// Computes the weights of a graph.
    pub fn new(graph: &TaskGraph) -> Self {
        let tasks = graph.tasks() as usize;
        let mut ends = vec![0_u32; tasks + 1];
        each_pair(graph, &mut |one, other, _| {
            ends[one as usize + 1] += 1;
            ends[other as usize + 1] += 1;
        });
        for task in 0..tasks {
            ends[task + 1] += ends[task];
        }
        let mut next = ends.clone();
        let mut rows = vec![(0_u32, 0.0_f64); ends[tasks] as usize];
        each_pair(graph, &mut |one, other, weight| {
            for (from, to) in [(one, other), (other, one)] {
                rows[next[from as usize] as usize] = (to, weight);
                next[from as usize] += 1;
            }
        });
        Self::merged(&ends, rows)
    }

    /// Sorts unsorted rows and merges entries with equal targets. Row t is `rows[ends[t]..ends[t + 1]]`.
    pub fn merged(ends: &[u32], mut rows: Vec<(u32, f64)>) -> Self {
        let tasks = ends.len() - 1;
        let mut pieces = Vec::with_capacity(tasks);
        let mut rest = rows.as_mut_slice();
        for task in 0..tasks {
            let (row, others) = rest.split_at_mut((ends[task + 1] - ends[task]) as usize);
            pieces.push(row);
            rest = others;
        }
        let kept = workers::map(pieces, merge_row);
        let mut first = Vec::with_capacity(tasks + 1);
        let mut edges = Vec::with_capacity(kept.iter().map(|&kept| kept as usize).sum());
        first.push(0);
        for task in 0..tasks {
            let begin = ends[task] as usize;
            let row = &rows[begin..begin + kept[task] as usize];
            edges.extend(row.iter().map(|&(target, weight)| Edge { target, weight: weight as f32 }));
            first.push(edges.len() as u32);
        }
        Self { first, edges }
    }

    /// Returns the number of tasks.
    pub fn tasks(&self) -> u32 {
        self.first.len().saturating_sub(1) as u32
    }

    /// Returns a task's partners, by ascending number.
    #[inline]
    pub fn of(&self, task: u32) -> &[Edge] {
        &self.edges[self.first[task as usize] as usize..self.first[task as usize + 1] as usize]
    }

    /// Returns the range of a task's partners among all edge ends, row by row.
    #[inline]
    pub fn range(&self, task: u32) -> std::ops::Range<usize> {
        self.first[task as usize] as usize..self.first[task as usize + 1] as usize
    }

    /// Returns the number of edge ends: twice the number of edges.
    pub fn ends(&self) -> usize {
        self.edges.len()
    }

    /// Returns the total weight of all edges.
    pub fn total(&self) -> f64 {
        self.edges.iter().map(|edge| f64::from(edge.weight)).sum::<f64>() / 2.0
    }

    /// Returns the graph without the edges lighter than `weight`.
    #[must_use]
    pub fn at_least(&self, weight: f32) -> Self {
        let mut first = Vec::with_capacity(self.first.len());
        let mut edges = Vec::new();
        first.push(0);
        for task in 0..self.tasks() {
            edges.extend(self.of(task).iter().filter(|edge| edge.weight >= weight));
            first.push(edges.len() as u32);
        }
        Self { first, edges }
    }
}

/// Sorts a row by target and merges entries with equal targets. Returns the number of remaining entries, at the row's
/// beginning.
fn merge_row(row: &mut [(u32, f64)]) -> u32 {
    row.sort_by_key(|&(target, _)| target);
    let mut kept = 0;
    for at in 0..row.len() {
        if kept > 0 && row[kept - 1].0 == row[at].0 {
            row[kept - 1].1 += row[at].1;
        } else {
            row[kept] = row[at];
            kept += 1;
        }
    }
    kept as u32
}

/// Calls `call` with every message of the graph: two tasks and the weighted bytes.
fn each_pair(graph: &TaskGraph, call: &mut dyn FnMut(u32, u32, f64)) {
    for Phase { weight, arcs, groups, .. } in &graph.phases {
        arcs.iter().for_each(|(from, to, bytes, _)| call(from, to, weight * bytes as f64));
        for group in groups {
            group.members.iter().for_each(|&member| call(group.root, member, weight * group.bytes as f64));
        }
    }
}

#[cfg(test)]
mod tests {
    use tasks::{ArcList, Group, GroupKind, TaskGraph};

    use super::Affinity;

    #[test]
    fn both_directions_phases_and_groups_add_up() {
        // Would catch a direction, a phase's weight or a group's member that is lost.
        let mut arcs = ArcList::new(3);
        arcs.add(0, 1, 10, 1);
        arcs.add(1, 0, 5, 1);
        let mut graph = TaskGraph::new("three", arcs.build());
        graph.phases[0].weight = 2.0;
        graph.phases[0].groups.push(Group { kind: GroupKind::Reduction, root: 2, members: vec![0, 1], bytes: 7 });
        let affinity = Affinity::new(&graph);
        let row = |task| affinity.of(task).iter().map(|edge| (edge.target, edge.weight)).collect::<Vec<_>>();
        assert_eq!(row(0), [(1, 30.0), (2, 14.0)]);
        assert_eq!(row(1), [(0, 30.0), (2, 14.0)]);
        assert_eq!(row(2), [(0, 14.0), (1, 14.0)]);
        assert_eq!(affinity.total(), 58.0);
    }
}
