//! Which places are near which, for local search.

use super::layout::Near;
use crate::{GridHops, Hops, Machine};

/// The most points of a grid whose places are looked up in a table; a machine's nodes are never more.
const NONE: u32 = u32::MAX;

impl Near {
    /// The neighbours in every dimension of a grid; elsewhere what is close in the order of routers.
    pub(crate) fn of(machine: &Machine) -> Self {
        match machine.hops() {
            Hops::Grid(grid) => listed(grid, machine.places()),
            Hops::Table(table) => {
                let mut order: Vec<u32> = (0..machine.places()).collect();
                order.sort_by_key(|&place| (table.row(place), place));
                let mut at = vec![0; order.len()];
                (0..).zip(&order).for_each(|(position, &place)| at[place as usize] = position);
                Self::Ordered { order, at }
            }
        }
    }
}

/// The places by point of a grid, as a chain of those that share a point: the first, and the next of each.
fn by_point(grid: &GridHops, places: u32) -> (Vec<u32>, Vec<u32>) {
    let points: usize = grid.dims.iter().map(|&size| size as usize).product();
    let (mut head, mut next) = (vec![NONE; points], vec![NONE; places as usize]);
    for place in (0..places).rev() {
        let point = point(grid, grid.of(place));
        next[place as usize] = std::mem::replace(&mut head[point], place);
    }
    (head, next)
}

fn point(grid: &GridHops, at: &[u16]) -> usize {
    at.iter().zip(&grid.dims).rev().fold(0, |sum, (&c, &size)| sum * size as usize + usize::from(c))
}

fn listed(grid: &GridHops, places: u32) -> Near {
    let (head, next) = by_point(grid, places);
    let (mut first, mut list) = (vec![0], Vec::new());
    let mut neighbour = Vec::with_capacity(grid.dims.len());
    for place in 0..places {
        let here = grid.of(place);
        push_chain(&head, &next, point(grid, here), place, &mut list);
        for axis in 0..grid.dims.len() {
            let (size, at) = (grid.dims[axis], u32::from(here[axis]));
            let up = if at + 1 < size { Some(at + 1) } else { grid.wraps[axis].then_some(0) };
            let down = if at > 0 { Some(at - 1) } else { grid.wraps[axis].then_some(size - 1) };
            for to in [up, down].into_iter().flatten().filter(|&to| to != at) {
                neighbour.clear();
                neighbour.extend_from_slice(here);
                neighbour[axis] = to as u16;
                push_chain(&head, &next, point(grid, &neighbour), place, &mut list);
            }
        }
        first.push(list.len() as u32);
    }
    Near::Listed { first, list }
}

fn push_chain(head: &[u32], next: &[u32], point: usize, but: u32, list: &mut Vec<u32>) {
    let mut place = head[point];
    while place != NONE {
        if place != but {
            list.push(place);
        }
        place = next[place as usize];
    }
}
