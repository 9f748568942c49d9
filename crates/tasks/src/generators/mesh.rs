//! Unstructured meshes: triangles (or their counterpart in three dimensions) over scattered points, with holes,
//! randomly numbered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Draw, LocatedError};

use super::tasks_of;
use crate::limits::positive;
use crate::{ArcList, TaskGraph};
use units::NamedStream;

/// Unstructured mesh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeshSpec {
    /// Approximate number of points: the largest square or cube up to this number, without the holes.
    #[schemars(range(min = 16))]
    pub points: u32,
    /// Dimensions of space: 2 or 3.
    #[serde(default = "two")]
    #[schemars(range(min = 2, max = 3))]
    pub space: u32,
    /// Bytes to each neighbour.
    #[serde(default = "kibibyte")]
    #[schemars(range(min = 1))]
    pub bytes: u64,
}

fn two() -> u32 {
    2
}

fn kibibyte() -> u64 {
    1024
}

/// Points per hole.
const HOLES: u32 = 10;
/// Maximum distance of a point from its lattice position, as a fraction of the spacing.
const JITTER: f64 = 0.4;
const NONE: u32 = u32::MAX;

impl MeshSpec {
    /// Builds the graph from a seed, with positions.
    ///
    /// # Errors
    /// If there are fewer than 16 points or too many, or space does not have 2 or 3 dimensions.
    pub fn build(&self, seed: u64) -> Result<TaskGraph, LocatedError> {
        if self.points < 16 {
            return Err(LocatedError::key("points", format!("`points` is {}; a mesh has at least 16", self.points)));
        }
        if !(2..=3).contains(&self.space) {
            return Err(LocatedError::key(
                "space",
                format!("`space` is {}; meshes have 2 or 3 dimensions", self.space),
            ));
        }
        positive(self.bytes, "bytes")?;
        let side = side(self.points, self.space);
        let lattice = tasks_of(&vec![side; self.space as usize], 3, "points")?;
        let mut draw = NamedStream::new(seed, "mesh");
        let number = numbering(lattice, &mut draw);
        let tasks = number.iter().filter(|&&number| number != NONE).count() as u32;
        let mut arcs = ArcList::new(tasks);
        for point in 0..lattice {
            for (one, other) in self.ahead(point, side, &mut draw) {
                let (one, other) = (number[one as usize], number[other as usize]);
                if one != NONE && other != NONE {
                    arcs.add_both(one, other, self.bytes, 1);
                }
            }
        }
        let mut graph = TaskGraph::new("mesh", arcs.build());
        graph.space = self.space as usize;
        graph.positions = self.positions(&number, side, tasks, &mut draw);
        Ok(graph)
    }

    /// Returns the edges that begin at a point's cell: upwards in each dimension, and one random diagonal of each
    /// square.
    fn ahead(&self, point: u32, side: u32, draw: &mut NamedStream) -> Vec<(u32, u32)> {
        let strides = &[1, side, side * side][..self.space as usize];
        let fits = |stride: u32| point / stride % side + 1 < side;
        let mut edges: Vec<(u32, u32)> =
            strides.iter().filter(|&&stride| fits(stride)).map(|&stride| (point, point + stride)).collect();
        for (dim, &one) in strides.iter().enumerate() {
            for &other in strides[dim + 1..].iter().filter(|&&other| fits(one) && fits(other)) {
                let rising = draw.below(2) == 0;
                edges.push(if rising { (point, point + one + other) } else { (point + one, point + other) });
            }
        }
        edges
    }

    fn positions(&self, number: &[u32], side: u32, tasks: u32, draw: &mut NamedStream) -> Vec<f64> {
        let dims = self.space as usize;
        let mut positions = vec![0.0; tasks as usize * dims];
        for (point, &number) in (0_u32..).zip(number).filter(|&(_, &number)| number != NONE) {
            let mut rest = point;
            for dim in 0..dims {
                positions[number as usize * dims + dim] = f64::from(rest % side) + JITTER * (2.0 * draw.unit() - 1.0);
                rest /= side;
            }
        }
        positions
    }
}

/// Returns the side of the largest square or cube with at most `points` points.
fn side(points: u32, space: u32) -> u32 {
    let root = if space == 2 { libm::sqrt(f64::from(points)) } else { libm::cbrt(f64::from(points)) };
    (root + 1e-9) as u32
}

/// Draws a number for each point of a lattice, `NONE` for holes. Numbers have no gaps.
fn numbering(lattice: u32, draw: &mut NamedStream) -> Vec<u32> {
    let kept: Vec<bool> = (0..lattice).map(|_| draw.below(HOLES) > 0).collect();
    let mut order: Vec<u32> = (0..kept.iter().filter(|&&kept| kept).count() as u32).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, draw.below(last as u32 + 1) as usize);
    }
    let mut next = order.into_iter();
    kept.into_iter().map(|kept| if kept { next.next().unwrap_or(NONE) } else { NONE }).collect()
}
