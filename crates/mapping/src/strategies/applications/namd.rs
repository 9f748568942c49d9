//! NAMD (paper, section 3.3.2): patches are placed first, then a load balancer places the computes, the heaviest first.
//!
//! A compute starts at the home of its first patch, as NAMD maps computes before it balances them. The
//! topology-oblivious balancer leaves it there unless the processor is overloaded, and moves it otherwise. The
//! topology-aware balancer places all computes anew.
//!
//! A balancer prefers a processor that has both of a compute's patches (or proxies of them), then one that has one of
//! the two, then any that is underloaded. The oblivious balancer takes the least loaded of these. The topology-aware
//! balancer first tries the processors within the brick that the two patches span, where the sum of distances is least,
//! then those around it in a spiral of growing distance. Decisions that the paper leaves open: "underloaded" is below
//! the limit set by `imbalance`, and among processors at equal distance the least loaded is taken.

use tasks::TaskArray;

use super::super::affinity::Affinity;
use super::super::domains::{halve_at, middle};
use super::super::repair::repair;
use super::array;
use crate::{Mapping, MappingError, Problem, Room};

const NONE: u32 = u32::MAX;

/// Scheme by which patches and computes are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// Neither patches nor computes use the topology.
    Oblivious,
    /// Patches are placed by orthogonal recursive bisection of the machine (the paper's "TopoPlace Patches").
    Patches,
    /// Patches are placed by bisection, and computes within bricks ("TopoAware LDBs").
    Topology,
}

/// Strategies `namd-oblivious`, `namd-patches` and `namd-topology`.
pub(crate) fn namd(problem: &Problem<'_>, scheme: Scheme) -> Result<Mapping, MappingError> {
    let patches = array(problem.graph, "patches", "namd")?.clone();
    let room = problem.room()?;
    let affinity = Affinity::new(problem.graph);
    let mut place_of = vec![NONE; problem.graph.tasks() as usize];
    match scheme {
        Scheme::Oblivious => spread(problem, &patches, &mut place_of),
        Scheme::Patches | Scheme::Topology => bisect(problem, &patches, &mut place_of),
    }
    problem.fixed.iter().for_each(|&(task, place)| place_of[task as usize] = place);
    let mut balancer = Balancer::new(problem, (&affinity, scheme), room, place_of, &patches);
    balancer.run();
    let mut mapping = Mapping { place_of: balancer.place_of };
    repair(problem, room, &mut mapping);
    Ok(mapping)
}

/// Spreads patches in order evenly over the places.
fn spread(problem: &Problem<'_>, patches: &TaskArray, place_of: &mut [u32]) {
    let (count, places) = (u64::from(patches.len()), u64::from(problem.machine.places()));
    for patch in 0..patches.len() {
        place_of[(patches.first + patch) as usize] = (u64::from(patch) * places / count) as u32;
    }
}

/// Box of patches: low corner and extent by dimension.
type Box3 = Vec<(u32, u32)>;

/// Halves the box of patches and the machine together until one patch or one place is left. Each patch is placed in the
/// middle of its part.
fn bisect(problem: &Problem<'_>, patches: &TaskArray, place_of: &mut [u32]) {
    let whole: Box3 = patches.dims.iter().map(|&size| (0, size)).collect();
    let mut open = vec![(whole, (0..problem.machine.places()).collect::<Vec<u32>>())];
    while let Some((cells, places)) = open.pop() {
        let count: u32 = cells.iter().map(|&(_, size)| size).product();
        if count == 1 || places.len() < 2 {
            let at = middle(problem.machine, &places);
            each_patch(&cells, patches, &mut |patch| place_of[patch as usize] = at);
            continue;
        }
        let longest = (0..cells.len()).max_by_key(|&dim| (cells[dim].1, dim)).unwrap_or(0);
        let (low, size) = cells[longest];
        let (mut one, mut other) = (cells.clone(), cells);
        one[longest] = (low, size / 2);
        other[longest] = (low + size / 2, size - size / 2);
        let (here, there) = halve_at(problem.machine, places, f64::from(size / 2) / f64::from(size));
        // A part without places shares the places of the other part.
        let (here, there) = match (here.is_empty(), there.is_empty()) {
            (true, _) => (there.clone(), there),
            (_, true) => (here.clone(), here),
            _ => (here, there),
        };
        open.push((one, here));
        open.push((other, there));
    }
}

fn each_patch(cells: &Box3, patches: &TaskArray, call: &mut dyn FnMut(u32)) {
    let count: u32 = cells.iter().map(|&(_, size)| size).product();
    for number in 0..count {
        let (mut rest, mut stride, mut patch) = (number, 1, patches.first);
        for (&(low, size), &extent) in cells.iter().zip(&patches.dims) {
            patch += (low + rest % size) * stride;
            rest /= size;
            stride *= extent;
        }
        call(patch);
    }
}

