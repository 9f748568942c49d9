//! Bounds of the bisection of networks without a closed form: spectral below, the best cut found above.
//!
//! A bisection separates the nodes into equal halves; each router is on one side with its nodes. With x_i = 1 or -1 for
//! the side of router i, and the Laplacian L of the wires between routers, a cut has `x L x / 4` wires. Since equal
//! halves make x orthogonal to the numbers of nodes w, it has at least `m l / 4` for m routers, where l is the least
//! value of `y L y / y y` over all y orthogonal to w (Fiedler 1973 for equal w). With an odd number of routers of equal
//! w, one half has one router more, and the bound is `(m^2 - 1) l / (4 m)`.
//!
//! The cut starts from the halves that the minimizing y sorts apart, and those of the routers' numbers, and is improved
//! by passes of exchanges of one router of each side (Kernighan and Lin 1970). Nothing is drawn at random: a network
//! has one result.

use units::{PortId, RouterId};

use crate::families::networks::Part;
use crate::network::Topology;
use crate::wires::Endpoint;

/// Maximum number of routers of which bounds are computed, some seconds.
const MAX_ROUTERS: u32 = 4096;
/// Maximum number of iterations for the least eigenvalue. With more, there is no bound below.
const ITERATIONS: usize = 20_000;
/// Relative change at which the iteration ends.
const CONVERGED: f64 = 1e-11;
/// Relative margin by which the eigenvalue is reduced, far above its error.
const MARGIN: f64 = 1e-6;
/// Maximum number of passes of exchanges; few suffice.
const PASSES: usize = 20;

/// Bounds of the number of directed channels that cross a bisection in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BisectionBounds {
    /// Spectral bound below. 0 if it is unknown, since the iteration has not converged.
    pub least: u64,
    /// Number of channels of the best cut that was found.
    pub most: u64,
}

/// Returns bounds of a network's bisection. `None` if no halves of the nodes with their routers are found, or if there
/// is one router or more than 4,096.
pub fn bisection_bounds(topology: &dyn Topology) -> Option<BisectionBounds> {
    if let Some(networks) = topology.views().networks {
        let Part { island, planes, .. } = networks.only()?;
        let BisectionBounds { least, most } = bisection_bounds(&**island)?;
        return Some(BisectionBounds { least: least * u64::from(*planes), most: most * u64::from(*planes) });
    }
    if !(2..=MAX_ROUTERS).contains(&topology.routers()) {
        return None;
    }
    let graph = Graph::new(topology);
    let (value, vector) = graph.least_eigenvalue();
    // The order of the routers' numbers, too, since families number neighbours close together.
    let numbers: Vec<f64> = (0..topology.routers()).map(f64::from).collect();
    let most = [&vector, &numbers].into_iter().filter_map(|order| graph.best_cut(order)).min()?;
    let routers = f64::from(topology.routers());
    let spread = if graph.is_odd() { (routers * routers - 1.0) / routers } else { routers };
    let least = (value * (1.0 - MARGIN) * spread / 4.0).ceil().max(0.0) as u64;
    Some(BisectionBounds { least: least.min(most), most })
}

/// Wires between routers.
struct Graph {
    /// First neighbour of each router, followed by the number of all.
    first: Vec<u32>,
    /// Neighbours; one entry for each wire.
    ends: Vec<u32>,
    /// Number of nodes of each router.
    nodes: Vec<u32>,
}

impl Graph {
    fn new(topology: &dyn Topology) -> Self {
        let mut graph = Self { first: vec![0], ends: Vec::new(), nodes: Vec::new() };
        for router in (0..topology.routers()).map(RouterId) {
            let mut nodes = 0;
            for port in (0..topology.ports(router)).map(PortId) {
                match topology.endpoint(router, port) {
                    Endpoint::Router(next, _) => graph.ends.push(next.0),
                    Endpoint::Node(_) => nodes += 1,
                    Endpoint::Unconnected => {}
                }
            }
            graph.first.push(graph.ends.len() as u32);
            graph.nodes.push(nodes);
        }
        graph
    }

    fn size(&self) -> usize {
        self.nodes.len()
    }

    fn neighbours(&self, router: usize) -> &[u32] {
        &self.ends[self.first[router] as usize..self.first[router + 1] as usize]
    }

    /// Returns whether an odd number of routers have an equal number of nodes each.
    fn is_odd(&self) -> bool {
        !self.size().is_multiple_of(2) && self.nodes.iter().all(|&nodes| nodes == self.nodes[0])
    }

    /// Returns the least eigenvalue of the Laplacian on the vectors orthogonal to the numbers of nodes, and its vector.
    /// 0 if the iteration does not converge.
    fn least_eigenvalue(&self) -> (f64, Vec<f64>) {
        let degrees = self.first.windows(2).map(|ends| f64::from(ends[1] - ends[0]));
        // No eigenvalue of the Laplacian is above twice the largest degree: the shifted matrix is positive.
        let shift = 2.0 * degrees.fold(1.0, f64::max);
        // Any start will do that is not orthogonal to the vector; fractions of the golden ratio have no symmetry.
        let mut vector: Vec<f64> =
            (1..=self.size()).map(|i| (i as f64 * 0.618_033_988_749_895).fract() - 0.5).collect();
        self.project(&mut vector);
        let mut found = f64::INFINITY;
        for _ in 0..ITERATIONS {
            let image = self.laplacian(&vector);
            let value: f64 = vector.iter().zip(&image).map(|(one, other)| one * other).sum();
            if (found - value).abs() <= CONVERGED * shift {
                return (value, vector);
            }
            found = value;
            vector = vector.iter().zip(&image).map(|(one, other)| shift * one - other).collect();
            self.project(&mut vector);
        }
        (0.0, vector)
    }

