//! Transportation problem: the flow of largest weight from sources with supplies to destinations with demands.
//!
//! Primal-dual method (Ahuja, Magnanti and Orlin, *Network Flows*, section 9.8). Prices of both sides start so high
//! that no edge is worth its price. Each phase lowers them until edges from sources with supply to destinations with
//! demand are, and then moves all that these edges can carry. Prices bound the weight of any flow from above at every
//! time, so that a problem whose optimum is below a known value ends early.
//!
//! Cost: E log V for each phase; the number of phases is about the number of distinct weights of augmenting paths,
//! which is small for shares of flows. Libraries solve the dense assignment problem: every node would be a row, and
//! every pair of nodes an entry, although the nodes of a router are equal and most pairs do not cross a channel.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of units of a share of 1. Weights are integers, so that equal sums are equal.
pub(super) const UNIT: f64 = (1_u64 << 40) as f64;

/// Distance of what is not reached.
const FAR: i64 = i64::MAX;
const NONE: u32 = u32::MAX;

/// Share of the flow from a source to a destination that crosses a channel, in units of `UNIT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub from: u32,
    pub to: u32,
    pub share: u64,
}

/// Returns a share in units of `UNIT`.
pub(super) fn units(share: f64) -> u64 {
    (share * UNIT).round() as u64
}

/// Edge from a source to a destination, with the amount that it carries.
#[derive(Clone, Copy, Debug)]
struct Edge {
    source: u32,
    sink: u32,
    weight: i64,
    flow: u32,
}

/// Sources or destinations.
#[derive(Debug)]
struct Side {
    /// Numbers in the cells, in ascending order.
    names: Vec<u32>,
    /// Supply or demand.
    amounts: Vec<u32>,
    /// Supply or demand that is left.
    spare: Vec<u32>,
    prices: Vec<i64>,
    distances: Vec<i64>,
    visited: Vec<bool>,
    /// Edges by member: `edges[first[i]..first[i + 1]]`.
    first: Vec<u32>,
    edges: Vec<u32>,
}

/// Transportation problem of one channel.
#[derive(Debug)]
pub(super) struct Transportation {
    edges: Vec<Edge>,
    sources: Side,
    sinks: Side,
    /// By source, the edge by which a search has left the source before it, and the edge back from there.
    parents: Vec<(u32, u32)>,
    stack: Vec<u32>,
}

impl Side {
    fn new(cells: &[Cell], amounts: &[u32], name: impl Fn(&Cell) -> u32) -> Self {
        let mut names: Vec<u32> = cells.iter().map(&name).collect();
        names.sort_unstable();
        names.dedup();
        let mut first = vec![0_u32; names.len() + 1];
        let place = |cell: &Cell| names.partition_point(|&other| other < name(cell));
        cells.iter().for_each(|cell| first[place(cell) + 1] += 1);
        (1..first.len()).for_each(|i| first[i] += first[i - 1]);
        let (mut next, mut edges) = (first.clone(), vec![0; cells.len()]);
        for (edge, cell) in (0..).zip(cells) {
            let at = &mut next[place(cell)];
            edges[*at as usize] = edge;
            *at += 1;
        }
        let amounts: Vec<u32> = names.iter().map(|&name| amounts[name as usize]).collect();
        let members = names.len();
        Self {
            spare: amounts.clone(),
            amounts,
            prices: vec![0; members],
            distances: vec![FAR; members],
            visited: vec![false; members],
            names,
            first,
            edges,
        }
    }

    fn of(&self, member: u32) -> std::ops::Range<usize> {
        self.first[member as usize] as usize..self.first[member as usize + 1] as usize
    }

    fn worth(&self) -> i64 {
        self.amounts.iter().zip(&self.prices).map(|(&amount, &price)| i64::from(amount) * price).sum()
    }
}

