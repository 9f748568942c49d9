//! Bisection of a graph: multilevel, with Fiduccia and Mattheyses' refinement.
//!
//! The cost of a cut is the weight across it times the distance of the two sides, plus the cost that tasks pay for
//! their side because of partners that are placed elsewhere (Dunlop and Kernighan's terminals). The graph is coarsened
//! by matching along heavy edges, cut when it is small, and refined at every size while it is uncoarsened. Cost:
//! O(edges log edges).

use std::collections::BinaryHeap;

use units::Draw;

use super::annealing::Fast;

/// Number of vertices at which coarsening ends.
const COARSE: usize = 80;
/// Number of starts that are tried on the coarsest graph.
const TRIES: usize = 6;
/// Number of refinement passes at each size.
const PASSES: usize = 4;
/// Number of vertices from which on a pass starts from the cut's border alone.
const LARGE: usize = 4000;
const NONE: u32 = u32::MAX;
/// Side of a vertex that may be on either side.
pub(crate) const FREE: u8 = 2;

/// Graph to be cut.
#[derive(Clone, Debug, Default)]
pub(crate) struct Piece {
    /// Start of each vertex's edges, followed by the number of all edges.
    pub(crate) first: Vec<u32>,
    /// Far ends and weights of the edges.
    pub(crate) edges: Vec<(u32, f32)>,
    /// Size of each vertex, in the unit of a side's room.
    pub(crate) size: Vec<f64>,
    /// Cost of having a vertex on side 1 rather than 0.
    pub(crate) bias: Vec<f64>,
    /// Required side of a vertex, or `FREE`.
    pub(crate) side: Vec<u8>,
}

impl Piece {
    fn len(&self) -> usize {
        self.size.len()
    }

    fn of(&self, vertex: u32) -> &[(u32, f32)] {
        &self.edges[self.first[vertex as usize] as usize..self.first[vertex as usize + 1] as usize]
    }
}

/// Constraints of a cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Minimum and maximum size of side 0.
    pub(crate) zero: (f64, f64),
    /// Target size of side 0 in the absence of other reasons.
    pub(crate) target: f64,
    /// Distance of the sides: the cost of a unit of weight across the cut.
    pub(crate) distance: f64,
}

/// Cuts a graph. Returns for every vertex whether it is on side 1.
pub(crate) fn bisect(piece: Piece, limits: Limits, seed: u64) -> Vec<bool> {
    let mut draw = Fast::new(seed, 2);
    let largest = piece.size.iter().sum::<f64>() / 24.0;
    let mut levels: Vec<(Piece, Vec<u32>)> = Vec::new();
    let mut current = piece;
    while current.len() > COARSE {
        let (coarse, parent) = coarsen(&current, largest, &mut draw);
        if coarse.len() as f64 > 0.95 * current.len() as f64 {
            break;
        }
        levels.push((std::mem::replace(&mut current, coarse), parent));
    }
    let mut sides = first_cut(&current, limits, &mut draw);
    while let Some((finer, parent)) = levels.pop() {
        sides = parent.iter().map(|&coarse| sides[coarse as usize]).collect();
        refine(&finer, limits, &mut sides);
    }
    sides
}

/// Returns a graph of about half the vertices, and the vertex in it that stands for each.
fn coarsen(piece: &Piece, largest: f64, draw: &mut Fast) -> (Piece, Vec<u32>) {
    let count = piece.len();
    let mut order: Vec<u32> = (0..count as u32).collect();
    for last in (1..count).rev() {
        order.swap(last, draw.below(last as u32 + 1) as usize);
    }
    let mut parent = vec![NONE; count];
    let mut groups = 0;
    let mut halves: Vec<(u32, u32)> = Vec::with_capacity(count / 2 + 1);
    for &vertex in &order {
        if parent[vertex as usize] != NONE {
            continue;
        }
        let fits = |other: u32| {
            parent[other as usize] == NONE
                && other != vertex
                && piece.side[other as usize] == piece.side[vertex as usize]
                && piece.size[other as usize] + piece.size[vertex as usize] <= largest
        };
        let best = piece.of(vertex).iter().filter(|&&(other, _)| fits(other)).max_by(|a, b| {
            let value = |edge: &(u32, f32)| f64::from(edge.1) / piece.size[edge.0 as usize].max(1e-9);
            value(a).total_cmp(&value(b)).then(b.0.cmp(&a.0))
        });
        let other = best.map_or(vertex, |&(other, _)| other);
        parent[vertex as usize] = groups;
        parent[other as usize] = groups;
        halves.push((vertex, other));
        groups += 1;
    }
    (contract(piece, &parent, &halves), parent)
}

