//! Nearest-neighbour exchange: tasks form a periodic grid, and each message goes to one of the neighbours.
//!
//! Tasks are numbered first dimension fastest, so that neighbours in the last dimension have the most distant numbers
//! (Prisacari et al., section IV: "the most remote phase of the exchange, corresponding to the third dimension"). The
//! grid is that of the application, independent of the machine. Without `dims` it has three dimensions, as close to a
//! cube as the number of tasks allows, in ascending order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Draw, KeyError, TaskId};

use crate::{Pattern, Shares};

/// Name in the experiment file.
pub const KIND: &str = "exchange";

/// Keys of `exchange`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExchangePatternSpec {
    /// Tasks in each dimension, first dimension fastest. Their product is the number of tasks. Default: three
    /// dimensions, as close to a cube as possible, in ascending order.
    #[schemars(length(min = 1, max = 8), inner(range(min = 1)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dims: Option<Vec<u64>>,
    /// Dimension of the messages, from 0. Default: all dimensions.
    #[schemars(range(max = 7))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimension: Option<u32>,
}

/// Periodic grid of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskGrid {
    dims: Vec<u32>,
}

impl TaskGrid {
    /// Creates a grid of the given sizes. Default: the grid closest to a cube.
    ///
    /// # Errors
    /// If the product of the sizes differs from the number of tasks. The error's key is `dims`.
    pub fn new(dims: Option<&[u64]>, tasks: u32) -> Result<Self, KeyError> {
        let Some(dims) = dims else { return Ok(Self { dims: near_cube(tasks).to_vec() }) };
        let product = dims.iter().try_fold(1_u64, |product, &size| product.checked_mul(size));
        if product != Some(u64::from(tasks)) || dims.is_empty() {
            let near = near_cube(tasks);
            let message = format!("the product of `dims` = {dims:?} is not the {tasks} tasks; {near:?} would do");
            return Err(KeyError::new("dims", message));
        }
        Ok(Self { dims: dims.iter().map(|&size| size as u32).collect() })
    }

    /// Returns the sizes of the dimensions.
    pub fn dims(&self) -> &[u32] {
        &self.dims
    }

    /// Returns the neighbours of a task in a dimension: two, or one if the dimension has two tasks, or none if it has
    /// one.
    pub fn neighbours(&self, task: TaskId, dimension: usize) -> impl Iterator<Item = TaskId> + use<> {
        let size = self.dims[dimension];
        let stride: u32 = self.dims[..dimension].iter().product();
        let place = task.0 / stride % size;
        let base = task.0 - place * stride;
        let count = (size - 1).min(2);
        [(place + 1) % size, (place + size - 1) % size]
            .into_iter()
            .take(count as usize)
            .map(move |place| TaskId(base + place * stride))
    }
}

/// Returns the three factors of a number that are closest to a cube, in ascending order: those of the smallest surface.
pub fn near_cube(number: u32) -> [u32; 3] {
    let number = u64::from(number.max(1));
    let divisors = |n: u64| (1..=n.isqrt()).filter(move |d| n.is_multiple_of(*d));
    let mut best = [1, 1, number];
    let surface = |[x, y, z]: [u64; 3]| x * y + y * z + z * x;
    for x in divisors(number).take_while(|x| x * x * x <= number) {
        // The largest divisor up to the root gives the smallest surface for this x.
        let rest = number / x;
        if let Some(y) = divisors(rest).filter(|&y| y >= x).max()
            && surface([x, y, rest / y]) < surface(best)
        {
            best = [x, y, rest / y];
        }
    }
    best.map(|factor| factor as u32)
}

/// Exchange pattern: each message goes to a neighbour in the grid, drawn uniformly.
#[derive(Debug)]
pub struct Exchange {
    /// Start of each task's range in `neighbours`, and the length of `neighbours`.
    first: Vec<u32>,
    neighbours: Vec<TaskId>,
}

