//! Pipelines: a buffer travels along a tree in segments, so that a member forwards one segment while it receives the
//! next (the generic broadcast and reduction of Open MPI; Pjesivac-Grbovic et al., "Performance analysis of MPI
//! collective operations", Cluster Computing 10(2), 2007).
//!
//! In each round a member receives one segment and sends the previous one to all its successors.

use super::data::Data;
use super::member::{Member, Move, Phase, Way};
use super::pairing::Pairing;
use super::tree::Place;

/// Tree that connects the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Chain: each member has at most one child, the next member.
    Chain,
    /// Chains of consecutive members, as many as the radix, of lengths that differ by at most 1. All begin at the root.
    Chains,
    /// Binary tree: the children of member i, relative to the root, are 2 i + 1 and 2 i + 2.
    Binary,
    /// Binary tree that splits into one tree of even members and one of odd members, relative to the root: the children
    /// of a member of the level from 2^l - 1 on are 2^l and 2^(l + 1) ahead.
    Split,
    /// Binary tree for the order of members, whatever the root is: the last member of a range is above the rest of the
    /// range, of whose halves it has the last members as its children.
    InOrder,
    /// K-nomial tree, whose members are numbered by a pairing.
    KNomial(Pairing),
}

/// Transfer of the whole buffer along a tree.
#[derive(Debug)]
pub(super) struct Pipeline {
    /// Whether data flow toward the root.
    pub up: bool,
    /// Tree that connects the members.
    pub shape: Shape,
}

/// Returns the parent and the children of member `own` of `size` in a binary tree for the order of members.
fn in_order(own: u32, size: u32) -> (Option<u32>, [Option<u32>; 2]) {
    let (mut first, mut last, mut parent) = (0, size - 1, None);
    loop {
        let count = (last - first).div_ceil(2);
        let lower = (count > 0).then(|| first + count - 1);
        let upper = (first + count < last).then(|| last - 1);
        if own == last {
            return (parent, [upper, lower]);
        }
        parent = Some(last);
        (first, last) = if own < first + count { (first, first + count - 1) } else { (first + count, last - 1) };
    }
}

/// Returns whether a member begins a chain, if the members besides the root form as many chains as the radix.
/// `relative` is the number of the member relative to the root, at least 1.
fn begins_chain(relative: u32, at: &Member) -> bool {
    let (others, place) = (at.size - 1, relative - 1);
    let chains = at.radix.min(others);
    let (short, longer) = (others / chains, others % chains);
    match place.checked_sub(longer * (short + 1)) {
        Some(place) => place.is_multiple_of(short),
        None => place.is_multiple_of(short + 1),
    }
}

impl Shape {
    /// Returns the parent of a member. `None` for the root of the tree.
    pub fn parent(self, at: &Member) -> Option<u32> {
        let relative = at.relative();
        match self {
            Self::InOrder => return in_order(at.own, at.size).0,
            _ if relative == 0 => return None,
            _ => {}
        }
        let level = || 1 << (relative + 1).ilog2();
        Some(at.absolute(match self {
            Self::Chains if begins_chain(relative, at) => 0,
            Self::Chain | Self::Chains => relative - 1,
            Self::Binary | Self::InOrder => (relative - 1) / 2,
            Self::Split => level() / 2 - 1 + (relative + 1 - level()) % (level() / 2),
            Self::KNomial(pairing) => return Some(Place::new(at, pairing).parent(at, pairing)),
        }))
    }

    /// Visits the children of a member. The child with the largest subtree comes first.
    pub fn each_child(self, at: &Member, mut visit: impl FnMut(u32)) {
        let relative = at.relative();
        let wide = u64::from(relative);
        let (first, step, count) = match self {
            Self::Chains if relative == 0 && at.size > 1 => {
                let begins = (1..at.size).filter(|&other| begins_chain(other, at));
                return begins.for_each(|other| visit(at.absolute(other)));
            }
            Self::Chains if relative + 1 < at.size && begins_chain(relative + 1, at) => return,
            Self::Chain | Self::Chains => (wide + 1, 1, 1),
            Self::Binary => (2 * wide + 1, 1, 2),
            Self::Split => {
                let level = 1 << (wide + 1).ilog2();
                (wide + level, level, 2)
            }
            Self::InOrder => return in_order(at.own, at.size).1.into_iter().flatten().for_each(visit),
            Self::KNomial(pairing) => {
                let place = Place::new(at, pairing);
                return (0..place.levels).rev().for_each(|level| place.each_member(at, (level, pairing), &mut visit));
            }
        };
        let children = (0..count).map(|number| first + number * step).take_while(|&child| child < u64::from(at.size));
        children.for_each(|child| visit(at.absolute(child as u32)));
    }

