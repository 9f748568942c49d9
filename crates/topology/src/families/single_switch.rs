//! Single switch with a node on every port.
//!
//! Node x is attached to port x of router 0. The bisection separates the first half of the nodes from the others and
//! cuts their links.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{KeyError, NodeId, PortId, RouterId};

use crate::network::{Topology, Views};
use crate::shorthand::Settings;
use crate::wires::{ChannelClass, Endpoint};

/// Maximum number of ports of a single switch.
pub const MAX_SWITCH_PORTS: u16 = 4096;

/// Single switch with a node on every port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SingleSwitchSpec {
    /// Number of ports of the switch, each with a node.
    #[schemars(range(min = 1, max = 4096), extend("x-example" = "16"))]
    pub ports: u64,
}

impl SingleSwitchSpec {
    /// Reads the shorthand `8` or `ports=8`.
    pub(crate) fn from_shorthand(text: &str) -> Result<Self, KeyError> {
        Ok(Self { ports: Settings::read(text, &["ports"])?.number("ports")? })
    }
}

/// Single switch with a node on every port.
#[derive(Clone, Debug)]
pub struct SingleSwitch {
    ports: u16,
}

impl SingleSwitch {
    /// Builds the switch. Fails if `ports` is not in `1..=4096`.
    pub fn new(spec: &SingleSwitchSpec) -> Result<Self, KeyError> {
        let ports = u16::try_from(spec.ports).ok().filter(|ports| (1..=MAX_SWITCH_PORTS).contains(ports));
        ports.map(|ports| Self { ports }).ok_or_else(|| {
            let message = format!("`ports` is {}; a single switch has from 1 to {MAX_SWITCH_PORTS} ports", spec.ports);
            KeyError::new("ports", message)
        })
    }
}

impl Topology for SingleSwitch {
    fn kind(&self) -> &'static str {
        "single-switch"
    }

    fn routers(&self) -> u32 {
        1
    }

    fn nodes(&self) -> u32 {
        u32::from(self.ports)
    }

    fn ports(&self, _router: RouterId) -> u16 {
        self.ports
    }

    fn endpoint(&self, _router: RouterId, port: PortId) -> Endpoint {
        Endpoint::Node(NodeId(u32::from(port.0)))
    }

    fn attachment(&self, node: NodeId) -> (RouterId, PortId) {
        (RouterId(0), PortId(node.0 as u16))
    }

    fn class_names(&self) -> Vec<&str> {
        vec!["injection", "ejection"]
    }

    fn class(&self, _router: RouterId, _port: PortId) -> ChannelClass {
        ChannelClass::EJECTION
    }

    fn distance(&self, _from: RouterId, _to: RouterId) -> u32 {
        0
    }

    fn diameter(&self) -> u32 {
        0
    }

    fn bisection_channels(&self) -> Option<u64> {
        Some(u64::from(self.ports / 2))
    }

    fn coordinate_names(&self) -> Vec<String> {
        vec!["router".into()]
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        vec![router.0]
    }

    fn views(&self) -> Views<'_> {
        Views { consecutive: true, ..Views::default() }
    }
}
