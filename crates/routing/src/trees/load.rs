//! Load of the trees made so far.

use topology::{Channels, Topology};
use units::{PortId, RouterId};

use super::tree::Tree;

/// Number of trees through each switch and over each wire, and the wires taken by edge-disjoint trees of a group.
#[derive(Clone, Debug)]
pub(super) struct TreeLoad {
    channels: Channels,
    through: Vec<u32>,
    /// By output channel, with equal values for both directions of a wire.
    wires: Vec<u32>,
    taken: Vec<bool>,
    /// Taken channels, for releasing them.
    list: Vec<u32>,
}

impl TreeLoad {
    /// Creates the load without trees.
    pub fn new(topology: &dyn Topology) -> Self {
        let channels = Channels::new(topology);
        let ports = channels.ports() as usize;
        let through = vec![0; topology.routers() as usize];
        Self { channels, through, wires: vec![0; ports], taken: vec![false; ports], list: Vec::new() }
    }

    /// Returns the number of trees through a switch: the paper's load.
    pub fn through(&self, router: RouterId) -> u32 {
        self.through[router.index()]
    }

    /// Returns the number of trees over the wire at a port.
    pub fn over(&self, router: RouterId, port: PortId) -> u32 {
        self.wires[self.channels.output(router, port).index()]
    }

    /// Returns whether the wire at a port belongs to a tree to which the next one is to be edge-disjoint.
    pub fn is_taken(&self, router: RouterId, port: PortId) -> bool {
        self.taken[self.channels.output(router, port).index()]
    }

    /// Counts a tree, and takes its wires.
    pub fn add(&mut self, topology: &dyn Topology, tree: &Tree) {
        self.through[tree.root.index()] += 1;
        for step in &tree.steps {
            self.through[step.router.index()] += 1;
            let (above, down) = step.above(topology);
            for channel in [self.channels.output(step.router, step.port), self.channels.output(above, down)] {
                self.wires[channel.index()] += 1;
                self.taken[channel.index()] = true;
                self.list.push(channel.0);
            }
        }
    }

    /// Releases all wires: the next tree belongs to another group, or to another sender.
    pub fn release(&mut self) {
        for channel in self.list.drain(..) {
            self.taken[channel as usize] = false;
        }
    }
}
