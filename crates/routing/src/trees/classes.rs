//! Classes of virtual channels of trees.

use topology::{ChannelClass, Topology};
use units::VcClass;

use super::drafts::{Direction, TreeBuilder};
use super::error::TreeError;
use super::spec::TreeClasses;
use crate::Routing;

/// Largest number of classes of virtual channels.
const MOST_CLASSES: u32 = 64;

/// Numbering of the classes of virtual channels.
pub(super) struct Numbering<'a> {
    /// Rule of each network.
    pub rules: Vec<Rule>,
    /// By class of channels, the smallest number of classes toward the root.
    pub levels: Vec<u8>,
    pub routing: &'a dyn Routing,
}

/// Rule of the classes of virtual channels in a network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub classes: TreeClasses,
    /// Whether the classes toward the root also serve from it.
    pub folds: bool,
}

/// Classes of virtual channels, by class of channels.
pub(super) struct Classes {
    /// First class of the trees.
    first: Vec<u8>,
    /// Offset of the classes from the root.
    down: Vec<u8>,
    single: bool,
    /// Number of classes beyond the routing's.
    pub beyond: Vec<u8>,
    /// Number of classes of the routing and the trees together.
    pub all: Vec<u8>,
}

impl Classes {
    /// Counts the classes that some exits need.
    pub fn count(
        topology: &dyn Topology,
        numbering: &Numbering<'_>,
        drafts: &[TreeBuilder],
    ) -> Result<Self, TreeError> {
        let mut levels: Vec<u32> = numbering.levels.iter().map(|&levels| u32::from(levels)).collect();
        for draft in drafts {
            if let Direction::Up(_, level) | Direction::Down(_, level) = draft.to {
                let class = usize::from(topology.class(draft.router, draft.port).0);
                levels[class] = levels[class].max(u32::from(level) + 1);
            }
        }
        let single = numbering.rules.iter().any(|rule| rule.classes == TreeClasses::Single);
        let names = topology.class_names();
        let mut counted = Self { first: Vec::new(), down: Vec::new(), single, beyond: Vec::new(), all: Vec::new() };
        for (class, name) in names.iter().enumerate() {
            let of_all = ChannelClass(class as u8);
            let routing = numbering.routing.classes_on(of_all);
            let rule = numbering.rules[topology.network_of_class(of_all)];
            // Nodes are at the ends of trees: their links need no classes.
            let is_of_nodes = topology.is_injection(of_all) || topology.is_ejection(of_all);
            let toward = if is_of_nodes { 0 } else { levels[class] };
            let both = match (single, rule.folds) {
                (true, _) => toward.min(1),
                (false, true) => toward,
                (false, false) => 2 * toward,
            };
            let first = if rule.classes == TreeClasses::Own { u32::from(routing) } else { 0 };
            let all = if both == 0 { u32::from(routing) } else { u32::from(routing).max(first + both) };
            if all > MOST_CLASSES {
                return Err(TreeError::TooManyClasses { class: (*name).into(), needed: all, most: MOST_CLASSES });
            }
            counted.first.push(first as u8);
            counted.down.push(if rule.folds { 0 } else { toward as u8 });
            counted.beyond.push(all as u8 - routing);
            counted.all.push(all as u8);
        }
        Ok(counted)
    }

    /// Returns the class of an exit.
    pub fn of(&self, topology: &dyn Topology, draft: &TreeBuilder) -> VcClass {
        let class = usize::from(topology.class(draft.router, draft.port).0);
        VcClass(match draft.to {
            Direction::Member => 0,
            _ if self.single => 0,
            Direction::Up(_, level) => self.first[class] + level,
            Direction::Down(_, level) => self.first[class] + self.down[class] + level,
        })
    }
}
