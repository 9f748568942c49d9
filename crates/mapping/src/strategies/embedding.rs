//! Embedding of grids by folding: the regular case of the paper's framework (section 4.3).
//!
//! Every extent of the task grid is a product of factors, one for each axis of the machine (its dimensions, the cores
//! of a node, or the levels of its hierarchy). A coordinate is written with these factors as digits, from fine to
//! coarse, in reflected Gray code along the dimensions of a torus or mesh: a step of the application then changes one
//! digit by one, and costs the digit's stride on its axis. If extents of several task dimensions share an axis, one is
//! nested in the other. The cost of a dimension follows in closed form from its digits, so that all foldings are
//! searched, by branch and bound, and the best are measured exactly. A task grid of the machine's shape gets hops per
//! byte of 1.

use units::Boundary;

use super::affinity::Affinity;
use super::axes::{Axes, Axis, Kind};
use super::cost::cost;
use super::grids::{GridShape, recognize};
use crate::{Mapping, MappingError, Problem, Room};

/// Maximum number of foldings that are tried.
const MOST: u64 = 400_000;
/// Maximum number of orders of digits, or of dimensions on an axis, that are tried.
const MAX_ORDERS: usize = 24;
/// Number of best foldings that are kept.
const KEPT: usize = 4;

/// Strategy `embedding`, of a graph that is a grid, or whose heavy edges are a grid.
pub(crate) fn embedding(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let affinity = Affinity::new(problem.graph);
    let Some(shape) = recognize(&affinity) else {
        return Err(MappingError::unfit(
            "strategy",
            "`embedding` is for grids of tasks, and the graph is none; `auto` is for any",
        ));
    };
    let room = problem.room()?;
    let found = embed(problem, &shape, room);
    let price = |mapping: &Mapping| cost(problem, &affinity, mapping);
    let best = found.into_iter().min_by(|a, b| price(a).total_cmp(&price(b)));
    best.ok_or_else(|| {
        let message = format!(
            "`embedding` finds no folding of the {} task grid on the allocation; `auto` is for any",
            shape.dims.iter().map(u32::to_string).collect::<Vec<_>>().join("x")
        );
        MappingError::unfit("strategy", message)
    })
}

/// Returns the best foldings of a grid within the room and with the fixed tasks. Tries rings of four both as rings and
/// as squares.
pub(crate) fn embed(problem: &Problem<'_>, shape: &GridShape, room: Room) -> Vec<Mapping> {
    let rings = shape.with_rings_of_four();
    let mut found = rings.map_or_else(Vec::new, |rings| embed_as(problem, &rings, room));
    found.extend(embed_as(problem, shape, room));
    found
}

fn embed_as(problem: &Problem<'_>, shape: &GridShape, room: Room) -> Vec<Mapping> {
    let tasks = problem.graph.tasks();
    let per_node = tasks.div_ceil(problem.machine.places());
    let fits = |mapping: &Mapping| within(problem, mapping, room);
    let Some(axes) = Axes::of(problem.machine, per_node).filter(|axes| u64::from(tasks) <= axes.points()) else {
        return Vec::new();
    };
    let foldings = Search::new(shape, &axes.axes).run();
    foldings.iter().map(|folding| folding.mapping(shape, &axes)).filter(fits).collect()
}

/// Returns whether a mapping respects the room and the fixed tasks.
pub(crate) fn within(problem: &Problem<'_>, mapping: &Mapping, room: Room) -> bool {
    let places = problem.machine.places() as usize;
    let (mut count, mut load) = (vec![0_u32; places], vec![0.0; places]);
    for (&place, &own) in mapping.place_of.iter().zip(&problem.graph.loads) {
        count[place as usize] += 1;
        load[place as usize] += own;
    }
    count.iter().all(|&count| count <= room.tasks)
        && load.iter().all(|&load| load <= room.load)
        && problem.fixed.iter().all(|&(task, place)| mapping.place_of[task as usize] == place)
}

/// Digit of a task dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Digit {
    axis: usize,
    radix: u32,
    stride: u32,
}

/// Digits of every task dimension, fine to coarse.
#[derive(Clone, Debug, PartialEq)]
struct Folding {
    cost: f64,
    digits: Vec<Vec<Digit>>,
}

impl Folding {
    fn mapping(&self, shape: &GridShape, axes: &Axes) -> Mapping {
        let tasks = shape.coordinates.len() / shape.dims.len();
        let mut at = vec![0; axes.axes.len()];
        let place = |task: usize| {
            at.fill(0);
            for (digits, &coordinate) in self.digits.iter().zip(shape.of(task as u32)) {
                place_digits(digits, coordinate, &axes.axes, &mut at);
            }
            axes.place(&at)
        };
        Mapping { place_of: (0..tasks).map(place).collect() }
    }
}

