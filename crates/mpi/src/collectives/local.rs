//! Work of a member on data in its memory between the messages of an algorithm.

use super::data::Data;
use super::member::{Member, Move, Phase, Way};

/// Work on data in memory.
#[derive(Debug)]
pub(super) enum Local {
    /// Copies the whole buffer: brings parts into another order.
    Reorder,
    /// Copies the whole buffer at the root.
    AtRoot,
    /// Copies the whole buffer, except at member 0, whose parts are in their order: the rotation of Bruck's allgather.
    Rotate,
    /// Combines the gathered buffers of all members.
    Combine,
}

impl Phase for Local {
    fn rounds(&self, at: &Member) -> u32 {
        u32::from(at.size > 1)
    }

    fn round(&self, at: &Member, _round: u32, post: &mut dyn FnMut(Move)) {
        match self {
            Self::Rotate if at.own == 0 => {}
            Self::AtRoot if at.own != at.root => {}
            Self::Reorder | Self::AtRoot | Self::Rotate => post(Move::local(Way::Copy, Data::WHOLE)),
            Self::Combine => {
                let others = Data::Span { first: 0, count: at.size - 1, parts: at.size };
                post(Move::local(Way::Reduce, others));
            }
        }
    }

    fn is_symmetric(&self, _at: &Member) -> bool {
        !matches!(self, Self::AtRoot)
    }
}
