//! Adversarial pattern: the tasks of group i send to random tasks of group i + n (García et al., ICPP 2012, "ADV+n").
//!
//! All traffic of a group goes to a single other group. With minimal routing it shares the few channels between the
//! two. On `hyperx` and trees the tasks of router i send to those of router i + n in the same way; most neighbours of a
//! `hyperx` are wired, and share that wire. On tori and meshes, whose minimal routing is loaded most by travel in one
//! direction, a router's tasks send to random tasks of the router of the tornado pattern.
//!
//! Networks without a published pattern have the permutation of nodes that loads a channel most on shortest paths
//! (`Shape::worst`), and so have jobs on some of a machine's nodes. Slim Fly is one of them: studies (Besta and
//! Hoefler, SC 2014; the simulator CODES) pair routers at distance 2 so that two pairs share the wire in the middle,
//! which 2p flows cross, with p nodes on each router, and choose the pairs themselves. The worst permutation puts as
//! many flows on its fullest wire: with diameter 2, flows across a wire start at its first router or end at its
//! second.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Draw, KeyError, TaskId};

use super::{Permutation, groups, tornado};
use crate::{Pattern, Shape, Shares};

/// Name in the experiment file.
pub const KIND: &str = "adversarial";

/// Keys of `adversarial`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdversarialSpec {
    /// Distance from the source group to the target group, in groups, modulo the number of groups. May be negative. On
    /// `hyperx` and trees, it is counted in routers that have nodes. Default: 1, as is required on other networks.
    #[serde(default = "one")]
    pub offset: i64,
}

fn one() -> i64 {
    1
}

/// Adversarial pattern: each block of tasks sends to random tasks of another block.
#[derive(Debug)]
struct Blocks {
    per_block: u32,
    /// By block, the first task of the block that it sends to.
    targets: Vec<u32>,
    notes: [String; 1],
}

/// Meaning of the pattern.
enum Meaning {
    /// Blocks that are groups, or routers of a grid of cliques or of a tree.
    Offset,
    /// Blocks that are routers of a grid, whose targets are those of the tornado pattern.
    Tornado,
    /// The worst permutation.
    Worst,
}

impl Meaning {
    fn of(shape: &Shape) -> Self {
        let is_long = |dims: &Vec<u32>| dims.iter().any(|&size| size > 2);
        match shape.groups {
            None if shape.grid.as_ref().is_some_and(is_long) => Self::Tornado,
            groups if groups.or(shape.routers).is_some_and(|blocks| blocks > 1) => Self::Offset,
            _ => Self::Worst,
        }
    }
}

/// Returns whether the pattern is the worst permutation, which `build` finds in the shape.
pub(crate) fn needs_worst(shape: &Shape) -> bool {
    matches!(Meaning::of(shape), Meaning::Worst)
}

/// Builds the pattern for a machine.
///
/// # Errors
/// If the offset maps every block to itself, if there is another offset than 1 where it has no meaning, or if the shape
/// lacks the worst permutation.
pub(crate) fn build(spec: &AdversarialSpec, shape: &Shape) -> Result<Arc<dyn Pattern>, KeyError> {
    let without_offset = |meaning: &str| match spec.offset {
        1 => Ok(()),
        offset => {
            let message = format!("`offset` is {offset}; {meaning}, it has no meaning");
            Err(KeyError::new("offset", message))
        }
    };
    Ok(match Meaning::of(shape) {
        Meaning::Offset => Arc::new(Blocks::by_offset(spec, shape)?),
        Meaning::Tornado => {
            without_offset("on a grid, where tasks send almost halfway around each dimension")?;
            Arc::new(Blocks::by_tornado(shape)?)
        }
        Meaning::Worst => {
            without_offset("in the worst permutation, which this network has in place of groups")?;
            let Some(worst) = &shape.worst else {
                let message = format!("`{KIND}` needs groups, cliques, a tree or a grid, or the worst permutation");
                return Err(KeyError::new("kind", message));
            };
            let note =
                format!("`{KIND}` is the permutation that loads a channel most on shortest paths with random ties");
            Arc::new(Permutation::new(KIND, shape.tasks, |src| worst[src as usize].0)?.with_note(note))
        }
    })
}

impl Blocks {
    fn by_offset(spec: &AdversarialSpec, shape: &Shape) -> Result<Self, KeyError> {
        let blocks = Shape { groups: shape.groups.or(shape.routers), ..shape.clone() };
        let offset = groups::offset(KIND, "offset", spec.offset, &blocks)?;
        let per_block = blocks.tasks_per_group().unwrap_or(shape.tasks);
        let target = |block: u32| ((u64::from(block * per_block) + u64::from(offset)) % u64::from(shape.tasks)) as u32;
        let block = if shape.groups.is_some() { "group" } else { "router" };
        let note = format!(
            "`{KIND}` sends from the nodes of each {block} to those of the {block} {} further, modulo their number",
            spec.offset
        );
        Ok(Self { per_block, targets: (0..shape.tasks / per_block).map(target).collect(), notes: [note] })
    }

    fn by_tornado(shape: &Shape) -> Result<Self, KeyError> {
        let tornado = tornado::named(KIND, shape)?;
        let routers: u32 = shape.grid.iter().flatten().product();
        let per_block = (shape.tasks / routers.max(1)).max(1);
        let target = |block: u32| tornado.target(TaskId(block * per_block)).0 / per_block * per_block;
        let note = format!("`{KIND}` sends from the nodes of each router almost halfway around each dimension");
        Ok(Self { per_block, targets: (0..shape.tasks / per_block).map(target).collect(), notes: [note] })
    }

    /// Returns the first task of the target block of a task.
    fn target(&self, src: TaskId) -> u32 {
        self.targets[(src.0 / self.per_block) as usize]
    }
}

impl Pattern for Blocks {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn sends(&self, _src: TaskId) -> bool {
        true
    }

    fn destination(&self, src: TaskId, draw: &mut dyn Draw) -> TaskId {
        TaskId(self.target(src) + draw.below(self.per_block))
    }

    fn shares(&self, src: TaskId) -> Shares {
        let first = self.target(src);
        Shares::of_even(first..first + self.per_block, 1.0 / f64::from(self.per_block), None)
    }
}