    fn laplacian(&self, vector: &[f64]) -> Vec<f64> {
        let row = |router: usize| {
            let neighbours = self.neighbours(router);
            let sum: f64 = neighbours.iter().map(|&next| vector[next as usize]).sum();
            neighbours.len() as f64 * vector[router] - sum
        };
        (0..self.size()).map(row).collect()
    }

    /// Makes a vector orthogonal to the numbers of nodes, and of length 1.
    fn project(&self, vector: &mut [f64]) {
        let square: f64 = self.nodes.iter().map(|&nodes| f64::from(nodes).powi(2)).sum();
        let along: f64 = vector.iter().zip(&self.nodes).map(|(value, &nodes)| value * f64::from(nodes)).sum();
        for (value, &nodes) in vector.iter_mut().zip(&self.nodes) {
            *value -= along / square.max(1.0) * f64::from(nodes);
        }
        let length = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
        vector.iter_mut().for_each(|value| *value /= length.max(f64::MIN_POSITIVE));
    }

    /// Returns the wires of the best cut found from the halves that a vector sorts apart. `None` if these are not
    /// halves.
    fn best_cut(&self, vector: &[f64]) -> Option<u64> {
        let mut sides = self.halves(vector)?;
        for _ in 0..PASSES {
            if !self.improve(&mut sides) {
                break;
            }
        }
        Some(self.cut(&sides))
    }

    /// Returns the side of each router in the halves that a vector sorts apart. `None` if these are not halves.
    fn halves(&self, vector: &[f64]) -> Option<Vec<bool>> {
        let mut order: Vec<usize> = (0..self.size()).collect();
        order.sort_by(|&one, &other| vector[one].total_cmp(&vector[other]).then(one.cmp(&other)));
        let all: u32 = self.nodes.iter().sum();
        let smaller = if self.is_odd() { (all - self.nodes[0]) / 2 } else { all / 2 };
        let (mut sides, mut placed) = (vec![false; self.size()], 0);
        for router in order {
            if placed + self.nodes[router] <= smaller {
                (sides[router], placed) = (true, placed + self.nodes[router]);
            }
        }
        let is_half = placed == smaller && (all.is_multiple_of(2) || self.is_odd());
        (is_half && all > 0).then_some(sides)
    }

    fn cut(&self, sides: &[bool]) -> u64 {
        let crossing = |router: usize| self.neighbours(router).iter().filter(|&&next| sides[next as usize]).count();
        (0..self.size()).filter(|&router| !sides[router]).map(crossing).sum::<usize>() as u64
    }

    /// Exchanges routers in one pass. Returns whether that has reduced the cut.
    fn improve(&self, sides: &mut [bool]) -> bool {
        let mut gains: Vec<i64> = (0..self.size()).map(|router| self.gain(sides, router)).collect();
        let mut is_fixed = vec![false; self.size()];
        let (mut total, mut best, mut moved) = (0, (0, 0), Vec::new());
        // Long after the best state nothing better follows.
        while moved.len() < best.1 + self.size() / 4 + 16 {
            let Some((gain, routers)) = self.best_exchange(sides, &gains, &is_fixed) else { break };
            total += gain;
            for router in routers.into_iter().flatten() {
                sides[router] = !sides[router];
                is_fixed[router] = true;
                moved.push(router);
                gains[router] = -gains[router];
                for &next in self.neighbours(router) {
                    let is_cut = sides[next as usize] != sides[router];
                    gains[next as usize] += if is_cut { 2 } else { -2 };
                }
            }
            if total > best.0 {
                best = (total, moved.len());
            }
        }
        for &router in &moved[best.1..] {
            sides[router] = !sides[router];
        }
        best.0 > 0
    }

    /// Returns by how much the cut shrinks if a router changes sides.
    fn gain(&self, sides: &[bool], router: usize) -> i64 {
        self.neighbours(router).iter().map(|&next| if sides[next as usize] == sides[router] { -1 } else { 1 }).sum()
    }

    /// Returns the best exchange of two routers with equal numbers of nodes, or move of a router without nodes, among
    /// the best of each side, and its gain.
    fn best_exchange(&self, sides: &[bool], gains: &[i64], is_fixed: &[bool]) -> Option<(i64, [Option<usize>; 2])> {
        let mut best: Vec<(u32, [Option<usize>; 2])> = Vec::new();
        let free = (0..self.size()).filter(|&router| !is_fixed[router]);
        for router in free {
            let nodes = self.nodes[router];
            let place = best.iter().position(|(known, _)| *known == nodes).unwrap_or_else(|| {
                best.push((nodes, [None; 2]));
                best.len() - 1
            });
            let known = &mut best[place].1[usize::from(sides[router])];
            if known.is_none_or(|known| gains[router] > gains[known]) {
                *known = Some(router);
            }
        }
        let exchanges = best.into_iter().flat_map(|(nodes, pair)| match pair {
            [Some(one), Some(other)] if nodes > 0 => {
                let wires = self.neighbours(one).iter().filter(|&&next| next as usize == other).count() as i64;
                vec![(gains[one] + gains[other] - 2 * wires, pair)]
            }
            _ if nodes == 0 => pair.into_iter().flatten().map(|router| (gains[router], [Some(router), None])).collect(),
            _ => Vec::new(),
        });
        exchanges.reduce(|best, next| if next.0 > best.0 { next } else { best })
    }
}
