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
    /// By dependency, the number of nodes that send on its remaining paths.
    weight: Vec<u32>,
    state: Vec<Visit>,
    /// Paths that are on the lane, or have been.
    members: Vec<(RouterId, NodeId)>,
    /// Whether each path is still on the lane.
    stays: Vec<bool>,
    /// Wires on the way of the search, each with the number of its dependencies that have been followed.
    trail: Vec<(usize, usize)>,
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
        let (paths, weight) = (vec![Vec::new(); all], vec![0; all]);
        let (members, stays, trail) = (Vec::new(), Vec::new(), Vec::new());
        Self { subnet, steps, first, paths, weight, state, members, stays, trail }
    }

    /// Puts paths on the lane. Returns the paths that must leave it again.
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
        self.stays = vec![true; paths.len()];
        self.members = paths;
        for start in 0..self.state.len() {
            if self.state[start] == Visit::Fresh {
                self.search(start);
            }
        }
        self.members.iter().zip(&self.stays).filter(|&(_, stays)| !stays).map(|(&path, _)| path).collect()
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

    /// Searches for cycles from a wire, and removes paths until there is none.
    fn search(&mut self, start: usize) {
        self.trail.push((start, 0));
        self.state[start] = Visit::Open;
        while let Some((wire, followed)) = self.trail.last_mut() {
            let (dependency, beyond) = (self.first[*wire] + *followed, self.subnet.wires.at(*wire).1);
            if dependency == self.first[*wire + 1] {
                self.state[*wire] = Visit::Done;
                self.trail.pop();
                continue;
            }
            let next = self.subnet.wires.range(beyond).start + *followed;
            *followed += 1;
            if self.weight[dependency] == 0 {
                continue;
            }
            match self.state[next] {
                Visit::Fresh => {
                    self.state[next] = Visit::Open;
                    self.trail.push((next, 0));
                }
                Visit::Open => self.break_cycle(next),
                Visit::Done => {}
            }
        }
    }

    /// Removes the paths of the weakest dependency of the cycle from a wire of the trail to the trail's end and back.
    fn break_cycle(&mut self, wire: usize) {
        let begin = self.trail.iter().position(|&(on_trail, _)| on_trail == wire).unwrap_or(0);
        // Each wire of the trail followed its dependency of the cycle last.
        let followed = |&(wire, followed): &(usize, usize)| self.first[wire] + followed - 1;
        let cycle = (begin..).zip(self.trail[begin..].iter().map(followed));
        let Some((place, weakest)) = cycle.min_by_key(|&(_, dependency)| self.weight[dependency]) else { return };
        for number in std::mem::take(&mut self.paths[weakest]) {
            if std::mem::replace(&mut self.stays[number as usize], false) {
                let path = self.members[number as usize];
                let weight = self.subnet.nodes[path.0.index()].len() as u32;
                self.each_dependency(path, |lane, dependency| lane.weight[dependency] -= weight);
            }
        }
        // Wires behind the removed dependency may be reached in another way.
        for (wire, _) in self.trail.drain(place + 1..) {
            self.state[wire] = Visit::Fresh;
        }
    }
}
