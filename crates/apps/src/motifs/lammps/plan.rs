//! Sizes of the parts of the box, and the messages of a step.

use units::{Boundary, KeyError, KeyResult, Time};

use super::spec::{DOUBLE, LammpsSpec, Values};
use crate::motifs::grid::{Grid, Side};
use crate::motifs::limits::check_time;
use crate::motifs::planned;
use crate::motifs::program_context::ProgramContext;
use crate::motifs::ranks::{Grouping, Groups};
use crate::motifs::{calc, recv, send};
use mpi::collectives::{Algorithm, Collective, Fastest, GroupNumbers, Operation, ProgramGroup, Selection};
use mpi::program::{GroupCall, Measure, Messages, ScriptCall};

/// Measured part of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Whole step.
    Step,
    /// Exchange of the positions of ghosts, and of forces on them.
    Halo,
    /// Migration of atoms to their new owners, and selection of ghosts.
    Rebuild,
    /// Sums over all ranks.
    Sums,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Step, Self::Halo, Self::Rebuild, Self::Sums];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Halo => "halo",
            Self::Rebuild => "rebuild",
            Self::Sums => "sums",
        }
    }
}

/// Action of a rank in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Makes a call.
    Call(ScriptCall),
    /// Begins a measured part, which lasts until the next calculation or mark.
    Mark(Kind),
}

/// Optional parts of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    rebuilds: bool,
    checks: bool,
    sums: bool,
}

/// Shift exchange along a dimension: each rank sends to one neighbour and receives from the opposite one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Swap {
    /// Side that the layer is sent to.
    side: Side,
    /// Atoms in the layer that is sent.
    atoms: u64,
}

/// Plan of a run.
#[derive(Debug)]
pub(super) struct Plan {
    pub ranks: u32,
    pub steps: u32,
    grid: Grid,
    values: Values,
    newton: bool,
    /// Exchanges in order of the dimensions, down before up.
    swaps: Vec<Swap>,
    /// Atoms that leave a rank through both faces between two rebuilds, by dimension.
    migrants: [u64; 3],
    /// Calculation times of a step and of rebuilding the lists, in picoseconds.
    step_time: u64,
    rebuild_time: u64,
    all: Groups,
    allreduce: Collective,
    sums: Vec<Collective>,
    /// Variants of steps that occur, each with its number of steps.
    shapes: Vec<(Shape, u64)>,
    /// Measured parts that occur.
    pub kinds: Vec<Kind>,
}

/// Largest number of layers of ranks that forces reach across.
const MOST_LAYERS: f64 = 64.0;

/// Largest message in bytes.
const LARGEST: u64 = 1 << 40;

/// Largest number of intervals of all ranks together. Start and end of each are stored.
const MOST_INTERVALS: u64 = 1 << 26;

impl Plan {
    /// Plans the run of ranks on a context.
    pub fn new(spec: &LammpsSpec, context: &ProgramContext<'_>) -> Result<Self, KeyError> {
        let ranks = context.node_of.len() as u32;
        let values = spec.values();
        let grid = Grid::new(spec.dims.as_deref(), 3, ranks)?;
        let per_rank = match spec.atoms {
            Some(all) => all as f64 / f64::from(ranks),
            None => f64::from(values.atoms_per_rank),
        };
        let edge = (per_rank * if spec.atoms.is_some() { f64::from(ranks) } else { 1.0 } / values.density).cbrt();
        let edges: [f64; 3] =
            std::array::from_fn(|side| if spec.atoms.is_some() { edge / f64::from(grid.size(side)) } else { edge });
        let allreduce = reduction(spec.allreduce, context, ranks)?;
        let grouping = Grouping::new(ranks, ranks, 1).at_key("dims")?;
        let mut plan = Self {
            ranks,
            steps: spec.steps,
            newton: spec.newton,
            swaps: swaps(&grid, &edges, &values, spec)?,
            migrants: migrants(&edges, &values),
            step_time: of_atoms("atom_time", values.atom_time, per_rank)?,
            rebuild_time: of_atoms("rebuild_time", values.rebuild_time, per_rank)?,
            all: Groups::new(grouping, 0, (context.node_of, context.interconnect)),
            sums: values.sums.iter().map(|&bytes| Collective { bytes, ..allreduce }).collect(),
            allreduce,
            grid,
            values,
            shapes: Vec::new(),
            kinds: Vec::new(),
        };
        plan.shapes = plan.count_shapes();
        plan.kinds = Kind::ALL.into_iter().filter(|&kind| plan.measures(kind)).collect();
        plan.allreduce.check(&plan.all.communicator(0)).at_key("allreduce")?;
        plan.check_sizes(spec)?;
        Ok(plan)
    }

