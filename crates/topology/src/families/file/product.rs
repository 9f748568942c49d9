//! Factors of a network of routers: the lines of its dimensions, in whatever order the routers are numbered.
//!
//! Two wires at a router belong to one dimension unless they span exactly one square without chords, whose opposite
//! wires belong to one dimension each (Feder, "Product graph representations", 1992). On a grid of paths, rings and
//! cliques the classes of wires that result are its dimensions, except that a ring of four routers is two dimensions of
//! two. The coordinate of a router in a dimension is the part of the network in which it lies without the wires of that
//! dimension. The caller compares the grid with the network, so that a wrong guess is never used.
//!
//! Cost: for each router the pairs of its neighbours in different dimensions, times a 64th of the number of routers.

use units::RouterId;

use crate::network::Topology;
use crate::wired::neighbours;

/// Dimension of a network.
pub(super) struct Factor {
    /// Coordinate of each router.
    pub coordinates: Vec<u32>,
    /// Number of routers of a line.
    pub size: u32,
    pub shape: Line,
    /// Number of parallel wires between two neighbours, of the first router's line.
    pub wires: u64,
}

/// Shape of a dimension's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Path,
    Ring,
    /// At least four routers; three are a ring, and two are a path.
    Clique,
}

/// Neighbours of every router, without parallel wires.
struct Graph {
    near: Vec<Vec<u32>>,
    /// First wire of each router in the list of all wires, each of which is there from both ends.
    first: Vec<usize>,
    /// Bits of the neighbours of each router.
    bits: Vec<u64>,
    words: usize,
    /// Forest of joined wires.
    above: Vec<usize>,
}

/// Returns the dimensions of a network, ordered by the lowest router beside the first on its line, with the coordinates
/// 0 at the first router of rings and cliques. `None` if the network is no product of paths, rings and cliques.
pub(super) fn factors(network: &dyn Topology) -> Option<Vec<Factor>> {
    let mut graph = Graph::new(network);
    graph.join_wires();
    let mut classes: Vec<(u32, usize)> =
        (0..graph.near[0].len()).map(|place| (graph.near[0][place], graph.root(place))).collect();
    // The neighbours are in ascending order.
    let mut seen = Vec::new();
    classes.retain(|&(_, class)| !seen.contains(&class) && (seen.push(class), true).1);
    classes.into_iter().map(|(next, class)| graph.factor(network, (next, class))).collect()
}

impl Graph {
    fn new(network: &dyn Topology) -> Self {
        let routers = network.routers() as usize;
        let words = routers.div_ceil(64);
        let mut made =
            Self { near: Vec::new(), first: vec![0], bits: vec![0; words * routers], words, above: Vec::new() };
        for router in (0..network.routers()).map(RouterId) {
            let mut near: Vec<u32> = neighbours(network, router).map(|(_, next)| next.0).collect();
            near.sort_unstable();
            near.dedup();
            for &next in &near {
                made.bits[router.index() * words + next as usize / 64] |= 1 << (next % 64);
            }
            made.first.push(made.first[router.index()] + near.len());
            made.near.push(near);
        }
        made.above = (0..made.first[routers]).collect();
        for from in 0..routers {
            for place in 0..made.near[from].len() {
                let to = made.near[from][place] as usize;
                made.join((from, to), (to, from));
            }
        }
        made
    }

    fn wire(&self, (from, to): (usize, usize)) -> usize {
        self.first[from] + self.near[from].partition_point(|&next| (next as usize) < to)
    }

    fn root(&mut self, mut wire: usize) -> usize {
        while self.above[wire] != wire {
            self.above[wire] = self.above[self.above[wire]];
            wire = self.above[wire];
        }
        wire
    }

    fn join(&mut self, one: (usize, usize), other: (usize, usize)) {
        let (one, other) = (self.wire(one), self.wire(other));
        let (one, other) = (self.root(one), self.root(other));
        self.above[one.max(other)] = one.min(other);
    }

    fn are_near(&self, one: usize, other: usize) -> bool {
        self.bits[one * self.words + other / 64] >> (other % 64) & 1 == 1
    }