/// Builds the graph of pairs of vertices.
fn contract(piece: &Piece, parent: &[u32], halves: &[(u32, u32)]) -> Piece {
    let mut coarse = Piece { first: vec![0], ..Piece::default() };
    let mut at = vec![NONE; halves.len()];
    for (group, &(one, other)) in (0_u32..).zip(halves) {
        let begin = coarse.edges.len();
        let both = if one == other { vec![one] } else { vec![one, other] };
        for &vertex in &both {
            for &(target, weight) in piece.of(vertex) {
                let target = parent[target as usize];
                if target == group {
                    continue;
                }
                let known = at[target as usize];
                if known != NONE && known as usize >= begin {
                    coarse.edges[known as usize].1 += weight;
                } else {
                    at[target as usize] = coarse.edges.len() as u32;
                    coarse.edges.push((target, weight));
                }
            }
        }
        let sum = |values: &[f64]| both.iter().map(|&vertex| values[vertex as usize]).sum::<f64>();
        coarse.size.push(sum(&piece.size));
        coarse.bias.push(sum(&piece.bias));
        coarse.side.push(piece.side[one as usize]);
        coarse.first.push(coarse.edges.len() as u32);
    }
    coarse
}

/// Returns the best of several cuts of a small graph.
fn first_cut(piece: &Piece, limits: Limits, draw: &mut Fast) -> Vec<bool> {
    let mut best: Option<((f64, f64), Vec<bool>)> = None;
    for attempt in 0..TRIES {
        let mut sides = grow(piece, limits, attempt, draw);
        let value = refine(piece, limits, &mut sides);
        if best.as_ref().is_none_or(|(kept, _)| value < *kept) {
            best = Some((value, sides));
        }
    }
    best.map_or_else(Vec::new, |(_, sides)| sides)
}

/// Grows side 0 from a vertex or, at the first attempt, fills it by the biases of vertices.
fn grow(piece: &Piece, limits: Limits, attempt: usize, draw: &mut Fast) -> Vec<bool> {
    let count = piece.len();
    let mut sides = vec![true; count];
    let mut filled = 0.0;
    let mut pull: Vec<f64> = piece.bias.clone();
    for vertex in 0..count {
        if piece.side[vertex] == 0 {
            take(piece, vertex as u32, limits.distance, &mut sides, &mut pull, &mut filled);
        }
    }
    if attempt > 0 && count > 0 {
        let seed = draw.below(count as u32);
        pull[seed as usize] += 1e300;
    }
    while filled < limits.target {
        let open = (0..count).filter(|&vertex| sides[vertex] && piece.side[vertex] == FREE);
        let next = open.max_by(|&a, &b| pull[a].total_cmp(&pull[b]).then(b.cmp(&a)));
        let Some(next) = next else { break };
        if filled + piece.size[next] / 2.0 > limits.target.max(limits.zero.0) && filled >= limits.zero.0 {
            break;
        }
        take(piece, next as u32, limits.distance, &mut sides, &mut pull, &mut filled);
    }
    sides
}

fn take(piece: &Piece, vertex: u32, distance: f64, sides: &mut [bool], pull: &mut [f64], filled: &mut f64) {
    sides[vertex as usize] = false;
    *filled += piece.size[vertex as usize];
    for &(other, weight) in piece.of(vertex) {
        pull[other as usize] += 2.0 * distance * f64::from(weight);
    }
}

/// Improves a cut. Returns its excess over the limits, and its cost.
fn refine(piece: &Piece, limits: Limits, sides: &mut [bool]) -> (f64, f64) {
    let mut value = (0.0, 0.0);
    let cost = cost(piece, limits, sides);
    let mut change = 0.0;
    for _ in 0..PASSES {
        let mut pass = Pass::new(piece, limits, sides);
        let (excess, gain) = pass.run(sides);
        change -= gain;
        value = (excess, cost + change);
        if gain <= 1e-9 * cost.abs() {
            break;
        }
    }
    value
}

