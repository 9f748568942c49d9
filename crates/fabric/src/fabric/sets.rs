//! Sets of destination nodes in the headers of multicast packets. The table stays empty without multicasts.
//!
//! Sets of all sizes lie in one array, in rooms of powers of two. The room that was freed last is the next of its size
//! to be used, so that nothing is allocated once the traffic has reached its densest state.

use routing::RouteState;
use units::NodeId;

use crate::target::Member;

/// Members of the multicast packets of a partition, by the number of their set.
#[derive(Clone, Debug, Default)]
pub struct Sets {
    members: Vec<Member>,
    /// By number, the start of the set's room, and its number of members.
    spans: Vec<Span>,
    /// Free numbers, by the logarithm of their room.
    free: Vec<Vec<u32>>,
    used: usize,
}
units::state!(Sets { members, spans, free, used });

#[derive(Clone, Copy, Debug)]
struct Span {
    first: u32,
    len: u32,
}
units::record!(Span { first, len });

/// Returns the logarithm of the room of a set of `len` members.
fn room_of(len: usize) -> usize {
    len.max(1).next_power_of_two().trailing_zeros() as usize
}

impl Sets {
    /// Stores a set and returns its number.
    pub fn put(&mut self, members: impl ExactSizeIterator<Item = Member>) -> u32 {
        let room = room_of(members.len());
        self.used += 1;
        let len = members.len() as u32;
        let number = match self.free.get_mut(room).and_then(Vec::pop) {
            Some(number) => {
                self.spans[number as usize].len = len;
                number
            }
            None => self.add_room(room, len),
        };
        self.get_mut(number).iter_mut().zip(members).for_each(|(place, member)| *place = member);
        number
    }

    /// Adds a room for a set of `len` members, and returns the set's number.
    #[cold]
    fn add_room(&mut self, room: usize, len: u32) -> u32 {
        let first = self.members.len();
        // The initial content of the room is overwritten before it is read.
        self.members.resize(first + (1 << room), Member { node: NodeId(0), state: RouteState::default() });
        self.spans.push(Span { first: first as u32, len });
        debug_assert!(self.spans.len() <= crate::packet::MAX_SETS, "more sets than packets have numbers for");
        (self.spans.len() - 1) as u32
    }

    /// Returns the members of a set.
    pub fn get(&self, number: u32) -> &[Member] {
        let Span { first, len } = self.spans[number as usize];
        &self.members[first as usize..(first + len) as usize]
    }

    /// Returns the members of a set, mutably.
    pub fn get_mut(&mut self, number: u32) -> &mut [Member] {
        let Span { first, len } = self.spans[number as usize];
        &mut self.members[first as usize..(first + len) as usize]
    }

    /// Frees a set.
    pub fn free(&mut self, number: u32) {
        let room = room_of(self.spans[number as usize].len as usize);
        if self.free.len() <= room {
            self.free.resize(room + 1, Vec::new());
        }
        self.free[room].push(number);
        self.used -= 1;
    }

    /// Returns the number of sets in use.
    pub fn used(&self) -> usize {
        self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sets_keep_their_members_whatever_comes_and_goes(sizes in prop::collection::vec(1_usize..40, 1..60)) {
            // Would catch a room that two sets share, a reused room that is too small, and a set that is lost.
            let mut sets = Sets::default();
            let mut live: Vec<(u32, Vec<Member>)> = Vec::new();
            for (turn, &size) in sizes.iter().enumerate() {
                let member = |i: usize| Member { node: NodeId((turn * 100 + i) as u32), state: RouteState(i as u32) };
                let members: Vec<Member> = (0..size).map(member).collect();
                live.push((sets.put(members.iter().copied()), members));
                if turn % 3 == 2 {
                    let (number, _) = live.swap_remove(turn / 3 % live.len());
                    sets.free(number);
                }
                for (number, members) in &live {
                    prop_assert_eq!(sets.get(*number), &members[..]);
                }
                prop_assert_eq!(sets.used(), live.len());
            }
        }
    }
}
