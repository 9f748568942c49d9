//! Cycles of directed graphs: channels or packets that wait for one another, operations that never end.

use std::collections::VecDeque;

/// Removes vertices that wait for nothing, repeatedly (Kahn's algorithm). `waits` is the number of vertices that each
/// vertex waits for, counted once for each edge; `followers` calls back for each vertex that waits for a given one.
/// Afterwards `waits` is 0 except for the vertices on a cycle or behind one.
pub fn resolve(waits: &mut [u32], mut followers: impl FnMut(usize, &mut dyn FnMut(usize))) {
    let mut ready: Vec<u32> = (0..waits.len() as u32).filter(|&vertex| waits[vertex as usize] == 0).collect();
    while let Some(vertex) = ready.pop() {
        followers(vertex as usize, &mut |next| {
            waits[next] -= 1;
            if waits[next] == 0 {
                ready.push(next as u32);
            }
        });
    }
}

/// Returns a cycle of a directed graph, if it has one: each vertex is followed by the next, the last by the first. The
/// cycle is the shortest through one of its vertices. Vertices are numbered from 0. Requires fewer than 2^32 vertices.
pub fn find_cycle<I>(vertices: usize, successors: impl Fn(usize) -> I) -> Option<Vec<usize>>
where
    I: Iterator<Item = usize>,
{
    let mut waits = vec![0; vertices];
    for vertex in 0..vertices {
        for next in successors(vertex) {
            waits[next] += 1;
        }
    }
    resolve(&mut waits, |vertex, visit| successors(vertex).for_each(visit));
    let on_cycle = follow_back(&waits, &successors)?;
    Some(shortest_cycle(vertices, on_cycle, successors))
}

/// Returns a vertex on a cycle: any path of predecessors among the vertices that still wait leads to one.
fn follow_back<I>(waits: &[u32], successors: &impl Fn(usize) -> I) -> Option<usize>
where
    I: Iterator<Item = usize>,
{
    let mut vertex = waits.iter().position(|&count| count > 0)?;
    let mut before = vec![usize::MAX; waits.len()];
    for left in (0..waits.len()).filter(|&left| waits[left] > 0) {
        for next in successors(left) {
            before[next] = left;
        }
    }
    let mut seen = vec![false; waits.len()];
    while !seen[vertex] {
        seen[vertex] = true;
        vertex = before[vertex];
    }
    Some(vertex)
}

/// Returns a shortest cycle through `start`, by breadth-first search. Requires that `start` lies on a cycle.
fn shortest_cycle<I>(vertices: usize, start: usize, successors: impl Fn(usize) -> I) -> Vec<usize>
where
    I: Iterator<Item = usize>,
{
    let mut before = vec![usize::MAX; vertices];
    let mut queue = VecDeque::from([start]);
    while before[start] == usize::MAX {
        let Some(vertex) = queue.pop_front() else { break };
        for next in successors(vertex) {
            if before[next] == usize::MAX {
                before[next] = vertex;
                queue.push_back(next);
            }
        }
    }
    let mut cycle = vec![start];
    let mut vertex = before[start];
    while vertex != start {
        cycle.push(vertex);
        vertex = before[vertex];
    }
    cycle.reverse();
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(next: &[&[usize]]) -> Option<Vec<usize>> {
        find_cycle(next.len(), |vertex| next[vertex].iter().copied())
    }

    #[test]
    fn a_cycle_is_found_behind_a_tail_and_a_diamond_is_none() {
        // Would catch a search that stops at the first dead end, or that takes a diamond for a cycle.
        let mut behind_a_tail = cycle(&[&[1], &[2, 3], &[], &[4], &[1]]).expect("1, 3 and 4");
        behind_a_tail.sort_unstable();
        assert_eq!(behind_a_tail, [1, 3, 4]);
        assert_eq!(cycle(&[&[1, 2], &[3], &[3], &[]]), None);
        assert_eq!(cycle(&[&[0]]), Some(vec![0]));
        assert_eq!(cycle(&[]), None);
    }

    #[test]
    fn the_cycle_is_in_order_and_short() {
        // Two cycles through 0, of 2 and of 4 vertices; a double edge counts twice. Would catch a reversed cycle, or
        // the longer one.
        let next: [&[usize]; 4] = [&[1, 1], &[2, 0], &[3], &[0]];
        let found = cycle(&next).expect("a cycle");
        for (vertex, follower) in found.iter().zip(found.iter().cycle().skip(1)) {
            assert!(next[*vertex].contains(follower), "{found:?}");
        }
        let shortest = if found.contains(&2) { 4 } else { 2 };
        assert_eq!(found.len(), shortest);
    }

    #[test]
    fn what_lies_behind_a_cycle_is_not_resolved() {
        // 0 and 1 wait for each other, 2 for 1, 3 for nothing.
        let followers: [&[usize]; 4] = [&[1], &[0, 2], &[], &[]];
        let mut waits = [1, 1, 1, 0];
        resolve(&mut waits, |vertex, visit| followers[vertex].iter().copied().for_each(visit));
        assert_eq!(waits, [1, 1, 1, 0]);
        let mut waits = [0, 1, 1, 0];
        let followers: [&[usize]; 4] = [&[1], &[2], &[], &[]];
        resolve(&mut waits, |vertex, visit| followers[vertex].iter().copied().for_each(visit));
        assert_eq!(waits, [0; 4]);
    }
}
