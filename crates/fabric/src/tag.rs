//! Tags of packets of groups' operations: their content beyond that of other packets.

use units::NodeId;

use crate::groups::MulticastTurn;
use crate::target::{TreePacket, TreeWork};

/// Tag of a packet of a group's operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupTag {
    /// Tree, segment and operation of the packet.
    pub of: TreePacket,
    /// Member that has sent the packet. 0 for a combined packet.
    pub from: NodeId,
    /// Stage of the packet on its tree.
    pub stage: TreeStage,
    /// Combine unit that the packet is on its way to, by its number in the partition.
    pub unit: u32,
    /// Port of the topology, or leaf unit, from which the packet goes to the combine unit.
    pub port: u16,
}

units::record!(GroupTag { of, from, stage, unit, port });

/// Stage of a packet on its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeStage {
    /// Multicast that leaves every switch by all ports of the tree but its input port.
    Flooding,
    /// Multicast on its way up to the top switch.
    Upward,
    /// Packet on its way down to the members.
    Downward,
    /// Packet on its way to the combine units of the next switch.
    Combining,
}

units::record!(
    enum TreeStage {
        Flooding,
        Upward,
        Downward,
        Combining,
    }
);

impl GroupTag {
    /// Tag of a place without such a packet.
    pub const NONE: Self = Self {
        of: TreePacket {
            tree: 0,
            segment: 0,
            work: TreeWork::Multicast,
            owners: false,
            contributions: 0,
            value: 0,
            element: 0,
        },
        from: NodeId(0),
        stage: TreeStage::Downward,
        unit: 0,
        port: 0,
    };

    /// Creates the tag of a packet that a member sends.
    pub fn new(of: TreePacket, from: NodeId, turn: MulticastTurn) -> Self {
        let stage = match (of.work, turn) {
            (TreeWork::Multicast, MulticastTurn::EverySwitch) => TreeStage::Flooding,
            (TreeWork::Multicast, MulticastTurn::TopSwitch) => TreeStage::Upward,
            (TreeWork::CombineForAll | TreeWork::CombineFor(_), _) => TreeStage::Combining,
        };
        Self { of, from, stage, unit: 0, port: 0 }
    }
}