/// Adds a coordinate's digits to the positions on the axes. On lines a digit runs backwards if the coarser part of the
/// coordinate is odd.
fn place_digits(digits: &[Digit], coordinate: u32, axes: &[Axis], at: &mut [u32]) {
    let mut rest = coordinate;
    for digit in digits {
        let (value, coarser) = (rest % digit.radix, rest / digit.radix);
        let reflected = !coarser.is_multiple_of(2) && !matches!(axes[digit.axis].kind, Kind::Level);
        at[digit.axis] += digit.stride * if reflected { digit.radix - 1 - value } else { value };
        rest = coarser;
    }
}

/// Returns the cost of all steps of one row of a task dimension, in hops.
fn row_cost(digits: &[Digit], boundary: Boundary, axes: &[Axis]) -> f64 {
    let mut coarser: u64 = digits.iter().map(|digit| u64::from(digit.radix)).product();
    let (mut cost, mut closing, mut moved) = (0.0, 0.0, 0.0_f64);
    for digit in digits {
        coarser /= u64::from(digit.radix);
        if digit.radix == 1 {
            continue;
        }
        let axis = &axes[digit.axis];
        let steps = f64::from(digit.radix - 1) * coarser as f64;
        cost += steps * (distance(axis, digit.stride) + fixed_hops(axis));
        // The step from the last to the first: a reflected digit is back at its start if its number of sweeps is even.
        let back = if coarser % 2 == 1 { digit.stride * (digit.radix - 1) } else { 0 };
        match axis.kind {
            Kind::Line { .. } if back > 0 => {
                closing += distance(axis, back);
                moved = moved.max(axis.hops);
            }
            Kind::Level | Kind::Shared => moved = moved.max(axis.hops),
            _ => {}
        }
    }
    match boundary {
        Boundary::Periodic => cost + closing + moved,
        Boundary::Open => cost,
    }
}

fn distance(axis: &Axis, by: u32) -> f64 {
    match axis.kind {
        Kind::Line { wraps: true } => f64::from(by.min(axis.size - by)),
        Kind::Line { wraps: false } => f64::from(by),
        _ => 0.0,
    }
}

fn fixed_hops(axis: &Axis) -> f64 {
    axis.hops
}

/// Branch and bound over the factors of the task dimensions.
struct Search<'a> {
    shape: &'a GridShape,
    axes: &'a [Axis],
    /// Factorizations over the axes by task dimension, each with a lower bound of its cost, cheapest first.
    choices: Vec<Vec<(f64, Vec<u32>)>>,
    /// Order in which dimensions are decided: heaviest first.
    order: Vec<usize>,
    best: Vec<Folding>,
    tried: u64,
}

impl<'a> Search<'a> {
    fn new(shape: &'a GridShape, axes: &'a [Axis]) -> Self {
        let dims = shape.dims.len();
        let mut search =
            Self { shape, axes, choices: Vec::new(), order: (0..dims).collect(), best: Vec::new(), tried: 0 };
        search.choices = (0..dims).map(|dim| search.factorizations(dim)).collect();
        let scales: Vec<f64> = (0..dims).map(|dim| search.scale(dim)).collect();
        search.order.sort_by(|&a, &b| scales[b].total_cmp(&scales[a]).then(a.cmp(&b)));
        search
    }

    fn run(mut self) -> Vec<Folding> {
        let mut left: Vec<u32> = self.axes.iter().map(|axis| axis.size).collect();
        let mut chosen = vec![Vec::new(); self.shape.dims.len()];
        self.choose(0, 0.0, &mut left, &mut chosen);
        self.best
    }

    /// Returns the weight of all edges of a dimension for each hop of one row's steps.
    fn scale(&self, dim: usize) -> f64 {
        let tasks: f64 = self.shape.dims.iter().map(|&size| f64::from(size)).product();
        self.shape.weights[dim] * tasks / f64::from(self.shape.dims[dim])
    }