impl Transportation {
    /// Creates the problem of some cells. `supplies` and `demands` are those of all sources and destinations.
    pub fn new(cells: &[Cell], supplies: &[u32], demands: &[u32]) -> Self {
        let mut sources = Side::new(cells, supplies, |cell| cell.from);
        let sinks = Side::new(cells, demands, |cell| cell.to);
        let edge = |cell: &Cell| Edge {
            source: sources.names.partition_point(|&other| other < cell.from) as u32,
            sink: sinks.names.partition_point(|&other| other < cell.to) as u32,
            weight: cell.share as i64,
            flow: 0,
        };
        let edges: Vec<Edge> = cells.iter().map(edge).collect();
        let highest = edges.iter().map(|edge| edge.weight).max().unwrap_or(0);
        sources.prices.fill(highest);
        let parents = vec![(NONE, NONE); sources.names.len()];
        Self { edges, sources, sinks, parents, stack: Vec::new() }
    }

    /// Returns an upper bound on the weight of any flow, in units of `UNIT`: the smaller of what all sources and what
    /// all destinations can use at most.
    fn bound(&self) -> i64 {
        let best = |side: &Side, member: usize| {
            side.edges[side.of(member as u32)].iter().map(|&edge| self.edges[edge as usize].weight).max().unwrap_or(0)
        };
        let all = |side: &Side| {
            side.amounts.iter().enumerate().map(|(member, &amount)| i64::from(amount) * best(side, member)).sum()
        };
        i64::min(all(&self.sources), all(&self.sinks))
    }

    /// Finds the flow of largest weight. Returns the weight in units of `UNIT`; `None` if it is at most `bar`, or if
    /// `goes_on` ends the search, which is asked once a phase.
    pub fn solve(&mut self, bar: i64, goes_on: &dyn Fn() -> bool) -> Option<i64> {
        if self.bound() <= bar {
            return None;
        }
        while let Some(distance) = self.measure() {
            if !goes_on() {
                return None;
            }
            self.lower_prices(distance);
            if self.sources.worth() + self.sinks.worth() <= bar {
                return None;
            }
            while self.move_all() {}
        }
        let weight = self.edges.iter().map(|edge| i64::from(edge.flow) * edge.weight).sum();
        (weight > bar).then_some(weight)
    }

    /// Iterates over the pairs of sources and destinations that the flow uses, with their amounts.
    pub fn flows(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        let names =
            |edge: &Edge| (self.sources.names[edge.source as usize], self.sinks.names[edge.sink as usize], edge.flow);
        self.edges.iter().filter(|edge| edge.flow > 0).map(names)
    }

    /// Returns by how much the price of an edge exceeds its weight.
    fn slack(&self, edge: &Edge) -> i64 {
        self.sources.prices[edge.source as usize] + self.sinks.prices[edge.sink as usize] - edge.weight
    }

    /// Measures all distances from the sources with supply, in the residual network (Dijkstra). Returns the distance of
    /// the nearest destination with demand. `None` if no path to one has a positive weight.
    fn measure(&mut self) -> Option<i64> {
        self.sources.distances.fill(FAR);
        self.sinks.distances.fill(FAR);
        let mut heap = BinaryHeap::new();
        let mut highest = 0;
        for source in 0..self.sources.names.len() as u32 {
            if self.sources.spare[source as usize] > 0 {
                // The price of every source with supply: it falls for all of them alike.
                highest = self.sources.prices[source as usize];
                self.reach(source, 0, &mut heap);
            }
        }
        while let Some(Reverse((distance, sink))) = heap.pop() {
            if distance >= highest {
                return None;
            }
            if distance > self.sinks.distances[sink as usize] {
                continue;
            }
            if self.sinks.spare[sink as usize] > 0 {
                return Some(distance);
            }
            for at in self.sinks.of(sink) {
                let edge = self.edges[self.sinks.edges[at] as usize];
                if edge.flow > 0 && self.sources.distances[edge.source as usize] == FAR {
                    self.reach(edge.source, distance, &mut heap);
                }
            }
        }
        None
    }