    /// Returns the router beside `at` that is a neighbour of two others, if there is exactly one.
    fn opposite(&self, at: usize, [one, other]: [usize; 2]) -> Option<usize> {
        let row = |router: usize| &self.bits[router * self.words..(router + 1) * self.words];
        let mut found = None;
        for (word, (one, other)) in row(one).iter().zip(row(other)).enumerate() {
            let mut both = one & other;
            if word == at / 64 {
                both &= !(1 << (at % 64));
            }
            if both != 0 {
                if found.is_some() || both & (both - 1) != 0 {
                    return None;
                }
                found = Some(64 * word + both.trailing_zeros() as usize);
            }
        }
        found
    }

    /// Joins the wires that belong to one dimension.
    fn join_wires(&mut self) {
        for at in 0..self.near.len() {
            for (place, second) in (0..self.near[at].len()).flat_map(|second| (0..second).map(move |one| (one, second)))
            {
                if self.root(self.first[at] + place) == self.root(self.first[at] + second) {
                    continue;
                }
                let [one, other] = [place, second].map(|place| self.near[at][place] as usize);
                let square = if self.are_near(one, other) { None } else { self.opposite(at, [one, other]) };
                match square.filter(|&far| !self.are_near(at, far)) {
                    Some(far) => {
                        self.join((at, one), (other, far));
                        self.join((at, other), (one, far));
                    }
                    None => self.join((at, one), (at, other)),
                }
            }
        }
    }

    /// Returns the neighbours of a router by wires of a class, or by all others.
    fn beside(&mut self, router: usize, class: usize, is_own: bool) -> Vec<usize> {
        let wires = self.first[router]..self.first[router + 1];
        let chosen: Vec<usize> = wires.filter(|&wire| (self.root(wire) == class) == is_own).collect();
        chosen.into_iter().map(|wire| self.near[router][wire - self.first[router]] as usize).collect()
    }

    /// Returns the dimension of a class of wires, one of which leads from router 0 to `next`.
    fn factor(&mut self, network: &dyn Topology, (next, class): (u32, usize)) -> Option<Factor> {
        let (line, shape) = self.line(class)?;
        let mut coordinates = vec![u32::MAX; self.near.len()];
        for (own, &start) in (0..).zip(&line) {
            let mut waiting = vec![start];
            while let Some(at) = waiting.pop() {
                if coordinates[at] == u32::MAX {
                    coordinates[at] = own;
                    waiting.extend(self.beside(at, class, false));
                } else if coordinates[at] != own {
                    return None;
                }
            }
        }
        let wires = neighbours(network, RouterId(0)).filter(|&(_, other)| other.0 == next).count() as u64;
        let is_complete = !coordinates.contains(&u32::MAX);
        is_complete.then_some(Factor { coordinates, size: line.len() as u32, shape, wires })
    }

    /// Returns the routers of the line of a class through router 0, in order, and its shape.
    fn line(&mut self, class: usize) -> Option<(Vec<usize>, Line)> {
        let mut members = vec![0];
        let mut found = vec![false; self.near.len()];
        found[0] = true;
        let mut place = 0;
        while let Some(&at) = members.get(place) {
            for next in self.beside(at, class, true) {
                if !std::mem::replace(&mut found[next], true) {
                    members.push(next);
                }
            }
            place += 1;
        }
        members.sort_unstable();
        let degrees: Vec<usize> = members.iter().map(|&router| self.beside(router, class, true).len()).collect();
        let size = members.len();
        if size > 3 && degrees.iter().all(|&degree| degree == size - 1) {
            return Some((members, Line::Clique));
        }
        let ends: Vec<usize> =
            members.iter().zip(&degrees).filter(|&(_, &degree)| degree == 1).map(|(&router, _)| router).collect();
        let shape = match (degrees.iter().max(), ends.len()) {
            (Some(2), 0) => Line::Ring,
            (Some(1 | 2), 2) => Line::Path,
            _ => return None,
        };
        let mut line = vec![ends.first().copied().unwrap_or(0)];
        while let Some(next) =
            self.beside(line[line.len() - 1], class, true).into_iter().find(|next| !line.contains(next))
        {
            line.push(next);
        }
        Some((line, shape))
    }
}
