//! Neighbourhoods of places, for local search.

use super::layout::Near;
use crate::{GridHops, Hops, Machine, TableHops};

/// Link that points to no place.
const NONE: u32 = u32::MAX;

impl Near {
    /// Returns the neighbours in every dimension of a grid; on other machines, the nearest rows of the table of hops.
    pub(crate) fn of(machine: &Machine) -> Self {
        match machine.hops() {
            Hops::Grid(grid) => listed(grid, machine.places()),
            Hops::Table(table) => by_row(table, machine.places()),
        }
    }
}

/// Maximum number of rows that are near a row.
const MOST_ROWS: usize = 32;

/// Returns the rows of a table at the least distance from each row; if there are too many, the closest by number.
fn by_row(table: &TableHops, count: u32) -> Near {
    let row: Vec<u32> = (0..count).map(|place| table.row(place)).collect();
    let rows = table.rows() as u32;
    let mut places: Vec<Vec<u32>> = vec![Vec::new(); rows as usize];
    (0..count).zip(&row).for_each(|(place, &row)| places[row as usize].push(place));
    let nearest = |one: u32| {
        let others = || (0..rows).filter(move |&other| other != one);
        let least = others().map(|other| table.between(one, other)).min();
        let mut near: Vec<u32> = others().filter(|&other| Some(table.between(one, other)) == least).collect();
        near.sort_by_key(|&other| (other.abs_diff(one), other));
        near.truncate(MOST_ROWS);
        near.insert(0, one);
        near
    };
    let near = workers::map(0..rows, nearest);
    Near::Rows { row, near, places }
}

/// Returns the places by point of a grid, as a chain of the places that share a point: the first, and the next of each.
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
