//! Message-driven programs as programs of ranks.

use std::sync::Arc;

use super::entries::MessageDriven;
use super::rank::DrivenRank;
use crate::program::{Messages, Programs, RankProgram};

impl Programs for MessageDriven {
    fn ranks(&self) -> u32 {
        self.coming.len() as u32
    }

    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram> {
        Box::new(DrivenRank::new(self, rank))
    }

    fn operations(&self) -> u64 {
        let calculations = self.entries.iter().filter(|entry| entry.time > 0).count() as u64;
        (2 * self.messages + calculations).saturating_mul(u64::from(self.iterations))
    }

    fn each_message(&self, visit: &mut dyn FnMut(Messages)) {
        for rank in 0..self.ranks() {
            for entry in self.entries_of(rank) {
                for sent in self.sent.of(entry) {
                    for (bytes, count) in sent.sizes().into_iter().filter(|&(_, count)| count > 0) {
                        visit(Messages { from: rank, to: sent.to, bytes, count: count * u64::from(self.iterations) });
                    }
                }
            }
        }
    }
}
