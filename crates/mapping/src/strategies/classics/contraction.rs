//! Graph contraction (Berman and Snyder 1987; Mansour, Ponnusamy, Choudhary and Fox 1993): the tasks that exchange most
//! bytes are joined until there are no more clusters than places, the clusters are placed greedily, and tasks are
//! exchanged pairwise.

use tasks::{ArcList, TaskGraph};

use super::super::affinity::Affinity;
use super::super::greedy::place_greedily;
use super::super::repair::repair;
use super::pairwise::exchange;
use crate::{Mapping, MappingError, Problem, Room};

const NONE: u32 = u32::MAX;

/// Strategy `contraction`.
pub(crate) fn contraction(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let room = problem.room()?;
    let affinity = Affinity::new(problem.graph);
    let cluster_of = contract(problem, &affinity, room);
    let clusters = cluster_of.iter().max().map_or(0, |&last| last + 1);
    let graph = quotient(problem, &affinity, &cluster_of, clusters);
    let inner = Problem { graph: &graph, fixed: &[], current: None, ..*problem };
    let placed = place_greedily(&inner, &Affinity::new(&graph), Room { tasks: 1, load: f64::INFINITY })?;
    let place = |&cluster: &u32| placed.place_of[cluster as usize];
    let mut start = Mapping { place_of: cluster_of.iter().map(place).collect() };
    repair(problem, room, &mut start);
    exchange(problem, &start, problem.budget())
}

/// Returns the cluster of every task: at most as many clusters as places, each within the room of a place if possible.
fn contract(problem: &Problem<'_>, affinity: &Affinity, room: Room) -> Vec<u32> {
    let places = problem.machine.places();
    let tasks = affinity.tasks();
    let mut head: Vec<u32> = (0..tasks).collect();
    let mut load = problem.graph.loads.clone();
    let mut count = vec![1_u32; tasks as usize];
    let mut left = tasks;
    let mut edges: Vec<(f32, u32, u32)> = Vec::new();
    for task in 0..tasks {
        let ahead = affinity.of(task).iter().filter(|edge| edge.target > task);
        edges.extend(ahead.map(|edge| (edge.weight, task, edge.target)));
    }
    edges.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut join = |one: u32, other: u32, strict: bool, head: &mut Vec<u32>| {
        let (a, b) = (find(head, one), find(head, other));
        let fits =
            count[a as usize] + count[b as usize] <= room.tasks && load[a as usize] + load[b as usize] <= room.load;
        if a == b || left <= places || (strict && !fits) {
            return;
        }
        head[b as usize] = a;
        count[a as usize] += count[b as usize];
        load[a as usize] += load[b as usize];
        left -= 1;
    };
    edges.iter().for_each(|&(_, one, other)| join(one, other, true, &mut head));
    // Clusters without a common edge are joined in order, finally beyond the room; the repair distributes their tasks.
    for strict in [true, false] {
        (1..tasks).for_each(|task| join(task - 1, task, strict, &mut head));
    }
    number(&mut head)
}

/// Returns the first task of a cluster.
fn find(head: &mut [u32], task: u32) -> u32 {
    let mut at = task;
    while head[at as usize] != at {
        head[at as usize] = head[head[at as usize] as usize];
        at = head[at as usize];
    }
    at
}

/// Numbers the clusters from 0 without gaps.
fn number(head: &mut [u32]) -> Vec<u32> {
    let mut numbers = vec![NONE; head.len()];
    let mut next = 0;
    (0..head.len() as u32)
        .map(|task| {
            let first = find(head, task) as usize;
            if numbers[first] == NONE {
                numbers[first] = next;
                next += 1;
            }
            numbers[first]
        })
        .collect()
}

/// Builds the graph of clusters.
fn quotient(problem: &Problem<'_>, affinity: &Affinity, cluster_of: &[u32], clusters: u32) -> TaskGraph {
    let mut arcs = ArcList::new(clusters);
    for task in 0..affinity.tasks() {
        for edge in affinity.of(task).iter().filter(|edge| edge.target > task) {
            let (one, other) = (cluster_of[task as usize], cluster_of[edge.target as usize]);
            arcs.add(one, other, (edge.weight as u64).max(1), 1);
        }
    }
    let mut graph = TaskGraph::new("clusters", arcs.build());
    graph.loads.fill(0.0);
    for (&cluster, &load) in cluster_of.iter().zip(&problem.graph.loads) {
        graph.loads[cluster as usize] += load;
    }
    graph
}