struct Balancer<'a> {
    problem: &'a Problem<'a>,
    affinity: &'a Affinity,
    scheme: Scheme,
    room: Room,
    place_of: Vec<u32>,
    count: Vec<u32>,
    load: Vec<f64>,
    /// Places that have a patch or a proxy of it, by patch.
    proxies: Vec<Vec<u32>>,
    first: u32,
}

impl<'a> Balancer<'a> {
    fn new(
        problem: &'a Problem<'a>,
        (affinity, scheme): (&'a Affinity, Scheme),
        room: Room,
        place_of: Vec<u32>,
        patches: &TaskArray,
    ) -> Self {
        let places = problem.machine.places() as usize;
        let (mut count, mut load) = (vec![0; places], vec![0.0; places]);
        for (&place, &own) in place_of.iter().zip(&problem.graph.loads).filter(|&(&place, _)| place != NONE) {
            count[place as usize] += 1;
            load[place as usize] += own;
        }
        let home = |patch: u32| vec![place_of[(patches.first + patch) as usize]];
        let proxies = (0..patches.len()).map(home).collect();
        Self { problem, affinity, scheme, room, place_of, count, load, proxies, first: patches.first }
    }

    /// Places all computes.
    fn run(&mut self) {
        let loads = &self.problem.graph.loads;
        let mut order: Vec<u32> =
            (0..self.place_of.len() as u32).filter(|&task| self.place_of[task as usize] == NONE).collect();
        order.sort_by(|&a, &b| loads[b as usize].total_cmp(&loads[a as usize]).then(a.cmp(&b)));
        for task in order {
            let patches = self.patches_of(task);
            let place = self.choose(task, &patches);
            self.place_of[task as usize] = place;
            self.count[place as usize] += 1;
            self.load[place as usize] += loads[task as usize];
            for patch in patches {
                let known = &mut self.proxies[patch as usize];
                if !known.contains(&place) {
                    known.push(place);
                }
            }
        }
    }

    /// Returns the patches of a compute, by number.
    fn patches_of(&self, task: u32) -> Vec<u32> {
        let last = self.first + self.proxies.len() as u32;
        let partners = self.affinity.of(task).iter().map(|edge| edge.target);
        partners
            .filter(|&partner| partner >= self.first && partner < last)
            .map(|partner| partner - self.first)
            .collect()
    }

    fn fits(&self, task: u32, place: u32) -> bool {
        let load = self.load[place as usize] + self.problem.graph.loads[task as usize];
        self.count[place as usize] < self.room.tasks && load <= self.room.load
    }

    /// Returns the sum of hops from a place to the homes of patches; 0 if the topology is not used.
    fn hops(&self, place: u32, patches: &[u32]) -> u32 {
        if self.scheme != Scheme::Topology {
            return 0;
        }
        let home = |&patch: &u32| self.proxies[patch as usize][0];
        patches.iter().map(|patch| self.problem.machine.hops().hops(place, home(patch))).sum()
    }

    /// Returns the start of a compute if it may stay there, or else the result of the three steps.
    fn choose(&self, task: u32, patches: &[u32]) -> u32 {
        let near = |among: &mut dyn Iterator<Item = u32>| {
            let fitting = among.filter(|&place| self.fits(task, place));
            let priced = fitting.map(|place| (self.hops(place, patches), self.load[place as usize], place));
            priced.min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))).map(|found| found.2)
        };
        let has = |place: u32, patch: u32| self.proxies[patch as usize].contains(&place);
        let all = |place: u32| patches.iter().all(|&patch| has(place, patch));
        let mut any: Vec<u32> =
            patches.iter().flat_map(|&patch| self.proxies[patch as usize].iter().copied()).collect();
        any.sort_unstable();
        any.dedup();
        // The home of the first patch lies in the brick like any other processor of it; the topology-aware balancer
        // does not need it.
        let start =
            patches.first().filter(|_| self.scheme != Scheme::Topology).map(|&patch| self.proxies[patch as usize][0]);
        start
            .filter(|&place| self.fits(task, place))
            .or_else(|| near(&mut any.iter().copied().filter(|&place| all(place))))
            .or_else(|| near(&mut any.iter().copied()))
            .or_else(|| near(&mut (0..self.problem.machine.places())))
            .unwrap_or_else(|| self.least_loaded())
    }

    fn least_loaded(&self) -> u32 {
        let open = (0..self.problem.machine.places()).filter(|&place| self.count[place as usize] < self.room.tasks);
        let load = |place: u32| self.load[place as usize];
        open.min_by(|&a, &b| load(a).total_cmp(&load(b)).then(a.cmp(&b))).unwrap_or(0)
    }
}
