//! Recursive bisection of graph and machine together (Pellegrini's dual recursive bipartitioning; Ercal, Ramanujam and
//! Sadayappan's recursive mincut): the machine is halved, the tasks are cut in two with the least weight across, and
//! both halves are bisected recursively.
//!
//! A cut counts the distance of the halves, and treats a partner in another part of the machine as if it were in that
//! part's middle. The first parts are cut in sequence, since the orientation of the halves of a ring follows from the
//! earlier cuts. Many parts are cut concurrently, by all threads, from one state of the others, so that the result does
//! not depend on threads. Cost: O(edges log edges log places).

use std::collections::BTreeSet;

use super::affinity::Affinity;
use super::domains::{halve, middle};
use super::pace::is_over;
use super::partition::{FREE, Limits, Piece, bisect};
use crate::{Mapping, MappingError, Problem, Room};

/// Strategy `bisection`.
pub(crate) fn bisection(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let affinity = Affinity::new(problem.graph);
    let room = problem.room()?;
    bisect_both(problem, &affinity, room, problem.spec.seed)
}

/// Maximum number of parts that are cut in sequence.
const ONE_BY_ONE: usize = 64;

/// Strategy `mincut`: bisection whose cuts count only the bytes across them (Ercal, Ramanujam and Sadayappan 1988), not
/// the positions of partners elsewhere.
pub(crate) fn mincut(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let affinity = Affinity::new(problem.graph);
    let mut state = State::new(problem, &affinity, problem.room()?, problem.spec.seed);
    state.terminals = false;
    state.run()
}

/// Part of the machine, with the tasks mapped to it.
struct Part {
    tasks: Vec<u32>,
    places: Vec<u32>,
}

/// Maps by recursive bisection, then repairs places with more than their room.
pub(crate) fn bisect_both(
    problem: &Problem<'_>,
    affinity: &Affinity,
    room: Room,
    seed: u64,
) -> Result<Mapping, MappingError> {
    State::new(problem, affinity, room, seed).run()
}

struct State<'a> {
    problem: &'a Problem<'a>,
    affinity: &'a Affinity,
    room: Room,
    seed: u64,
    /// Size of each task: 1 or its load. `per_place` is the room of a place in this unit.
    sizes: Vec<f64>,
    per_place: f64,
    /// Place that represents a task's current part, by task.
    place: Vec<u32>,
    /// Part of a task, by task; `NONE` once the part is a single place. `local` is the task's number among the part's
    /// tasks.
    part: Vec<u32>,
    local: Vec<u32>,
    /// Place of a fixed task, by task.
    fixed: Vec<u32>,
    /// Whether partners in other parts count.
    terminals: bool,
}

const NONE: u32 = u32::MAX;

impl<'a> State<'a> {
    fn new(problem: &'a Problem<'a>, affinity: &'a Affinity, room: Room, seed: u64) -> Self {
        let tasks = affinity.tasks() as usize;
        let by_load = room.load.is_finite() && problem.graph.loads.iter().any(|&load| load > 0.0);
        let mut fixed = vec![NONE; tasks];
        problem.fixed.iter().for_each(|&(task, place)| fixed[task as usize] = place);
        Self {
            problem,
            affinity,
            room,
            seed,
            sizes: if by_load { problem.graph.loads.clone() } else { vec![1.0; tasks] },
            per_place: if by_load { room.load } else { f64::from(room.tasks) },
            place: vec![0; tasks],
            part: vec![0; tasks],
            local: vec![0; tasks],
            fixed,
            terminals: true,
        }
    }

    fn run(mut self) -> Result<Mapping, MappingError> {
        let (problem, places) = (self.problem, self.problem.machine.places());
        let mut parts = vec![Part { tasks: (0..self.affinity.tasks()).collect(), places: (0..places).collect() }];
        let depths = libm::ceil(libm::log2(f64::from(places.max(2))));
        let mut depth = 0_u32;
        while !parts.is_empty() {
            if is_over(problem.watch) {
                return Err(MappingError::Cancelled);
            }
            problem.watch.report(f64::from(depth) / depths, "bisection");
            parts = self.descend(parts, depth);
            depth += 1;
        }
        let mut mapping = Mapping { place_of: self.place };
        super::repair::repair(problem, self.room, &mut mapping);
        Ok(mapping)
    }

