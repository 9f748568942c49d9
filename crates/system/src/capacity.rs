//! Bandwidths of channels in relation to those of injection links.

use ::experiment::LinkSpec;
use topology::{ChannelClass, Topology};
use units::Bytes;

/// Bandwidths of the classes of channels, as multiples of that of an injection link of their network.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacities(Vec<f64>);

impl Capacities {
    /// Creates the bandwidths of a network's classes from the times of a packet, which are whole picoseconds.
    pub fn new(link: &LinkSpec, topology: &dyn Topology, packet: Bytes) -> Self {
        let time = |class: &str| {
            let bandwidth = link.of_class(class).0;
            bandwidth.serialization(packet).map_or(f64::INFINITY, |(time, _)| time.0 as f64)
        };
        let times: Vec<f64> = topology.class_names().into_iter().map(time).collect();
        let injection = |class| times[usize::from(topology.injection_beside(class).0)];
        Self((0..).map(ChannelClass).zip(&times).map(|(class, time)| injection(class) / time).collect())
    }

    /// Returns the bandwidth of a class of channels.
    pub fn of_class(&self, class: ChannelClass) -> f64 {
        self.0[usize::from(class.0)]
    }
}