    /// Refuses messages that are too large and too many steps.
    fn check_sizes(&self, spec: &LammpsSpec) -> Result<(), KeyError> {
        let most = self.swaps.iter().map(|swap| swap.atoms).chain(self.migrants).max().unwrap_or(0);
        if most > LARGEST / self.values.migrant {
            let key = if spec.atoms.is_some() { "atoms" } else { "atoms_per_rank" };
            return Err(KeyError::new(key, "a message would be larger than 1 TiB".to_owned()));
        }
        let intervals = u64::from(self.steps) * u64::from(self.ranks) * Kind::ALL.len() as u64;
        if intervals > MOST_INTERVALS {
            let allowed = MOST_INTERVALS / (u64::from(self.ranks) * Kind::ALL.len() as u64);
            return Err(KeyError::new(
                "steps",
                format!("{} steps of {} ranks are too many: up to {allowed} are allowed", self.steps, self.ranks),
            ));
        }
        Ok(())
    }

    /// Returns the communicator of all ranks, as seen by `rank`.
    pub fn communicator(&self, rank: u32) -> mpi::communicator::Communicator {
        self.all.communicator(rank)
    }

    /// Whether a measured part occurs.
    fn measures(&self, kind: Kind) -> bool {
        let any = |is: fn(&Shape) -> bool| self.shapes.iter().any(|(shape, _)| is(shape));
        match kind {
            Kind::Step => true,
            Kind::Halo => !self.swaps.is_empty() && (self.newton || any(|shape| !shape.rebuilds)),
            Kind::Rebuild => !self.swaps.is_empty() && any(|shape| shape.rebuilds),
            Kind::Sums => self.ranks > 1 && any(|shape| shape.checks || shape.sums),
        }
    }

    /// Returns the optional parts of a step, numbered from 1.
    fn shape(&self, step: u32) -> Shape {
        let rebuilds = step.is_multiple_of(self.values.rebuild_every);
        Shape { rebuilds, checks: self.values.check, sums: step.is_multiple_of(self.values.thermo_every) }
    }

    /// Counts the variants of steps that occur.
    fn count_shapes(&self) -> Vec<(Shape, u64)> {
        let mut found: Vec<(Shape, u64)> = Vec::new();
        for step in 1..=self.steps {
            let shape = self.shape(step);
            match found.iter_mut().find(|known| known.0 == shape) {
                Some(known) => known.1 += 1,
                None => found.push((shape, 1)),
            }
        }
        found
    }

    /// Appends the actions of a rank in a step, numbered from 1.
    pub fn step(&self, rank: u32, step: u32, tasks: &mut impl Extend<Task>) {
        let mut calls = Vec::new();
        self.shaped(rank, self.shape(step), &mut calls);
        tasks.extend(calls);
    }

