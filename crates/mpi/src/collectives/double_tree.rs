//! Allreduce along two trees, each with half of the buffer (Sanders, Speck and Träff, "Two-tree algorithms for full
//! bandwidth broadcast, reduction and scan", Parallel Computing 35(12), 2009), with chains inside servers as in NCCL.
//!
//! Consecutive members, as many as the radix, form a *chain*: the GPUs of a server. The first members of the chains
//! form two binary trees. Most chains are a leaf of one tree, so that both trees together use each link in both
//! directions. Segments go up and down at once: while a member passes one segment to its parent, it receives the result
//! of another.

use super::data::Data;
use super::member::{Member, Move, Phase, Way};

/// Allreduce along two trees.
#[derive(Debug)]
pub(super) struct DoubleTree;

/// Returns the parent of vertex `own` of `size` in a binary tree for the order of vertices, whose root is vertex 0. The
/// level of a vertex is the number of its trailing zeros.
fn parent(own: u32, size: u32) -> Option<u32> {
    let lowest = own & own.wrapping_neg();
    let up = (own ^ lowest) | lowest << 1;
    (own > 0).then_some(if up < size { up } else { own ^ lowest })
}

/// Visits the children of vertex `own` of `size` in this tree.
fn each_child(own: u32, size: u32, visit: &mut dyn FnMut(u32)) {
    if own == 0 {
        if size > 1 {
            visit(1 << (size - 1).ilog2());
        }
        return;
    }
    let half = (own & own.wrapping_neg()) / 2;
    if half > 0 {
        visit(own - half);
    }
    let mut ahead = half;
    while ahead > 0 && own + ahead >= size {
        ahead /= 2;
    }
    if ahead > 0 {
        visit(own + ahead);
    }
}

/// One of the two trees.
#[derive(Clone, Copy)]
struct Half {
    /// Number of the tree: 0 or 1.
    number: u32,
    /// Members of a chain, and number of chains.
    chain: u32,
    chains: u32,
}

impl Half {
    fn new(at: &Member, number: u32) -> Self {
        let chain = at.radix.clamp(1, at.size);
        Self { number, chain, chains: at.size.div_ceil(chain) }
    }

    /// Returns the vertex of a chain in the tree, or the chain of a vertex. The second tree is the first one, mirrored
    /// (an even number of chains) or shifted by one.
    fn turned(self, chain: u32, back: bool) -> u32 {
        match self.number {
            0 => chain,
            _ if self.chains.is_multiple_of(2) => self.chains - 1 - chain,
            _ if back => (chain + 1) % self.chains,
            _ => (chain + self.chains - 1) % self.chains,
        }
    }

    fn parent(self, own: u32) -> Option<u32> {
        if !own.is_multiple_of(self.chain) {
            return Some(own - 1);
        }
        let vertex = parent(self.turned(own / self.chain, false), self.chains)?;
        Some(self.turned(vertex, true) * self.chain)
    }

    fn each_child(self, own: u32, size: u32, visit: &mut dyn FnMut(u32)) {
        if own + 1 < size && !(own + 1).is_multiple_of(self.chain) {
            visit(own + 1);
        }
        if own.is_multiple_of(self.chain) {
            each_child(self.turned(own / self.chain, false), self.chains, &mut |vertex| {
                visit(self.turned(vertex, true) * self.chain);
            });
        }
    }

    /// Returns the number of members above a member.
    fn depth(self, own: u32) -> u32 {
        std::iter::successors(self.parent(own), |&own| self.parent(own)).count() as u32
    }

    /// Returns a limit of the depths.
    fn deepest(self) -> u32 {
        self.chain - 1 + self.chains.next_power_of_two().ilog2()
    }
}

/// Returns the number of segments of the buffer of one tree.
fn segments(at: &Member) -> u32 {
    at.segments.div_ceil(2)
}

/// Rounds are numbered alike at all members. With the depth d of a member and the limit D of depths, segment s goes up
/// in round s + D - d, and comes down in round s + D + d - 1.
impl Phase for DoubleTree {
    fn rounds(&self, at: &Member) -> u32 {
        if at.size > 1 { segments(at) + 2 * Half::new(at, 0).deepest() - 1 } else { 0 }
    }

    fn round(&self, at: &Member, round: u32, post: &mut dyn FnMut(Move)) {
        let segments = segments(at);
        let each = |post: &mut dyn FnMut(Move), sends: bool| {
            for half in [0, 1].map(|number| Half::new(at, number)) {
                let (deepest, depth) = (half.deepest(), half.depth(at.own));
                // The segment of this round, if the first segment has round `first`, counted from 1.
                let data = |first: u32| {
                    let segment = (round + 1).checked_sub(first).filter(|&segment| segment < segments);
                    segment.map(|segment| Data::part(half.number * segments + segment, 2 * segments))
                };
                let children = |data: Option<Data>, way: Way, post: &mut dyn FnMut(Move)| {
                    if let Some(data) = data {
                        half.each_child(at.own, at.size, &mut |child| post(Move::one(way, child, data)));
                    }
                };
                match (half.parent(at.own), sends) {
                    (Some(parent), false) => {
                        if let Some(data) = data(deepest + depth) {
                            post(Move::one(Way::Store, parent, data));
                        }
                    }
                    (Some(parent), true) => {
                        if let Some(data) = data(deepest - depth + 1) {
                            post(Move::one(Way::Send, parent, data));
                        }
                    }
                    (None, _) => {}
                }
                match sends {
                    false => children(data(deepest - depth), Way::Combine, post),
                    true => children(data(deepest + depth + 1), Way::Send, post),
                }
            }
        };
        each(post, false);
        each(post, true);
    }
}