    /// Halves all parts. Parts that are left with one place are done.
    fn descend(&mut self, parts: Vec<Part>, depth: u32) -> Vec<Part> {
        for (number, part) in (0..).zip(&parts) {
            for (local, &task) in (0..).zip(&part.tasks) {
                self.part[task as usize] = number;
                self.local[task as usize] = local;
            }
        }
        let mut open = Vec::with_capacity(2 * parts.len());
        if parts.len() <= ONE_BY_ONE {
            for (number, part) in (0..).zip(parts) {
                let halves = self.cut(part, number, depth);
                self.settle(halves, &mut open);
            }
        } else {
            let numbered: Vec<(u32, Part)> = (0..).zip(parts).collect();
            let halves = workers::map(numbered, |(number, part)| self.cut(part, number, depth));
            halves.into_iter().for_each(|halves| self.settle(halves, &mut open));
        }
        open
    }

    /// Notes the new positions of the tasks of two halves. Keeps the halves that can be halved again.
    fn settle(&mut self, halves: [Part; 2], open: &mut Vec<Part>) {
        for part in halves {
            if part.tasks.is_empty() || part.places.is_empty() {
                continue;
            }
            let stands = middle(self.problem.machine, &part.places);
            part.tasks.iter().for_each(|&task| self.place[task as usize] = stands);
            if part.places.len() > 1 {
                open.push(part);
            } else {
                part.tasks.iter().for_each(|&task| self.part[task as usize] = NONE);
            }
        }
    }

    fn cut(&self, part: Part, number: u32, depth: u32) -> [Part; 2] {
        let nothing = || Part { tasks: Vec::new(), places: Vec::new() };
        if part.places.len() < 2 {
            return [part, nothing()];
        }
        let (zero, one) = halve(self.problem.machine, part.places);
        let machine = self.problem.machine;
        let ends = (middle(machine, &zero), middle(machine, &one));
        let total: f64 = part.tasks.iter().map(|&task| self.sizes[task as usize]).sum();
        let limits = self.limits(total, zero.len() as f64, one.len() as f64, ends);
        let piece = self.piece(&part.tasks, number, ends, &zero, limits.distance);
        let seed = self.seed ^ (u64::from(depth) << 40) ^ (u64::from(number) << 8);
        let sides = bisect(piece, limits, seed);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for (&task, side) in part.tasks.iter().zip(sides) {
            if side { right.push(task) } else { left.push(task) }
        }
        [Part { tasks: left, places: zero }, Part { tasks: right, places: one }]
    }

    /// Returns the limits of the first half: between the size that the second half cannot hold and the first half's
    /// room. Keeps half of the slack for later cuts if loads are limited.
    fn limits(&self, total: f64, zero: f64, one: f64, ends: (u32, u32)) -> Limits {
        let (room_zero, room_one) = (zero * self.per_place, one * self.per_place);
        let even = total * zero / (zero + one);
        let (low, high) = (total - room_one, room_zero);
        let distance = f64::from(self.problem.machine.hops().hops(ends.0, ends.1)).max(1.0);
        // With much more room than tasks, filling one half alone is best.
        if total <= 0.5 * (room_zero + room_one) {
            return Limits { zero: (low.max(0.0), high.min(total)), target: total.min(room_zero), distance };
        }
        let (low, high) = (low.min(even).max(0.0), high.max(even).min(total));
        let spare = if self.room.load.is_finite() { 0.5 } else { 1.0 };
        Limits { zero: (even - spare * (even - low), even + spare * (high - even)), target: even, distance }
    }

    fn piece(&self, tasks: &[u32], number: u32, ends: (u32, u32), zero: &[u32], distance: f64) -> Piece {
        let hops = self.problem.machine.hops();
        let first_half: BTreeSet<u32> =
            if self.problem.fixed.is_empty() { BTreeSet::new() } else { zero.iter().copied().collect() };
        let mut piece = Piece { first: vec![0], ..Piece::default() };
        for &task in tasks {
            let mut bias = 0.0;
            for edge in self.affinity.of(task) {
                let other = edge.target as usize;
                if self.part[other] == number {
                    piece.edges.push((self.local[other], edge.weight));
                } else if self.terminals {
                    let there = self.place[other];
                    let further = f64::from(hops.hops(ends.1, there)) - f64::from(hops.hops(ends.0, there));
                    bias += f64::from(edge.weight) * further.clamp(-distance, distance);
                }
            }
            let side = match self.fixed[task as usize] {
                NONE => FREE,
                place => u8::from(!first_half.contains(&place)),
            };
            piece.first.push(piece.edges.len() as u32);
            piece.size.push(self.sizes[task as usize]);
            piece.bias.push(bias);
            piece.side.push(side);
        }
        piece
    }
}