fn cost(piece: &Piece, limits: Limits, sides: &[bool]) -> f64 {
    let mut sum = 0.0;
    for vertex in 0..piece.len() {
        if sides[vertex] {
            sum += piece.bias[vertex];
        }
        let across = piece.of(vertex as u32).iter().filter(|&&(other, _)| sides[other as usize] != sides[vertex]);
        sum += across.map(|&(_, weight)| f64::from(weight)).sum::<f64>() * limits.distance / 2.0;
    }
    sum
}

/// Vertex that could be moved, ordered by gain; ties by number.
#[derive(Clone, Copy, PartialEq)]
struct Candidate {
    gain: f64,
    vertex: u32,
    stamp: u32,
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.gain.total_cmp(&other.gain).then(other.vertex.cmp(&self.vertex)).then(self.stamp.cmp(&other.stamp))
    }
}

/// Refinement pass: every vertex moves at most once, best first; the best intermediate state is kept.
struct Pass<'a> {
    piece: &'a Piece,
    limits: Limits,
    /// Current size of side 0.
    zero: f64,
    /// Allowed excess of side 0 over its limits during a pass.
    slack: f64,
    gain: Vec<f64>,
    stamp: Vec<u32>,
    locked: Vec<bool>,
    /// Candidates by the side that they are on.
    heaps: [BinaryHeap<Candidate>; 2],
}

impl<'a> Pass<'a> {
    fn new(piece: &'a Piece, limits: Limits, sides: &[bool]) -> Self {
        let count = piece.len();
        let zero = (0..count).filter(|&vertex| !sides[vertex]).map(|vertex| piece.size[vertex]).sum();
        let slack = piece.size.iter().copied().fold(0.0, f64::max);
        let mut pass = Self {
            piece,
            limits,
            zero,
            slack,
            gain: vec![0.0; count],
            stamp: vec![0; count],
            locked: piece.side.iter().map(|&side| side != FREE).collect(),
            heaps: [BinaryHeap::new(), BinaryHeap::new()],
        };
        let all = count < LARGE || pass.excess() > 0.0;
        for vertex in 0..count as u32 {
            let border = pass.measure(vertex, sides);
            if (all || border) && !pass.locked[vertex as usize] {
                pass.offer(vertex, sides);
            }
        }
        pass
    }

    /// Sets a vertex's gain. Returns whether the vertex has a reason to move.
    fn measure(&mut self, vertex: u32, sides: &[bool]) -> bool {
        let own = sides[vertex as usize];
        let mut pull = 0.0;
        let mut border = false;
        for &(other, weight) in self.piece.of(vertex) {
            let across = sides[other as usize] != own;
            border |= across;
            pull += if across { f64::from(weight) } else { -f64::from(weight) };
        }
        let bias = self.piece.bias[vertex as usize];
        self.gain[vertex as usize] = self.limits.distance * pull + if own { bias } else { -bias };
        border || self.gain[vertex as usize] > 0.0
    }

    fn offer(&mut self, vertex: u32, sides: &[bool]) {
        let (gain, stamp) = (self.gain[vertex as usize], self.stamp[vertex as usize]);
        self.heaps[usize::from(sides[vertex as usize])].push(Candidate { gain, vertex, stamp });
    }

    /// Returns the excess of side 0 over its limits.
    fn excess(&self) -> f64 {
        self.excess_of(self.zero)
    }

    fn excess_of(&self, zero: f64) -> f64 {
        (self.limits.zero.0 - zero).max(zero - self.limits.zero.1).max(0.0) - 1e-9 * self.limits.zero.1.abs().max(1.0)
    }

    /// Runs the pass. Returns the remaining excess, and the amount by which the cost has fallen.
    fn run(&mut self, sides: &mut [bool]) -> (f64, f64) {
        let mut moved: Vec<u32> = Vec::new();
        let (mut sum, mut best, mut kept) = (0.0, (self.excess().max(0.0), 0.0), 0);
        let patience = 60 + self.piece.len() / 50;
        while let Some(vertex) = self.next(sides) {
            sum += self.gain[vertex as usize];
            self.shift(vertex, sides);
            moved.push(vertex);
            let value = (self.excess().max(0.0), -sum);
            if value < best {
                best = value;
                kept = moved.len();
            }
            if moved.len() - kept > patience {
                break;
            }
        }
        for &vertex in &moved[kept..] {
            sides[vertex as usize] = !sides[vertex as usize];
        }
        (best.0, -best.1)
    }

