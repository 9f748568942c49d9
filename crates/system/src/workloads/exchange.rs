//! Nearest-neighbour exchanges: in a phase, every task sends a volume to each of its neighbours in one dimension of a
//! grid. Packets for the two neighbours alternate, and a node serves its tasks in round-robin order.

use traffic::Placement;
use traffic::patterns::exchange::TaskGrid;
use units::NodeId;

use ::network::traffic::Flow;

/// Nearest-neighbour exchange on a grid of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Grid of tasks.
    pub grid: TaskGrid,
    /// Dimensions of the exchange, in the order of phases.
    pub phases: Vec<u32>,
    /// Bytes from a task to each neighbour.
    pub volume: u64,
}

impl Exchange {
    /// Returns the flows of each node to other nodes in a phase.
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
