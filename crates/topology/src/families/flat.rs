//! Network without routers: every node reaches every other after one delay, over the node's link.
//!
//! For studies of ranks and their interfaces (LogGP), where the network is a delay and a bandwidth. Through the
//! topology interface it has one router for each node, with the node on its only port and no channel to another router;
//! any two routers count as one channel apart. Packets are never routed: the machine that runs this network carries
//! whole messages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{KeyError, NodeId, PortId, RouterId};

use crate::network::Topology;
use crate::shorthand::Settings;
use crate::wires::{ChannelClass, Endpoint, MAX_NODES};

/// Network without routers, given by a delay and a bandwidth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlatSpec {
    /// Number of nodes. Each has a link with the bandwidth of `[link]`; a message arrives its delay after it has left.
    #[schemars(range(min = 1, max = 16_777_216), extend("x-example" = "64"))]
    pub nodes: u64,
}

impl FlatSpec {
    /// Reads the shorthand `4096` or `nodes=4096`.
    pub(crate) fn from_shorthand(text: &str) -> Result<Self, KeyError> {
        Ok(Self { nodes: Settings::read(text, &["nodes"])?.number("nodes")? })
    }
}

/// Nodes without routers between them.
#[derive(Clone, Debug)]
pub struct Flat {
    nodes: u32,
}

impl Flat {
    /// Name of the family in the experiment file.
    pub const KIND: &'static str = "flat";

    /// Builds the network. Fails if `nodes` is not in `1..=2^24`.
    pub fn new(spec: &FlatSpec) -> Result<Self, KeyError> {
        let nodes = u32::try_from(spec.nodes).ok().filter(|nodes| (1..=MAX_NODES).contains(nodes));
        nodes.map(|nodes| Self { nodes }).ok_or_else(|| {
            let message = format!("`nodes` is {}; a flat network has from 1 to {MAX_NODES} nodes", spec.nodes);
            KeyError::new("nodes", message)
        })
    }
}

impl Topology for Flat {
    fn kind(&self) -> &'static str {
        Self::KIND
    }

    fn routers(&self) -> u32 {
        self.nodes
    }

    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn ports(&self, _router: RouterId) -> u16 {
        1
    }

    fn endpoint(&self, router: RouterId, _port: PortId) -> Endpoint {
        Endpoint::Node(NodeId(router.0))
    }

    fn attachment(&self, node: NodeId) -> (RouterId, PortId) {
        (RouterId(node.0), PortId(0))
    }

    fn class_names(&self) -> Vec<&str> {
        vec!["injection", "ejection"]
    }

    fn class(&self, _router: RouterId, _port: PortId) -> ChannelClass {
        ChannelClass::EJECTION
    }

    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        u32::from(from != to)
    }

    fn diameter(&self) -> u32 {
        u32::from(self.nodes > 1)
    }

    fn bisection_channels(&self) -> Option<u64> {
        None
    }

    fn coordinate_names(&self) -> Vec<String> {
        vec!["node".into()]
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        vec![router.0]
    }
}
