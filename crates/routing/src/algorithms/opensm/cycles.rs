//! Paths that share a lane, and the removal of paths until no cycle of waiting channels is left.

use units::{NodeId, RouterId};

use super::Subnet;
use super::dfsssp::NO_WIRE;

/// Dependencies of one lane. The vertices are wires, and each wire has a dependency for each wire of the router beyond.
pub(super) struct Lane<'a> {
    subnet: &'a Subnet<'a>,
    /// Wire by router and node.
    steps: &'a [u32],
    /// First dependency of each wire, followed by the number of all.
    first: Vec<usize>,
    /// By dependency, the paths that have it.
    paths: Vec<Vec<u32>>,
    /// By dependency, the number of packets' sources on those of its paths that are left.
    weight: Vec<u32>,
    state: Vec<Visit>,
}

/// Progress of a depth-first search at a wire.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    Fresh,
    Open,
    Done,
}

impl<'a> Lane<'a> {
    /// Creates an empty lane.
    pub fn new(subnet: &'a Subnet<'a>, steps: &'a [u32]) -> Self {
        let mut first = vec![0];
        for wire in 0..subnet.wires.len() {
            first.push(first[wire] + subnet.wires.of(subnet.wires.at(wire).1).len());
        }
        let all = first[subnet.wires.len()];
        let state = vec![Visit::Fresh; subnet.wires.len()];
        Self { subnet, steps, first, paths: vec![Vec::new(); all], weight: vec![0; all], state }
    }

    /// Puts paths on the lane. Returns those that must leave it again.
    pub fn without_cycles(&mut self, paths: Vec<(RouterId, NodeId)>) -> Vec<(RouterId, NodeId)> {
        self.paths.iter_mut().for_each(Vec::clear);
        self.weight.fill(0);
        self.state.fill(Visit::Fresh);
        for (number, &path) in (0..).zip(&paths) {
            let weight = self.subnet.nodes[path.0.index()].len() as u32;
            self.each_dependency(path, |lane, dependency| {
                lane.paths[dependency].push(number);
                lane.weight[dependency] += weight;
            });
        }
        let mut left = vec![true; paths.len()];
        let mut trail = Vec::new();
        for start in 0..self.state.len() {
            if self.state[start] == Visit::Fresh {
                self.search(start, (&mut trail, &mut left, &paths));
            }
        }
        paths.into_iter().zip(left).filter(|&(_, left)| !left).map(|(path, _)| path).collect()
    }

    /// Calls `each` with the dependencies of a path.
    fn each_dependency(&mut self, (from, to): (RouterId, NodeId), mut each: impl FnMut(&mut Self, usize)) {
        let nodes = self.subnet.homes.len();
        let mut wire = self.steps[from.index() * nodes + to.index()];
        while wire != NO_WIRE {
            let beyond = self.subnet.wires.at(wire as usize).1;
            let next = self.steps[beyond.index() * nodes + to.index()];
            if next != NO_WIRE {
                each(self, self.first[wire as usize] + next as usize - self.subnet.wires.range(beyond).start);
            }
            wire = next;
        }
    }

    /// Searches for cycles from a wire, and removes paths until there is none. `trail` holds the wires on the way, each
    /// with the number of its dependencies that have been followed.
    fn search(
        &mut self,
        start: usize,
        (trail, left, paths): (&mut Vec<(usize, usize)>, &mut [bool], &[(RouterId, NodeId)]),
    ) {
        trail.push((start, 0));
        self.state[start] = Visit::Open;
        while let Some((wire, followed)) = trail.last_mut() {
            let (dependency, beyond) = (self.first[*wire] + *followed, self.subnet.wires.at(*wire).1);
            if dependency == self.first[*wire + 1] {
                self.state[*wire] = Visit::Done;
                trail.pop();
                continue;
            }
            let next = self.subnet.wires.range(beyond).start + *followed;
            *followed += 1;
            match self.state[next] {
                Visit::Fresh if self.weight[dependency] > 0 => {
                    self.state[next] = Visit::Open;
                    trail.push((next, 0));
                }
                Visit::Open if self.weight[dependency] > 0 => {
                    let begin = trail.iter().position(|&(wire, _)| wire == next).unwrap_or(0);
                    // The dependencies of the cycle are those that the wires of the trail followed last.
                    let of = |&(wire, followed): &(usize, usize)| self.first[wire] + followed - 1;
                    let cycle = trail[begin..].iter().map(of).enumerate();
                    let Some((place, weakest)) = cycle.min_by_key(|&(_, dependency)| self.weight[dependency]) else {
                        continue;
                    };
                    for number in std::mem::take(&mut self.paths[weakest]) {
                        if std::mem::replace(&mut left[number as usize], false) {
                            self.remove(paths[number as usize]);
                        }
                    }
                    // Wires behind the removed dependency may be reached in another way.
                    for (wire, _) in trail.drain(begin + place + 1..) {
                        self.state[wire] = Visit::Fresh;
                    }
                }
                _ => {}
            }
        }
    }

    fn remove(&mut self, path: (RouterId, NodeId)) {
        let weight = self.subnet.nodes[path.0.index()].len() as u32;
        self.each_dependency(path, |lane, dependency| lane.weight[dependency] -= weight);
    }
}
