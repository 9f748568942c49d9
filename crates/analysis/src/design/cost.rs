//! Sums of prices and powers, and bandwidth for a price.

use ::experiment::CableCostSpec;
use serde::Serialize;
use units::{NodeId, PlaneId, Power};

use super::{Design, Kinds, Tally, attached};
use ::system::System;

/// Prices and powers of a network. Prices are in the unit of `[cost]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CostSums {
    /// Price of all parts.
    pub price: f64,
    /// Price of the switches.
    pub price_switches: f64,
    /// Price of the cables.
    pub price_cables: f64,
    /// Price of the network interfaces.
    pub price_interfaces: f64,
    /// Price of all parts, divided by the number of nodes.
    pub price_per_node: f64,
    /// Power of all parts, in watts.
    #[serde(rename = "power_W")]
    pub power_w: f64,
    /// Power of all parts, divided by the number of nodes, in watts.
    #[serde(rename = "power_per_node_W")]
    pub power_per_node_w: f64,
    /// Bandwidth of all injection channels, in bytes per second.
    #[serde(rename = "injection_B_per_s")]
    pub injection: f64,
    /// Traffic of all nodes at the load `throughput_bound`, in bytes per second.
    #[serde(rename = "bound_B_per_s")]
    pub bound: f64,
    /// `bound_B_per_s` divided by `price`. Null if the price is 0.
    #[serde(rename = "bound_B_per_s_per_price")]
    pub bound_per_price: Option<f64>,
    /// `bound_B_per_s` divided by `power_W`. Null if the power is 0.
    #[serde(rename = "bound_B_per_s_per_W")]
    pub bound_per_watt: Option<f64>,
}

/// Returns the cost of a design. `bound` is the offered load at which the network saturates.
pub(crate) fn of(system: &System, design: &Design, cables: &Kinds, bound: f64) -> CostSums {
    let spec = &system.spec.cost;
    let topology = &*system.network.topology;
    let ports: u64 = design.switches_by_ports.iter().map(|own| u64::from(own.ports) * u64::from(own.switches)).sum();
    let connected: u64 =
        design.switches_by_ports.iter().map(|own| u64::from(own.connected) * u64::from(own.switches)).sum();
    let (switches, interfaces) = (f64::from(design.switches), design.interfaces as f64);
    let price_switches = spec.switch.price * switches + spec.switch.price_per_port * ports as f64;
    let (copper, optical) = (spec.copper.unwrap_or_default(), spec.optical.unwrap_or_default());
    let price_cables = price(&copper, cables.copper) + price(&optical, cables.optical);
    let price_interfaces = spec.interface.price * interfaces;
    let all = price_switches + price_cables + price_interfaces;
    let ends = |tally: Tally| 2.0 * tally.cables as f64;
    let power_w = watts(spec.switch.power) * switches
        + watts(spec.switch.power_per_port) * connected as f64
        + watts(copper.power_per_end) * ends(cables.copper)
        + watts(optical.power_per_end) * ends(cables.optical)
        + watts(spec.interface.power) * interfaces;
    let names = topology.class_names();
    let bytes = |plane: PlaneId| {
        let class = names[usize::from(topology.injection_class(plane).0)];
        system.spec.link.of_class(class).0.0 as f64 / 8.0
    };
    // Load is that of the network of the first job.
    let own = system.network.on(system.jobs[0].part).own_planes();
    let channel: f64 = own.map(|plane| bytes(PlaneId(plane as u8))).sum();
    let ports = |plane| attached(topology, plane) as f64;
    let injection: f64 = topology.all_planes().map(|plane| bytes(plane) * ports(plane)).sum();
    let weights: f64 = (0..topology.nodes()).map(|node| system.weight(NodeId(node))).sum();
    let bound = bound * weights * channel;
    let per = |divisor: f64| (divisor > 0.0).then(|| bound / divisor);
    let nodes = f64::from(design.nodes.max(1));
    CostSums {
        price: all,
        price_switches,
        price_cables,
        price_interfaces,
        price_per_node: all / nodes,
        power_w,
        power_per_node_w: power_w / nodes,
        injection,
        bound,
        bound_per_price: per(all),
        bound_per_watt: per(power_w),
    }
}

fn price(spec: &CableCostSpec, tally: Tally) -> f64 {
    2.0 * spec.price_per_end * tally.cables as f64 + spec.price_per_metre * tally.metres()
}

fn watts(power: Power) -> f64 {
    power.0 as f64 / 1e3
}
