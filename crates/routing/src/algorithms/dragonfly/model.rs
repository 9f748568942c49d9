//! Model of load imbalance inside groups (Prisacari et al., section III).

use topology::views::Groups;
use topology::{ChannelClass, Topology};
use units::RouterId;

/// Throughput of valiant-group routing, by their model, for traffic that sends consecutive groups to consecutive
/// groups: loads of the nodes, as shares of their injection channels' bandwidth.
///
/// The h global channels into a router of an intermediate group lead on over one or two local channels, so that each of
/// them can bring in between 1/h and 2/h of a local channel's bandwidth. Every packet crosses two global channels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImbalanceModel {
    /// Lower bound: the left side of equation 1.
    pub lower: f64,
    /// Upper bound: the right side of equation 1.
    pub upper: f64,
    /// Estimate of equation 4, half-way between the bounds: 3/(4p) at full scale.
    pub estimate: f64,
}

impl ImbalanceModel {
    /// Creates the model of a dragonfly. `local_capacity` is the bandwidth of a local channel in units of an injection
    /// channel's (1 in the paper).
    pub fn new(topology: &Groups, local_capacity: f64) -> Self {
        let size = topology.size();
        let connected = |router| (0..size.h).filter(move |&port| topology.across(RouterId(router), port).is_some());
        let globals = (0..topology.routers()).map(|router| connected(router).count()).sum::<usize>() as f64;
        // Half of the packets on a global channel are on their way to a waypoint, half come from one.
        let unit = 0.5 * globals / f64::from(topology.nodes()) / f64::from(size.h) * local_capacity;
        Self { lower: unit, upper: 2.0 * unit, estimate: 1.5 * unit }
    }

    /// Class of the channels that limit the throughput.
    pub const BINDING: ChannelClass = Groups::LOCAL;
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::families::dragonfly::DragonflySpec;

    #[test]
    fn equations_1_and_4_of_the_papers_machines() {
        // Balanced machines have as many global channels as nodes: 1/(2h) to 1/h, and 3/(4p). Would catch a model of
        // one direction of the wires only.
        for h in 2..=8 {
            let machine = Groups::new(&DragonflySpec::balanced(h)).expect("a balanced dragonfly");
            let (model, h) = (ImbalanceModel::new(&machine, 1.0), h as f64);
            assert!((model.lower - 0.5 / h).abs() < 1e-12 && (model.upper - 1.0 / h).abs() < 1e-12, "{model:?}");
            assert!((model.estimate - 0.75 / h).abs() < 1e-12);
        }
        let least = DragonflySpec { p: Some(2), a: Some(3), ..DragonflySpec::balanced(2) };
        let model = ImbalanceModel::new(&Groups::new(&least).expect("(2, 3, 2)"), 1.0);
        assert!((model.estimate - 0.375).abs() < 1e-12);
    }
}
