//! K-nomial trees; binomial trees have radix 2. The number of a member, relative to the root, is written in the number
//! system of the radix. The number of its parent has a zero in place of the last digit that is not zero.
//!
//! The trees of a butterfly are binomial trees whose members are numbered by their labels (see [`Pairing`]).

use super::data::Data;
use super::member::{Member, Move, Phase, Way};
use super::pairing::{Pairing, bine_range};

/// Transfer along the tree: the whole buffer, or the parts of the members below.
#[derive(Debug)]
pub(super) struct Tree {
    /// Whether data flow toward the root.
    pub up: bool,
    /// Whether a message carries only the parts of the members below. With [`Pairing::Bine`], the root has sorted its
    /// parts by label.
    pub parts: bool,
    /// Numbering of members. [`Pairing::Far`]: the order of members.
    pub pairing: Pairing,
}

/// Member of a tree.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Number of the member in the tree.
    label: u32,
    /// Weight of the last digit of the number that is not zero. For the root: the first power of the radix that is not
    /// smaller than the group.
    weight: u64,
    /// Place of that digit, from 0: number of levels below the member.
    pub levels: u32,
}

impl Place {
    /// Returns the place of the member `at` in the tree whose members are numbered by `pairing`.
    pub fn new(at: &Member, pairing: Pairing) -> Self {
        let label = pairing.label(at.relative(), at.size);
        let (number, radix) = (u64::from(label), u64::from(at.radix));
        let (mut weight, mut levels) = (1, 0);
        let is_below = |weight: u64| match number {
            0 => weight < u64::from(at.size),
            _ => number.is_multiple_of(weight * radix),
        };
        while is_below(weight) {
            (weight, levels) = (weight * radix, levels + 1);
        }
        Self { label, weight, levels }
    }

    /// Visits the children at a level, the nearest first: their numbers in the tree, and the weight of the digit in which
    /// they differ from the member.
    fn each_child(self, at: &Member, level: u32, mut visit: impl FnMut(u32, u64)) {
        let weight = u64::from(at.radix).pow(level);
        let children = (1..u64::from(at.radix)).map(|digit| u64::from(self.label) + digit * weight);
        children.take_while(|&child| child < u64::from(at.size)).for_each(|child| visit(child as u32, weight));
    }

    /// Visits the children at a level as members of the group, the nearest first.
    pub fn each_member(self, at: &Member, (level, pairing): (u32, Pairing), mut visit: impl FnMut(u32)) {
        self.each_child(at, level, |child, _| visit(at.absolute(pairing.member(child, at.size))));
    }

    /// Returns the parent of a member that is not the root.
    pub fn parent(self, at: &Member, pairing: Pairing) -> u32 {
        let label = u64::from(self.label);
        let parent = label - label / self.weight % u64::from(at.radix) * self.weight;
        at.absolute(pairing.member(parent as u32, at.size))
    }
}

impl Tree {
    /// Posts the message between the root of a subtree, numbered `label`, and its parent. In Bine trees, parts that wrap
    /// past the last member are two messages.
    fn message(&self, at: &Member, (way, peer): (Way, u32), (label, weight): (u32, u64), post: &mut dyn FnMut(Move)) {
        if !self.parts {
            return post(Move::one(way, peer, Data::WHOLE));
        }
        let count = weight.min(u64::from(at.size - label)) as u32;
        if self.pairing == Pairing::Bine {
            let (root, parts, pairing) = (at.root, at.size, self.pairing);
            return post(Move::one(way, peer, Data::Labels { root, first: label, count, parts, pairing }));
        }
        if self.pairing != Pairing::BineFar {
            return post(Move::one(way, peer, at.span(at.absolute(label), count)));
        }
        let member = self.pairing.member(label, at.size);
        let first = at.absolute(bine_range(member, weight.ilog2(), at.size));
        let wrapped = (first + count).saturating_sub(at.size);
        post(Move::one(way, peer, at.span(first, count - wrapped)));
        if wrapped > 0 {
            post(Move::one(way, peer, at.span(0, wrapped)));
        }
    }
}

impl Phase for Tree {
    fn rounds(&self, at: &Member) -> u32 {
        Place::new(at, self.pairing).levels + u32::from(at.own != at.root)
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let place = Place::new(at, self.pairing);
        let is_root = at.own == at.root;
        let arrival = if self.up && !self.parts { Way::Combine } else { Way::Store };
        // Upward, the nearest children come first and the parent last; downward, the order is reversed.
        let level = if self.up { round } else { place.levels + u32::from(!is_root) - 1 - round };
        if level < place.levels {
            let way = if self.up { arrival } else { Way::Send };
            return place.each_child(at, level, |child, weight| {
                let member = at.absolute(self.pairing.member(child, at.size));
                self.message(at, (way, member), (child, weight), post);
            });
        }
        let way = if self.up { Way::Send } else { arrival };
        self.message(at, (way, place.parent(at, self.pairing)), (place.label, place.weight), post);
    }
}
