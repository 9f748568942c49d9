//! State of an executor, for checkpoints.

use super::{Announced, Clock, Executor, Networks, Nics, PendingRecv, PendingSend, Rank};

impl Executor {
    /// Keeps what checkpoints need beside the state. Must be called before the programs begin.
    #[must_use]
    pub fn with_checkpoints(mut self) -> Self {
        self.programs.log();
        self
    }
}

units::record!(PendingSend {
    op, rank, id, to, tag, context, bytes, placed, rendezvous, read_complete, waiting_for_credit, written_at, written,
    rail;
});
units::record!(PendingRecv { op, rank, id, bytes, left });
units::record!(Rank { started, open, ended_at, notify_last, unnotified });
units::state!(Nics { parts, rooms, connections, registrations, queues, rails; rebuilt links, handed, passed_at });
units::state!(Networks { relays; rebuilt ways });
units::record!(Clock { tick, alarm, wanted });
units::record!(Announced { tick, turn });
units::state!(Executor {
    programs, ranks, processors, nics, sends, receives, notified, bursts, arrivals, matching, probes, unexpected,
    memories, pending, ready, clock, announced, progress, unmatched, records;
    each credits, networks, groups;
    rebuilt interface, placed, met, compact, transit, starting, error
});