    pub fn has_children(self, at: &Member) -> bool {
        let mut any = false;
        self.each_child(at, |_| any = true);
        any
    }
}

impl Phase for Pipeline {
    fn rounds(&self, at: &Member) -> u32 {
        let inner = self.shape.parent(at).is_some() && self.shape.has_children(at);
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

/// Broadcast along a split tree: one half of the buffer goes to the even members, the other half to the odd ones,
/// relative to the root (Open MPI's split binary tree). [`Halves`] follows.
#[derive(Debug)]
pub(super) struct SplitBroadcast;

/// Returns the number of segments of half of the buffer.
fn segments_of_half(at: &Member) -> u32 {
    at.segments.div_ceil(2)
}

/// Returns segment `number` of the half that the members with the parity of `relative` get in a split tree. The first
/// half is that of odd members.
fn of_half(at: &Member, relative: u32, number: u32) -> Data {
    let segments = segments_of_half(at);
    Data::part(number + (1 - relative % 2) * segments, 2 * segments)
}

impl Phase for SplitBroadcast {
    fn rounds(&self, at: &Member) -> u32 {
        let inner = at.relative() > 0 && Shape::Split.has_children(at);
        if at.size > 1 { segments_of_half(at) + u32::from(inner) } else { 0 }
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let (relative, segments) = (at.relative(), segments_of_half(at));
        if let Some(parent) = Shape::Split.parent(at)
            && round < segments
        {
            post(Move::one(Way::Store, parent, of_half(at, relative, round)));
        }
        let sent = if relative == 0 { Some(round) } else { round.checked_sub(1) };
        if let Some(segment) = sent {
            Shape::Split.each_child(at, |child| {
                let parity = (child + at.size - at.root) % at.size;
                post(Move::one(Way::Send, child, of_half(at, parity, segment)));
            });
        }
    }
}

/// Exchange of the halves of a split tree: each odd member with the next one. A last odd member without a partner gets
/// the other half from the root.
#[derive(Debug)]
pub(super) struct Halves;

impl Phase for Halves {
    fn rounds(&self, at: &Member) -> u32 {
        u32::from(at.size > 1)
    }

    fn round(&self, at: &Member, _round: u32, post: &mut dyn FnMut(Move)) {
        let (relative, last) = (at.relative(), at.size - 1);
        let has_single = at.size.is_multiple_of(2);
        let half = |relative: u32| Data::part(1 - relative % 2, 2);
        match relative {
            0 if has_single => return post(Move::one(Way::Send, at.absolute(last), half(0))),
            0 => return,
            _ if has_single && relative == last => return post(Move::one(Way::Store, at.root, half(0))),
            _ => {}
        }
        let other = if relative % 2 == 1 { relative + 1 } else { relative - 1 };
        post(Move::one(Way::Store, at.absolute(other), half(other)));
        post(Move::one(Way::Send, at.absolute(other), half(relative)));
    }
}

/// Transfer of the result of a tree for the order of members from the last member to the root.
#[derive(Debug)]
pub(super) struct LastToRoot;

impl Phase for LastToRoot {
    fn rounds(&self, at: &Member) -> u32 {
        u32::from(at.root != at.size - 1 && (at.own == at.root || at.own == at.size - 1))
    }

    fn round(&self, at: &Member, _round: u32, post: &mut dyn FnMut(Move)) {
        match at.own == at.root {
            true => post(Move::one(Way::Store, at.size - 1, Data::WHOLE)),
            false => post(Move::one(Way::Send, at.root, Data::WHOLE)),
        }
    }
}
