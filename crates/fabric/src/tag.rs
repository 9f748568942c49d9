//! What packets of groups' operations carry, beside what all packets do.

use units::NodeId;

use crate::groups::Turn;
use crate::target::{TreePacket, TreeWork};

/// What a packet of a group's operation carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupTag {
    /// What it is for.
    pub of: TreePacket,
    /// The member that has sent it; of a combined packet 0.
    pub from: NodeId,
    /// Where it is.
    pub stage: Stage,
    /// While it is under way to a combine unit: which one, by its number in the partition.
    pub unit: u32,
    /// By which port of the topology, or from which leaf unit, it goes there.
    pub port: u16,
}

/// Where a packet is on its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A multicast that leaves every switch by all ports of the tree but the one it came by.
    Spreading,
    /// A multicast on its way to the top switch.
    Rising,
    /// On its way down to the members; what a member has sent does not come back to it.
    Falling,
    /// On its way to the combine units of the next switch.
    Combining,
}

impl GroupTag {
    /// Of no packet.
    pub const NONE: Self = Self {
        of: TreePacket { tree: 0, segment: 0, work: TreeWork::Multicast, contributions: 0, value: 0, element: 0 },
        from: NodeId(0),
        stage: Stage::Falling,
        unit: 0,
        port: 0,
    };

    /// As a member sends it.
    pub fn new(of: TreePacket, from: NodeId, turn: Turn) -> Self {
        let stage = match (of.work, turn) {
            (TreeWork::Multicast, Turn::EverySwitch) => Stage::Spreading,
            (TreeWork::Multicast, Turn::TopSwitch) => Stage::Rising,
            (TreeWork::CombineForAll | TreeWork::CombineFor(_), _) => Stage::Combining,
        };
        Self { of, from, stage, unit: 0, port: 0 }
    }
}