    fn shaped(&self, rank: u32, shape: Shape, tasks: &mut Vec<Task>) {
        if shape.checks {
            self.reduce(&[self.allreduce], tasks);
        }
        if shape.rebuilds {
            tasks.push(Task::Mark(Kind::Rebuild));
            self.migrate(rank, tasks);
            self.swaps.iter().for_each(|swap| self.swap(rank, swap, COUNT, tasks));
            self.swaps.iter().for_each(|swap| self.swap(rank, swap, swap.atoms * self.values.ghost, tasks));
            add(tasks, |calls| calc(self.rebuild_time, calls));
        } else {
            tasks.push(Task::Mark(Kind::Halo));
            self.swaps.iter().for_each(|swap| self.swap(rank, swap, swap.atoms * VECTOR, tasks));
        }
        add(tasks, |calls| calc(self.step_time, calls));
        if self.newton {
            tasks.push(Task::Mark(Kind::Halo));
            for swap in self.swaps.iter().rev() {
                self.swap(rank, &Swap { side: swap.side.opposite(), ..*swap }, swap.atoms * VECTOR, tasks);
            }
        }
        if shape.sums {
            self.reduce(&self.sums, tasks);
        }
    }

    /// Appends sums over all ranks.
    fn reduce(&self, sums: &[Collective], tasks: &mut Vec<Task>) {
        if self.ranks > 1 {
            tasks.push(Task::Mark(Kind::Sums));
            tasks.extend(sums.iter().map(|&call| Task::Call(ScriptCall::Collective(call))));
        }
    }

    /// Appends a shift exchange: a message to one neighbour, and one of equal size from the opposite neighbour. The
    /// rank waits for both.
    fn swap(&self, rank: u32, swap: &Swap, bytes: u64, tasks: &mut Vec<Task>) {
        let neighbour = |side| self.grid.neighbour(rank, side, Boundary::Periodic);
        let (Some(to), Some(from)) = (neighbour(swap.side), neighbour(swap.side.opposite())) else { return };
        let tag = swap.side.number();
        if bytes > 0 {
            add(tasks, |calls| calls.extend([recv(from, bytes, tag), send(to, bytes, tag), ScriptCall::WaitAll]));
        }
    }

    /// Appends the migration of atoms. In each dimension a rank sends all leaving atoms to both neighbours, which keep
    /// their own. If both neighbours are one rank, it sends them once.
    fn migrate(&self, rank: u32, tasks: &mut Vec<Task>) {
        for (dimension, &atoms) in self.migrants.iter().enumerate() {
            let sides = Side::both(dimension);
            let sides = if self.grid.size(dimension) > 2 { &sides[..] } else { &sides[..1] };
            for bytes in [COUNT, atoms * self.values.migrant] {
                sides.iter().for_each(|&side| self.swap(rank, &Swap { side, atoms }, bytes, tasks));
            }
        }
    }

    /// Visits the in-switch calls, each with the number of its group and of its repetitions. Returns the groups.
    fn each_in_switch(&self, visit: &mut dyn FnMut(usize, &GroupCall, u64)) -> Vec<ProgramGroup> {
        let mut numbers = GroupNumbers::default();
        for (call, often) in self.calls() {
            self.all.each_in_switch(&call, &mut numbers, &mut |place, call| visit(place, call, often));
        }
        numbers.groups()
    }

    /// Returns every sum with its number of repetitions.
    fn calls(&self) -> Vec<(Collective, u64)> {
        let count = |is: fn(&Shape) -> bool| self.shapes.iter().filter(|own| is(&own.0)).map(|own| own.1).sum::<u64>();
        let (checks, sums) = (count(|shape| shape.checks), count(|shape| shape.sums));
        let all = [(self.allreduce, checks)].into_iter().chain(self.sums.iter().map(|&call| (call, sums)));
        all.filter(|own| own.1 > 0 && self.ranks > 1).collect()
    }
}

impl planned::Plan for Plan {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn each_message(&self, rank: u32, visit: &mut dyn FnMut(Messages)) {
        let own = self.all.communicator(rank);
        for &(shape, count) in &self.shapes {
            let mut tasks = Vec::new();
            self.shaped(rank, shape, &mut tasks);
            for task in tasks {
                match task {
                    Task::Call(ScriptCall::Do(mpi::program::Action::Send { to, bytes, .. })) => {
                        visit(Messages { from: rank, to, bytes, count });
                    }
                    Task::Call(ScriptCall::Collective(call)) => {
                        call.each_message(&own, &mut |to, bytes, times| {
                            visit(Messages { from: rank, to, bytes, count: count * times });
                        });
                    }
                    _ => {}
                }
            }
        }
    }

