//! Messages that routers copy, and their destinations.

use fabric::{Demand, Target, Traffic, TreePacket, TreeWork};

use super::run::FlowRun;
use super::trees::TreeEnd;

/// Destinations of a message on a tree.
#[derive(Debug, Default)]
struct Copies {
    /// Tag of the packets, if the tree is that of a group.
    of: Option<TreePacket>,
    ends: Vec<TreeEnd>,
    /// Number of copies that have not arrived.
    left: u32,
}

/// Messages on trees.
#[derive(Debug, Default)]
pub(super) struct TreeMessages {
    copies: Vec<Copies>,
    free: Vec<u32>,
}

impl TreeMessages {
    /// Adds a message, and returns its number.
    pub fn add(&mut self, of: Option<TreePacket>, ends: Vec<TreeEnd>) -> u32 {
        let copies = Copies { of, left: ends.len() as u32, ends };
        match self.free.pop() {
            Some(place) => {
                self.copies[place as usize] = copies;
                place
            }
            None => {
                self.copies.push(copies);
                self.copies.len() as u32 - 1
            }
        }
    }

    /// Returns the number of destinations of a message: 1 if it is on no tree.
    pub fn count(&self, copies: u32) -> u32 {
        self.copies.get(copies as usize).map_or(1, |own| own.ends.len() as u32)
    }

    /// Returns a destination of a message on a tree.
    pub fn end(&self, copies: u32, end: u32) -> Option<TreeEnd> {
        self.copies.get(copies as usize)?.ends.get(end as usize).copied()
    }

    /// Returns the tag of a message on the tree of a group.
    pub fn packet(&self, copies: u32) -> Option<TreePacket> {
        self.copies.get(copies as usize)?.of
    }

    /// Counts the arrival of a message at a destination. Returns whether it has arrived at all of them.
    pub fn has_arrived(&mut self, copies: u32) -> bool {
        let Some(own) = self.copies.get_mut(copies as usize) else { return true };
        own.left -= 1;
        let has_arrived = own.left == 0;
        if has_arrived {
            *own = Copies::default();
            self.free.push(copies);
        }
        has_arrived
    }
}

impl FlowRun {
    /// Starts a message on a tree.
    pub(super) fn start_on_tree(&mut self, source: usize, demand: &Demand) {
        let ends = self.ends_of(source, demand.bytes);
        let (of, all) = if demand.to == Target::Members {
            let seed = self.draw(source);
            let members = self.handover.traffic.members(source);
            (None, self.paths.find_members(&ends, members, seed, &mut self.found))
        } else {
            let Some(of) = self.handover.traffic.tree_packet(source) else { return };
            if of.work != TreeWork::Multicast {
                return self.contribute(source, demand, of);
            }
            (Some(of), self.paths.find_copies(&of, &ends, &mut self.found))
        };
        let Some(&first) = all.first() else { return };
        let copies = self.trees.add(of, all);
        self.launch(source, demand, first, copies);
    }
}
