//! Genetic algorithm (Arunkumar and Chockalingam 1992): orders of tasks are crossed and mutated, and the fittest
//! survive.
//!
//! An individual is an order in which tasks fill the places, so that every individual is a mapping within the room. A
//! child takes a stretch of one parent's order and the rest in the order of the other; a mutation exchanges a few
//! tasks. The fitter of two is a parent, and the best always survives. Cost: O(edges) an individual.

use units::Draw;

use super::super::affinity::Affinity;
use super::super::annealing::{Fast, steps_for};
use super::super::cost::cost;
use super::super::pace::Pace;
use super::super::simple;
use crate::{Mapping, MappingError, Problem};

/// Number of individuals of a generation.
const POPULATION: usize = 24;
/// Number of exchanges of a mutation.
const MUTATIONS: u32 = 2;

/// Order of tasks, with the cost of its mapping.
struct Individual {
    order: Vec<u32>,
    cost: f64,
    mapping: Mapping,
}

/// Strategy `genetic`.
pub(crate) fn genetic(problem: &Problem<'_>) -> Result<Mapping, MappingError> {
    let affinity = Affinity::new(problem.graph);
    let mut draw = Fast::new(problem.spec.seed, 5);
    let individual = |order: Vec<u32>| {
        let mapping = simple::in_order(problem, &order)?;
        Ok::<_, MappingError>(Individual { cost: cost(problem, &affinity, &mapping), order, mapping })
    };
    let tasks = affinity.tasks();
    let mut population = vec![individual((0..tasks).collect())?];
    while population.len() < POPULATION {
        population.push(individual(shuffled(tasks, &mut draw))?);
    }
    // A proposal of annealing costs about as much as twelve tasks of an individual.
    let children = (steps_for(problem.budget(), &affinity) * 12 / u64::from(tasks.max(1))).max(POPULATION as u64);
    let pace = Pace::until(1.0, problem.watch);
    for child in 0..children {
        if pace.share(child as f64 / children as f64, "generations").is_none() {
            break;
        }
        let (one, other) = (parent(&population, &mut draw), parent(&population, &mut draw));
        let mut order = crossed(&population[one].order, &population[other].order, &mut draw);
        mutate(&mut order, &mut draw);
        let born = individual(order)?;
        let worst =
            (0..population.len()).max_by(|&a, &b| population[a].cost.total_cmp(&population[b].cost).then(b.cmp(&a)));
        if let Some(worst) = worst.filter(|&worst| born.cost < population[worst].cost) {
            population[worst] = born;
        }
    }
    population.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    Ok(population.swap_remove(0).mapping)
}

fn shuffled(tasks: u32, draw: &mut Fast) -> Vec<u32> {
    let mut order: Vec<u32> = (0..tasks).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, draw.below(last as u32 + 1) as usize);
    }
    order
}

/// Draws two individuals and returns the fitter one.
fn parent(population: &[Individual], draw: &mut Fast) -> usize {
    let pick = |draw: &mut Fast| draw.below(population.len() as u32) as usize;
    let (one, other) = (pick(draw), pick(draw));
    if population[one].cost <= population[other].cost { one } else { other }
}

/// Returns an order with a stretch of one order at its place, and all other tasks in the order of the other.
fn crossed(one: &[u32], other: &[u32], draw: &mut Fast) -> Vec<u32> {
    let count = one.len() as u32;
    let (a, b) = (draw.below(count) as usize, draw.below(count) as usize);
    let stretch = a.min(b)..a.max(b) + 1;
    let mut kept = vec![false; one.len()];
    one[stretch.clone()].iter().for_each(|&task| kept[task as usize] = true);
    let mut rest = other.iter().copied().filter(|&task| !kept[task as usize]);
    let take = |at: usize| if stretch.contains(&at) { Some(one[at]) } else { rest.next() };
    (0..one.len()).filter_map(take).collect()
}

fn mutate(order: &mut [u32], draw: &mut Fast) {
    for _ in 0..MUTATIONS {
        let (a, b) = (draw.below(order.len() as u32) as usize, draw.below(order.len() as u32) as usize);
        order.swap(a, b);
    }
}