    /// Returns the best vertex whose move the limits allow.
    fn next(&mut self, sides: &[bool]) -> Option<u32> {
        let tops = [self.top(0, sides), self.top(1, sides)];
        let allowed = |side: usize| {
            tops[side].filter(|top| {
                let size = self.piece.size[top.vertex as usize];
                let zero = if side == 0 { self.zero - size } else { self.zero + size };
                let (now, then) = (self.excess(), self.excess_of(zero));
                then <= 0.0 || then < now || then <= self.slack && now <= 0.0
            })
        };
        let best = match (allowed(0), allowed(1)) {
            (Some(zero), Some(one)) => Some(if zero >= one { zero } else { one }),
            (one, None) | (None, one) => one,
        };
        best.map(|candidate| candidate.vertex)
    }

    /// Returns the best vertex of a side. Drops outdated entries.
    fn top(&mut self, side: usize, sides: &[bool]) -> Option<Candidate> {
        while let Some(&top) = self.heaps[side].peek() {
            let vertex = top.vertex as usize;
            if !self.locked[vertex] && self.stamp[vertex] == top.stamp && usize::from(sides[vertex]) == side {
                return Some(top);
            }
            self.heaps[side].pop();
        }
        None
    }

    fn shift(&mut self, vertex: u32, sides: &mut [bool]) {
        let from = sides[vertex as usize];
        sides[vertex as usize] = !from;
        self.zero += if from { self.piece.size[vertex as usize] } else { -self.piece.size[vertex as usize] };
        self.locked[vertex as usize] = true;
        let piece = self.piece;
        for &(other, weight) in piece.of(vertex) {
            if self.locked[other as usize] {
                continue;
            }
            let change = 2.0 * self.limits.distance * f64::from(weight);
            self.gain[other as usize] += if sides[other as usize] == from { change } else { -change };
            self.stamp[other as usize] += 1;
            self.offer(other, sides);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FREE, Limits, Piece, bisect};

    /// Returns a path of vertices.
    fn path(count: u32) -> Piece {
        let mut piece = Piece { first: vec![0], ..Piece::default() };
        for vertex in 0..count {
            let neighbours = [vertex.checked_sub(1), Some(vertex + 1).filter(|&next| next < count)];
            piece.edges.extend(neighbours.into_iter().flatten().map(|other| (other, 1.0)));
            piece.first.push(piece.edges.len() as u32);
            piece.size.push(1.0);
            piece.bias.push(0.0);
            piece.side.push(FREE);
        }
        piece
    }

    fn cut(piece: &Piece, sides: &[bool]) -> usize {
        let across = |vertex: u32| {
            piece.of(vertex).iter().filter(|&&(other, _)| sides[other as usize] != sides[vertex as usize]).count()
        };
        (0..piece.len() as u32).map(across).sum::<usize>() / 2
    }

    #[test]
    fn a_path_is_cut_once_in_the_middle() {
        // Would catch refinement that does not balance, or coarsening that loses edges.
        let limits = Limits { zero: (500.0, 500.0), target: 500.0, distance: 1.0 };
        let piece = path(1000);
        let sides = bisect(piece.clone(), limits, 7);
        assert_eq!(sides.iter().filter(|&&side| side).count(), 500);
        assert!(cut(&piece, &sides) <= 3, "{}", cut(&piece, &sides));
    }

    #[test]
    fn terminals_and_fixed_vertices_decide_the_sides() {
        // Would catch a sign: the first vertex is pulled to side 1, the last is fixed on side 0.
        let limits = Limits { zero: (50.0, 50.0), target: 50.0, distance: 1.0 };
        let mut piece = path(100);
        piece.bias[0] = -10.0;
        piece.side[99] = 0;
        let sides = bisect(piece, limits, 3);
        assert!(sides[0] && !sides[99]);
    }
}