    fn in_switch(&self) -> Vec<ProgramGroup> {
        self.each_in_switch(&mut |_, _, _| {})
    }

    fn each_group_call(&self, visit: &mut dyn FnMut(usize, &GroupCall, u64)) {
        self.each_in_switch(visit);
    }

    fn measures(&self, _fastest: &Fastest) -> Vec<Measure> {
        self.kinds.iter().map(|kind| Measure { name: kind.name().to_owned(), bound: None }).collect()
    }
}

/// Bytes of an atom count, and of a position or a force.
const COUNT: u64 = 4;
const VECTOR: u64 = 3 * DOUBLE;

/// Appends calls as actions.
fn add(tasks: &mut Vec<Task>, of: impl FnOnce(&mut Vec<ScriptCall>)) {
    let mut calls = Vec::new();
    of(&mut calls);
    tasks.extend(calls.into_iter().map(Task::Call));
}

/// Returns the sum of a single number over all ranks.
fn reduction(algorithm: Algorithm, context: &ProgramContext<'_>, ranks: u32) -> Result<Collective, KeyError> {
    let call = Collective { element: COUNT as u32, ..Collective::new(Operation::Allreduce, algorithm, COUNT) };
    call.carried_by(context.backend, &Selection::built_in(), ranks).at_key("allreduce")
}

/// Returns the total time of `atoms` atoms, in picoseconds.
fn of_atoms(key: &'static str, each: Time, atoms: f64) -> Result<u64, KeyError> {
    let all = Time((each.0 as f64 * atoms).round() as u64);
    check_time(key, all).map_err(|_| {
        KeyError::new(key, format!("{each} for {atoms:.0} atoms are too long: at most 1000 s are allowed"))
    })?;
    Ok(all.0)
}

/// Returns the exchanges of ghosts. Each sends the atoms within reach of a face, including ghosts of previous
/// dimensions. Where parts are thinner than the reach, further exchanges forward the ghosts received from neighbours.
fn swaps(grid: &Grid, edges: &[f64; 3], values: &Values, spec: &LammpsSpec) -> Result<Vec<Swap>, KeyError> {
    let reach = values.cutoff + values.skin;
    let mut found = Vec::new();
    for (dimension, &edge) in edges.iter().enumerate() {
        if reach / edge > MOST_LAYERS {
            let key = if spec.atoms.is_some() { "atoms" } else { "atoms_per_rank" };
            let message = format!(
                "parts of the box with an edge of {edge:.3} are too small for forces and lists that reach {reach:.3}: at most {MOST_LAYERS} parts \
                 may be within reach; more atoms are allowed"
            );
            return Err(KeyError::new(key, message));
        }
        if grid.size(dimension) == 1 {
            continue;
        }
        let area: f64 = (0..3)
            .filter(|&other| other != dimension)
            .map(|other| edges[other] + if other < dimension { 2.0 * reach } else { 0.0 })
            .product();
        let mut left = reach;
        while left > 0.0 {
            let atoms = (values.density * area * left.min(edge)).round() as u64;
            found.extend(Side::both(dimension).map(|side| Swap { side, atoms }));
            left -= edge;
        }
    }
    Ok(found)
}

/// Returns the atoms that leave a rank through both faces of each dimension between two rebuilds. With normally
/// distributed displacements of standard deviation d, the atoms of a layer of d / sqrt(2 pi) cross a face.
fn migrants(edges: &[f64; 3], values: &Values) -> [u64; 3] {
    std::array::from_fn(|dimension| {
        let area: f64 = (0..3).filter(|&other| other != dimension).map(|other| edges[other]).product();
        let each = values.density * area * values.displacement / std::f64::consts::TAU.sqrt();
        (2.0 * each).round() as u64
    })
}