    /// Returns all factorizations of an extent over the axes, each with a lower bound of its cost.
    fn factorizations(&self, dim: usize) -> Vec<(f64, Vec<u32>)> {
        let mut found = Vec::new();
        factor(self.shape.dims[dim], self.axes, &mut vec![1; self.axes.len()], 0, &mut found);
        let mut choices: Vec<(f64, Vec<u32>)> =
            found.into_iter().map(|factors| (self.least(dim, &factors), factors)).collect();
        choices.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(&a.1)));
        choices
    }

    fn least(&self, dim: usize, factors: &[u32]) -> f64 {
        let strides = vec![1; factors.len()];
        self.scale(dim) * self.cheapest(dim, factors, &strides).0
    }

    /// Returns the cheapest order of a dimension's digits, given their strides.
    fn cheapest(&self, dim: usize, factors: &[u32], strides: &[u32]) -> (f64, Vec<Digit>) {
        let digit = |axis: usize| Digit { axis, radix: factors[axis], stride: strides[axis] };
        let inner = (0..factors.len()).filter(|&axis| factors[axis] > 1 && !is_line(&self.axes[axis])).map(digit);
        let lines: Vec<Digit> =
            (0..factors.len()).filter(|&axis| factors[axis] > 1 && is_line(&self.axes[axis])).map(digit).collect();
        let inner: Vec<Digit> = inner.collect();
        let mut best = (f64::INFINITY, Vec::new());
        for order in orders(lines.len()) {
            let digits: Vec<Digit> = inner.iter().copied().chain(order.iter().map(|&at| lines[at])).collect();
            let cost = row_cost(&digits, self.shape.boundaries[dim], self.axes);
            if cost < best.0 {
                best = (cost, digits);
            }
        }
        best
    }

    fn choose(&mut self, depth: usize, spent: f64, left: &mut [u32], chosen: &mut [Vec<u32>]) {
        let Some(&dim) = self.order.get(depth) else {
            return self.finish(chosen);
        };
        for choice in 0..self.choices[dim].len() {
            let (least, factors) = &self.choices[dim][choice];
            if spent + least >= self.worst() || self.tried > MOST {
                return;
            }
            self.tried += 1;
            if factors.iter().zip(left.iter()).any(|(&factor, &left)| factor > left) {
                continue;
            }
            let (least, factors) = (*least, factors.clone());
            let before = left.to_vec();
            left.iter_mut().zip(&factors).for_each(|(left, &factor)| *left /= factor);
            chosen[dim] = factors;
            self.choose(depth + 1, spent + least, left, chosen);
            left.copy_from_slice(&before);
        }
    }

    /// Returns the cost below which a folding is kept.
    fn worst(&self) -> f64 {
        if self.best.len() < KEPT { f64::INFINITY } else { self.best[KEPT - 1].cost * (1.0 - 1e-9) }
    }

    /// Tries the orders in which dimensions share the lines.
    fn finish(&mut self, chosen: &[Vec<u32>]) {
        let sharing: Vec<Vec<usize>> =
            (0..self.axes.len()).map(|axis| (0..chosen.len()).filter(|&dim| chosen[dim][axis] > 1).collect()).collect();
        let options: Vec<Vec<Vec<usize>>> = sharing.iter().map(|dims| orders(dims.len())).collect();
        let mut pick = vec![0; options.len()];
        loop {
            self.tried += 1;
            self.keep(chosen, &sharing, &options, &pick);
            let Some(axis) = (0..pick.len()).find(|&axis| pick[axis] + 1 < options[axis].len()) else { return };
            pick[..axis].fill(0);
            pick[axis] += 1;
            if self.tried > MOST {
                return;
            }
        }
    }

    fn keep(&mut self, chosen: &[Vec<u32>], sharing: &[Vec<usize>], options: &[Vec<Vec<usize>>], pick: &[usize]) {
        let mut strides = vec![vec![1; self.axes.len()]; chosen.len()];
        for axis in 0..self.axes.len() {
            let mut stride = 1;
            for &at in &options[axis][pick[axis]] {
                let dim = sharing[axis][at];
                strides[dim][axis] = stride;
                stride *= chosen[dim][axis];
            }
        }
        let (mut cost, mut digits) = (0.0, Vec::with_capacity(chosen.len()));
        for dim in 0..chosen.len() {
            let (row, order) = self.cheapest(dim, &chosen[dim], &strides[dim]);
            cost += self.scale(dim) * row;
            digits.push(order);
        }
        if cost < self.worst() {
            let at = self.best.partition_point(|folding| folding.cost <= cost);
            self.best.insert(at, Folding { cost, digits });
            self.best.truncate(KEPT);
        }
    }
}

fn is_line(axis: &Axis) -> bool {
    matches!(axis.kind, Kind::Line { .. })
}

/// Collects all factorizations of an extent over the axes from `from` on.
fn factor(rest: u32, axes: &[Axis], factors: &mut Vec<u32>, from: usize, found: &mut Vec<Vec<u32>>) {
    if from == axes.len() {
        if rest == 1 {
            found.push(factors.clone());
        }
        return;
    }
    for size in (1..=axes[from].size.min(rest)).filter(|&size| rest.is_multiple_of(size)) {
        factors[from] = size;
        factor(rest / size, axes, factors, from + 1, found);
    }
    factors[from] = 1;
}

/// Returns the orders of `count` items, at most `MAX_ORDERS` of them.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for next in 0..count {
        let insert = |order: &Vec<usize>| {
            (0..=order.len())
                .map(|at| {
                    let mut longer = order.clone();
                    longer.insert(at, next);
                    longer
                })
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(insert).take(MAX_ORDERS).collect();
    }
    all
}