impl Exchange {
    /// Creates the pattern for `tasks` tasks.
    ///
    /// # Errors
    /// If the grid does not fit, if the dimension does not exist, or if no task has a neighbour.
    pub fn new(spec: &ExchangePatternSpec, tasks: u32) -> Result<Self, KeyError> {
        let grid = TaskGrid::new(spec.dims.as_deref(), tasks)?;
        let count = grid.dims().len();
        let dimensions = match spec.dimension {
            None => 0..count,
            Some(dimension) if (dimension as usize) < count => dimension as usize..dimension as usize + 1,
            Some(dimension) => {
                let message = format!("there is no dimension {dimension}; the grid has 0 to {}", count - 1);
                return Err(KeyError::new("dimension", message));
            }
        };
        let most = u64::from(tasks) * 2 * dimensions.len() as u64;
        if most > u64::from(u32::MAX) {
            let message = format!("{tasks} tasks have {most} neighbours together; at most {} are supported", u32::MAX);
            return Err(KeyError::new("dims", message));
        }
        let mut this = Self { first: vec![0], neighbours: Vec::new() };
        for task in 0..tasks {
            for dimension in dimensions.clone() {
                this.neighbours.extend(grid.neighbours(TaskId(task), dimension));
            }
            this.first.push(this.neighbours.len() as u32);
        }
        if this.neighbours.is_empty() {
            let message = format!("a grid of {:?} has no neighbours there, so that no task sends", grid.dims());
            return Err(KeyError::new(if spec.dimension.is_some() { "dimension" } else { "dims" }, message));
        }
        Ok(this)
    }

    fn of(&self, src: TaskId) -> &[TaskId] {
        &self.neighbours[self.first[src.index()] as usize..self.first[src.index() + 1] as usize]
    }
}

impl Pattern for Exchange {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn sends(&self, src: TaskId) -> bool {
        !self.of(src).is_empty()
    }

    fn destination(&self, src: TaskId, draw: &mut dyn Draw) -> TaskId {
        let neighbours = self.of(src);
        neighbours[draw.below(neighbours.len() as u32) as usize]
    }

    fn shares(&self, src: TaskId) -> Shares {
        let mut neighbours = self.of(src).to_vec();
        neighbours.sort_unstable();
        let each = 1.0 / neighbours.len().max(1) as f64;
        let mut shares: Vec<(TaskId, f64)> = Vec::with_capacity(neighbours.len());
        for task in neighbours {
            match shares.last_mut() {
                Some((last, share)) if *last == task => *share += each,
                _ => shares.push((task, each)),
            }
        }
        Shares::of_single(shares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_as_near_to_a_cube_as_there_are() {
        // Would catch factors in another order, and a cube that is missed. Sizes of the dragonfly-imbalance paper.
        for (number, factors) in [
            (1, [1, 1, 1]),
            (42, [2, 3, 7]),
            (72, [3, 4, 6]),
            (342, [3, 6, 19]),
            (1056, [8, 11, 12]),
            (16_512, [16, 24, 43]),
            (64, [4, 4, 4]),
        ] {
            assert_eq!(near_cube(number), factors, "{number}");
        }
    }

    #[test]
    fn neighbours_wrap_and_are_counted_once() {
        // Would catch a ring of two with two neighbours, and a stride of the wrong dimension.
        let grid = TaskGrid::new(Some(&[2, 3, 4]), 24).unwrap();
        let of = |task, dimension| grid.neighbours(TaskId(task), dimension).map(|task| task.0).collect::<Vec<_>>();
        assert_eq!((of(0, 0), of(0, 1), of(0, 2)), (vec![1], vec![2, 4], vec![6, 18]));
        assert_eq!(of(23, 2), [5, 17]);
        assert!(TaskGrid::new(Some(&[5]), 5).unwrap().neighbours(TaskId(4), 0).eq([TaskId(0), TaskId(3)]));
        assert_eq!(TaskGrid::new(Some(&[1, 4]), 4).unwrap().neighbours(TaskId(0), 0).count(), 0);
    }
}
