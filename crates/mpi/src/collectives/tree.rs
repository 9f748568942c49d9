//! K-nomial trees; binomial trees have radix 2. The number of a member, relative to the root, is written in the number
//! system of the radix. The number of its parent has a zero in place of the last digit that is not zero.

use super::data::Data;
use super::member::{Member, Move, Phase, Way};

/// Transfer along the tree: the whole buffer, or the parts of the members below.
#[derive(Debug)]
pub(super) struct Tree {
    /// Whether data flow toward the root.
    pub up: bool,
    /// Whether a message carries only the parts of the members below.
    pub parts: bool,
}

/// Returns the position of a member in the tree: the weight of the last digit of its number that is not zero, and the
/// place of that digit, from 0. For the root: the first power of the radix that is not smaller than the group, and its
/// exponent.
pub(super) fn place(at: &Member) -> (u64, u32) {
    let (relative, radix) = (u64::from(at.relative()), u64::from(at.radix));
    let (mut weight, mut level) = (1, 0);
    let is_below = |weight: u64| match relative {
        0 => weight < u64::from(at.size),
        _ => relative.is_multiple_of(weight * radix),
    };
    while is_below(weight) {
        (weight, level) = (weight * radix, level + 1);
    }
    (weight, level)
}

/// Visits the children of a member at a level, the nearest first: their numbers relative to the root, and the weight of
/// the digit in which they differ from the member.
pub(super) fn each_child(at: &Member, level: u32, mut visit: impl FnMut(u64, u64)) {
    let weight = u64::from(at.radix).pow(level);
    let children = (1..u64::from(at.radix)).map(|digit| u64::from(at.relative()) + digit * weight);
    children.take_while(|&child| child < u64::from(at.size)).for_each(|child| visit(child, weight));
}

/// Returns the parent of a member that is not the root, relative to the root. `weight` is the weight of the last digit
/// of the member's number that is not zero.
pub(super) fn parent(at: &Member, weight: u64) -> u32 {
    let relative = u64::from(at.relative());
    (relative - relative / weight % u64::from(at.radix) * weight) as u32
}

impl Tree {
    /// Returns the data that travel between the root of a subtree, numbered relative to the root of the tree, and its
    /// parent.
    fn data(&self, at: &Member, relative: u64, weight: u64) -> Data {
        match self.parts {
            true => {
                let count = weight.min(u64::from(at.size) - relative) as u32;
                at.span(at.absolute(relative as u32), count)
            }
            false => Data::WHOLE,
        }
    }

    /// Posts the messages with the children at a level, the nearest first.
    fn children(&self, at: &Member, level: u32, post: &mut dyn FnMut(Move)) {
        let way = match (self.up, self.parts) {
            (false, _) => Way::Send,
            (true, true) => Way::Store,
            (true, false) => Way::Combine,
        };
        each_child(at, level, |child, weight| {
            post(Move::one(way, at.absolute(child as u32), self.data(at, child, weight)));
        });
    }
}

impl Phase for Tree {
    fn rounds(&self, at: &Member) -> u32 {
        place(at).1 + u32::from(at.own != at.root)
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let (weight, levels) = place(at);
        let is_root = at.own == at.root;
        // Upward, the nearest children come first and the parent last; downward, the order is reversed.
        let level = if self.up { round } else { levels + u32::from(!is_root) - 1 - round };
        if level < levels {
            return self.children(at, level, post);
        }
        let relative = u64::from(at.relative());
        let way = if self.up { Way::Send } else { Way::Store };
        post(Move::one(way, at.absolute(parent(at, weight)), self.data(at, relative, weight)));
    }
}
