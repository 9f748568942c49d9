//! Lanes of rings and trees over several servers: shares of the data that enter and leave servers by different members,
//! so that all rails of a server work at once (the channels of NCCL).
//!
//! A lane visits the members server after server, from another member of each server on. A ring visits every second
//! server backwards, so that it crosses from a member to the member at the same place of the next server. If the number
//! of servers is odd, only the way back to the first server crosses to another place. The first members of the servers
//! of a lane are at one place, and form the trees of `double-tree`.

use super::call::{Collective, Stage};
use super::data::Data;
use super::table::{Algorithm, phases, pipelines};
use crate::communicator::{Communicator, Group};

/// Lanes of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes {
    /// Members of a server, and number of lanes.
    size: u32,
    count: u32,
}

impl Lanes {
    /// Returns the lanes of a call. `None` if it has none: there is one server, or the algorithm is another one.
    pub fn of(call: &Collective) -> Option<Self> {
        // Lanes go on round by round together: rounds of a chain are not numbered alike at all members.
        let has_lanes = matches!(call.algorithm, Algorithm::Ring | Algorithm::DoubleTree);
        let size = call.per_server;
        (has_lanes && size > 0).then(|| Self { size, count: size.min(call.channels).max(1) })
    }

    /// Returns the number of lanes.
    pub const fn count(self) -> u32 {
        self.count
    }

    /// Returns the ranks of a lane in its order.
    fn group(self, algorithm: Algorithm, communicator: &Communicator, lane: u32) -> Group {
        let islands = communicator.nodes().and_then(|nodes| nodes.islands().ok());
        let islands = islands.filter(|islands| islands.size() == self.size);
        let rank = |server: u32, place: u32| match islands {
            Some(islands) => islands.island(server).rank(place),
            None => communicator.rank(server * self.size + place),
        };
        let servers = communicator.len() / self.size;
        let ranks = (0..servers).flat_map(|server| {
            let turns = algorithm != Algorithm::DoubleTree && server % 2 == 1;
            (0..self.size).map(move |step| {
                let step = if turns { self.size - 1 - step } else { step };
                (server, (lane + step) % self.size)
            })
        });
        Group::list(ranks.map(|(server, place)| rank(server, place)).collect::<Vec<u32>>())
    }

    /// Returns the part of the own rank in a lane, which carries a share of the buffer, or of each part.
    pub fn stage(self, call: &Collective, communicator: &Communicator, lane: u32) -> Option<Stage> {
        let group = self.group(call.algorithm, communicator, lane);
        let member = |member: u32| group.member(communicator.rank(member));
        let mut at = call.member(call.operation, (member(communicator.own())?, group.len(), 0));
        at.first = Data::Span { first: 0, count: lane, parts: self.count }.elements(at.elements);
        at.elements = Data::part(lane, self.count).elements(at.elements);
        at.transport.channels = (at.transport.channels / self.count).max(1);
        let made_of = if call.segment == 0 { phases } else { pipelines };
        Some(Stage { group, at, phases: made_of(call.operation, call.algorithm)?, in_switch: None })
    }
}
