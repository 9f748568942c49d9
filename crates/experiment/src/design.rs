//! Keys of `[layout]` and `[cost]`: the place of a network's routers and nodes in racks, and prices and powers of its
//! parts. They count in analyses only, except that lengths give the delays of channels if `link.delay` is left out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Length, Power};

/// Reason why cables have prices only with a layout.
const LENGTHS: &str = "requires layout: the lengths of cables tell copper from optical cables";

/// Floor plan: racks in rows, and the routers and nodes in each rack. The lengths of cables follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = "[layout]\nrouters_per_rack = 8\nracks_per_row = 16"))]
pub struct LayoutSpec {
    /// Number of routers of a rack. Routers fill racks in the order of the topology's locality: routers with much
    /// traffic between them are neighbours, and so are the copies of a router in all planes. With several networks,
    /// the routers of an island are in the rack of its endpoints if these have one rack, such as NVSwitches; others fill
    /// racks after those of nodes, network by network.
    #[schemars(range(min = 1))]
    pub routers_per_rack: u32,
    /// Number of nodes of a rack. The nodes of a rack of routers fill racks that stand after it. Default: a node is in
    /// the rack of its router (of the first plane). Several networks require it: it counts nodes with all their
    /// endpoints, and nodes fill racks in the order of their numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub nodes_per_rack: Option<u32>,
    /// Number of racks of a row.
    #[schemars(range(min = 1))]
    pub racks_per_row: u32,
    /// Distance between two neighbouring racks of a row, centre to centre.
    #[serde(default = "rack_width")]
    #[schemars(extend("minimum" = 1, "maximum" = LONGEST))]
    pub rack_width: Length,
    /// Distance between two neighbouring rows, centre to centre.
    #[serde(default = "row_pitch")]
    #[schemars(extend("minimum" = 1, "maximum" = LONGEST))]
    pub row_pitch: Length,
    /// Length that a cable between two racks has in addition to their distance: the ways up and down, and spare length.
    #[serde(default = "slack")]
    #[schemars(extend("maximum" = LONGEST))]
    pub slack: Length,
    /// Length of a cable inside a rack.
    #[serde(default = "within_rack")]
    #[schemars(extend("maximum" = LONGEST))]
    pub within_rack: Length,
}

/// Longest length of a key, in millimetres: 1 km.
const LONGEST: u64 = 1_000_000;

fn rack_width() -> Length {
    Length(600)
}

fn row_pitch() -> Length {
    Length(2_400)
}

fn slack() -> Length {
    Length(2_000)
}

fn within_rack() -> Length {
    Length(1_000)
}

/// Prices and powers of a network's parts. Prices have no currency: all are in one unit, whichever it is. What is left
/// out costs nothing and takes no power.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[cost.switch]\nprice = 20000\npower = \"500 W\""))]
pub struct CostSpec {
    /// Length of the longest copper cable. Longer cables are optical.
    #[schemars(extend("x-rules" = [LENGTHS]))]
    pub copper_reach: Length,
    /// Switches.
    pub switch: SwitchCostSpec,
    /// Copper cables. Default: they cost nothing and take no power.
    #[schemars(extend("x-rules" = [LENGTHS]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copper: Option<CableCostSpec>,
    /// Optical cables. Default: they cost nothing and take no power.
    #[schemars(extend("x-rules" = [LENGTHS]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optical: Option<CableCostSpec>,
    /// Network interfaces of nodes.
    pub interface: InterfaceCostSpec,
}

impl Default for CostSpec {
    fn default() -> Self {
        Self {
            copper_reach: Length(3_000),
            switch: SwitchCostSpec::default(),
            copper: None,
            optical: None,
            interface: InterfaceCostSpec::default(),
        }
    }
}

impl CostSpec {
    /// Returns whether every key has its default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Price and power of a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchCostSpec {
    /// Price of a switch without its ports.
    #[schemars(range(min = 0.0, max = 1e12))]
    pub price: f64,
    /// Price of each port of a switch, free ports included.
    #[schemars(range(min = 0.0, max = 1e12))]
    pub price_per_port: f64,
    /// Power of a switch without its ports.
    pub power: Power,
    /// Power of each port with a cable, without the transceivers of the cable.
    pub power_per_port: Power,
}

/// Price and power of a cable: a wire in both directions, with a connector or transceiver at each of its two ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CableCostSpec {
    /// Price of each of the two ends.
    #[schemars(range(min = 0.0, max = 1e12))]
    pub price_per_end: f64,
    /// Price of a metre.
    #[schemars(range(min = 0.0, max = 1e12))]
    pub price_per_metre: f64,
    /// Power of each of the two ends.
    pub power_per_end: Power,
}

/// Price and power of a network interface. A node has one interface in each plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InterfaceCostSpec {
    /// Price of an interface.
    #[schemars(range(min = 0.0, max = 1e12))]
    pub price: f64,
    /// Power of an interface.
    pub power: Power,
}
