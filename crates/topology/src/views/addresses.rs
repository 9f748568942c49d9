//! InfiniBand addresses of switches and nodes, which forwarding tables refer to.

use units::{NodeId, PortId, RouterId};

/// Addresses of a network that was read from the description of an InfiniBand fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Switch of each router.
    pub switches: Vec<SwitchAddress>,
    /// Adapter port of each node.
    pub nodes: Vec<NodeAddress>,
    /// Base LID and LMC of all ports that the description states, also of devices that the network leaves out.
    pub lids: Vec<(u32, u8)>,
}

/// Address of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchAddress {
    /// Node GUID.
    pub guid: u64,
    /// Description.
    pub name: String,
    /// LID of the switch's management port. 0 if the description lacks it.
    pub lid: u32,
    /// Number of ports in the fabric, connected or not.
    pub count: u32,
    /// Port number in the fabric of each port of the router.
    pub ports: Vec<u32>,
}

/// Address of the adapter port by which a node is attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeAddress {
    /// Name of the node.
    pub name: String,
    /// Base LID. 0 if the description lacks it.
    pub lid: u32,
    /// LID mask control: the port has 2^`lmc` consecutive LIDs.
    pub lmc: u8,
}

impl NodeAddress {
    /// Returns the number of LIDs.
    pub fn lids(&self) -> u32 {
        1 << self.lmc
    }
}

impl SwitchAddress {
    /// Returns the port of the router that has a number in the fabric.
    pub fn port(&self, number: u32) -> Option<PortId> {
        self.ports.iter().position(|&other| other == number).map(|port| PortId(port as u16))
    }
}

impl Addresses {
    /// Returns the switch of a router.
    pub fn switch(&self, router: RouterId) -> &SwitchAddress {
        &self.switches[router.index()]
    }

    /// Returns the adapter port of a node.
    pub fn node(&self, node: NodeId) -> &NodeAddress {
        &self.nodes[node.index()]
    }
}
