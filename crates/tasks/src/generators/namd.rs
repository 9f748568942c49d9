//! NAMD (paper, section 3.3.2): patches, which are cells of the simulated box, and computes, one for each patch by
//! itself and one for each pair of neighbouring patches. A patch sends its atoms' coordinates to its computes and
//! receives forces back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::LocatedError;

use super::tasks_of;
use crate::limits::positive;
use crate::{ArcList, Group, GroupKind, Phase, TaskArray, TaskGraph};

/// NAMD: patches and computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamdSpec {
    /// Patches in each of three dimensions, periodic. Each is at least 2 * `away` + 1. Default: 6x6x4, as in ApoA1.
    #[serde(default = "apoa1")]
    #[schemars(length(min = 3, max = 3), inner(range(min = 3)))]
    pub patches: Vec<u32>,
    /// Largest distance, in patches, of two patches that share a compute. If there are too few patches for a machine,
    /// NAMD halves them (then 2).
    #[serde(default = "next_to")]
    #[schemars(range(min = 1, max = 3))]
    pub away: u32,
    /// Atoms of the system. Default: 92,227, as in ApoA1.
    #[serde(default = "atoms")]
    #[schemars(range(min = 1))]
    pub atoms: u64,
    /// Bytes of an atom's coordinates, and of its force.
    #[serde(default = "atom_bytes")]
    #[schemars(range(min = 1))]
    pub atom_bytes: u64,
    /// Send by multicast and gather by reduction, so that a node needs only one proxy of a patch.
    #[serde(default)]
    pub multicast: bool,
    /// Load of a patch.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub patch_load: f64,
    /// Load of a patch's compute with itself, relative to 1 for a compute of two neighbours.
    #[serde(default = "half")]
    #[schemars(range(min = 0.0))]
    pub self_load: f64,
    /// Send forces in a separate phase after coordinates, as message-driven execution requires. With `multicast` this
    /// is always so.
    #[serde(default)]
    pub one_way: bool,
}

fn apoa1() -> Vec<u32> {
    vec![6, 6, 4]
}

fn next_to() -> u32 {
    1
}

fn atoms() -> u64 {
    92_227
}

fn atom_bytes() -> u64 {
    24
}

fn half() -> f64 {
    0.5
}

impl Default for NamdSpec {
    fn default() -> Self {
        Self {
            patches: apoa1(),
            away: next_to(),
            atoms: atoms(),
            atom_bytes: atom_bytes(),
            multicast: false,
            patch_load: 0.0,
            self_load: half(),
            one_way: false,
        }
    }
}

impl NamdSpec {
    /// Builds the graph: patches, then their own computes, then computes of pairs.
    ///
    /// # Errors
    /// If there are not three large enough extents, if there are too many patches, or if a load is negative.
    pub fn build(&self) -> Result<TaskGraph, LocatedError> {
        if !(1..=3).contains(&self.away) {
            return Err(LocatedError::key("away", format!("`away` is {}; 1 to 3 are allowed", self.away)));
        }
        let least = 2 * self.away + 1;
        if self.patches.len() != 3 || self.patches.iter().any(|&size| size < least) {
            let message = format!("`patches` has three extents of at least {least}, such as 6x6x4");
            return Err(LocatedError::key("patches", message));
        }
        for (key, load) in [("patch_load", self.patch_load), ("self_load", self.self_load)] {
            if !(load >= 0.0 && load.is_finite()) {
                return Err(LocatedError::key(key, format!("`{key}` is {load}; it is not negative")));
            }
        }
        positive(self.atoms, "atoms")?;
        positive(self.atom_bytes, "atom_bytes")?;
        let patches = tasks_of(&self.patches, 3, "patches")?;
        // A self compute and half of the neighbours per patch (13 of 26): every pair once.
        let tasks = tasks_of(&[patches, 2 + (least.pow(3) - 1) / 2], 2, "patches")?;
        let mut graph = self.wire(patches, tasks);
        graph.loads = (0..tasks).map(|task| self.load(task, patches)).collect();
        let array = |name: &str, first, dims, ring| TaskArray { name: name.into(), first, dims, periodic: ring };
        graph.arrays.push(array("patches", 0, self.patches.clone(), vec![true; 3]));
        graph.arrays.push(array("computes", patches, vec![tasks - patches], vec![false]));
        graph.notes.push(format!(
            "{} bytes an atom, and loads of 1 for a pair and {} for a patch with itself.",
            self.atom_bytes, self.self_load
        ));
        Ok(graph)
    }

    fn load(&self, task: u32, patches: u32) -> f64 {
        match task / patches {
            0 => self.patch_load,
            1 => self.self_load,
            _ => 1.0,
        }
    }

    fn wire(&self, patches: u32, tasks: u32) -> TaskGraph {
        let bytes = (self.atoms.saturating_mul(self.atom_bytes) / u64::from(patches)).max(1);
        let mut computes: Vec<Vec<u32>> = (0..patches).map(|patch| vec![patches + patch]).collect();
        let mut next = 2 * patches;
        for patch in 0..patches {
            for neighbour in self.half_shell(patch) {
                computes[patch as usize].push(next);
                computes[neighbour as usize].push(next);
                next += 1;
            }
        }
        let mut arcs = ArcList::new(tasks);
        if self.multicast {
            let groups = |kind: GroupKind| (0..patches).map(move |root| (kind, root)).collect::<Vec<_>>();
            let group =
                |(kind, root): (GroupKind, u32)| Group { kind, root, members: computes[root as usize].clone(), bytes };
            let all = |kind| groups(kind).into_iter().map(group).collect();
            let mut graph = TaskGraph::new("namd", arcs.build());
            graph.phases[0] =
                Phase { groups: all(GroupKind::Multicast), ..Phase::of("coordinates", graph.phases[0].arcs.clone()) };
            let forces = Phase { name: "forces".into(), groups: all(GroupKind::Reduction), ..graph.phases[0].clone() };
            graph.phases.push(forces);
            return graph;
        }
        let mut forces = ArcList::new(tasks);
        for (patch, own) in (0..patches).zip(&computes) {
            own.iter().for_each(|&compute| match self.one_way {
                false => arcs.add_both(patch, compute, bytes, 1),
                true => {
                    arcs.add(patch, compute, bytes, 1);
                    forces.add(compute, patch, bytes, 1);
                }
            });
        }
        let mut graph = TaskGraph::new("namd", arcs.build());
        if self.one_way {
            graph.phases[0].name = "coordinates".into();
            graph.phases.push(Phase::of("forces", forces.build()));
        }
        graph
    }

    /// Returns one of each two opposite neighbours.
    fn half_shell(&self, patch: u32) -> Vec<u32> {
        let [x, y, z] = [self.patches[0], self.patches[1], self.patches[2]];
        let at = [patch % x, patch / x % y, patch / x / y];
        let side = 2 * self.away + 1;
        let offset = |code: u32| {
            let step = |axis: usize, size: u32, digit: u32| (at[axis] + size + digit - self.away) % size;
            step(0, x, code % side) + x * (step(1, y, code / side % side) + y * step(2, z, code / side / side))
        };
        // The code in the middle is the patch itself. The codes above are the opposites of those below.
        (side.pow(3) / 2 + 1..side.pow(3)).map(offset).collect()
    }
}