    /// Sets the distance of a source, and the distances of the destinations behind it.
    fn reach(&mut self, source: u32, distance: i64, heap: &mut BinaryHeap<Reverse<(i64, u32)>>) {
        self.sources.distances[source as usize] = distance;
        for at in self.sources.of(source) {
            let edge = self.edges[self.sources.edges[at] as usize];
            let to = distance + self.slack(&edge);
            let known = &mut self.sinks.distances[edge.sink as usize];
            if to < *known {
                *known = to;
                heap.push(Reverse((to, edge.sink)));
            }
        }
    }

    /// Changes the prices so that the path to the nearest destination has no slack.
    fn lower_prices(&mut self, nearest: i64) {
        for (price, &distance) in self.sources.prices.iter_mut().zip(&self.sources.distances) {
            *price -= (nearest - distance.min(nearest)).max(0);
        }
        for (price, &distance) in self.sinks.prices.iter_mut().zip(&self.sinks.distances) {
            *price += (nearest - distance.min(nearest)).max(0);
        }
    }

    /// Moves supply along edges without slack, each source and destination once. Returns whether any was moved.
    fn move_all(&mut self) -> bool {
        self.sources.visited.fill(false);
        self.sinks.visited.fill(false);
        let mut moved = false;
        for root in 0..self.sources.names.len() as u32 {
            if self.sources.spare[root as usize] > 0 && !self.sources.visited[root as usize] {
                moved |= self.search(root);
            }
        }
        moved
    }

    /// Searches destinations with demand in depth from a source, and moves its supply to them.
    fn search(&mut self, root: u32) -> bool {
        let mut moved = false;
        self.stack.clear();
        self.stack.push(root);
        self.sources.visited[root as usize] = true;
        self.parents[root as usize] = (NONE, NONE);
        while let Some(source) = self.stack.pop() {
            for at in self.sources.of(source) {
                let number = self.sources.edges[at];
                let edge = self.edges[number as usize];
                if self.sinks.visited[edge.sink as usize] || self.slack(&edge) != 0 {
                    continue;
                }
                if self.sinks.spare[edge.sink as usize] > 0 {
                    moved = true;
                    // A path whose edges back are used up ends the search; the next pass begins anew.
                    if self.move_along(number, root) || self.sources.spare[root as usize] == 0 {
                        return true;
                    }
                    continue;
                }
                self.sinks.visited[edge.sink as usize] = true;
                for back in self.sinks.of(edge.sink) {
                    let back = self.sinks.edges[back];
                    let Edge { source: next, flow, .. } = self.edges[back as usize];
                    if flow > 0 && !self.sources.visited[next as usize] {
                        self.sources.visited[next as usize] = true;
                        self.parents[next as usize] = (number, back);
                        self.stack.push(next);
                    }
                }
            }
        }
        moved
    }

    /// Moves as much as possible from a source to a destination along the path of the search. Returns whether an edge
    /// back has been used up.
    fn move_along(&mut self, last: u32, root: u32) -> bool {
        let Edge { source: end, sink, .. } = self.edges[last as usize];
        let mut amount = self.sinks.spare[sink as usize].min(self.sources.spare[root as usize]);
        let mut at = end;
        while let (on, back) = self.parents[at as usize]
            && at != root
        {
            amount = amount.min(self.edges[back as usize].flow);
            at = self.edges[on as usize].source;
        }
        self.edges[last as usize].flow += amount;
        self.sinks.spare[sink as usize] -= amount;
        self.sources.spare[root as usize] -= amount;
        let (mut at, mut used_up) = (end, false);
        while at != root {
            let (on, back) = self.parents[at as usize];
            self.edges[back as usize].flow -= amount;
            self.edges[on as usize].flow += amount;
            used_up |= self.edges[back as usize].flow == 0;
            at = self.edges[on as usize].source;
        }
        used_up
    }
}
