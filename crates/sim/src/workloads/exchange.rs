//! Nearest-neighbour exchanges: in a phase every task sends a volume to each of its neighbours in one dimension of a grid,
//! packets for the two in turn; a node sends the packets of its tasks in turn.

use units::NodeId;
use workload::Placement;
use workload::patterns::exchange::TaskGrid;

use crate::traffic::Flow;

/// A nearest-neighbour exchange on a grid of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The tasks.
    pub grid: TaskGrid,
    /// The dimensions in which they exchange, in order.
    pub phases: Vec<u32>,
    /// Bytes from a task to each neighbour.
    pub volume: u64,
}

impl Exchange {
    /// What each node sends others in a phase.
    pub fn flows(&self, phase: usize, placement: &Placement) -> Vec<Vec<Flow>> {
        let dimension = self.phases[phase] as usize;
        let of = |node: u32| {
            let tasks = placement.tasks(NodeId(node)).iter();
            let neighbours = tasks.flat_map(|&task| self.grid.neighbours(task, dimension));
            let away = neighbours.map(|task| placement.node(task)).filter(|&dst| dst.0 != node);
            away.map(|dst| Flow::to(dst, self.volume)).collect()
        };
        (0..placement.nodes()).map(of).collect()
    }
}
