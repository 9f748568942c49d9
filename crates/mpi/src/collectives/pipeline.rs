//! Pipelines: a buffer travels along a tree in segments, so that a member forwards one segment while it receives the
//! next (the generic broadcast and reduction of Open MPI; Pjesivac-Grbovic et al., "Performance analysis of MPI
//! collective operations", Cluster Computing 10(2), 2007).
//!
//! In each round a member receives one segment and sends the previous one to all its successors.

use super::data::Data;
use super::member::{Member, Move, Phase, Way};
use super::tree::{each_child, parent, place};

/// Tree that connects the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Chain: each member has at most one child, the next member.
    Chain,
    /// Binary tree: the children of member i, relative to the root, are 2 i + 1 and 2 i + 2.
    Binary,
    /// K-nomial tree.
    KNomial,
}

/// Transfer of the whole buffer along a tree.
#[derive(Debug)]
pub(super) struct Pipeline {
    /// Whether data flow toward the root.
    pub up: bool,
    /// Tree that connects the members.
    pub shape: Shape,
}

impl Shape {
    /// Returns the parent of a member. `None` for the root.
    fn parent(self, at: &Member) -> Option<u32> {
        let relative = at.relative();
        (relative > 0).then(|| {
            at.absolute(match self {
                Self::Chain => relative - 1,
                Self::Binary => (relative - 1) / 2,
                Self::KNomial => parent(at, place(at).0),
            })
        })
    }

    /// Visits the children of a member. The child with the largest subtree comes first.
    fn each_child(self, at: &Member, mut visit: impl FnMut(u32)) {
        let relative = u64::from(at.relative());
        let (first, last) = match self {
            Self::Chain => (relative + 1, relative + 1),
            Self::Binary => (2 * relative + 1, 2 * relative + 2),
            Self::KNomial => {
                let levels = (0..place(at).1).rev();
                return levels.for_each(|level| each_child(at, level, |child, _| visit(at.absolute(child as u32))));
            }
        };
        let children = (first..=last).take_while(|&child| child < u64::from(at.size));
        children.for_each(|child| visit(at.absolute(child as u32)));
    }

    fn has_children(self, at: &Member) -> bool {
        let mut any = false;
        self.each_child(at, |_| any = true);
        any
    }
}

impl Phase for Pipeline {
    fn rounds(&self, at: &Member) -> u32 {
        let inner = at.own != at.root && self.shape.has_children(at);
        if at.size > 1 { at.segments + u32::from(inner) } else { 0 }
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let (parent, data) = (self.shape.parent(at), |segment| Data::part(segment, at.segments));
        let receives = if self.up { self.shape.has_children(at) } else { parent.is_some() };
        let sent = if receives { round.checked_sub(1) } else { Some(round) }.filter(|&segment| segment < at.segments);
        let received = Some(round).filter(|&segment| receives && segment < at.segments);
        let (to_parent, from_parent) = if self.up { (sent, None) } else { (None, received) };
        let (to_children, from_children) = if self.up { (None, received) } else { (sent, None) };
        if let (Some(parent), Some(segment)) = (parent, from_parent) {
            post(Move::one(Way::Store, parent, data(segment)));
        }
        if let Some(segment) = from_children {
            self.shape.each_child(at, |child| post(Move::one(Way::Combine, child, data(segment))));
        }
        if let (Some(parent), Some(segment)) = (parent, to_parent) {
            post(Move::one(Way::Send, parent, data(segment)));
        }
        if let Some(segment) = to_children {
            self.shape.each_child(at, |child| post(Move::one(Way::Send, child, data(segment))));
        }
    }
}
